"""Selectors of devices: compilation, cost estimates, evaluations."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.cel import (
    MAX_SELECTOR_COST,
    UNBOUNDED,
    DeviceSelector,
    SelectorError,
    compile_new_selector,
    compile_selector,
    device_value,
)
from podwright.testing.parity.comparison import Case, Check, equal, only

_EXPECTED = (
    "compile_error", "output_type", "max_cost", "too_expensive", "compile_error_new", "results",
)  # fmt: skip
_EVALUATED = ("result", "error", "cost")


def check_cel(case: Case) -> Check:
    """Compare what the compilation of a selector says, and each evaluation with its cost."""
    expect = case["expect"]
    yield from only("", expect, _EXPECTED)
    try:
        selector = compile_selector(case["expression"])
    except SelectorError as error:
        yield equal("compile_error", expect.get("compile_error"), str(error))
        return
    yield equal("compile_error", expect.get("compile_error"), None)
    if "compile_error" in expect:
        return
    yield from _check_estimate(case["expression"], selector, expect)
    results = expect["results"]
    yield equal("results", len(results), len(case["devices"]))
    for device, result in zip(case["devices"], results, strict=False):
        yield from only("results", result, _EVALUATED)
        value = device_value(device["driver"], device["device"])
        found = selector.evaluate(value)
        actual: dict[str, object] = (
            {"error": found.error} if found.error else {"result": found.matches}
        )
        yield equal("result", {k: v for k, v in result.items() if k != "cost"}, actual)
        if "cost" in result:
            yield equal("cost", result["cost"], found.cost)


def _check_estimate(source: str, selector: DeviceSelector, expect: dict[str, Any]) -> Check:
    yield equal("output_type", expect["output_type"], str(selector.output_type))
    cost = selector.max_cost()
    yield equal("max_cost", expect["max_cost"], "max" if cost == UNBOUNDED else str(cost))
    yield equal("too_expensive", expect.get("too_expensive", False), cost > MAX_SELECTOR_COST)
    yield equal(
        "compile_error_new",
        expect.get("compile_error_new"),
        _error_of_new(source),
    )


def _error_of_new(source: str) -> str | None:
    try:
        compile_new_selector(source)
    except SelectorError as error:
        return str(error)
    return None
