"""Run state: what is saved is read back, and nothing else is."""

import contextlib
import warnings

import numpy as np
import pytest

from coaltree._runtime import archive
from coaltree.errors import InputError, InterruptedWarning
from coaltree.inference.control import checkpoint as checkpoint_file
from coaltree.inference.control import run
from coaltree.inference.control.run_state import FIELDS, RunState
from tests import hostile
from tests.fits import data
from tests.unit.inference.control.test_auto_stop import auto_fit, interrupts_after, shorten


@pytest.mark.parametrize("noisy", [False, True])
def test_state_is_read_back(noisy, tmp_path):
    small, saved = hostile.small_run(noisy), hostile.small_checkpoint(tmp_path / "run", noisy)
    state = saved.restore(small.model, small.settings, small.state)
    content = state.to_dict()
    assert set(content) == set(FIELDS)
    again = RunState.from_dict(content, small.model, small.settings, small.state)
    assert (again.iteration, again.n_draws, again.n_warmup, again.is_warmup) == (3, 2, 1, False)
    for chain, same in zip(state.chains, again.chains, strict=True):
        np.testing.assert_array_equal(chain.state.tree[1], same.state.tree[1])
        assert chain.rng.bit_generator.state == same.rng.bit_generator.state
    for name, value in {"n_warmup": 2, "thin": 2, "next_look": 4, "reason": "converged"}.items():
        with pytest.raises(ValueError, match=f"{name} "):  # a fixed length has none of these
            RunState.from_dict(content | {name: value}, small.model, small.settings, small.state)


@pytest.mark.parametrize("n_before", [3, 33])
def test_state_that_is_crafted_is_refused(n_before, tmp_path, monkeypatch):
    shorten(monkeypatch)
    path = tmp_path / "run.checkpoint"
    monkeypatch.setattr(run, "SECONDS_PER_BLOCK", 0.0)
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)
        patch.setattr(run, "require_sane", interrupts_after(n_before))
        with contextlib.suppress(KeyboardInterrupt):
            auto_fit(data(), max_iterations=40, checkpoint=path)
    kind = ("coaltree checkpoint", checkpoint_file._VERSION)
    content = archive.read(path, *kind)
    assert (content["n_warmup"] is None) == (n_before == 3)
    odd = [3, "max_seconds", 41, [np.zeros(3)], [np.zeros(2)] * 2, *hostile.ODD_VALUES[::3]]
    for name in ("n_warmup", "thin", "next_look", "reason", "log_joints"):
        for value in odd:
            if repr(value) not in (repr(content[name]), "3" if name == "next_look" else ""):  # where 3 may be right
                hostile.write(path, *kind, content | {name: value})
                with pytest.raises(InputError, match="is damaged"):
                    auto_fit(data(), max_iterations=40, checkpoint=path)
