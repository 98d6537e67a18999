"""coaltree: Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

Public names are loaded on first use, so that ``import coaltree`` costs little more than ``import numpy``.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_NAMES_IN = {
    "tree": "Tree",
    "tree.distances": "tree_distance",
    "model.process.simulation": "simulate",
    "model.process.noise": "Noise",
    "model.covariance": "Fixed Spherical Scaled Diagonal Full SquaredExponential Matern32 Kernel "
    "InverseGamma InverseWishart LogNormal LogUniform",
    "samplers": "Prior PostPost MPost1 MPost2 SMC1 Greedy MGreedy GreedyTeh Insertion Regraft",
    "posterior": "Posterior concat",
    "posterior.io.archive": "load",
    "inference.fit": "fit",
    "inference.sample_trees": "sample_trees",
    "inference.compare": "compare",
    "estimator": "CoalescentClustering",
    "errors": "InputError CoaltreeWarning ConvergenceWarning ClusterSizeWarning InterruptedWarning",
}
_HOME_OF = {name: home for home, names in _NAMES_IN.items() for name in names.split()}
_MODULES = ("metrics", "plotting", "report", "scanpy")

__all__ = ["__version__", *_HOME_OF, *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _import_module(
        f"{__name__}.errors"
    ).postponed_interruptions():  # modules of C that were half loaded could not be loaded again
        if name in _HOME_OF:
            value = getattr(_import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        else:
            value = _import_module(f"{__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
