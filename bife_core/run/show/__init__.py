"""What people look at: reports and figures."""
