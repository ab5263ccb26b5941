"""Traces of the whole scheduler: what their server does that vectors do not show."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import encode
from podwright.testing import make_node, make_pod
from podwright.testing.parity import FamilyReport, check_cases
from podwright.testing.parity.trace import TraceReplay

START = "2000-01-01T00:00:10Z"
CYCLE = {"op": "cycle", "dt": 1}
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def differences(objects: list[Any], *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return what differs in a trace, by field."""
    case = {"id": "x", "family": "cycle", "start": START, "steps": list(steps), **fields}
    reports: dict[str, FamilyReport] = {}
    check_cases([case | {"objects": [encode(each) for each in objects]}], reports)
    return {wrong.field: wrong.actual for wrong in reports["cycle"].mismatches}


@pytest.mark.parametrize(
    ("script", "seconds"),
    [({}, {"p7": 0, "g0-10": 1}), ({"starts_by_name": True}, {"p7": 7, "g0-10": 10})],
)
def test_pods_start_in_the_order_of_their_binding_or_of_the_numbers_in_their_names(
    script: dict[str, bool], seconds: dict[str, int]
) -> None:
    objects = [encode(each) for each in (make_node("n"), *map(make_pod, seconds))]
    case = {"start": START, "objects": objects, "script": script, "steps": []}
    replay = TraceReplay(case)
    for _ in seconds:
        replay.begin_step(1)
        replay.do(CYCLE)
    for name, second in seconds.items():
        pod = replay.machine.pod(f"default/{name}")
        assert pod is not None
        assert pod.status.start_time == f"2000-01-02T00:00:{second:02}Z"


@pytest.mark.parametrize(
    ("names", "bound"),
    [
        pytest.param("a b c", "a b c", id="at once, without a number"),
        pytest.param("a0 b0 c0", "a0 b0 c0", id="at once, if it is 0"),
        pytest.param("a3 b1 c2", "c2 b1 a3", id="after the last one, in order of the numbers"),
        pytest.param("a b1 c2", "a c2 b1", id="each as its name says"),
    ],
)
def test_pods_of_a_gang_are_bound_in_the_order_of_the_recordings(names: str, bound: str) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
    }
    member = {"schedulingGroup": {"podGroupName": "g"}}
    pods = [encode(make_pod(name, spec=member)) for name in names.split()]
    gates = {"GenericWorkload": True, "GangScheduling": True}
    replay = TraceReplay(
        {"start": START, "objects": [encode(make_node("n")), group], "gates": gates}
    )
    for each in pods:
        replay.do({"op": "create", "object": each})
    replay.do(CYCLE)
    found = [replay.machine.pod(f"default/{name}") for name in names.split()]
    started = sorted((pod.status.start_time, pod.metadata.name) for pod in found if pod)
    assert [name for _, name in started] == bound.split()


@pytest.mark.parametrize(
    ("feasible", "next_start", "fields"),
    [
        pytest.param(100, 80, set(), id="as it was"),
        pytest.param(99, 80, {"attempts.feasible"}, id="with one node less"),
        pytest.param(100, 100, {"attempts.next_start"}, id="from another node on"),
    ],
)
def test_the_search_of_a_share_of_the_nodes_is_compared(
    feasible: int, next_start: int, fields: set[str]
) -> None:
    steps = [
        CYCLE
        | {"expect": {"attempts": [{"pod": f"default/{name}", "feasible": f, "next_start": start}]}}
        for name, f, start in (("a", 100, 100), ("b", feasible, next_start))
    ]
    nodes = [make_node(f"n{number}") for number in range(120)]
    pods = [make_pod("a"), make_pod("b")]
    config = CONFIG | {"percentageOfNodesToScore": 10}
    found = differences([*nodes, *pods], *steps, config=config)
    attempts = {field for field in found if field.startswith("attempts")}
    assert attempts == {"attempts.chosen"} | fields


@pytest.mark.parametrize("attempts", [[], [{}, {}]])
def test_an_attempt_more_or_less_is_a_difference_in_their_number(attempts: list[Any]) -> None:
    expected = CYCLE | {"expect": {"attempts": attempts}}
    found = differences([make_node("n"), make_pod("p")], expected)
    assert found["attempts"] == 1
    assert "the check failed" not in found


def test_the_calls_of_each_pod_are_compared() -> None:
    missing = {f"default/{name}": [{"call": "bind"}] for name in ("a", "z")}
    step = CYCLE | {"expect": {"attempts": [], "calls": missing}}
    # The last of the differences in the same field.
    assert differences([make_node("n"), make_pod("p")], step)["calls"] == {"default/z": []}


