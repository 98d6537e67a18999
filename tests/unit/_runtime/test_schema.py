"""Fields of a file: what each entry of a table accepts, and how a refusal names the field."""

import numpy as np
import pytest

from coaltree._runtime.schema import Array, Value, are_names, check_fields, is_finite


@pytest.mark.parametrize(
    ("entry", "right", "wrong"),
    [
        (Array("f", (2, None)), [np.zeros((2, 5))], [np.zeros(2), np.zeros((3, 5)), np.zeros((2, 5), int), None, 1.0]),
        (Array("f", (2, ...)), [np.zeros(2), np.zeros((2, 3, 4))], [np.zeros((3, 2)), np.zeros(())]),
        (Array("i", (2,)), [np.zeros(2, np.int32), np.zeros(2, np.int64)], [np.zeros(2), np.zeros(2, np.uint8)]),
        (Array("f", (1,), is_finite, optional=True), [None, np.ones(1)], [np.array([np.nan])]),
        (Value(int, lambda value: value > 0), [3], [0, True, 3.0, "3", None]),
        (Value(bool), [True], [1]),
        (Value(list, are_names, optional=True), [None, [], ["a"]], [["a", 3], ("a",)]),
    ],
)
def test_entries_accept_what_they_describe(entry, right, wrong):
    assert all(entry.accepts(value) for value in right)
    assert not any(entry.accepts(value) for value in wrong)


def test_check_fields_names_the_first_field_that_is_wrong():
    table = {"n": Value(int), "inner": {"x": Array("f", (2,))}}
    right = {"n": 1, "inner": {"x": np.zeros(2)}}
    check_fields(right, table)
    for content, sentence in [
        (right | {"n": "1"}, "n has wrong type, shape or values"),
        (right | {"inner": {"x": np.zeros(3)}}, "inner.x has wrong type, shape or values"),
        (right | {"inner": 3}, "inner is not a table of fields"),
        (right | {"more": 3}, "more is not known"),
        ({"n": 1}, "inner is missing"),
        ([], "the content is not a table of fields"),
    ]:
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            check_fields(content, table)
