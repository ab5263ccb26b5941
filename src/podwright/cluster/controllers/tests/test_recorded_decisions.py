"""What kube-controller-manager made of clusters, see `tests/real_parts/controllers`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

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
from podwright.cluster.controllers.interface import ReportedWrite, SyncAt, SyncNext
from podwright.cluster.controllers.network import EndpointSliceController, endpoint_slices
from podwright.cluster.controllers.policies.disruption_budget import DisruptionController

RECORD = Path(__file__).with_name("recorded_decisions.jsonl.gz")
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
WORKLOADS: Final = ("deployment", "replicaset", "statefulset", "daemonset", "job")
ADMISSION = Api(WritableStore()).admission
MOST_SYNCS = 100
SUFFIX = 5
HASHES = {"ReplicaSet": "pod-template-hash", "ControllerRevision": "controller-revision-hash"}
"""The labels that have a hash of Go's structs, by kind."""
MAPS = {"labels", "annotations"}
"""Fields whose values may be empty texts."""
POINTERS = {"terminatingReplicas", "serving"}
"""Fields in which zero is something else than nothing."""


class Normalization(NamedTuple):
    """What is not compared, and why.

    Attributes
    ----------
    reason : str
    controllers : tuple of str
        Those for which it is applied: decisions of each of them differ without it.
    most : int, optional
        In how many cases it may make them equal.
    """

    reason: str
    controllers: tuple[str, ...]
    most: int | None = None


NORMALIZATIONS: Final = {
    "resourceVersion": Normalization(
        "the recorded server numbers other writes",
        (*WORKLOADS, "disruption", "quota", "garbagecollector"),
    ),
    "generation": Normalization(
        "the recorded server does not count it", ("deployment", "statefulset")
    ),
    "order of conditions": Normalization("upstream sets them by more writes", ("deployment",)),
    "empty values": Normalization(
        "Go's types leave out empty texts, lists, maps and most zeros",
        (*WORKLOADS, "garbagecollector"),
    ),
    "defaults": Normalization("the recorded server has none", ("statefulset",)),
    "admission": Normalization(
        "the recorded server has none, nor defaults of new objects",
        ("replicaset", "statefulset", "daemonset", "job"),
    ),
    "drawn": Normalization("names and uids of new objects", WORKLOADS),
    "hash": Normalization(
        "that of a template is of Go's text of it: see `template_hash`", ("deployment", "daemonset")
    ),
    "SuccessfulUpdate": Normalization(
        "upstream's caches lack the claims that the same sync has written; a real server rejects "
        "the second write of a claim, the recorded one accepts it with an Event",
        ("statefulset",),
    ),
    "OwnerRefInvalidNamespace": Normalization(
        "of several owners upstream looks at the first that may be wrong when it knows some only",
        ("garbagecollector",),
        most=1,
    ),
    "order of slices": Normalization("see `without_order`", ("endpointslice",)),
    "order of writes": Normalization(
        "upstream writes in parallel",
        ("statefulset", "daemonset", "job", "garbagecollector"),
    ),
    "order of events": Normalization("upstream writes in parallel", WORKLOADS),
}
"""A name that is not here is a KeyError."""


class Outcome(NamedTuple):
    """What a controller did.

    Attributes
    ----------
    written : list of (dict or None, dict)
        Objects before and after.
    removed : list of str
        Kinds with names.
    events : list of str
    drawn : dict of str to str
        What stands for a name or a uid that was drawn.
    """

    written: list[tuple[Any, Any]]
    removed: list[str]
    events: list[str]
    drawn: dict[str, str]


class Run:
    """One controller that acts on the objects of a case until it is done."""

    def __init__(self, case: Any) -> None:
        now_ns = timestamp_ns(case["now"])
        assert now_ns is not None
        self.now_ns = now_ns
        self.store = WritableStore(seed=1, window=100_000)
        self.api = Api(self.store)
        self.events: list[str] = []
        changes = self.store.watch()
        for each in case["objects"]:
            self.store.put(with_defaults(decode(each)))
        self.before = self.documents()
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
            self.events.append(f"{about} {action.type} {action.reason} {action.note}")
        elif isinstance(action, SyncAt):
            self.loop.handle(action.event, self.now_ns)
        elif isinstance(action, ReportedWrite):
            action.execute(
                lambda request: self.api.handle(request, request.user, self.now_ns).error, self._do
            )
        else:
            self.api.handle(action, action.user, self.now_ns)

    def documents(self) -> dict[str, Any]:
        return {
            f"{obj.kind} {obj.name}": json.loads(json.dumps(encode(obj)))
            for kind in self.store.kinds()
            for obj in self.store.list(kind).objects
        }

    def outcome(self) -> Outcome:
        after = self.documents()
        # Endpoints go to any slice with room, so all slices are compared.
        written = [
            (None if obj["kind"] == "EndpointSlice" else self.before.get(name), obj)
            for name, obj in after.items()
            if obj["kind"] == "EndpointSlice" or self.before.get(name) != obj
        ]
        removed = [name for name in self.before if name not in after]
        drawn = dict[str, str]()
        for obj in after.values():
            metadata = obj["metadata"]
            if not metadata["uid"].startswith("uid-"):
                drawn[metadata["uid"]] = "drawn"
                prefix = metadata.get("generateName")
                if prefix and len(metadata["name"]) == len(prefix) + SUFFIX:
                    drawn[metadata["name"]] = f"{prefix}drawn"
        return Outcome(written, removed, self.events, drawn)