@pytest.mark.parametrize(
    ("point", "status", "calls"),
    [
        pytest.param("pre_bind", "Success", ["bind"], id="PreBind"),
        pytest.param("pre_bind", "Error", ["patch_status"], id="PreBind that fails"),
        pytest.param("bind", "Skip", ["bind"], id="Bind that leaves it to the next plugin"),
        pytest.param("bind", "Error", ["patch_status"], id="Bind that fails"),
    ],
)
def test_a_plugin_has_its_scripted_outcome_after_a_delay(
    point: str, status: str, calls: list[str]
) -> None:
    name = {"pre_bind": "StubA", "bind": "StubBind"}[point]
    binds = {"enabled": [{"name": "StubBind"}, {"name": "DefaultBinder"}]}
    plugins = {
        "preBind": {"enabled": [{"name": "StubA"}]},
        "bind": binds | {"disabled": [{"name": "*"}]},
    }
    played = {name: {point: {"default/p": [{"status": status, "delay": 2.5}]}}}
    replay = TraceReplay(
        {
            "start": START,
            "objects": [encode(make_node("n")), encode(make_pod("p"))],
            "config": CONFIG | {"profiles": [{"plugins": plugins}]},
            "script": {"plugins": played},
        }
    )
    replay.begin_step(0)
    replay.do(CYCLE)
    assert [name, point, "n"] in replay.plugin_calls["default/p"]
    replay.begin_step(2.4)
    assert replay.calls == {}
    replay.begin_step(0.1)
    assert [call["call"] for call in replay.calls["default/p"]] == calls


BOUND = encode(make_pod("bound", node="n"))
WAITING = encode(make_pod("waiting"))
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "c", "namespace": "default", "uid": "c",
        "annotations": {"volume.kubernetes.io/selected-node": "n"},
    },
    "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "made",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "changed"),
    [
        pytest.param([{"op": "tick"}], {}, id="tick"),
        pytest.param(
            [{"op": "create", "object": encode(make_pod("new"))}], {"default/new": ""}, id="create"
        ),
        pytest.param(
            [{"op": "update", "object": encode(make_pod("waiting", priority=7))}],
            {"priority": 7},
            id="update",
        ),
        pytest.param(
            [{"op": "delete", "name": "default/bound"}], {"default/bound": None}, id="delete a pod"
        ),
        pytest.param(
            [{"op": "delete", "kind": "Node", "name": "n"}], {"nodes": []}, id="delete a node"
        ),
        pytest.param(
            [{"op": "terminate", "name": "default/bound"}],
            {"deletion": "2000-01-01T00:00:40Z"},
            id="terminate",
        ),
        pytest.param(
            [{"op": "reap"}, {"op": "terminate", "name": "default/bound"}, {"op": "reap"}],
            {"default/bound": None},
            id="reap",
        ),
        pytest.param([{"op": "volumes"}], {"volume": "pv-c"}, id="volumes"),
        pytest.param([{"op": "volumes_reset"}], {"selected": 0}, id="volumes_reset"),
    ],
)
def test_an_operation_changes_what_its_name_says(
    steps: list[dict[str, Any]], changed: dict[str, object]
) -> None:
    objects = [encode(make_node("n")), BOUND, WAITING, CLAIM]
    case = {"start": START, "objects": objects, "script": {"grace_seconds": 30}}
    replay = TraceReplay(case)

    def shown() -> dict[str, object]:
        machine = replay.machine
        names = ("default/bound", "default/waiting", "default/new")
        pods = {name: machine.pod(name) for name in names}
        bound, waiting = pods["default/bound"], pods["default/waiting"]
        claim = machine.cluster.storage.claims["default/c"]
        return {
            **{name: pod and pod.spec.node_name for name, pod in pods.items()},
            "nodes": [node.name for node in machine.cluster.nodes.objects if node],
            "priority": waiting and waiting.priority,
            "deletion": bound and bound.metadata.deletion_timestamp,
            "volume": claim.spec.volume_name,
            "selected": len(
                {"volume.kubernetes.io/selected-node"} & claim.metadata.annotations.keys()
            ),
        }

    before = shown()
    for step in steps:
        assert replay.do(step) is None
    assert {name: each for name, each in shown().items() if each != before.get(name)} == changed


def test_what_traces_cannot_have_ends_the_case() -> None:
    step: dict[str, Any] = CYCLE | {"expect": {}}
    extender = {"urlPrefix": "http://x/", "filterVerb": "filter"}
    found = differences(
        [make_node("n"), make_pod("p")], step, config=CONFIG | {"extenders": [extender]}
    )
    assert str(found["the check failed"]).startswith("AssertionError: traces have no extenders")
    found = differences([], step | {"op": "~"})
    assert found == {"the check failed": "AssertionError: unknown op ~"}
