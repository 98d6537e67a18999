"""Settings and versions."""

import hashlib
import re

import numpy as np
import pytest

import coaltree as ct
from coaltree.report import reproduce
from tests.pages import words_of


def test_settings_and_versions_are_listed(posterior, page):
    text = words_of(page)
    for part in ("seed 7", "sampler Regraft()", f"coaltree {ct.__version__}", f"numpy {np.__version__}", "SHA-256"):
        assert part in text
    data = np.ascontiguousarray(posterior.model.X, dtype="<f8")
    assert re.search(r"(\w{16}) \(SHA", text)[1] == hashlib.sha256(data.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (np.array(2.0), "2"),
        (np.zeros((3, 3)), "array of shape (3, 3)"),
        ({"a": [1, 2]}, "{a: (1, 2)}"),
        (ct.Spherical(amplitude=2.0), "Spherical(amplitude=2, learn=True, priors={})"),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_describe_writes_values_as_people_do(value, text):
    assert reproduce.describe(value) == text
