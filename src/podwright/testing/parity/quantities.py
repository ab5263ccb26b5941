"""Parsing of quantities."""

from __future__ import annotations

from podwright.apimachinery.objects import QuantityError, parse_quantity_text
from podwright.testing.parity.comparison import Case, Check, equal


def check_quantities(case: Case) -> Check:
    """Compare value and milli-value of each text, or that it is refused."""
    for text, expected in zip(case["quantities"], case["expect"], strict=True):
        actual: dict[str, object]
        try:
            quantity = parse_quantity_text(text)
        except QuantityError:
            actual = {"error": True}
        else:
            actual = {"value": str(quantity.value()), "milli": str(quantity.milli_value())}
        yield equal("quantity", expected, actual)
