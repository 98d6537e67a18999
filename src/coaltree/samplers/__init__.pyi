"""The public names of `samplers`, loaded on first use."""

from .base import Sampler as Sampler
from .base import SamplerLike as SamplerLike
from .merging.greedy import Greedy as Greedy
from .merging.greedy import GreedyTeh as GreedyTeh
from .merging.greedy import MGreedy as MGreedy
from .merging.mpost import MPost1 as MPost1
from .merging.mpost import MPost2 as MPost2
from .merging.mpost import PostPost as PostPost
from .merging.prior import Prior as Prior
from .merging.smc1 import SMC1 as SMC1
from .regraft.insertion import Insertion as Insertion
from .regraft.regraft import Regraft as Regraft

def as_sampler(spec: SamplerLike) -> Sampler: ...
