"""The paper's samplers: trees grown merge by merge, from the leaves to the root."""
