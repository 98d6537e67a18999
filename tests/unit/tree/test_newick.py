"""Newick text, with DendroPy on the other side."""

import re
import sys

import dendropy
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coaltree import InputError, Tree
from tests.reference import trees as slow
from tests.strategies import any_times, chain, labels, random_tree, trees

# Names that others also keep: DendroPy takes a name of one punctuation mark for the mark, even in quotes.
shared_labels = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029"), min_size=1, max_size=8
).filter(lambda name: name not in set('(),:;{}=\\"'))

AWKWARD = [
    "Homo_sapiens", "Homo sapiens", " before", "after ", "in  between", "O'Brien", "''", "'", '""', "a,b", "(c)",
    "[&R]", "x:1", "d;", "1", "-2.5e3", "1_000", "nan", "é–日本", "a-b", "[", "]", "{t=1}", "a\\b", "_", "-", "#NEXUS",
]  # fmt: skip


def test_newick_text():
    tree = Tree([[1, 3], [0, 2], [5, 4]], [1.0, 2.5, 4.0], labels=["a", "b c", "d_e", "O'B"])
    assert tree.to_newick() == "((a:2.5,d_e:2.5):1.5,('b c':1.0,'O''B':1.0):3.0);"
    assert tree.to_newick(node_labels=["0.9", "", "all of it"]) == (
        "((a:2.5,d_e:2.5):1.5,('b c':1.0,'O''B':1.0)0.9:3.0)'all of it';"
    )


def assert_same_but_for_rounding(read, tree):
    assert read.labels == tree.labels
    np.testing.assert_allclose(read.times, tree.times, rtol=4e-16 * tree.n, atol=0)
    Tree(read.children, read.times)  # child before parent, also where times are tied
    if np.all(np.diff(tree.times) > 1e-12 * tree.times[1:]):
        np.testing.assert_array_equal(read.children, tree.children)


@given(trees(times=any_times, labels=labels))
def test_newick_returns_the_same_tree(tree):
    read = Tree.from_newick(tree.to_newick(), labels=tree.labels)
    assert_same_but_for_rounding(read, tree)
    np.testing.assert_allclose(read.cophenetic(), tree.cophenetic(), rtol=4e-16 * tree.n, atol=0)


@given(trees(times=st.floats(1e-9, 1), labels=labels))
def test_newick_of_the_transcription_is_read(tree):
    read = Tree.from_newick(slow.newick(tree.children, tree.times, tree.labels))
    assert set(read.clades()) == set(tree.clades())
    np.testing.assert_allclose(read.times, tree.times, rtol=1e-6)


def test_newick_leaves_are_numbered_as_found_or_as_asked():
    text = "((b:1,a:1):1,c:2);"
    assert Tree.from_newick(text).labels == ("b", "a", "c")
    read = Tree.from_newick(text, labels=["a", "b", "c"])
    assert read.labels == ("a", "b", "c")
    np.testing.assert_array_equal(read.children, [[1, 0], [3, 2]])
    with pytest.raises(InputError, match="The tree has a leaf 'b', which is not one of the given labels"):
        Tree.from_newick(text, labels=["a", "c", "d"])
    with pytest.raises(InputError, match="labels must be 3 names, not 2"):
        Tree.from_newick(text, labels=["a", "b"])


@pytest.mark.parametrize(
    "text",
    [
        "(a:1,b:1);",
        "(a:1,b:1)",
        "  [&R] ( a : 1 ,\n\tb:1.0e0 ) ;\r\n",
        "\ufeff[&U](a:1,b:1);",
        "[a comment here](a[x]:[y]1[&rate=2],b[']:+1.)root[z]:0.5;[end]",
        "('a':1,'b':.1E1)0.95;",
        "(a:1,b:0.9999995);",
    ],
)
def test_newick_in_many_spellings(text):
    assert Tree.from_newick(text) == Tree([[0, 1]], [1.0], ["a", "b"])


def test_newick_underscores():
    text = "(Homo_sapiens:1,'Pan_t':1);"
    assert Tree.from_newick(text).labels == ("Homo_sapiens", "Pan_t")
    assert Tree.from_newick(text, keep_underscores=False).labels == ("Homo sapiens", "Pan_t")
    assert Tree.from_newick(text).to_newick() == "(Homo_sapiens:1.0,Pan_t:1.0);"


def test_newick_times_never_decrease_where_lengths_were_rounded():
    tree = random_tree(300, np.random.default_rng(8))
    text = re.sub(r":([0-9.e-]+)", lambda m: f":{float(m[1]):.7f}", tree.to_newick())
    read = Tree.from_newick(text, labels=tree.labels, tolerance=1e-4)
    Tree(read.children, read.times)
    np.testing.assert_allclose(read.cophenetic(), tree.cophenetic(), atol=1e-5)


def test_newick_of_a_deep_chain():
    tree = chain(8000, times=np.cumsum(np.random.default_rng(0).exponential(size=7999)))
    assert_same_but_for_rounding(Tree.from_newick(tree.to_newick()), tree)
    turned = Tree(tree.children[:, ::-1], tree.times)
    assert_same_but_for_rounding(Tree.from_newick(turned.to_newick(), labels=turned.labels), turned)


# DendroPy


def to_dendropy(text, **options):
    alike = {"case_sensitive_taxon_labels": True, "preserve_underscores": True}
    return dendropy.Tree.get(data=text, schema="newick", **alike, **options)


