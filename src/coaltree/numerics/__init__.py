"""Mathematics that knows nothing of trees: special functions, the generalized inverse Gaussian, slice sampling."""
