"""The lines of a record, written as `record.py` reads them.

Upstream: simulator/recorder/recorder.go (kube-scheduler-simulator)
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import KubernetesObject, encode, timestamp_text_nano
from podwright.cluster.store import Change, GroupKind
from podwright.simulation.files.record import ChangeType

_LEFT_OUT: Final[frozenset[GroupKind]] = frozenset(
    {
        ("", "Event"),
        ("events.k8s.io", "Event"),
        ("coordination.k8s.io", "Lease"),
        ("", "Secret"),
        ("", "ConfigMap"),
    }
)


def is_recorded(kind: GroupKind) -> bool:
    """Whether a record contains the objects of a kind.

    Events and leases change all the time and no decision depends on them. Secrets and config maps
    may have confidential data, which must not be in a file that is passed on.
    """
    return kind not in _LEFT_OUT


def added_line(obj: KubernetesObject, now_ns: int) -> bytes:
    """Return the line of an object that exists when the record begins."""
    return _line("Add", obj, now_ns)


def change_line(change: Change, now_ns: int) -> bytes:
    """Return the line of a change.

    Parameters
    ----------
    change : Change
    now_ns : int
        When it was made, in nanoseconds since 1970.
    """
    if change.new is None:
        return _line("Delete", change.object, now_ns)
    return _line("Add" if change.old is None else "Update", change.new, now_ns)


def _line(event: ChangeType, obj: KubernetesObject, now_ns: int) -> bytes:
    document = encode(obj)
    metadata = document.get("metadata") or {}
    if "managedFields" in metadata:
        kept = {key: value for key, value in metadata.items() if key != "managedFields"}
        document = {**document, "metadata": kept}
    written = {"time": timestamp_text_nano(now_ns), "event": event, "resource": document}
    return msgspec.json.encode(written) + b"\n"
