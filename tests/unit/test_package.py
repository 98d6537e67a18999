"""The package as an object: what a user's functions carry along."""

import joblib
import pytest

import coaltree as ct


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_functions_of_a_script_reach_workers(backend):
    # A function defined where it cannot be imported from, as in a notebook, is sent with all that it refers to.
    scope = {"ct": ct, "__name__": "__main__"}
    exec("def leaves(seed):\n    return ct.simulate(5, 2, random_state=seed)[1].n", scope)
    with joblib.Parallel(n_jobs=2, backend=backend) as parallel:
        assert parallel(joblib.delayed(scope["leaves"])(seed) for seed in range(2)) == [5, 5]
