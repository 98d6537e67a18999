"""Read tables from files."""
