"""The part of an object whose values this version knows.

A server of a later version accepts values that are not known here, such as another effect of a
taint. kube-scheduler keeps each as a text that equals none that it knows: what has it has no
effect. A pod that has a node and would be left out as a whole would leave its room to others.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Final

from podwright.apimachinery.objects import Document, InvalidObject, KubernetesObject
from podwright.apimachinery.schema import decode

_ROUNDS_MAX: Final = 20
_STEPS: Final = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


def known_part(document: Document, error: InvalidObject) -> KubernetesObject:
    """Return an object without the values that are not known, and without what requires them.

    Parameters
    ----------
    document : dict
    error : InvalidObject
        That of the whole object.

    Raises
    ------
    InvalidObject
        The error, of a pod that waits for a node: its rules must all hold. Also that of an object
        without a known part.
    """
    identity = _identity(document)
    if document["kind"] == "Pod" and identity[-1] is None:
        raise error
    document, problem = deepcopy(document), error
    for _ in range(_ROUNDS_MAX):
        paths = [[one or other for one, other in _STEPS.findall(e.path)] for e in problem.errors]
        # Elements of a list from its end, so that the indexes of the others stay.
        for steps in sorted(paths, key=lambda path: [each.zfill(9) for each in path], reverse=True):
            _remove(document, steps)
        if _identity(document) != identity:
            break
        try:
            found: KubernetesObject = decode(document)
        except InvalidObject as another:
            problem = another
        else:
            return found
    raise error


def _identity(document: Document) -> tuple[Any, ...]:
    """Return what an object has to keep; of a pod also its node, None of one that waits."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    return (*map(metadata.get, ("name", "namespace", "uid")), spec.get("nodeName") or None)


def _remove(parent: Any, steps: list[str]) -> None:
    """Remove the value at a path; what is required there and absent, with what requires it."""
    place: tuple[Any, Any] | None = None
    for step in steps:
        key = int(step) if isinstance(parent, list) and step.isdigit() else step
        try:
            place, parent = (parent, key), parent[key]
        except (LookupError, TypeError):
            break
    if place is not None:
        del place[0][place[1]]
