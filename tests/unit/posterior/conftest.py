"""Posteriors small enough to list."""

import pytest

from tests.posteriors import random_posterior

POSTERIORS = [(0, 7, True), (1, 7, False), (2, 5, True), (3, 9, True), (4, 2, True), (5, 3, False)]


@pytest.fixture(params=POSTERIORS, ids=lambda p: f"seed{p[0]}-n{p[1]}-{'weighted' if p[2] else 'equal'}")
def post(request):
    seed, n, weighted = request.param
    return random_posterior(seed, n=n, weighted=weighted)