def recorded(answer: Any, before: dict[str, Any], applied: frozenset[str]) -> Outcome:
    """Return what upstream did, with the defaults and the admission of a server."""
    written = []
    for each in answer["changed"]:
        if "of" in each:  # slices without their order
            written.append((None, each))
            continue
        obj: KubernetesObject = decode(each)
        if "admission" in applied and obj.uid == "drawn":
            obj = ADMISSION.admit_new(with_defaults(obj))
        if "defaults" in applied:
            obj = with_defaults(obj)
        found = json.loads(json.dumps(encode(obj)))
        written.append((before.get(f"{obj.kind} {obj.name}"), found))
    return Outcome(written, answer["removed"], answer["events"] or [], {})


def comparable(outcome: Outcome, applied: frozenset[str]) -> dict[str, Any]:
    """Return what is compared after some normalizations."""
    changed, events = [], outcome.events
    for before, after in outcome.written:
        found = after if "of" in after else normal(after, applied)
        if before is None or found != normal(before, applied):
            changed.append(found)
    masks = outcome.drawn if "drawn" in applied else {}
    if "hash" in applied:
        masks = masks | dict(hashes(changed, outcome.drawn))
    text = json.dumps([changed, outcome.removed, events])
    for name, masked in masks.items():
        text = text.replace(name, masked)
    changed, removed, events = json.loads(text)
    for reason in ("SuccessfulUpdate", "OwnerRefInvalidNamespace"):
        if reason in applied:
            events = [each for each in events if reason not in each.split()]
    answer = {"changed": changed, "removed": removed}
    if "order of slices" in applied:
        answer = without_order(answer)
    if "empty values" in applied:
        answer["changed"] = [without_empty(each) for each in answer["changed"]]
    if "order of writes" in applied:
        answer["changed"].sort(key=lambda each: json.dumps(each, sort_keys=True))
    # Upstream's garbage collector receives the kinds in any order.
    if "order of events" in applied or any("OwnerRefInvalid" in each for each in events):
        events.sort()
    return answer | {"removed": sorted(answer["removed"]), "events": events}


def hashes(changed: list[Any], drawn: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the hashes of new replica sets and revisions."""
    for each in changed:
        metadata = each["metadata"]
        if each["kind"] in HASHES and metadata["uid"] in {"drawn", *drawn}:
            label = metadata.get("labels", {}).get(HASHES[each["kind"]])
            if label:
                yield label, "hash"


def normal(document: dict[str, Any], applied: frozenset[str]) -> dict[str, Any]:
    """Return a document after some normalizations."""
    left_out = applied & {"resourceVersion", "generation"}
    metadata = {k: v for k, v in document["metadata"].items() if k not in left_out}
    found: dict[str, Any] = document | {"metadata": metadata}
    status = document.get("status", {})
    if "order of conditions" in applied and "conditions" in status:
        conditions = sorted(status["conditions"], key=lambda each: each["type"])
        found["status"] = status | {"conditions": conditions}
    return without_empty(found) if "empty values" in applied else found


def without_empty(value: Any) -> Any:
    """Leave out what Go's types leave out: empty texts, lists and maps, and most zeros."""
    if isinstance(value, dict):
        found = {key: each if key in MAPS else without_empty(each) for key, each in value.items()}
        empty: tuple[Any, ...] = (None, "", 0, [], {})
        return {key: each for key, each in found.items() if key in POINTERS or each not in empty}
    if isinstance(value, list):
        return [without_empty(each) for each in value]
    return value


def agrees(case: Any, run: Run, outcome: Outcome, applied: frozenset[str]) -> bool:
    here = comparable(outcome, applied)
    return any(
        here == comparable(recorded(answer, run.before, applied), applied)
        for answer in case["answers"]
    )


@pytest.fixture(scope="module")
def recorded_cases() -> list[dict[str, Any]]:
    return read_record(RECORD)


def compare(cases: list[dict[str, Any]], counts: Counter[str]) -> list[dict[str, Any]]:
    """Return the cases that differ; count the normalizations without which others would."""
    controller = cases[0]["controller"]
    names = frozenset(
        name for name, each in NORMALIZATIONS.items() if controller in each.controllers
    )
    found = []
    for case in cases:
        run = Run(case)
        outcome = run.outcome()
        if agrees(case, run, outcome, names):
            counts.update(n for n in names if not agrees(case, run, outcome, names - {n}))
        else:
            there = [recorded(answer, run.before, names) for answer in case["answers"]]
            shown = [comparable(each, names) for each in (outcome, *there)]
            found.append({"case": case, "here": shown[0], "there": shown[1:]})
    return found


@pytest.mark.parametrize("controller", MAKERS)
def test_controllers_decide_as_upstream(controller, recorded_cases, monkeypatch, record_property):
    # The recorded slices have few endpoints, so that some are full.
    monkeypatch.setattr(endpoint_slices, "ENDPOINTS_MAX", 3)
    # No time passes.
    monkeypatch.setattr(job, "_BATCH_NS", 0)
    cases = [case for case in recorded_cases if case["controller"] == controller]
    assert len(cases) >= 500
    counts = Counter[str]()
    differing = compare(cases, counts)
    assert not differing, f"{len(differing)} differ, the first: {json.dumps(differing[0])}"
    for name, each in NORMALIZATIONS.items():
        record_property(name, counts[name])
        is_applied = controller in each.controllers
        assert is_applied == (counts[name] > 0), f"{name} makes nothing equal: leave it out"
        assert each.most is None or counts[name] <= each.most, f"{name} hides other differences"
