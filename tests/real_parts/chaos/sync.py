"""`podwright sync` from a control plane with faults: after quiet, the mirror equals its source.

What differs is compared twice: here, and by ``podwright sync --check``, which knows the policies.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.e2e_real.cluster_processes import embedded
from tests.real_parts.chaos.changes import Changes
from tests.real_parts.chaos.cluster import PODWRIGHT, chaos_cluster
from tests.real_parts.chaos.faults import FaultPlan, faults_of
from tests.real_parts.chaos.scheduler import beside
from tests.real_parts.chaos.settle import Objects, objects_of, quiet_objects
from tests.waiting import until

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.sync import source_kinds

FAULTS: Final = 4
_SETTLE_SECONDS: Final = 90
_KINDS: Final = source_kinds()
_OF_ITS_CLUSTER: Final = ("serviceAccount", "serviceAccountName", "nodeName")
"""What a copy of a pod has of its own cluster."""
_OF_THE_NODE: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""Labels that a binding gives to a pod."""


def run(seed: int, folder: Path) -> list[str]:
    """Run one seed; return what is wrong."""
    with (
        chaos_cluster(folder) as cluster,
        embedded(folder / "copy", "--no-controllers") as target,
    ):
        changes = Changes(cluster.client(), seed)
        changes.prepare()
        command = ("sync", "--kubeconfig", cluster.kubeconfig, "--to", f"copy={target}")
        sync = cluster.part("sync", PODWRIGHT, *command)
        with beside(changes.run):
            FaultPlan(cluster, faults_of(cluster, [sync]), seed).run(FAULTS)
        sync.start()  # unless it runs: its first request may have met a fault
        source = quiet_objects(cluster.client(), _KINDS)
        copy = cluster.client(target)
        last: list[list[str]] = []

        def is_equal() -> bool:
            last[:] = [list(_differences(source, objects_of(copy, _KINDS)))]
            return not last[0]

        try:
            until(is_equal, _SETTLE_SECONDS, pause_seconds=1)
        except AssertionError:
            problems = last[0]
        else:
            problems = []
        checked = subprocess.run(
            [str(PODWRIGHT), *map(str, command), "--check"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        (folder / "check").write_text(checked.stdout + checked.stderr)
        if checked.returncode:
            problems.append(f"--check has status {checked.returncode}: {checked.stdout[-2000:]}")
        if not sync.is_running:
            problems.append("sync has ended")
        if "Traceback" in sync.output():
            problems.append("sync has printed a traceback")
        (folder / "story").write_text(f"{cluster.story}\n")
        replies = sum(count for status, count in changes.replies.items() if 200 <= status < 300)
        print(f"{replies} changes, {len(source)} objects; {checked.stderr.strip()}")
        return problems


def _differences(source: Objects, copy: Objects) -> Iterator[str]:
    """Yield how a copy differs from its source, but for what each cluster has to itself."""
    for key, theirs in source.items():
        ours = copy.get(key)
        if ours is None:
            yield f"{key}: absent"
            continue
        uid = (ours["metadata"].get("annotations") or {}).get(SOURCE_UID)
        if uid != theirs["metadata"]["uid"]:
            yield f"{key}: it is the copy of {uid}"
        elif (one := _mirrored(key[0], theirs)) != (other := _mirrored(key[0], ours)):
            yield f"{key}: {_different(one, other)}"
    for key, ours in copy.items():
        if key not in source and SOURCE_UID in (ours["metadata"].get("annotations") or {}):
            yield f"{key}: it is gone at the source"


def _mirrored(resource: str, obj: Mapping[str, Any]) -> Any:
    """Return what is mirrored of an object."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    found = {k: v for k, v in obj.items() if k not in ("metadata", "kind", "apiVersion", "status")}
    found["labels"] = dict(metadata.get("labels") or {})
    found["annotations"] = {k: v for k, v in annotations.items() if k.startswith("chaos/")}
    if resource == "nodes":
        found["status"] = obj.get("status")
    if resource == "namespaces":
        del found["spec"]
    if resource == "pods":
        spec = {k: v for k, v in found["spec"].items() if k not in _OF_ITS_CLUSTER}
        found["spec"] = spec
        for label in _OF_THE_NODE:
            found["labels"].pop(label, None)
    return _without_nulls(found)


def _without_nulls(value: Any) -> Any:
    """Return a value without the nulls that kube-apiserver writes for some absent lists."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    fields = [field for field in {**one, **other} if one.get(field) != other.get(field)]
    return "; ".join(f"{f}: source {one.get(f)}, copy {other.get(f)}" for f in fields)
