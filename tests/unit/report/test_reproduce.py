"""Settings and versions."""

import hashlib
import re

import numpy as np

import coaltree as ct
from tests.pages import words_of


def test_settings_and_versions_are_listed(posterior, page):
    text = words_of(page)
    for part in ("seed 7", "sampler Regraft()", f"coaltree {ct.__version__}", f"numpy {np.__version__}", "SHA-256"):
        assert part in text
    data = np.ascontiguousarray(posterior.model.X, dtype="<f8")
    assert re.search(r"(\w{16}) \(SHA", text)[1] == hashlib.sha256(data.tobytes()).hexdigest()[:16]
