"""From a user's table to the leaves of a tree: columns, missing values, duplicates, ties, replicates."""
