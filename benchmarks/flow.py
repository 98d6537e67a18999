"""A normalising flow as a density, with zuko and PyTorch where they are installed.

A fifth of the rows is not trained on: it says when training stops, and which of the flows is best.
"""

import copy
from importlib.util import find_spec

import numpy as np

FLOW = "normalising flow"
_LAYERS = (32, 32)
_STEPS, _PATIENCE = 1_000, 60  # of the optimiser, each over all rows; without a better validation
_RATE, _DECAY = 3e-3, 1e-3


def is_installed():
    return find_spec("zuko") is not None and find_spec("torch") is not None


class FittedFlow:
    """The best of several flows for these rows."""

    def __init__(self, X):
        import torch
        import zuko

        torch.set_num_threads(1)
        torch.manual_seed(0)
        order = np.random.default_rng(0).permutation(len(X))
        rows = torch.as_tensor(np.asarray(X)[order], dtype=torch.float32)
        n_kept = len(rows) // 5
        kinds = [(zuko.flows.MAF, 1), (zuko.flows.MAF, 3), (zuko.flows.NSF, 1), (zuko.flows.NSF, 3)]
        trained = [
            _trained(kind(rows.shape[1], transforms=n, hidden_features=_LAYERS), rows[n_kept:], rows[:n_kept])
            for kind, n in kinds
        ]
        self.flow = max(trained, key=lambda pair: pair[0])[1]

    def score_samples(self, X):
        """Log density of each row."""
        import torch

        with torch.no_grad():
            return self.flow().log_prob(torch.as_tensor(np.asarray(X), dtype=torch.float32)).numpy().astype(float)


def _trained(flow, rows, others):
    """(mean log density of rows it was not trained on, the flow) at the best moment of its training."""
    import torch

    optimiser = torch.optim.AdamW(flow.parameters(), lr=_RATE, weight_decay=_DECAY)
    best, state, since = -np.inf, copy.deepcopy(flow.state_dict()), 0
    for _ in range(_STEPS):
        optimiser.zero_grad()
        (-flow().log_prob(rows).mean()).backward()
        optimiser.step()
        with torch.no_grad():
            found = float(flow().log_prob(others).mean())
        since += 1
        if found > best:
            best, state, since = found, copy.deepcopy(flow.state_dict()), 0
        if since > _PATIENCE or not np.isfinite(found):
            break
    flow.load_state_dict(state)
    return best, flow
