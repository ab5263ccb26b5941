"""Values in messages, as Go prints them.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go, aggregate.Error
"""

from __future__ import annotations

import json
from collections.abc import Iterable


def quoted(text: str) -> str:
    """Return a string in quotes."""
    return json.dumps(text, ensure_ascii=False)


def quoted_list(values: Iterable[str]) -> str:
    """Return a list of strings in quotes, without commas."""
    return f"[{' '.join(map(quoted, values))}]"
