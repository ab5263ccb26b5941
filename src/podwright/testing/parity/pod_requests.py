"""Pod requests, for filters and for scores."""

from __future__ import annotations

from podwright.apimachinery.objects import (
    QuantityError,
    assigned_requests,
    decode_pod,
    is_scalar_resource,
    non_zero_requests,
    parse_quantity_text,
    pending_requests,
    score_requests_balanced,
    score_requests_fit,
)
from podwright.testing.parity.comparison import Case, Check, equal

_FIXED = ("cpu", "memory", "ephemeral-storage")


def check_pod_requests(case: Case) -> Check:
    """Compare the requests of one pod in all their forms."""
    pod = decode_pod(case["pod"])
    expect = case["expect"]
    actual = {
        "assigned": _present(assigned_requests(pod)),
        "filter": _present(pending_requests(pod)),
        "non_zero": non_zero_requests(pod),
        "score_fit": _cpu_and_memory(score_requests_fit(pod)),
        "score_balanced": _cpu_and_memory(score_requests_balanced(pod)),
    }
    for field in sorted(expect.keys() | actual.keys()):
        yield equal(field, expect.get(field), actual.get(field))


def _present(amounts: dict[str, int]) -> dict[str, int]:
    """Return the amounts of the resources that the scheduler counts."""
    return {
        name: amount
        for name, amount in amounts.items()
        if amount and (name in _FIXED or is_scalar_resource(name))
    }


def _cpu_and_memory(amounts: dict[str, int]) -> dict[str, int]:
    """Return the requests for scoring in the form of the vectors."""
    return {name: amounts.get(name, 0) for name in ("cpu", "memory")}


# Parsing of quantities.


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
