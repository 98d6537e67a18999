"""coaltree: Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

Public names are loaded on first use, so that ``import coaltree`` costs little more than ``import numpy``.
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

__version__ = "0.1.0"

_HOME_OF = {
    "Tree": "tree",
    "simulate": "datasets",
    "fit": "fit",
    "sample_trees": "known_covariance",
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
    "load": "io",
    "CoalescentClustering": "estimator",
    "compare": "comparison",
    "tree_distance": "distances",
    "Fixed": "covariance",
    "Spherical": "covariance",
    "Diagonal": "covariance",
    "Full": "covariance",
    "SquaredExponential": "covariance",
    "Matern32": "covariance",
    "Kernel": "covariance",
    "InverseGamma": "covariance",
    "InverseWishart": "covariance",
    "LogNormal": "covariance",
    "LogUniform": "covariance",
    "InputError": "errors",
    "CoaltreeWarning": "errors",
    "ConvergenceWarning": "errors",
}
_MODULES = ("metrics", "plotting", "report")

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


class _Package(_ModuleType):
    """A file may be named after its function: importing fit.py must not put the module in the place of `fit`."""

    def __setattr__(self, name, value):
        if not (name in _HOME_OF and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self):
        # cloudpickle knows plain modules only, and a function of a notebook or script that says `ct.fit` carries this
        # one along when joblib or Dask sends it to a worker.
        return _import_module, (self.__name__,)


_sys.modules[__name__].__class__ = _Package
