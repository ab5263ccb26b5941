"""Differences between specs, for the messages of fields that an update may not change.

Upstream: apimachinery pkg/util/diff/diff.go
"""

from __future__ import annotations

import difflib
import json
from typing import Any, Final

from podwright.apimachinery.schema.validation.internal_structs import internal_form

_CONTEXT_LINES: Final = 3
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def difference(old: Any, new: Any, go_type: str) -> str:
    """Return a unified diff of two values as indented JSON, without the names of files.

    Parameters
    ----------
    old, new : Any
        Values of documents.
    go_type : str
        Their internal type: `PodSpec`, or `[NAME]` for a list.
    """
    before, after = (_lines(internal_form(value, go_type)) for value in (old, new))
    found = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    return "\n".join([*list(found)[2:], ""])


def _lines(value: Any) -> list[str]:
    # Go escapes these characters for HTML.
    return json.dumps(value, indent=1, ensure_ascii=False).translate(_ESCAPED).splitlines()
