"""The parts of a comparison with given sides: documents, uses of nodes, pods that are new again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import (
    Node,
    OwnerReference,
    Pod,
    decode,
    with_fields,
    with_nominated_node_name,
)
from podwright.scheduler.assembly import Because, Scheduler, ScoreDifference
from podwright.scheduler.framework import Decision, PostFilterResult, Status
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording.comparison import scenario
from podwright.simulation.recording.comparison.diff_documents import (
    diff_document,
    reason_document,
    typed_placement,
)
from podwright.simulation.recording.comparison.placement_diff import (
    NodeChanges,
    PlacementDiff,
    PodDifference,
    ResourceUse,
)
from podwright.simulation.recording.comparison.placements import (
    ClusterUse,
    PodPlacement,
    is_movable_pod,
    nodes_of_pods,
    use_of,
    workloads_of,
)
from podwright.simulation.recording.comparison.scenario import (
    NotReproducible,
    Scenario,
    ScheduledScenario,
    as_new_pod,
    counted,
    decision_count,
    diff_with_each,
)
from podwright.testing import make_node, make_pod


def plain(document: object) -> Any:
    """Return a document as a client reads it."""
    return json.loads(msgspec.json.encode(document))


SCORES = (ScoreDifference("A", 8), ScoreDifference("B", -1))
BECAUSE = Because(kind="priority", rule="A", reasons=("r",), scores=SCORES, margin=7)
DIFF = PlacementDiff(
    differences=(
        PodDifference(
            pod="x/p",
            counterpart="x/q",
            change="nominated elsewhere",
            before=PodPlacement(nominated="n1", message="full"),
            after=PodPlacement(nominated="n2", message="full too"),
            reasons=(BECAUSE, Because(kind="draw")),
            follows=True,
        ),
        PodDifference(pod="x/r", change="added", after=PodPlacement(node="n1")),
    ),
    placements={
        "x/p": (PodPlacement(nominated="n1"), PodPlacement(nominated="n2")),
        "x/r": (None, PodPlacement(node="n1")),
        "x/s": (PodPlacement(node="n1"), PodPlacement(node="n1")),
    },
    nodes=NodeChanges(
        used=(1, 2), emptied=("e",), newly_used=("n",), added=("a1", "a2"), removed=("r",)
    ),
    resources=(
        ResourceUse(
            resource="cpu",
            requested=(1, 2),
            allocatable=(3, 4),
            share=(0.25, 0.5),
            spread=(0.1, 0.2),
        ),
        ResourceUse(
            resource="memory",
            requested=(0, 0),
            allocatable=(0, 0),
            share=(None, None),
            spread=(None, None),
        ),
    ),
    zones={"": (0, 1), "z": (2, 3)},
    tried_counts=(5, 6),
    is_same=False,
)


def test_the_document_of_a_comparison_has_all_its_parts():
    scores = [{"rule": "A", "weighted": 8}, {"rule": "B", "weighted": -1}]
    reason = {"kind": "priority", "rule": "A", "reasons": ["r"], "scores": scores, "margin": 7}
    draw: dict[str, Any] = {"kind": "draw", "rule": None, "reasons": [], "scores": [], "margin": 0}
    document = diff_document(DIFF)
    assert isinstance(document, dict)
    assert plain(document) == {
        "pods": [
            {
                "pod": "x/p",
                "counterpart": "x/q",
                "change": "nominatedElsewhere",
                "before": {"node": None, "nominatedNode": "n1", "message": "full"},
                "after": {"node": None, "nominatedNode": "n2", "message": "full too"},
                "reasons": {"before": reason, "after": draw},
                "followsOther": True,
            },
            {
                "pod": "x/r",
                "counterpart": None,
                "change": "added",
                "before": None,
                "after": {"node": "n1", "nominatedNode": None, "message": None},
                "reasons": {"before": None, "after": None},
                "followsOther": False,
            },
        ],
        "nodes": {
            "used": {"before": 1, "after": 2},
            "emptied": ["e"],
            "newlyUsed": ["n"],
            "added": ["a1", "a2"],
            "removed": ["r"],
        },
        "resources": [
            {
                "resource": "cpu",
                "before": {"requested": 1, "allocatable": 3, "share": 0.25, "spread": 0.1},
                "after": {"requested": 2, "allocatable": 4, "share": 0.5, "spread": 0.2},
            },
            {
                "resource": "memory",
                "before": {"requested": 0, "allocatable": 0, "share": None, "spread": None},
                "after": {"requested": 0, "allocatable": 0, "share": None, "spread": None},
            },
        ],
        "zones": [
            {"zone": None, "pods": {"before": 0, "after": 1}},
            {"zone": "z", "pods": {"before": 2, "after": 3}},
        ],
        "summary": {
            "pods": 3,
            "different": 2,
            "followOthers": 1,
            "changes": {"nominatedElsewhere": 1, "added": 1},
            "same": False,
        },
    }
    assert reason_document(BECAUSE) == reason
    assert plain(reason_document(BECAUSE, limit=1)) == reason | {"scores": scores[:1]}
    assert typed_placement(None) is None


def test_a_comparison_in_words():
    assert repr(DIFF) == "<PlacementDiff: 3 pods, 1 nominated elsewhere, 1 added>"
    first, second = DIFF.differences
    assert repr(first) == ("<PodDifference: x/p nominated elsewhere, from no node to no node>")
    assert repr(second) == "<PodDifference: x/r added, from no node to n1>"
    shown = DIFF._repr_html_()
    texts = [text.strip() for text in re.split(r"<[^>]*>", shown) if text.strip()]
    assert texts[-26:] == [
        "Differences of 3 pods",
        "nominated elsewhere", "1", "added", "1",
        "Pod", "Change", "Before", "After",
        "x/p", "nominated elsewhere", "x/r", "added", "n1",
        "Resource", "Before", "After", "cpu", "25.00%", "50.00%", "memory",
    ]  # fmt: skip
    same = msgspec.structs.replace(DIFF, differences=(), is_same=True)
    assert repr(same) == "<PlacementDiff: 3 pods, no difference>"
    assert "No pod is placed differently." in same._repr_html_()
    assert "No pod is placed differently." not in shown


def use(**fields: Any) -> ClusterUse:
    """Return the use of two nodes."""
    matrix = np.array([[4, 8], [2, 0]], dtype=np.int64)
    whole: dict[str, Any] = {
        "nodes": ("a", "b"),
        "zones": ("z", ""),
        "resources": ("cpu", "memory"),
        "allocatable": matrix,
        "requested": matrix // 2,
        "pods": np.array([1, 0]),
        "movable_pods": np.array([1, 0]),
    }
    return ClusterUse(**(whole | fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"nodes": ("a", "c")},
        {"zones": ("z", "y")},
        {"resources": ("cpu", "gpu")},
        {"allocatable": np.ones((2, 2), dtype=np.int64)},
        {"requested": np.ones((2, 2), dtype=np.int64)},
        {"pods": np.array([1, 1])},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_uses_are_equal_if_all_is(fields):
    assert use().equals(use())
    assert not use().equals(use(**fields))
    assert not use(**fields).equals(use())


def owned(name: str, kind: str, *, controls: bool = True, node: str = "") -> Pod:
    owner = OwnerReference(api_version="apps/v1", kind=kind, name="o", uid="u", controller=controls)
    pod = make_pod(name, cpu="500m", node=node)
    return with_fields(pod, "metadata", owner_references=(owner,))


MIRROR = make_pod("mirror", annotations={"kubernetes.io/config.mirror": ""}, node="n2")


@pytest.mark.parametrize(
    ("pod", "is_movable"),
    [
        (make_pod("p"), True),
        (owned("p", "ReplicaSet"), True),
        (owned("p", "DaemonSet"), False),
        (owned("p", "DaemonSet", controls=False), True),
        (MIRROR, False),
    ],
)
def test_pods_that_may_run_on_another_node(pod, is_movable):
    assert is_movable_pod(pod) is is_movable


def test_the_use_of_a_cluster_is_in_order_of_names_without_nodes_that_are_gone():
    made = Scheduler(SchedulerOptions())
    gone = make_node("m", cpu="9")
    made.add(
        make_node("n2", cpu="2", zone="z2", resources={"example.com/gpu": "3"}),
        gone,
        make_node("n1", cpu="4", memory="2Ki"),
        make_pod("a", cpu="1", node="n1"),
        make_pod("b", cpu="250m", node="n1"),
        owned("agent", "DaemonSet", node="n1"),
        MIRROR,
        make_pod("lost", node="missing"),
        make_pod("pending"),
    )
    made.remove(gone)
    found = use_of(made.cluster)
    assert (found.nodes, found.zones) == (("n1", "n2"), ("", "z2"))
    # In the order of their columns.
    assert sorted(found.resources) == [
        "cpu", "ephemeral-storage", "example.com/gpu", "memory", "pods",
    ]  # fmt: skip
    columns = {
        name: (found.allocatable[:, index].tolist(), found.requested[:, index].tolist())
        for index, name in enumerate(found.resources)
    }
    assert columns["cpu"] == ([4000, 2000], [1750, 0])
    assert columns["memory"] == ([2048, 16 << 30], [0, 0])
    assert columns["example.com/gpu"] == ([0, 3], [0, 0])
    assert (found.pods.tolist(), found.movable_pods.tolist()) == ([3, 1], [2, 0])
    assert nodes_of_pods(made.cluster) == {
        "default/a": "n1",
        "default/b": "n1",
        "default/agent": "n1",
        "default/mirror": "n2",
        "default/lost": "missing",
    }


def test_pods_without_a_controller_have_no_workload():
    pods = [make_pod("p"), owned("s-0", "StatefulSet"), owned("q", "Job", controls=False)]
    assert workloads_of(pods) == {"default/s-0": ("StatefulSet", "default/o")}


# ------------------------------------------------------------------------------ scenarios


RUNNING = decode(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "x", "labels": {"app": "w"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "c", "ready": True, "restartCount": 1}],
            "initContainerStatuses": [{"name": "d", "ready": True, "restartCount": 1}],
            "resources": {"requests": {"cpu": "1"}},
            "allocatedResources": {"cpu": "1"},
            "resize": "Deferred",
            "startTime": "2026-01-01T00:00:00Z",
            "nominatedNodeName": "n2",
            "resourceClaimStatuses": [{"name": "r", "resourceClaimName": "r-1"}],
        },
    },
    source="p",
)


def test_a_pod_that_is_new_again_keeps_what_its_controller_gave_it():
    assert isinstance(RUNNING, Pod)
    found = as_new_pod(RUNNING)
    status = {
        "phase": "Running",
        "resourceClaimStatuses": RUNNING.raw["status"]["resourceClaimStatuses"],
    }
    assert found.raw["status"] == status
    assert "nodeName" not in found.raw["spec"]
    assert found.spec == msgspec.structs.replace(RUNNING.spec, node_name="")
    assert found.status == msgspec.structs.replace(
        RUNNING.status,
        container_statuses=(),
        init_container_statuses=(),
        resources=None,
        allocated_resources=None,
        resize="",
        start_time=None,
        nominated_node_name="",
    )
    # The pod that runs is another object, and is as it was.
    assert RUNNING.spec.node_name == "n1"
    assert "startTime" in RUNNING.raw["status"]
    assert as_new_pod(make_pod("q", node="n1")).spec.node_name == ""


@pytest.mark.parametrize("status", [None, {}])
def test_a_pod_without_a_status_can_be_new_again(status):
    spec = {"nodeName": "n1", "containers": [{"name": "c"}]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": spec}
    pod = decode(document | {"status": status}, source="q")
    assert isinstance(pod, Pod)
    assert as_new_pod(pod).spec.node_name == ""


def volumes(*names: str, claim: str = "") -> Pod:
    listed: list[dict[str, Any]] = [{"name": name, "emptyDir": {}} for name in names]
    if claim:
        listed.append({"name": "data", "persistentVolumeClaim": {"claimName": claim}})
    return make_pod("p", labels={"app": "w"}, node="n1", spec={"volumes": listed})


@pytest.mark.parametrize(
    ("first", "second", "is_shared"),
    [
        pytest.param(volumes("a"), volumes("a"), True, id="the same"),
        pytest.param(volumes("a"), volumes("b"), True, id="the drawn name of a volume"),
        pytest.param(volumes("a"), volumes("a", "b"), False, id="more volumes"),
        pytest.param(volumes("a"), make_pod("p", labels={"app": "w"}, cpu="1"), False, id="other"),
        pytest.param(volumes(claim="x"), volumes(claim="x"), True, id="the same claim"),
        pytest.param(volumes(claim="x"), volumes(claim="y"), False, id="another claim"),
        pytest.param(volumes("x"), volumes(claim="y"), False, id="a claim for none"),
        pytest.param(volumes(claim="y"), volumes("x"), False, id="none for a claim"),
        pytest.param(
            volumes("a"), with_fields(volumes("a"), "metadata", namespace="y"), False,
            id="another namespace",
        ),
        pytest.param(
            volumes("a"), with_fields(volumes("a"), "metadata", labels={"app": "v"}), False,
            id="other labels",
        ),
    ],
)  # fmt: skip
def test_new_pods_of_a_template_share_their_spec(first, second, is_shared):
    specs: scenario.Specs = {}
    one, other = (as_new_pod(pod, specs) for pod in (first, second))
    assert (one.spec is other.spec) is is_shared
    assert one.spec == msgspec.structs.replace(first.spec, node_name="")


def scenario_of(count: int, placed: int = 0, **options: Any) -> Scenario:
    nodes = [make_node("n1", cpu="64")]
    pods = [make_pod(f"p{n}", cpu="1") for n in range(count)]
    pods += [make_pod(f"q{n}", cpu="1", node="n1") for n in range(placed)]
    ended = with_fields(make_pod("ended"), "status", phase="Succeeded")
    return Scenario([*nodes, *pods, ended], **options)


@pytest.mark.parametrize(
    ("before", "afters", "most", "count"),
    [
        pytest.param(scenario_of(3), [scenario_of(3)], None, 9, id="each once, and one again"),
        pytest.param(scenario_of(3), [scenario_of(3)], 2, 8, id="as many again as have reasons"),
        pytest.param(scenario_of(3), [scenario_of(3)], 0, 6, id="none again"),
        pytest.param(scenario_of(3), [scenario_of(3)], 9, 9, id="no more than there are"),
        pytest.param(scenario_of(2, 5), [scenario_of(1, 5)], None, 5, id="placed pods stay"),
        pytest.param(
            scenario_of(2, 5, reschedule=True), [scenario_of(1, 5)], None, 15, id="or not"
        ),
        pytest.param(scenario_of(3), [scenario_of(1), scenario_of(2)], None, 12, id="two others"),
        pytest.param(scenario_of(3), [], None, 3, id="no other"),
    ],
)
def test_how_many_decisions_a_comparison_makes_at_most(before, afters, most, count):
    assert decision_count(before, *afters, most_reasons=most) == count


def test_decisions_are_counted_while_they_are_passed_on():
    counts: list[int] = []
    watch = counted(counts.append)
    decisions = [Decision(pod=make_pod(name)) for name in "abc"]
    rows = iter(watch(decisions[:2], 9))
    assert next(rows) is decisions[0]
    assert counts == []
    assert [*rows] == decisions[1:2]
    # A second comparison continues to count.
    assert [*watch(decisions[2:], 9)] == decisions[2:]
    assert counts == [1, 2, 3]


def test_a_scenario_is_scheduled_once_and_compared_with_each():
    passed: list[tuple[int, int]] = []

    def watch(decisions: Iterable[Decision], count: int) -> Iterator[Decision]:
        found = [*decisions]
        passed.append((count, len(found)))
        return iter(found)

    before = scenario_of(3)
    first, second = diff_with_each(before, [scenario_of(2), scenario_of(3, 1)], watch=watch)
    assert passed == [(3, 3), (2, 2), (3, 3)]
    assert {one.pod: one.change for one in first.differences} == {"default/p2": "removed"}
    assert {one.pod: one.change for one in second.differences} == {"default/q0": "added"}
    assert (first.tried_counts, second.tried_counts) == ((3, 2), (3, 3))


def test_workloads_are_expanded_unless_pods_are_given():
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment: Any = decode({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec,
    })  # fmt: skip
    assert len(Scenario([deployment]).pods) == 2
    assert Scenario([deployment], expands_workloads=False).pods == []


def test_pending_pods_stay_as_they_are_where_placed_ones_are_scheduled_again():
    waiting = with_nominated_node_name(make_pod("waiting"), "n1")
    objects: list[Node | Pod] = [make_node("n1"), waiting, make_pod("placed", node="n1")]
    pending = Scenario(objects, reschedule=True).scheduler().pending
    nominated = {key: pod.status.nominated_node_name for key, pod in pending.items()}
    assert nominated == {"default/waiting": "n1", "default/placed": ""}


def test_only_some_pods_are_scheduled_if_they_are_named():
    found = ScheduledScenario(scenario_of(3, 1, only={"default/p1", "default/q0", "default/x"}))
    assert list(found.decisions) == ["default/p1"]
    placements = found.placements()
    assert placements.pods == {
        "default/p1": PodPlacement(node="n1"),
        "default/q0": PodPlacement(node="n1"),
    }
    assert placements.tried_count == 1
    assert repr(scenario_of(3, 1)) == "<Scenario: 1 nodes, 5 pods>"
    assert [pod.name for pod in scenario_of(1, 1).pods] == ["p0", "q0"]


def test_the_placements_of_a_scenario_have_nominations_and_messages():
    full = Scenario([make_node("n1", cpu="1"), make_pod("low", cpu="1", node="n1"),
                     make_pod("high", cpu="1", priority=5), make_pod("big", cpu="9")])  # fmt: skip
    pods = ScheduledScenario(full).placements().pods
    assert list(pods) == ["default/high", "default/big", "default/low"]
    assert (pods["default/high"].node, pods["default/high"].nominated) == ("", "n1")
    assert pods["default/big"].nominated == ""
    assert pods["default/big"].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert pods["default/low"] == PodPlacement(node="n1")


@pytest.mark.parametrize(
    ("again", "reasons", "is_error"),
    [
        pytest.param({"a": "n1", "b": "n2"}, 1, False, id="the same"),
        pytest.param({"a": "n1"}, 1, False, id="it ended with the last reason"),
        pytest.param({"a": "n1"}, 0, True, id="a pod is missing before the last reason"),
        pytest.param({"a": "n2", "b": "n2"}, 1, True, id="another node"),
        pytest.param({"a": "n1", "b": ""}, 1, True, id="no node"),
    ],
)
def test_a_side_that_is_scheduled_again_has_to_decide_the_same(again, reasons, is_error):
    def side(nodes: dict[str, str], reason_count: int) -> Any:
        decisions = {
            f"default/{name}": Decision(pod=make_pod(name), node=node)
            for name, node in nodes.items()
        }
        made = object.__new__(ScheduledScenario)
        made.decisions = decisions
        made.reasons = dict.fromkeys(list(decisions)[:reason_count])
        return made

    arguments = side({"a": "n1", "b": "n2"}, 0), side(again, reasons), 1
    if not is_error:
        scenario._check_reproduced(*arguments)
        return
    with pytest.raises(NotReproducible, match=r"^pod default/[ab] was scheduled differently when"):
        scenario._check_reproduced(*arguments)


def test_a_nomination_is_that_of_the_decision():
    for node, expected in (("n1", "n1"), ("", ""), (None, "")):
        result = PostFilterResult(status=Status(), nominated_node=node)
        assert scenario._nominated(Decision(pod=make_pod("p"), post_filter=result)) == expected
    assert scenario._nominated(Decision(pod=make_pod("p"))) == ""
