"""What gitcp reads and writes of a git directory by itself, and the same by git alone."""
