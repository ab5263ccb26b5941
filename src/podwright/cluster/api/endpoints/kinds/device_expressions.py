"""What is wrong with the expressions that select devices, in classes and claims.

Upstream: pkg/apis/resource/validation/validation.go, validateCELSelector
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podwright.apimachinery.cel import SelectorError, compile_new_selector
from podwright.apimachinery.objects import Document, go_quoted
from podwright.apimachinery.schema import Problem

GROUP = "resource.k8s.io"


def device_expression_problems(kind: str, document: Document) -> list[Problem]:
    """Return the errors of the expressions of a device class, a claim or a claim template."""
    spec: Document = document.get("spec") or {}
    match kind:
        case "DeviceClass":
            return list(_of_selectors("spec.selectors", spec.get("selectors")))
        case "ResourceClaim":
            return list(_of_claim("spec", spec))
        case "ResourceClaimTemplate":
            return list(_of_claim("spec.spec", spec.get("spec") or {}))
        case _:
            return []


def _of_claim(path: str, spec: Document) -> Iterator[Problem]:
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        at = f"{path}.devices.requests[{index}]"
        exactly = request.get("exactly") or {}
        yield from _of_selectors(f"{at}.exactly.selectors", exactly.get("selectors"))
        for place, choice in enumerate(request.get("firstAvailable") or ()):
            here = f"{at}.firstAvailable[{place}].selectors"
            yield from _of_selectors(here, choice.get("selectors"))


def _of_selectors(path: str, selectors: list[Any] | None) -> Iterator[Problem]:
    for index, selector in enumerate(selectors or ()):
        if selector.get("cel") is None:
            continue
        expression = selector["cel"].get("expression") or ""
        at = f"{path}[{index}].cel.expression"
        try:
            compiled = compile_new_selector(expression)
        except SelectorError as error:
            yield at, f"Invalid value: {go_quoted(expression)}: {error}", expression
            continue
        if compiled.is_too_expensive():
            yield at, "Forbidden: too complex, exceeds cost limit", None
