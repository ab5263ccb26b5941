"""What two control planes answer differently about the same load, in one table.

Whole objects are compared as texts; `differences` counts how often each normalization mattered.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

_DRAWN: Final = "[bcdfghjklmnpqrstvwxz2456789]"
KUBELET: Final = "kubelet"
"""The normalization of pods where kwok is on one side only."""
_RACING_KINDS: Final = frozenset({"EndpointSlice", "Endpoints", "ResourceQuota"})


class Normalization(NamedTuple):
    """What is not compared.

    Attributes
    ----------
    reason : str
    of_object : callable, optional
        Changes a copy of an object.
    form : str
        What is replaced in the text of an object, as a regular expression; "" for nothing.
    mark : str
        What stands in its place.
    always_matters : bool
        Whether every run has such a difference; the others depend on the order of events.
    """

    reason: str
    of_object: Callable[[dict[str, Any]], object] | None = None
    form: str = ""
    mark: str = ""
    always_matters: bool = True


def _sort_managers(document: dict[str, Any]) -> None:
    entries = document["metadata"].get("managedFields", [])
    entries.sort(key=lambda each: [each["manager"], each["operation"], each.get("subresource", "")])


def _sort_endpoints(document: dict[str, Any]) -> None:
    for part in (document, *document.get("subsets", ())):
        for name in ("endpoints", "addresses", "notReadyAddresses"):
            if isinstance(part.get(name), list):
                part[name].sort(key=lambda each: json.dumps([each.get("targetRef"), each]))


def _leave_out_node(document: dict[str, Any]) -> None:
    """Remove which node a pod has, and the zone of the node."""
    parts = [document["metadata"].get("labels") or {}, document.get("spec") or {}]
    parts += document.get("endpoints") or ()
    for subset in document.get("subsets") or ():
        parts += [*subset.get("addresses", ()), *subset.get("notReadyAddresses", ())]
    for part in parts:
        for name in ("nodeName", "zone", "hints", "topology.kubernetes.io/zone"):
            part.pop(name, None)


def _leave_out_racing_writes(document: dict[str, Any]) -> None:
    if document["kind"] in _RACING_KINDS:
        document["metadata"].pop("generation", None)
        for each in document["metadata"].get("managedFields", ()):
            each.pop("fieldsV1", None)


def _as_kwok(document: dict[str, Any]) -> None:
    """Leave of the status of a pod what kwok writes, too."""
    if document["kind"] != "Pod":
        return
    metadata, status = document["metadata"], document["status"]
    metadata["managedFields"] = [
        each for each in metadata["managedFields"] if each["manager"] not in ("kubelet", "kwok")
    ]
    is_over = status["phase"] not in ("Pending", "Running")
    conditions = [] if is_over else status.get("conditions", ())
    document["status"] = {
        "phase": status["phase"],
        "qosClass": status.get("qosClass"),
        "conditions": sorted(
            f"{each['type']}={each['status']} {each.get('reason')} {each.get('message')}"
            for each in conditions
            if each["type"] != "PodReadyToStartContainers"
        ),
        "containers": sorted(
            f"{'/'.join(each['state'])} ready={each['ready']} restarts={each['restartCount']}"
            for each in status.get("containerStatuses", ())
        ),
    }


NORMALIZATIONS: Final[dict[str, Normalization]] = {
    "order of managers": Normalization(
        "entries are ordered by time, to the second", _sort_managers, always_matters=False
    ),
    "order of endpoints": Normalization(
        "upstream's is that of a Go map", _sort_endpoints, always_matters=False
    ),
    "node": Normalization("the scheduler draws among nodes of the same score", _leave_out_node),
    "racing writes": Normalization(
        "how many pods a controller sees at once decides how often it writes, and which fields",
        _leave_out_racing_writes,
        always_matters=False,
    ),
    KUBELET: Normalization(
        "kwok writes no condition PodReadyToStartContainers, none of pods that ended, and no"
        " details of containers",
        _as_kwok,
    ),
    "uid": Normalization(
        "each server draws its own",
        form=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        mark="<uid>",
    ),
    "time": Normalization(
        "the clusters start one after the other",
        form=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
        mark="<time>",
    ),
    "version": Normalization(
        "other components write too", form=r'"resourceVersion": "\d+"', mark='"resourceVersion"'
    ),
    "address": Normalization(
        "each server draws its own", form=r"\b10(\.\d+){3}\b", mark="<address>"
    ),
    "container": Normalization(
        "each kubelet draws its own", form=r"containerd://[0-9a-f]{64}", mark="<container>"
    ),
    "port of the server": Normalization(
        "both servers listen on a free port",
        form=r'("name": "https", (?:[^}]*"targetPort": |"port": ))\d+',
        mark=r"\1<port>",
    ),
    "certificate": Normalization(
        "kube-controller-manager writes the one that it is started with, here none",
        form=r'"ca.crt": "[^"]*"',
        mark='"ca.crt"',
    ),
    "hash": Normalization(
        "upstream's is of the form of its structs in memory",
        form=rf"\b{_DRAWN}{{8,10}}\b",
        mark="<hash>",
    ),
    "drawn name": Normalization("drawn", form=rf"-{_DRAWN}{{5}}\b", mark="-<name>"),
}
"""What is not compared, and why."""


def pointless(counts: Counter[str], *, without: Collection[str] = ()) -> list[str]:
    """Return the normalizations that every run needs, and that this one did not."""
    return [
        name
        for name, each in NORMALIZATIONS.items()
        if each.always_matters and not counts[name] and name not in without
    ]


def differences(
    own: Iterable[dict[str, Any]],
    upstream: Iterable[dict[str, Any]],
    counts: Counter[str] | None = None,
    *,
    without: Collection[str] = (),
) -> list[str]:
    """Return the objects that only one side has, as texts.

    Parameters
    ----------
    own, upstream : iterable of dict
    counts : Counter, optional
        Receives by normalization how many objects would differ without it.
    without : collection of str
        The names of normalizations that are not applied.
    """
    mine, theirs = list(own), list(upstream)
    found = _differing(mine, theirs, without)
    if counts is not None:
        for name in NORMALIZATIONS.keys() - set(without):
            counts[name] += len(_differing(mine, theirs, {*without, name})) - len(found)
    return found


def _differing(
    own: list[dict[str, Any]], upstream: list[dict[str, Any]], without: Collection[str]
) -> list[str]:
    mine, theirs = (
        Counter(plain(each, without) for each in objects) for objects in (own, upstream)
    )
    return [
        *(f"here: {text}" for text in sorted((mine - theirs).elements())),
        *(f"upstream: {text}" for text in sorted((theirs - mine).elements())),
    ]


def plain(document: dict[str, Any], without: Collection[str] = ()) -> str:
    """Return the text of an object without what varies.

    Parameters
    ----------
    document : dict
    without : collection of str
        The names of normalizations that are not applied.
    """
    copy = json.loads(json.dumps(document))
    applied = [each for name, each in NORMALIZATIONS.items() if name not in without]
    for each in applied:
        if each.of_object is not None:
            each.of_object(copy)
    text = json.dumps(copy, sort_keys=True)
    for each in applied:
        if each.form:
            text = re.sub(each.form, each.mark, text)
    return text
