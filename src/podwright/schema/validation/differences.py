"""Differences between specs, for the messages of fields that an update may not change.

Upstream: apimachinery pkg/util/diff/diff.go
"""

from __future__ import annotations

import difflib
import json
from typing import Any, Final

_CONTEXT_LINES: Final = 3


def difference(old: Any, new: Any) -> str:
    """Return a unified diff of two values as indented JSON, without the names of files."""
    before, after = _lines(old), _lines(new)
    found = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    return "\n".join([*list(found)[2:], ""])


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str).splitlines()