def assert_same_as_dendropy(tree, other):
    """Same names, same splits, same ages."""
    other.calc_node_ages(ultrametricity_precision=1e-6 * max(tree.times[-1], 1e-300))
    theirs = {
        frozenset(leaf.taxon.label for leaf in node.leaf_iter()): node.age
        for node in other.preorder_internal_node_iter()
    }
    ours = dict(zip(tree.clades(), tree.times, strict=True))
    assert theirs.keys() == ours.keys()
    for clade, age in theirs.items():
        assert age == pytest.approx(ours[clade], rel=1e-6, abs=1e-9 * tree.times[-1])


@given(trees(times=st.floats(1e-3, 10), labels=shared_labels))
def test_newick_is_read_by_dendropy(tree):
    assert_same_as_dendropy(tree, to_dendropy(tree.to_newick()))


@given(trees(times=st.floats(1e-3, 10), labels=shared_labels), st.booleans(), st.booleans())
def test_newick_of_dendropy_is_read(tree, rooted, preserve_spaces):
    other = to_dendropy(tree.to_newick())
    other.is_rooted = rooted
    text = other.as_string("newick", preserve_spaces=preserve_spaces)
    assert text.startswith("[&R]" if rooted else "[&U]")
    read = Tree.from_newick(text, labels=tree.labels, keep_underscores=False)
    np.testing.assert_allclose(read.times, tree.times, rtol=1e-9)
    assert set(read.clades()) == set(tree.clades())


def test_newick_keeps_awkward_names_through_dendropy():
    tree = random_tree(len(AWKWARD), np.random.default_rng(1)).relabel(AWKWARD)
    other = to_dendropy(tree.to_newick(node_labels=["0.5"] * (tree.n - 1)))
    assert {taxon.label for taxon in other.taxon_namespace} == set(AWKWARD)
    assert_same_as_dendropy(tree, other)
    text = other.as_string("newick")
    assert_same_as_dendropy(Tree.from_newick(text, labels=AWKWARD, keep_underscores=False), other)


# What is refused


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["", " [only a comment] "], "holds no tree"),
        (["a:1;", "tree.nwk"], "has only one leaf, '.*'; a tree needs at least two"),
        (["(a:1,b:1,c:1);"], r"character 13 \('\);'\): a node has more than two children; only binary"),
        (["((a:1):1,b:2);"], r"character 6 .*: a node has only one child"),
        (["(a:1,b:2);"], r"not ultrametric: its leaves are from 1 to 2 below the root.* within 1e-06 of the root's"),
        (["(a:1,b:1.00001);"], "not ultrametric"),
        (["(a,b);", "((a:1,b:1),c:2);"], "a branch has no length"),
        (["-1", "nan", "inf", "1e999", "1_0", "one"], "branch length '.*'; it must be a finite number that is not neg"),
        (["(a:1,b:);"], r"character 8 .*: expected a branch length"),
        (["(a:1,b:1:2);", "(a:1(b:1,c:1));"], r"expected a ',' or a '\)'"),
        ([";", "(a:1,:1);", "(a:1,);"], r"expected the name of a leaf or a '\('"),
        (["(a:1,'':1);"], "labels must not be empty, but that of leaf 1 is"),
        (["(a:1,a:1);"], "leaves 0 and 1 are both 'a'"),
        (["(a b:1,c:1);", "(O'Brien':1,c:1);"], "names with blanks or punctuation need single quotes"),
        (["((a:1,b:1):1,c:2", "((a:1,b:1):1,c:2;", "(a:1,b:"], "the text ends early, with 1 '\\(' not closed"),
        (["(a:1,b:1));", "a,b;"], r"a '.' outside all parentheses"),
        (["('a:1,b:1);"], "a quote that is never closed"),
        (["(a:1,b[:1);", "(a:1,[[x]b:1);"], "a comment that is never closed"),
        (["(a]:1,b:1);"], "a ']' that closes no comment"),
        (["(a:1,b:1);(c:1,d:1);"], "expected nothing after the semicolon; one tree is read at a time"),
        (["#NEXUS\nbegin trees;\ntree a = (a:1,b:1);"], "is a NEXUS file"),
        (["(a:1e308,(b:1e308,c:1e308):1e308);"], "add up to more than a float can hold"),
    ],
)
def test_newick_refuses_what_is_no_tree(texts, sentence):
    for text in texts:
        with pytest.raises(InputError, match=sentence) as error:
            Tree.from_newick(f"(a:1,b:{text});" if sentence.startswith("branch length '") else text)
        assert "\n" not in str(error.value)


PIECES = ["(", ")", ",", ":", ";", "a", "b", "1", "0.5", "1e3", "'", "''", "[", "]", "_", "-", "&R", "é", " ", "\n"]
pieces = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(st.one_of(pieces, st.text(max_size=60), st.tuples(pieces, st.just("(a:1,b:1)"), pieces).map("".join)))
@example("(" * 50)
def test_newick_garbage_is_refused_or_read(text):
    try:
        tree = Tree.from_newick(text)
    except InputError:
        return
    assert Tree(tree.children, tree.times, tree.labels) == tree


@pytest.mark.parametrize("unit", ["(", "[", "'", ")", "(a:1,"])
def test_newick_garbage_takes_linear_time_and_no_stack(unit):
    limit = sys.getrecursionlimit()
    with pytest.raises(InputError):
        Tree.from_newick(unit * 25_000)
    with pytest.raises(InputError):
        Tree.from_newick("(a:1,b:1);" + unit * 25_000 + "x")
    assert sys.getrecursionlimit() == limit
