"""Posteriors in files, pandas, ArviZ, NEXUS and notebooks."""
