"""``info["choice"]`` in words."""

from coaltree.posterior.diagnostics.covariance_selection import in_a_line, is_choice

TABLE = {
    "covariance": "full",
    "names": ["full", "scaled"],
    "elpd": [-10.0, -22.3],
    "difference": [0.0, -12.3],
    "standard_error": [0.0, 4.5],
    "weight": [0.9, 0.1],
    "n_rows": 150,
    "n_draws": 40,
}


def test_line_names_the_best_and_how_far_the_others_are():
    assert in_a_line(TABLE) == "full, best of 2 by leave-one-out of 150 rows: scaled -12.3 ± 4.5 nats"
    failed = TABLE | {"failed": {"diagonal": "no density"}}
    assert in_a_line(failed).endswith("nats; diagonal could not be fitted")


def test_line_says_where_leave_one_out_is_unreliable():
    few, many = TABLE | {"n_unreliable": [0, 15]}, TABLE | {"n_unreliable": [3, 16]}
    assert in_a_line(few) == in_a_line(TABLE)
    assert in_a_line(many).endswith("nats; unreliable: Pareto k > 0.7 for up to 16 of 150 rows")


def test_table_of_anything_else_is_no_choice():
    assert in_a_line(None) is None and not is_choice({"covariance": "full", "names": []})
    assert is_choice(TABLE)
    for change in ({"elpd": ["x"] * 2}, {"weight": [1.0]}, {"n_rows": None}, {"failed": []}, {"covariance": 3}):
        assert not is_choice(TABLE | change)
