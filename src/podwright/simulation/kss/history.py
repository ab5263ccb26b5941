"""The annotation in which kube-scheduler-simulator keeps the results of all attempts.

A JSON array of objects, oldest first; each has the results of one attempt. The annotations of an
object are limited to 256 KiB in total, so the oldest results are dropped when the array exceeds
that size.

Upstream: simulator/scheduler/storereflector/storereflector.go, `updateResultHistory`
(kube-scheduler-simulator)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.objects import PodwrightError, write_go_json

LIMIT_BYTES: Final = 262_144
"""The API server's limit for the total size of an object's annotations."""


class UnusableHistory(PodwrightError):  # noqa: N818 - named for what it is
    """The history cannot be extended and stays as it is."""


def extend_history(history: str | None, results: Mapping[str, str]) -> str:
    """Append the results of an attempt.

    Parameters
    ----------
    history : str, optional
        The current annotation; None if there is none.
    results : mapping of str to str
        The annotations of the attempt.

    Raises
    ------
    UnusableHistory
        The history is not a list of objects of strings, or the results alone are too long.
    """
    elements = [write_go_json(element) for element in _elements(history)]
    elements.append(write_go_json(dict(results)))
    # The brackets, and a comma between two elements.
    sizes = [len(element.encode()) + 1 for element in elements]
    total = sum(sizes) + 1
    first = 0
    while total > LIMIT_BYTES:
        total -= sizes[first]
        first += 1
    if first == len(elements):
        raise UnusableHistory(
            f"the results of one attempt take {sizes[-1] - 1} bytes, and annotations may take "
            f"{LIMIT_BYTES}"
        )
    return f"[{','.join(elements[first:])}]"


def _elements(history: str | None) -> list[dict[str, str]]:
    if history is None:
        return []
    try:
        value = json.loads(history)
    except (ValueError, RecursionError) as error:
        raise UnusableHistory(f"the history is not JSON: {error}") from error
    # A null is the same as an empty list, and as an empty object or string inside.
    elements = [] if value is None else value
    if not isinstance(elements, list):
        raise UnusableHistory("the history is not a list")
    found: list[dict[str, str]] = []
    for element in elements:
        fields = {} if element is None else element
        if not isinstance(fields, dict) or any(
            not isinstance(text, str) and text is not None for text in fields.values()
        ):
            raise UnusableHistory("the history is not a list of objects of strings")
        found.append({key: text or "" for key, text in fields.items()})
    return found
