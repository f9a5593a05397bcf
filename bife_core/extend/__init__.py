"""What other packages build on."""
