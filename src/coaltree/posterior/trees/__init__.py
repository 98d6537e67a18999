"""Clades, their support and times, and one tree for many draws."""
