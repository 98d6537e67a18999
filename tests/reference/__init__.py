"""Slow, obvious transcriptions of the mathematics. They import nothing from the package they check."""
