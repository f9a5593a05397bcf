"""The families of instances that BiFE generates, a file each."""
