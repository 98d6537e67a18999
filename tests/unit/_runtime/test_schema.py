"""Fields of a file: what each entry of a table accepts, and how a refusal names the field."""

import numpy as np
import pytest

from coaltree._runtime.schema import check_fields, is_array, is_text


def test_check_fields_names_the_first_field_that_is_wrong():
    table = {"n": is_text, "inner": {"x": is_array("f", (2,))}}
    right = {"n": "1", "inner": {"x": np.zeros(2)}}
    check_fields(right, table)
    for content, sentence in [
        (right | {"n": 1}, "n has wrong type, shape or values"),
        (right | {"inner": {"x": np.zeros(3)}}, "inner.x has wrong type, shape or values"),
        (right | {"inner": 3}, "inner is not a table of fields"),
        (right | {"more": 3}, "more is not known"),
        ({"n": "1"}, "inner is missing"),
        ([], "the content is not a table of fields"),
    ]:
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            check_fields(content, table)
