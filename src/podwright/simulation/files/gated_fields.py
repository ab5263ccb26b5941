"""Fields and kinds of devices among the input whose feature gate is off.

A kube-apiserver with the gate off drops such a field when an object is written, and does not serve
such a kind. From files, both reach the scheduler, which ignores most of them and rejects pods for
the others, as kube-scheduler does.

Upstream: pkg/registry/resource/{deviceclass,resourceclaim,resourceslice}/strategy.go and
pkg/api/resourceclaimspec, `DropDisabledFields`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import encode
from podwright.cluster.api import GATED_FIELDS, has_field
from podwright.scheduler.config import Gates
from podwright.simulation.files.object_reader import Sourced

_GROUP: Final = "resource.k8s.io"


_KINDS: Final = {
    (_GROUP, "DeviceTaintRule"): ("DRADeviceTaintRules",),
    ("scheduling.k8s.io", "PodGroup"): ("GenericWorkload",),
    ("scheduling.k8s.io", "Workload"): ("GenericWorkload",),
}


def disabled_fields(sourced: Iterable[Sourced], gates: Gates) -> Iterator[str]:
    """Return a warning for each field or kind whose gate is off; the first object is named."""
    fields = {
        kind: [gated for gated in each if _off(gated.gates, gates)]
        for (group, kind), each in GATED_FIELDS.items()
        if group == _GROUP
    }
    found: dict[tuple[str, str, str], list[Sourced]] = {}
    for entry in sourced:
        obj = entry.object
        group = obj.api_version.partition("/")[0]
        for gate in _off(_KINDS.get((group, obj.kind), ()), gates):
            found.setdefault((obj.kind, "", gate), []).append(entry)
        looked_for = fields.get(obj.kind)
        if group != _GROUP or not looked_for:
            continue
        document = encode(obj)
        for gated in looked_for:
            if has_field(document, gated.path):
                for gate in _off(gated.gates, gates):
                    path = ".".join(gated.path)
                    found.setdefault((obj.kind, path, gate), []).append(entry)
    for (kind, path, gate), entries in found.items():
        first, others = entries[0], len(entries) - 1
        more = f" (and {others} more)" if others else ""
        what = f"{path} needs" if path else "needs"
        yield (
            f"{first.source}: {kind} {first.object.name}{more}: {what} the feature gate {gate},"
            " which is off"
        )


def _off(names: tuple[str, ...], gates: Gates) -> list[str]:
    return [name for name in names if name not in gates]
