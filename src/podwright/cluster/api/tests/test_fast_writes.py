"""The fast paths of writes have the same results as the general ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import (
    Condition,
    Pod,
    with_condition,
    with_node_name,
    with_nominated_node_name,
)
from podwright.apimachinery.objects.texts.times import timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api.create_update import created, updated
from podwright.cluster.api.pods.binding import Binding, bound
from podwright.cluster.api.strategies.kinds import strategy_of
from podwright.cluster.store.history import at_version, with_metadata

pytestmark = pytest.mark.property

NOW = 1_767_225_600_000_000_000
CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["PodScheduled", "Ready", "mine"]),
            "status": st.sampled_from(["True", "False"]),
        },
        optional={"lastTransitionTime": st.just("2025-01-01T00:00:00Z"), "reason": st.just("r")},
    ),
    max_size=3,
    unique_by=lambda condition: condition["type"],
)
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "phase": st.sampled_from(["Pending", "Running"]),
        "conditions": CONDITIONS,
        "nominatedNodeName": st.just("n2"),
        "podIP": st.just("10.0.0.1"),
    },
)
METADATA = st.fixed_dictionaries(
    {"name": st.just("web"), "uid": st.just("u"), "resourceVersion": st.just("5")},
    optional={
        "generation": st.integers(1, 2),
        "labels": st.just({"a": "b"}),
        "finalizers": st.just(["x.io/a"]),
        "ownerReferences": st.just(
            [{"kind": "Job", "name": "j", "uid": "j", "apiVersion": "b/v1"}]
        ),
        "managedFields": st.just([{"manager": "m"}]),
    },
)


def a_pod(metadata: Any, spec: Any, status: Any) -> Pod:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    document |= {} if spec is None else {"spec": spec}
    document |= {} if status is None else {"status": status}
    pod = decode(document)
    assert isinstance(pod, Pod)
    return pod


def with_status(pod: Pod, status: dict[str, Any]) -> Pod:
    like = a_pod({"name": "web"}, None, status)
    return msgspec.structs.replace(pod, status=like.status, raw=pod.raw | {"status": status})


@given(METADATA, st.none() | STATUSES, STATUSES)
def test_a_status_is_written_alike_whether_or_not_the_metadata_is_shared(metadata, before, after):
    current = a_pod(metadata, {"nodeName": "n1"}, before)
    shared = with_status(current, after)
    apart = msgspec.structs.replace(
        shared,
        metadata=msgspec.structs.replace(shared.metadata),
        raw=shared.raw | {"metadata": dict(shared.raw["metadata"])},
    )
    rules = strategy_of(("", "Pod"))
    fast = updated(current, shared, scope="status", strategy=rules, version=9)
    assert fast == updated(current, apart, scope="status", strategy=rules, version=9)
    if fast is not None:
        assert fast == decode(fast.raw)


@pytest.mark.parametrize("kind", [("", "Pod"), ("", "Secret")])
@given(METADATA, METADATA, st.none() | STATUSES, st.none() | STATUSES, st.booleans(), st.data())
def test_an_updated_object_is_what_its_document_says(
    kind, metadata, body, before, after, is_other, data
):
    scope = data.draw(st.sampled_from(["main", "status", "whole"]))
    if data.draw(st.booleans(), label="as kubectl writes it"):
        body |= {"creationTimestamp": None}
    current = a_pod(metadata, {"nodeName": "n1"}, before)
    new = a_pod(body, {"nodeName": "n2" if is_other else "n1"}, after)
    made = updated(current, new, scope=scope, strategy=strategy_of(kind), version=9)
    if made is None:
        return
    assert made == decode(made.raw)
    for key in ("name", "uid", "creationTimestamp"):
        assert made.raw["metadata"].get(key) == metadata.get(key)
    assert made.metadata.resource_version == "9"
    assert made.spec.node_name == ("n2" if is_other and scope != "status" else "n1")
    is_after = scope != "main" or "status" not in strategy_of(kind).subresources
    assert made.raw.get("status") == (after if is_after else before)


@given(
    METADATA,
    st.none() | st.just({}) | st.just({"priority": 1}),
    st.none() | STATUSES,
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_binding_a_pod_is_a_node_a_nomination_less_and_a_condition(metadata, spec, status, seconds):
    pod = a_pod(metadata, spec, status)
    twin = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, reason="other"))
    # Pods of one status share the result, which depends on the time.
    for second in seconds:
        now_ns = NOW + second * 1_000_000_000
        condition = Condition(
            type="PodScheduled", status="True", last_transition_time=timestamp_text(now_ns)
        )
        step_by_step = with_nominated_node_name(with_node_name(pod, "n1"), "")
        expected = at_version(with_condition(step_by_step, condition), 9)
        made = bound(pod, Binding(node="n1"), now_ns=now_ns, version=9)
        assert made == expected
        assert made == decode(made.raw)
        assert bound(twin, Binding(node="n1"), now_ns=now_ns, version=9).status.reason == "other"


@pytest.mark.parametrize("kind", [("", "Pod"), ("", "Node")])
@given(METADATA, st.none() | st.just("2025-01-01T00:00:00Z"))
def test_a_new_object_has_the_servers_metadata_and_its_own_otherwise(kind, metadata, deleted):
    metadata |= {"selfLink": "/x"} | ({"deletionTimestamp": deleted} if deleted else {})
    pod, rules = a_pod(metadata, {}, None), strategy_of(kind)
    made = created(pod, strategy=rules, name="new", uid="uid", version=9, now_ns=NOW)
    expected = with_metadata(
        pod,
        name="new",
        uid="uid",
        resource_version="9",
        generation=1 if rules.has_generation else max(pod.metadata.generation, 0),
        creation_timestamp=timestamp_text(NOW),
    )
    expected.raw["metadata"].pop("selfLink")
    assert made == expected == decode(made.raw)
