"""Moves of a whole clade, beside the updates of `regraft.update`."""
