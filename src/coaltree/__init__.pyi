"""The public names of `coaltree`, loaded on first use."""

from . import metrics as metrics
from . import plotting as plotting
from . import report as report
from . import scanpy as scanpy
from .errors import CoaltreeWarning as CoaltreeWarning
from .errors import ConvergenceWarning as ConvergenceWarning
from .errors import InputError as InputError
from .errors import InterruptedWarning as InterruptedWarning
from .estimator import CoalescentClustering as CoalescentClustering
from .inference.compare import compare as compare
from .inference.fit import fit as fit
from .inference.sample_trees import sample_trees as sample_trees
from .model.covariance import Components as Components
from .model.covariance import Diagonal as Diagonal
from .model.covariance import Fixed as Fixed
from .model.covariance import Full as Full
from .model.covariance import InverseGamma as InverseGamma
from .model.covariance import InverseWishart as InverseWishart
from .model.covariance import Kernel as Kernel
from .model.covariance import LogNormal as LogNormal
from .model.covariance import LogUniform as LogUniform
from .model.covariance import Matern32 as Matern32
from .model.covariance import Scaled as Scaled
from .model.covariance import Spherical as Spherical
from .model.covariance import SquaredExponential as SquaredExponential
from .model.data.transform import Preprocessor as Preprocessor
from .model.process.noise import Noise as Noise
from .model.process.simulation import simulate as simulate
from .posterior import Posterior as Posterior
from .posterior import concat as concat
from .posterior.io.archive import load as load
from .samplers import SMC1 as SMC1
from .samplers import Greedy as Greedy
from .samplers import GreedyTeh as GreedyTeh
from .samplers import Insertion as Insertion
from .samplers import MGreedy as MGreedy
from .samplers import MPost1 as MPost1
from .samplers import MPost2 as MPost2
from .samplers import PostPost as PostPost
from .samplers import Prior as Prior
from .samplers import Regraft as Regraft
from .tree import Tree as Tree
from .tree.distances import tree_distance as tree_distance

__version__: str
