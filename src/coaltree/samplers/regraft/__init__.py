"""The engine: prune a subtree, look at every branch it could rejoin, regraft it; and rows inserted the same way."""
