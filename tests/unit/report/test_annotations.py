"""Leaf annotations beside the clusters."""

import numpy as np
import pytest

from coaltree.metrics import agreement
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.leaf_annotations import read_annotations
from coaltree.report import annotations
from tests.pages import decoded, decoded_values


@pytest.fixture(scope="module")
def answers(posterior):
    return [answer_for(posterior, k) for k in (1, 2, 4)]


def content(posterior, classes, answers):
    return annotations.content(read_annotations(classes, posterior.labels), answers)


def test_annotations_of_classes_have_codes_and_agreement(posterior, answers):
    values = [f"class {i}" for i in answers[-1].labels]
    values[3] = ""
    (column,) = content(posterior, {"<kind>": values}, answers)
    assert (column["name"], column["levels"]) == ("<kind>", [f"class {i}" for i in range(4)])
    expected = answers[-1].labels + 1
    expected[3] = 0
    np.testing.assert_array_equal(decoded(column["codes"]), expected)
    seen = expected > 0
    found = [agreement(answer.labels[seen], expected[seen]) for answer in answers]
    np.testing.assert_allclose(column["ari"], [one.ari for one in found], rtol=1e-3)
    values = np.where(np.arange(40) == 5, np.nan, np.linspace(-2, 3, 40))
    (column,) = content(posterior, {"size": values}, answers)
    assert (column["low"], column["high"]) == (-2, 3)
    np.testing.assert_allclose(decoded_values(column["values"], -2, 3), values, atol=5 / 4094)
