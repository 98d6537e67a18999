"""Trees as arrays: `Tree`, and its ways to and from linkage matrices, Newick and NEXUS."""

from .tree import Tree, unchecked_tree

__all__ = ["Tree", "unchecked_tree"]
