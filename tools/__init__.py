"""What the project needs and the package does not."""
