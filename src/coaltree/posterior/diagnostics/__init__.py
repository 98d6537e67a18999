"""Diagnostics: effective sample sizes, convergence, outliers, model checks."""
