"""The verbs: `fit`, `sample_trees`, `extend`, `compare`; and the chains and checkpoints behind them."""
