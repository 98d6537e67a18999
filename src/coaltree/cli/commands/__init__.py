"""The commands of `coaltree`, one file each."""
