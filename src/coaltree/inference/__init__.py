"""The verbs: `fit`, `sample_trees`, `compare`; and the chains and checkpoints behind them."""
