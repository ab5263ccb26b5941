"""Warnings about amounts of bytes that are not whole, by Go's arithmetic."""

from __future__ import annotations

import pytest

from podwright.apimachinery.schema.warnings.pods import fraction_warnings


@pytest.mark.parametrize(
    ("amount", "is_warned"),
    [
        ("1Gi", False),
        ("1.5Gi", False),
        ("500m", True),
        # The thousandths do not fit into 64 bits.
        ("10Pi", True),
        ("10Ei", False),
        ("999999999999999999999", True),
        ("9223372036854775807", False),
    ],
)
def test_an_amount_is_warned_about_as_upstream_does(amount: str, *, is_warned: bool) -> None:
    assert bool(fraction_warnings("r", {"memory": amount})) is is_warned
