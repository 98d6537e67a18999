"""The model: what a user's table becomes, the coalescent, diffusion along it, covariances, missing values."""
