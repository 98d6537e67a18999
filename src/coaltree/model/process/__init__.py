"""The process: coalescent, diffusion along the tree, noise at the leaves, simulation."""
