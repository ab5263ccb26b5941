"""Values as Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching.errors import printed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        (12, "12"),
        ("a b", "a b"),
        ({"b": [1, "x"], "a": {}}, "map[a:map[] b:[1 x]]"),
        (0.0, "0"),
        (-1.5, "-1.5"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (-0.00001, "-1e-05"),
    ],
)
def test_printed(value: Any, text: str) -> None:
    assert printed(value) == text
