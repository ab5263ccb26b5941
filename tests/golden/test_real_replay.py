"""The record of a real control plane as `podwright replay` reads it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.golden import real_cluster

from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.sync.cluster_record import recorded_changes
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import Create
from podwright.scheduler.columns import SPREAD_SELECTOR

pytestmark = pytest.mark.golden

# Of pods with these owners, the selector follows from the owner and the Services.
SELECTING = {"ReplicaSet", "StatefulSet", "ReplicationController"}


def test_each_change_is_known_and_each_pod_is_spread_as_its_owner_implies(tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_bytes(real_cluster.content("record.jsonl"))
    mirror = Mirror(SyncPolicies(bound=BoundPods.kss))
    left_out: Counter[str] = Counter()
    pods: Counter[tuple[bool, bool]] = Counter()
    owners = {
        line.object.metadata.uid: line.object.metadata.owner_references
        for line in real_cluster.record().lines
        if line.object.kind == "Pod"
    }
    for recorded in recorded_changes(record):
        if not recorded.is_replayed:
            left_out[recorded.kind] += 1
            continue
        assert recorded.change is not None, recorded.text
        uid = recorded.change.change.meta.uid
        for operation in mirror.take(recorded.change):
            if isinstance(operation, Create) and operation.kind.resource == "pods":
                pods[_is_spread(operation.obj), _has_selector(owners[uid])] += 1
    # All others are kinds that the mirror takes.
    assert set(left_out) == {"CronJob", "DaemonSet", "Deployment", "Job"}
    assert sum(pods.values()) == 2082
    assert pods[False, True] == 0
    assert pods[True, True] > 1000


def _is_spread(pod: dict[str, Any]) -> bool:
    annotations = pod["metadata"].get("annotations") or {}
    return SPREAD_SELECTOR in annotations or bool(pod["spec"].get("topologySpreadConstraints"))


def _has_selector(owners: Any) -> bool:
    return any(owner.controller and owner.kind in SELECTING for owner in owners)
