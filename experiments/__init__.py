"""Experiments: what papers report, and what this package gives on the same data."""
