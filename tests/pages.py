"""Report pages taken apart: what the page's script is given, the words a reader sees, sections by themselves."""

import html
import json
import re

import numpy as np

from coaltree.report import pixels
from coaltree.report.page import environment


def content_of(text):
    """What the page's script is given."""
    return json.loads(re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)[1])


def words_of(text):
    """The page's text without markup, white space made single."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def rendered(template, **values):
    """One section of the page."""
    return environment().get_template(template).render(**values)


def decoded(codes):
    """The numbers of characters."""
    return np.array([pixels.ALPHABET.index(c) for c in codes])


def decoded_values(codes, low, high):
    """The numbers of pairs of characters that run from low to high; NaN where they are missing."""
    pairs = decoded(codes).reshape(-1, 2)
    levels = pairs[:, 0] * 64 + pairs[:, 1]
    return np.where(levels == 0, np.nan, low + (levels - 1) / 4094 * (high - low))
