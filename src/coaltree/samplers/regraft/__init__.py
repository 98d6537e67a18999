"""The engine: prune a subtree, weigh the branches it could rejoin, regraft it; and rows inserted the same way."""
