"""Warnings about amounts of bytes that are fractions, and about claims of volumes.

Upstream: pkg/api/persistentvolumeclaim/util.go; pkg/api/pod/warnings.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import Document, QuantityText, quantity_milli_value
from podwright.apimachinery.schema.validation.field_errors import printed

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_BYTES: Final = ("memory", "ephemeral-storage")
_WHOLE: Final = re.compile(r"[0-9]+(?:[kMGTPE]i?|Ki)?")
"""Amounts without a fraction, as nearly all are written."""


def fraction_warnings(
    path: str, amounts: Document | None, resources: Iterable[str] = _BYTES
) -> list[str]:
    """Return the warnings about amounts of bytes that are not integers."""
    return [
        f"{path}[{name}]: fractional byte value {printed(amounts[name])} is invalid, must be an"
        " integer"
        for name in resources
        if amounts and name in amounts and _is_fraction(amounts[name])
    ]


def _is_fraction(amount: QuantityText) -> bool:
    if isinstance(amount, str) and _WHOLE.fullmatch(amount):
        return False
    return quantity_milli_value(amount) % 1000 != 0


def claim_warnings(claim: Document, old: Document | None) -> list[str]:
    """Return the warnings about a claim."""
    del old
    notes = (claim.get("metadata") or {}).get("annotations") or {}
    found = []
    if _BETA_CLASS in notes:
        text = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{_BETA_CLASS}]: {text}")
    return found + claim_spec_warnings("spec", claim.get("spec") or {})


def claim_spec_warnings(path: str, spec: Document) -> list[str]:
    """Return the warnings about the spec of a claim."""
    resources: Document = spec.get("resources") or {}
    return [
        text
        for field in ("requests", "limits")
        for text in fraction_warnings(
            f"{path}.resources.{field}", resources.get(field), ("storage",)
        )
    ]
