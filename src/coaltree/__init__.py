"""coaltree: Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

Public names are loaded on first use, so that ``import coaltree`` costs little more than ``import numpy``.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_HOME_OF = {
    "Tree": "tree",
    "simulate": "model.process.simulation",
    "fit": "inference.fit",
    "sample_trees": "inference.sample_trees",
    "Prior": "samplers",
    "PostPost": "samplers",
    "MPost1": "samplers",
    "MPost2": "samplers",
    "SMC1": "samplers",
    "Greedy": "samplers",
    "MGreedy": "samplers",
    "GreedyTeh": "samplers",
    "Insertion": "samplers",
    "Regraft": "samplers",
    "Posterior": "posterior",
    "concat": "posterior",
    "load": "posterior.io.archive",
    "CoalescentClustering": "estimator",
    "compare": "inference.compare",
    "tree_distance": "tree.distances",
    "Fixed": "model.covariance",
    "Spherical": "model.covariance",
    "Scaled": "model.covariance",
    "Diagonal": "model.covariance",
    "Full": "model.covariance",
    "SquaredExponential": "model.covariance",
    "Matern32": "model.covariance",
    "Kernel": "model.covariance",
    "InverseGamma": "model.covariance",
    "InverseWishart": "model.covariance",
    "LogNormal": "model.covariance",
    "LogUniform": "model.covariance",
    "Noise": "model.process.noise",
    "InputError": "errors",
    "CoaltreeWarning": "errors",
    "ConvergenceWarning": "errors",
    "ClusterSizeWarning": "errors",
    "InterruptedWarning": "errors",
}
_MODULES = ("metrics", "plotting", "report", "scanpy")

__all__ = ["__version__", *_HOME_OF, *_MODULES]


def __getattr__(name):
    if name in _HOME_OF:
        value = getattr(_import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    elif name in _MODULES:
        value = _import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
