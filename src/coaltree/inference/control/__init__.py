"""The run of several chains: stopping rule, checkpoints, workers."""
