"""What kube-controller-manager made of clusters, see `tests/real_parts/controllers`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.real_parts.controllers import without_order
from tests.real_parts.recording import read_record

from podwright.apimachinery.objects import KubernetesObject, ObjectDeleted, ObjectPut, encode
from podwright.apimachinery.objects.texts.times import timestamp_ns
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, QuotaEvaluators, RecordEvent
from podwright.cluster.api.object_edits import with_defaults
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.controllers.apps.daemon_set import DaemonSetController
from podwright.cluster.controllers.apps.deployment import DeploymentController
from podwright.cluster.controllers.apps.replica_set import ReplicaSetController
from podwright.cluster.controllers.apps.stateful_set import StatefulSetController
from podwright.cluster.controllers.batch import job
from podwright.cluster.controllers.controller_loop import ControllerLoop
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.core.resource_quota import ResourceQuotaController
from podwright.cluster.controllers.interface import SyncAt, SyncNext
from podwright.cluster.controllers.network import EndpointSliceController, endpoint_slices
from podwright.cluster.controllers.policies.disruption_budget import DisruptionController

RECORD = Path(__file__).with_name("recorded_decisions.jsonl.gz")
CASES = read_record(RECORD)
MAKERS: Final[dict[str, Callable[[WritableStore], Callable[[Any], Any]]]] = {
    "deployment": lambda _: DeploymentController,
    "replicaset": lambda _: ReplicaSetController,
    "statefulset": lambda _: StatefulSetController,
    "daemonset": lambda _: DaemonSetController,
    "job": lambda _: job.JobController,
    "disruption": lambda _: DisruptionController,
    "endpointslice": lambda _: EndpointSliceController,
    "quota": lambda store: lambda lister: ResourceQuotaController(lister, QuotaEvaluators(store)),
    "garbagecollector": lambda _: GarbageCollector,
}
ADMISSION = Api(WritableStore()).admission
MOST_SYNCS = 100
SUFFIX = 5
HASHES = {"ReplicaSet": "pod-template-hash", "ControllerRevision": "controller-revision-hash"}
"""The labels that have a hash of Go's structs, by kind."""
UNREPORTED = {"SuccessfulUpdate", "OwnerRefInvalidNamespace"}
"""The reasons of Events that are not compared."""
MAPS = {"labels", "annotations"}
"""Fields whose values may be empty texts."""
POINTERS = {"terminatingReplicas", "serving"}
"""Fields in which zero is something else than nothing."""


class Run:
    """One controller that acts on the objects of a case until it is done."""

    def __init__(self, case: Any) -> None:
        now_ns = timestamp_ns(case["now"])
        assert now_ns is not None
        self.now_ns = now_ns
        self.store = WritableStore(seed=1, window=100_000)
        self.api = Api(self.store)
        self.events: set[tuple[str, str]] = set()
        changes = self.store.watch()
        for each in case["objects"]:
            self.store.put(with_defaults(decode(each)))
        # Endpoints go to any slice with room, so all slices are compared.
        self.before = {
            name: each for name, each in self.documents().items() if each["kind"] != "EndpointSlice"
        }
        self.loop = loop = ControllerLoop([MAKERS[case["controller"]](self.store)])
        for _ in range(MOST_SYNCS):
            while events := list(changes.poll()):
                for event in events:
                    obj: Any = event.object
                    if obj is not None:
                        is_removed = event.type == "DELETED"
                        change = ObjectDeleted(obj) if is_removed else ObjectPut(obj)
                        loop.handle(change, self.now_ns)
            if not loop.has_next:
                break
            for action in loop.handle(SyncNext(), self.now_ns):
                self._do(action)

    def _do(self, action: Any) -> None:
        if isinstance(action, RecordEvent):
            about = action.key.rpartition("/")[2]
            self.events.add((about, f"{action.type} {action.reason} {action.note}"))
        elif isinstance(action, SyncAt):
            self.loop.handle(action.event, self.now_ns)
        else:
            self.api.handle(action, action.user, self.now_ns)

    def documents(self) -> dict[str, Any]:
        return {
            f"{obj.kind} {obj.name}": normal(obj)
            for kind in self.store.kinds()
            for obj in self.store.list(kind).objects
        }

    def answer(self) -> dict[str, Any]:
        after = self.documents()
        changed = [obj for name, obj in after.items() if self.before.get(name) != obj]
        removed = sorted(name for name in self.before if name not in after)
        drawn = dict[str, str]()
        for obj in after.values():
            metadata = obj["metadata"]
            if not metadata["uid"].startswith("uid-"):
                drawn[metadata["uid"]] = "drawn"
                prefix = metadata.get("generateName")
                if prefix and len(metadata["name"]) == len(prefix) + SUFFIX:
                    drawn[metadata["name"]] = f"{prefix}drawn"
        events = [" ".join(each) for each in self.events]
        return comparable(changed, removed, events, drawn)


