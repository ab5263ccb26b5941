"""Controllers ignore the changes that are not delivered to them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import (
    KubernetesObject,
    ObjectMeta,
    Pod,
    PodSpec,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Rejection
from podwright.cluster.controllers import subscriptions
from podwright.cluster.controllers.interface import PodChange
from podwright.cluster.store import POD
from podwright.cluster.store.history import with_metadata
from podwright.simulation.world.inputs.operations import (
    Delete,
    Drain,
    FailNode,
    Operation,
    RestoreNode,
    Scale,
)
from podwright.simulation.world.world import World
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
LABELS = {"app": "web"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {
        "containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}]
    },
}


def a_workload(kind: str, name: str) -> KubernetesObject:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    spec: dict[str, Any] = {"template": TEMPLATE}
    if kind == "Job":
        policy = {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never"}}
        spec = {"completions": 3, "parallelism": 2, "template": policy}
    else:
        spec |= {"selector": {"matchLabels": LABELS}}
        spec |= {} if kind == "DaemonSet" else {"replicas": 2}
    return decode(
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
    )


BUDGET = decode(
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "calm", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}},
    }
)
KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
WHAT = st.one_of(
    st.sampled_from(KINDS).map(lambda kind: a_workload(kind, f"a-{kind.lower()}")),
    st.builds(
        Scale,
        st.sampled_from([("apps", kind) for kind in KINDS[:3]]),
        st.sampled_from([f"default/a-{kind.lower()}" for kind in KINDS[:3]]),
        st.integers(0, 3),
    ),
    st.sampled_from(KINDS).map(
        lambda kind: Delete(
            ("batch" if kind == "Job" else "apps", kind), f"default/a-{kind.lower()}"
        )
    ),
    st.just(make_pod("stray", labels=LABELS)),
    st.sampled_from([FailNode("n1"), RestoreNode("n1"), Delete(("", "Node"), "n1")]),
    st.sampled_from([BUDGET, Drain("n2"), Delete(("", "Namespace"), "default")]),
)
HISTORIES = st.lists(st.tuples(st.integers(0, 400), WHAT), min_size=1, max_size=6)


def played(history: list[tuple[int, Any]]) -> tuple[Any, Any]:
    world = World(seed=3)
    world.add(make_node("n1", cpu="8"), make_node("n2", cpu="8"))
    has_job = False
    for second, what in history:
        at_ns = world.start_ns + second * SECOND
        if isinstance(what, KubernetesObject):
            # A job that replaces another one lacks the generated selector, which is immutable.
            if has_job and what.kind == "Job":
                continue
            has_job = has_job or what.kind == "Job"
            world.add(what, at=timestamp_text_nano(at_ns))
        else:
            operation: Operation = what
            world.do(operation, at=timestamp_text_nano(at_ns))
    while world.now_ns < world.start_ns + 900 * SECOND:
        with suppress(Rejection):  # a pod in a terminating namespace
            world.run_until_ns(world.start_ns + 900 * SECOND)
    objects = [obj for kind in world.store.kinds() for obj in world.store.list(kind).objects]
    return objects, world.components.controllers.state()


@pytest.mark.property
@effort(40)
@given(HISTORIES)
def test_a_run_is_the_same_when_all_controllers_observe_all_pods(history):
    some = played(history)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subscriptions.Subscriptions, "_pod_subscribers", all_subscribers)
        assert played(history) == some


def all_subscribers(self: Any, *_: Any) -> Any:
    return tuple((each.name, each.observe, None) for each in self._subscribers_of(POD))


CONDITION = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def a_version(phase: str, *conditions: dict[str, str]) -> Pod:
    document = {"metadata": {"name": "a"}, "status": {"phase": phase, "conditions": conditions}}
    pod = decode({"apiVersion": "v1", "kind": "Pod", **document})
    assert isinstance(pod, Pod)
    return msgspec.structs.replace(pod, metadata=METADATA, spec=SPEC)


METADATA, SPEC = ObjectMeta(name="a", uid="u"), PodSpec()
PENDING = a_version("Pending", CONDITION)


@pytest.mark.parametrize(
    ("new", "parts"),
    [
        pytest.param(PENDING, PodChange(0), id="nothing"),
        pytest.param(
            with_metadata(PENDING, resource_version="2"),
            PodChange(0),
            id="its version",
        ),
        pytest.param(
            with_metadata(PENDING, generation=2),
            PodChange.METADATA,
            id="its generation",
        ),
        pytest.param(
            msgspec.structs.replace(PENDING, spec=PodSpec(node_name="n")),
            PodChange.SPEC,
            id="a node",
        ),
        pytest.param(a_version("Running", CONDITION), PodChange.STATUS, id="it runs"),
        pytest.param(
            a_version("Failed", CONDITION),
            PodChange.STATUS | PodChange.TERMINAL,
            id="it terminates",
        ),
        pytest.param(
            a_version("Pending", CONDITION | {"status": "True"}),
            PodChange.STATUS | PodChange.READY,
            id="it is ready",
        ),
        pytest.param(
            a_version("Pending", CONDITION | {"lastTransitionTime": "2026-01-01T00:00:01Z"}),
            PodChange.STATUS | PodChange.READY,
            id="it is not ready since another time",
        ),
        pytest.param(
            a_version("Pending"), PodChange.STATUS | PodChange.READY, id="the condition is removed"
        ),
        pytest.param(
            a_version("Pending", CONDITION, {"type": "PodScheduled", "status": "True"}),
            PodChange.STATUS,
            id="it has a node",
        ),
        pytest.param(
            a_version("Pending", {"type": "DisruptionTarget", "status": "True"}, CONDITION),
            PodChange.STATUS | PodChange.DISRUPTION_TARGET,
            id="a deletion timestamp",
        ),
    ],
)
def test_the_differences_of_two_versions(new, parts):
    assert PodChange(subscriptions.differences(PENDING, new)) == parts
