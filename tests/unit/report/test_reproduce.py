"""Settings, versions, the call and the command that repeat the run."""

import html
import re

import numpy as np
import pytest

import coaltree as ct
from coaltree.cli import main
from coaltree.report import report_html, reproduce
from tests.pages import words_of
from tests.posteriors import grouped_posterior


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
@pytest.mark.parametrize(
    "length", [{"n_samples": 5, "n_warmup": 2}, {"max_iterations": 12}, {"n_warmup": 3, "max_iterations": 9}]
)
def test_python_call_repeats_the_run(length):
    X, _ = ct.simulate(n=10, d=3, random_state=0)
    post = ct.fit(X, "scaled", **length, random_state=3, progress=False)
    names = {"X": X}
    exec(reproduce.python_call(post), names)
    np.testing.assert_array_equal(names["posterior"].times, post.times)
    np.testing.assert_array_equal(names["posterior"].theta["amplitude"], post.theta["amplitude"])
    assert reproduce.python_call(post) in html.unescape(report_html(post))


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [{}, {"noise": 0.1}, {"noise": "learn", "sampler": ct.Regraft()}, {"resample": "columns", "n_resamples": 3}],
)
def test_command_line_repeats_the_run(tmp_path, monkeypatch, settings):
    X, _ = ct.simulate(n=10, d=3, random_state=0)
    post = ct.fit(X, "scaled", n_samples=5, n_warmup=2, random_state=3, progress=False, **settings)
    command = reproduce.command_line(post)
    assert command in words_of(report_html(post))
    monkeypatch.chdir(tmp_path)
    np.save("DATA.npy", X)
    monkeypatch.setattr("coaltree.cli.outputs.write_result", lambda folder, post, *_, **__: post.save("again.npz"))
    main([*command.replace("DATA", "DATA.npy").split()[1:], "--clusters", "2"])
    np.testing.assert_array_equal(ct.load("again.npz").times, post.times)


def test_command_line_has_no_option_for_settings_of_objects():
    info = {"seed": 7, "sampler": "Regraft(n_neighbors=3)", "n_warmup": 10, "covariance_given": "spherical"}
    post = grouped_posterior(info=info)
    assert "sampler=ct.Regraft(n_neighbors=3)," in reproduce.python_call(post)
    assert reproduce.command_line(post) is None


@pytest.mark.parametrize(
    "hostile",
    [
        {"sampler": "__import__('os').system('x')"},
        {"sampler": "Regraft(x=open('a'))"},
        {"seed": "1; rm"},
        {"n_warmup": "1)"},
        {"stopping": {"reason": "converged", "max_iterations": "9; rm"}},
    ],
)
def test_python_call_and_command_line_leave_out_code_of_strangers(hostile):
    info = {"seed": 7, "sampler": "Regraft()", "n_warmup": 10, "covariance_given": "spherical"} | hostile
    post = grouped_posterior(info=info)
    assert reproduce.python_call(post) is None
    assert reproduce.command_line(post) is None


def test_python_call_names_errors_and_groups():
    info = {"seed": 7, "sampler": "Regraft()", "n_warmup": 10}
    call = reproduce.python_call(grouped_posterior(info=info, errors=np.ones(13)))
    assert "    errors=errors,\n    groups=groups,\n)" in call


def test_settings_and_versions_are_listed(posterior, page):
    text = words_of(page)
    for part in ("seed 7", "sampler Regraft()", f"coaltree {ct.__version__}", f"numpy {np.__version__}", "SHA-256"):
        assert part in text
    changed = report_html(posterior, X=posterior.X + 1e-9, n_clusters=4)
    assert "SHA-256" in changed
    assert re.search(r"(\w{16}) \(SHA", text)[1] != re.search(r"(\w{16}) \(SHA", words_of(changed))[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (3, "3"),
        (0.25, "0.25"),
        (np.float64(0.5), "0.5"),
        (np.array(2.0), "2"),
        (np.zeros((3, 3)), "array of shape (3, 3)"),
        ({"a": [1, 2]}, "{a: (1, 2)}"),
        (ct.Spherical(amplitude=2.0), "Spherical(amplitude=2, learn=True, priors={})"),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_describe_writes_values_as_people_do(value, text):
    assert reproduce.describe(value) == text
