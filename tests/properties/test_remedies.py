"""Every remedy, applied to the manifests, makes the pod fit; and trials change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, note, strategies as st
from tests.properties.effort import effort
from tests.properties.exercised import Exercised
from tests.properties.strategies.clusters import clusters, key_of
from tests.properties.strategies.documents import GPU, pod_templates

from podwright.apimachinery.objects import Object, Pod, encode
from podwright.apimachinery.patching import merge_patched
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers import expand
from podwright.cluster.store import kind_of
from podwright.scheduler.advice import Remedy
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.preemption import Preemption
from podwright.simulation.recording import RemedyChange, remedy_changes

pytestmark = pytest.mark.property

Document = dict[str, Any]


def scheduler_of(documents: list[Document]) -> Scheduler:
    scheduler = Scheduler(SchedulerOptions(seed=7))
    scheduler.add(*[decode(document) for document in documents])
    return scheduler


def applied(documents: list[Document], remedy: Remedy) -> list[Document]:
    """Return the manifests with the changes of a remedy."""
    changed = {key_of(document): document for document in documents}
    for obj in (remedy.pod, *remedy.put):
        document = encode(obj)
        changed[key_of(document)] = document
    for name in remedy.delete:
        namespace, _, pod = name.partition("/")
        del changed["Pod", namespace, pod]
    for obj in remedy.drop:
        del changed[key_of(encode(obj))]
    return list(changed.values())


def fits(documents: list[Document], key: str) -> bool:
    """Schedule the pods ahead and the pod itself, and evict the victims if there are any."""
    return fits_in(scheduler_of(documents), key)


def fits_in(scheduler: Scheduler, key: str) -> bool:
    for _ in scheduler.schedule_before(key):
        pass
    decision = scheduler.schedule(key)
    result = decision.post_filter
    if decision.node or result is None or not result.nominated_node:
        return bool(decision.node)
    if isinstance(result.details, Preemption):
        scheduler.remove(*[scheduler.cluster.pods[pod.key].pod for pod in result.details.victims])
    return bool(scheduler.schedule(key).node)


def test_every_remedy_applied_to_the_manifests_makes_the_pod_fit(
    record_property: Callable[[str, object], None],
) -> None:
    exercised = Exercised()

    @given(clusters())
    @effort(50)
    def remedies_help(documents: list[Document]) -> None:
        for key in [pod.key for pod in scheduler_of(documents).in_queue_order()]:
            scheduler = scheduler_of(documents)
            before = scheduler.state()
            for _ in scheduler.schedule_before(key):
                pass
            explanation = scheduler.explain(key)
            for remedy in scheduler.remedies(explanation, since=before):
                note(f"{key}: {remedy}")
                exercised.count("remedies")
                exercised.count("combinations", len(remedy.edits) > 1)
                exercised.count(f"begins with {remedy.text.split()[0]}")
                assert fits(applied(documents, remedy), key), remedy.text

    remedies_help()
    exercised.at_least(record_property, {"remedies": 60, "combinations": 15})


# ------------------------------------------------------------------ pods of controllers


@st.composite
def workloads(draw: st.DrawFn) -> Document:
    """Draw a workload whose pods rarely all fit."""
    template = draw(pod_templates())
    metadata, spec = template["metadata"], template["spec"]
    labels = {**metadata.get("labels", {}), "workload": "w"}
    container = spec["containers"][0]
    requests = container.setdefault("resources", {}).setdefault("requests", {})
    requests["cpu"] = draw(st.sampled_from(["700m", "2", "3", "9"]))
    if GPU in requests:
        container["resources"]["limits"] = {GPU: requests[GPU]}
    spec.pop("priority", None)
    api, kind = draw(
        st.sampled_from(
            [
                ("apps/v1", "Deployment"),
                ("apps/v1", "StatefulSet"),
                ("apps/v1", "ReplicaSet"),
                ("batch/v1", "Job"),
            ]
        )
    )
    count = draw(st.integers(1, 4))
    own: Document = {"replicas": count, "selector": {"matchLabels": {"workload": "w"}}}
    if kind == "Job":
        own = {"parallelism": count, "completions": count}
        spec["restartPolicy"] = "Never"
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "w", "namespace": metadata["namespace"]},
        "spec": {**own, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def of_workload(pod: Pod) -> bool:
    return pod.metadata.labels.get("workload") == "w"


def sent(documents: list[Document], changes: Sequence[RemedyChange]) -> list[Document]:
    """Return the objects after the requests of a remedy."""
    found = {key_of(document): document for document in documents}
    for change in changes:
        key = change.kind, change.namespace, change.name
        if change.action == "patch":
            found[key] = merge_patched(found[key], change.body)
        else:
            found.pop(key, None)
        if change.action in ("create", "replace"):
            assert change.body is not None
            found[key] = change.body
    return list(found.values())


def expanded(documents: list[Document]) -> list[Object]:
    objects = [decode(document) for document in documents]
    return expand(objects).with_objects(objects)


def first_of_workload(scheduler: Scheduler) -> str:
    return next(pod.key for pod in scheduler.in_queue_order() if of_workload(pod))


def rolled_out(scheduler: Scheduler, present: Iterable[Object], kind: str) -> list[Document]:
    """Return the objects of a cluster after a controller removed the pods that it replaces.

    Pods that are placed stay, as at the start of a rollout; those of a Job go with it. The old
    ReplicaSet of a Deployment creates no further pods.
    """
    placed = scheduler.cluster.pods
    kept: list[Document] = []
    for obj in present:
        if isinstance(obj, Pod) and obj.key in placed:
            if kind == "Job" and of_workload(obj):
                continue
            node = scheduler.cluster.nodes.names[placed[obj.key].slot]
            document = encode(obj)
            kept.append({**document, "spec": {**document["spec"], "nodeName": node}})
        elif not (isinstance(obj, Pod) and of_workload(obj)):
            is_old_set = kind == "Deployment" and obj.kind == "ReplicaSet" and obj.name != "set"
            kept += [] if is_old_set else [encode(obj)]
    return kept


def test_every_remedy_applied_to_the_owner_makes_its_pod_fit(
    record_property: Callable[[str, object], None],
) -> None:
    exercised = Exercised()

    @given(clusters(), workloads())
    @effort(60)
    def remedies_help(documents: list[Document], workload: Document) -> None:
        kind = workload["kind"]
        objects = expanded([*documents, workload])
        scheduler = Scheduler(SchedulerOptions(seed=7))
        scheduler.add(*objects)
        for key in [pod.key for pod in scheduler.in_queue_order() if of_workload(pod)]:
            before = scheduler.state()
            for _ in scheduler.schedule_before(key):
                pass
            explanation = scheduler.explain(key)
            if not explanation.decision.node:
                break
            before.restore()
        else:
            return
        by_key = {(kind_of(obj), obj.key): obj for obj in objects}
        remaining = rolled_out(scheduler, objects, kind)
        for remedy in scheduler.remedies(explanation, since=before):
            requests = remedy_changes(remedy, lambda *each: by_key.get(each))
            if requests.changes is None:
                exercised.count("without requests")
                note(requests.note)
                continue
            if not any(change.name == "w" for change in requests.changes):
                continue
            note(f"{key}: {remedy}: {requests.changes}")
            exercised.count(kind)
            changed = Scheduler(SchedulerOptions(seed=7))
            changed.add(*expanded(sent(remaining, requests.changes)))
            assert fits_in(changed, first_of_workload(changed)), remedy.text

    remedies_help()
    exercised.at_least(
        record_property, {"Deployment": 5, "StatefulSet": 3, "ReplicaSet": 5, "Job": 5}
    )


@given(clusters())
@effort(20)
def test_trials_change_nothing(documents: list[Document]) -> None:
    advised, plain = scheduler_of(documents), scheduler_of(documents)
    before = advised.state()
    for pod in plain.in_queue_order():
        explanation = advised.explain(pod.key)
        advised.remedies(explanation, since=before)
        advised.displacement(explanation, before)
        ours, expected = advised.schedule(pod.key), plain.schedule(pod.key)
        assert (ours.node, ours.message) == (expected.node, expected.message)
        if expected.post_filter is not None:
            assert ours.post_filter is not None
            assert ours.post_filter.nominated_node == expected.post_filter.nominated_node
    placed = {key: one.slot for key, one in advised.cluster.pods.items()}
    assert placed == {key: one.slot for key, one in plain.cluster.pods.items()}
    assert advised.cluster.nominated.keys() == plain.cluster.nominated.keys()
