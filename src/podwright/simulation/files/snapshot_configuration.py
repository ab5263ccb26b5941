"""The scheduler configuration of a snapshot, which any version of the simulator may have written.

kube-scheduler-simulator exports the configuration of the version of Kubernetes that it was built
for, and older versions export it without `apiVersion` and `kind`. It is read as version v1:
fields and plugins that v1 does not have are removed and reported.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from podwright.apimachinery.objects import Document, FieldError, InputError
from podwright.scheduler.config import (
    API_VERSION,
    KIND,
    POINT_TYPES,
    REMOVED_PLUGINS,
    read_configuration,
)

_REMOVED = REMOVED_PLUGINS | {
    "NodeLabel",
    "NodePreferAvoidPods",
    "NodeResourcesLeastAllocated",
    "NodeResourcesMostAllocated",
    "RequestedToCapacityRatio",
    "SelectorSpread",
    "ServiceAffinity",
}
"""Also the plugins that only versions before v1 had."""

_UNKNOWN = "unknown field"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def readable_configuration(exported: Document) -> tuple[Document, tuple[str, ...]]:
    """Return a configuration of version v1, and the differences from the exported one.

    Parameters
    ----------
    exported : dict
        The `schedulerConfig` of a snapshot, which is not modified. Errors other than unknown
        fields and removed plugins stay in the result.
    """
    document = copy.deepcopy(exported)
    notes: list[str] = []
    # Documents without a version are marked with the group only.
    written = document.get("apiVersion") if "kind" in document else None
    if written != API_VERSION or document.get("kind") != KIND:
        what = f"its version is {written}" if written else "it has no apiVersion and kind"
        notes.append(f"{what}; it is read as {API_VERSION}")
    document |= {"apiVersion": API_VERSION, "kind": KIND}
    notes += _without_removed_plugins(document)
    unknown = [error.path for error in _errors(document) if error.message.startswith(_UNKNOWN)]
    for path in unknown:
        _remove(document, path)
    if unknown:
        notes.append(f"fields that {API_VERSION} does not have are ignored: {', '.join(unknown)}")
    return document, tuple(notes)


def _errors(document: Document) -> tuple[FieldError, ...]:
    try:
        read_configuration(document, source="")
    except InputError as error:
        return tuple(error.errors)
    return ()


def _without_removed_plugins(document: Document) -> list[str]:
    removed: dict[str, None] = {}
    for profile in _dicts(document.get("profiles")):
        sets = profile.get("plugins") or {}
        for point in POINT_TYPES:
            plugin_set = sets.get(point) if isinstance(sets, dict) else None
            if not isinstance(plugin_set, dict) or not plugin_set.get("enabled"):
                continue
            gone = [e for e in _dicts(plugin_set["enabled"]) if e.get("name") in _REMOVED]
            removed |= dict.fromkeys(entry["name"] for entry in gone)
            if gone:
                plugin_set["enabled"] = [e for e in plugin_set["enabled"] if e not in gone]
    if not removed:
        return []
    return [f"plugins that Kubernetes has removed are ignored: {', '.join(removed)}"]


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if type(values) is list else []


def _remove(document: Document, path: str) -> None:
    """Remove the field at a path such as `profiles[0].weight`."""
    steps = [int(index) if index else name for name, index in _STEP.findall(path)]
    container: Any = document
    for step in steps[:-1]:
        container = container[step]
    del container[steps[-1]]
