"""Sentences for the fields of named tuples."""

from typing import NamedTuple

import pytest

from coaltree._runtime.fielddocs import field_docs


def test_field_docs_are_what_help_says():
    @field_docs(x="The first.", y="The second.")
    class Pair(NamedTuple):
        x: int
        y: int

    assert Pair.x.__doc__ == "The first." and Pair(1, 2).y == 2


@pytest.mark.parametrize("docs", [{}, {"x": "One.", "z": "Another."}, {"x": "float: a number"}])
def test_field_docs_must_name_every_field_without_a_colon(docs):
    class One(NamedTuple):
        x: int

    with pytest.raises(TypeError, match="the fields of One need a sentence each, without a colon: x"):
        field_docs(**docs)(One)
