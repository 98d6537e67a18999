"""Prediction: placement of new rows, and leave-one-out."""