def expected(case: Any, answer: Any) -> dict[str, Any]:
    before = [normal(decode(each)) for each in case["objects"]]
    changed = []
    for each in answer["changed"]:
        if "of" in each:  # slices without their order
            changed.append(each)
            continue
        obj = with_defaults(decode(each))
        # The recorded API server had no admission.
        found = normal(ADMISSION.admit_new(obj) if obj.uid == "drawn" else obj)
        if found not in before:
            changed.append(found)
    return comparable(changed, answer["removed"], answer["events"] or [], {})


def comparable(
    changed: list[Any], removed: list[str], events: list[str], drawn: dict[str, str]
) -> dict[str, Any]:
    """Return what is compared, without the names, uids and hashes in `drawn`."""
    drawn = drawn | dict(hashes(changed, drawn))
    text = json.dumps([changed, removed, events])
    for name, masked in drawn.items():
        text = text.replace(name, masked)
    changed, removed, events = json.loads(text)
    # Upstream's caches lack the claims that the same sync has written. A real server rejects the
    # second write of a claim, the recorded one accepts it with an Event.
    # Owners of other namespaces count as gone, without an Event about it.
    events = [each for each in events if not UNREPORTED.intersection(each.split())]
    answer = without_order({"changed": changed, "removed": removed})
    plain = [without_empty(each) for each in answer["changed"]]
    ordered = sorted(plain, key=lambda each: json.dumps(each, sort_keys=True))
    return answer | {"changed": ordered, "events": sorted(events)}


def hashes(changed: list[Any], drawn: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the hashes of new replica sets and revisions: see `template_hash`."""
    for each in changed:
        metadata = each["metadata"]
        if each["kind"] in HASHES and metadata["uid"] in {"drawn", *drawn}:
            label = metadata.get("labels", {}).get(HASHES[each["kind"]])
            if label:
                yield label, "hash"


def normal(obj: KubernetesObject) -> dict[str, Any]:
    """Return a document without what only a server writes, and the number of writes."""
    document: dict[str, Any] = json.loads(json.dumps(encode(with_defaults(obj))))
    for name in ("resourceVersion", "managedFields", "generation"):
        document["metadata"].pop(name, None)
    # In the order in which they were set, by more writes upstream than here.
    document.get("status", {}).get("conditions", []).sort(key=lambda each: each["type"])
    found: dict[str, Any] = without_empty(document)
    return found


def without_empty(value: Any) -> Any:
    """Leave out what Go's types leave out: empty texts, lists and maps, and most zeros."""
    if isinstance(value, dict):
        found = {key: each if key in MAPS else without_empty(each) for key, each in value.items()}
        empty: tuple[Any, ...] = (None, "", 0, [], {})
        return {key: each for key, each in found.items() if key in POINTERS or each not in empty}
    if isinstance(value, list):
        return [without_empty(each) for each in value]
    return value


def differences(controller: str) -> list[dict[str, Any]]:
    found = []
    for case in CASES:
        if case["controller"] == controller:
            here = Run(case).answer()
            there = [expected(case, answer) for answer in case["answers"]]
            if here not in there:
                found.append({"case": case, "here": here, "there": there})
    return found


@pytest.mark.parametrize("controller", MAKERS)
def test_controllers_decide_as_upstream(controller, monkeypatch):
    # The recorded slices have few endpoints, so that some are full.
    monkeypatch.setattr(endpoint_slices, "ENDPOINTS_MAX", 3)
    # No time passes.
    monkeypatch.setattr(job, "_BATCH_NS", 0)
    assert sum(case["controller"] == controller for case in CASES) >= 500
    differing = differences(controller)
    assert not differing, f"{len(differing)} differ, the first: {json.dumps(differing[0])}"
