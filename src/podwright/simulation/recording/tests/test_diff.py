"""Where two scenarios, or two runs, place their pods differently, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import podwright as pw
from podwright import _progress
from podwright.apimachinery.objects import Object, decode, decode_as, encode
from podwright.scheduler.assembly.tests.test_gangs_together import gang, member
from podwright.scheduler.config import (
    ExtenderCall,
    ExtenderReply,
    KubeSchedulerConfiguration,
    parse_gates,
)
from podwright.scheduler.framework import TieRule
from podwright.simulation.recording.comparison.diff import diff, log_of
from podwright.simulation.recording.comparison.scenario import (
    NotReproducible,
    Scenario,
    counted,
    diff_scenarios,
)
from podwright.simulation.recording.tests.reasons import check_reason, check_reasons
from podwright.simulation.recording.tests.recorded import record_run
from podwright.simulation.recording.tests.recording import KIND, Recorded
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")


def profile(name: str) -> dict[str, Any]:
    """Return a profile with a scoring strategy of NodeResourcesFit."""
    args = {"scoringStrategy": {"type": name, "resources": [{"name": "cpu", "weight": 1}]}}
    return {"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}


def strategy(name: str) -> KubeSchedulerConfiguration:
    """Return a configuration with a scoring strategy of NodeResourcesFit."""
    return pw.read_configuration(KIND | {"profiles": [profile(name)]}, source=name)


def sides(*objects: Object, **keywords: Any) -> tuple[Scenario, Scenario]:
    """Return the scenarios that spread and that pack the pods of a cluster."""
    keywords = {"tie_rule": TieRule.FIRST} | keywords
    spread, packed = (
        Scenario(objects, strategy(name), **keywords)
        for name in ("LeastAllocated", "MostAllocated")
    )
    return spread, packed


TWO_NODES = (make_node("n1", cpu="4"), make_node("n2", cpu="4"))
WEB = (make_pod("web-0", cpu="1"), make_pod("web-1", cpu="1"))


def test_a_pod_moves_because_of_a_score() -> None:
    found = diff(*sides(*TWO_NODES, *WEB))
    (moved,) = found.moved
    assert moved.pod == "default/web-1"
    assert moved.before is not None
    assert moved.after is not None
    assert (moved.before.node, moved.after.node) == ("n2", "n1")
    assert not moved.follows
    for because in moved.reasons:
        assert because is not None
        assert (because.kind, because.rule) == ("priority", "NodeResourcesFit")
        assert because.margin == sum(score.weighted for score in because.scores) > 0
    assert found.counts == {"moved": 1}
    assert not found.is_same


def test_equal_sides_have_no_difference() -> None:
    spread, _ = sides(*TWO_NODES, *WEB)
    found = diff(spread, spread)
    assert found.is_same
    assert found.differences == ()
    assert list(found.placements) == ["default/web-0", "default/web-1"]


def test_packing_leaves_room_for_a_large_pod() -> None:
    large = make_pod("large", cpu="4")
    found = diff(*sides(*TWO_NODES, *WEB, large))
    (one,) = found.no_longer_pending
    assert one.pod == "default/large"
    assert one.follows, "web-1 was placed differently before it"
    before, after = one.reasons
    assert before is not None
    assert (before.kind, before.rule) == ("predicate", "NodeResourcesFit")
    assert before.reasons == ("Insufficient cpu",)
    assert after is None, "no node of the other side to compare with"
    (back,) = diff(*reversed(sides(*TWO_NODES, *WEB, large))).newly_pending
    assert back.after is not None
    assert back.after.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_nodes_are_emptied_and_newly_used() -> None:
    found = diff(*sides(*TWO_NODES, *WEB))
    assert found.nodes.used == (2, 1)
    assert found.nodes.emptied == ("n2",)
    back = diff(*reversed(sides(*TWO_NODES, *WEB)))
    assert (back.nodes.emptied, back.nodes.newly_used) == ((), ("n2",))


def test_pods_of_daemon_sets_do_not_occupy_a_node() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "controller": True}
    agents = [
        decode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"agent-{node}", "ownerReferences": [owner | {"uid": "d"}]},
                "spec": {"nodeName": node, "containers": [{"name": "main", "image": "agent"}]},
            },
            source="test",
        )
        for node in ("n1", "n2")
    ]
    found = diff(*sides(*TWO_NODES, *WEB, *agents, reschedule=True))
    assert found.nodes.emptied == ("n2",)
    before, after = found.placements["default/agent-n2"]
    assert before == after


def test_utilization_and_its_spread() -> None:
    found = diff(*sides(*TWO_NODES, *WEB))
    cpu = found.resources[0]
    assert (cpu.resource, cpu.requested, cpu.allocatable) == ("cpu", (2000, 2000), (8000, 8000))
    assert cpu.share == (0.25, 0.25)
    assert [type(each) for each in (*cpu.share, *cpu.spread)] == [float] * 4
    assert cpu.spread == (0.0, 0.25)
    assert [use.resource for use in found.resources] == ["cpu", "memory", "pods"]


def test_pods_are_counted_by_zone() -> None:
    nodes = (make_node("n1", cpu="4", zone="a"), make_node("n2", cpu="4", zone="b"))
    found = diff(*sides(*nodes, *WEB))
    assert found.zones == {"a": (1, 2), "b": (1, 0)}


def test_pods_on_nodes_are_scheduled_again_on_request() -> None:
    placed = make_pod("old", cpu="1", node="n2")
    still = diff(*sides(*TWO_NODES, placed))
    assert still.is_same
    assert still.tried_counts == (0, 0)
    again = diff(*sides(*TWO_NODES, placed, *WEB, reschedule=True))
    assert again.tried_counts == (3, 3)
    spread = [one.pod for one in again.moved]
    assert spread == ["default/web-0"]


def running(name: str, token: str) -> Object:
    """Return a pod of a dump whose kubelet gave it more than its spec requests."""
    actual = {"requests": {"cpu": "3"}}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name, "labels": {"app": "web"}},
            "spec": {
                "nodeName": "n2",
                "priority": 0,
                "schedulerName": "default-scheduler",
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
                "volumes": [{"name": f"kube-api-access-{token}"}],
            },
            "status": {
                "phase": "Running",
                "startTime": "2026-01-01T00:00:00Z",
                "containerStatuses": [{"name": "a", "resources": actual}],
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "gpu-1"}],
            },
        },
        source="test",
    )


def test_a_pod_that_is_scheduled_again_has_no_kubelet() -> None:
    scenario = Scenario([*TWO_NODES, running("a", "x"), running("b", "y")], reschedule=True)
    scheduler = scenario.scheduler()
    first, second = scheduler.pending.values()
    # As for pods that a controller creates: keys of pods are found by the spec.
    assert first.spec is second.spec
    assert encode(second)["spec"]["volumes"] == [{"name": "kube-api-access-y"}]
    claims = [{"name": "gpu", "resourceClaimName": "gpu-1"}]
    assert encode(first)["status"] == {"phase": "Running", "resourceClaimStatuses": claims}
    assert diff(scenario, scenario).resources[0].requested == (2000, 2000)


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param({"annotations": {"kubernetes.io/config.mirror": "x"}}, id="a mirror pod"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, id="a terminating pod"),
    ],
)
def test_some_pods_keep_their_nodes(kept: dict[str, Any]) -> None:
    metadata = {"name": "kept", "uid": "k"} | kept
    spec = {"nodeName": "n2", "containers": [{"name": "main", "image": "app"}]}
    pod = decode(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, source="test"
    )
    assert diff(*sides(*TWO_NODES, pod, reschedule=True)).tried_counts == (0, 0)


def test_pods_of_other_schedulers_keep_their_nodes() -> None:
    pod = make_pod("kept", node="n2", scheduler="another")
    assert diff(*sides(*TWO_NODES, pod, reschedule=True)).tried_counts == (0, 0)


def test_pods_and_nodes_of_one_side_are_added_or_removed() -> None:
    old = Scenario([*TWO_NODES, make_pod("old", cpu="1")])
    new = Scenario([TWO_NODES[0], make_node("n3", cpu="4"), make_pod("new", cpu="1")])
    found = diff(old, new)
    assert {one.pod: one.change for one in found.differences} == {
        "default/old": "removed",
        "default/new": "added",
    }
    assert (found.nodes.added, found.nodes.removed) == (("n3",), ("n2",))


def test_a_removed_node_is_a_difference() -> None:
    found = diff(Scenario(TWO_NODES), Scenario(TWO_NODES[:1]))
    assert found.differences == ()
    assert not found.is_same


def test_a_pod_is_nominated_elsewhere() -> None:
    def scenario(first: int, second: int) -> Scenario:
        victims = (
            make_pod("a", cpu="4", priority=first, node="n1"),
            make_pod("b", cpu="4", priority=second, node="n2"),
        )
        return Scenario([*TWO_NODES, *victims, make_pod("high", cpu="4", priority=100)])

    (one,) = diff(scenario(1, 2), scenario(2, 1)).differences
    assert one.change == "nominated elsewhere"
    assert one.before is not None
    assert one.after is not None
    assert (one.before.nominated, one.after.nominated) == ("n1", "n2")
    assert [because and because.kind for because in one.reasons] == ["preemption", "preemption"]


def test_other_seeds_draw_other_nodes() -> None:
    pods = [make_pod(f"p{i}", cpu="1") for i in range(6)]
    found = diff(*(Scenario([*TWO_NODES, *pods], seed=seed) for seed in (0, 1)))
    kinds = {because.kind for one in found.moved for because in one.reasons if because is not None}
    assert "draw" in kinds


def test_sides_may_have_another_order_of_the_queue() -> None:
    first = [make_pod("a", cpu="3", priority=2), make_pod("b", cpu="3", priority=1)]
    second = [make_pod("a", cpu="3", priority=1), make_pod("b", cpu="3", priority=2)]
    node = make_node("n1", cpu="4")
    found = diff(Scenario([node, *first]), Scenario([node, *second]))
    assert {one.pod: one.change for one in found.differences} == {
        "default/a": "newly pending",
        "default/b": "no longer pending",
    }
    (pending,) = found.newly_pending
    _, after = pending.reasons
    assert after is not None
    assert (after.rule, after.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))


def test_a_reason_includes_the_scores_of_an_extender() -> None:
    configuration = pw.read_configuration(
        KIND
        | {
            "extenders": [
                {
                    "urlPrefix": "http://127.0.0.1:9/",
                    "prioritizeVerb": "prioritize",
                    "weight": 1,
                    "nodeCacheCapable": True,
                }
            ]
        },
        source="extender",
    )

    def prefer_second(_call: ExtenderCall) -> ExtenderReply:
        return ExtenderReply(status=200, body=b'[{"Host": "n2", "Score": 10}]')

    after = Scenario(
        [*TWO_NODES, WEB[0]],
        configuration,
        call_extender=prefer_second,
        tie_rule=TieRule.FIRST,
    )
    (moved,) = diff(Scenario([*TWO_NODES, WEB[0]], tie_rule=TieRule.FIRST), after).moved
    before, because = moved.reasons
    assert before is not None
    assert before.kind == "draw"
    assert because is not None
    assert [(score.rule, score.weighted) for score in because.scores] == [("extenders[0]", 100)]


class Alternating(pw.Plugin):
    """Prefer another node in each scheduler."""

    name = "Alternating"
    scheduler_count = 0

    def __init__(self) -> None:
        Alternating.scheduler_count += 1
        self.preferred = f"n{1 + Alternating.scheduler_count % 2}"

    def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
        """Prefer one node."""
        return 100 if node.name == self.preferred else 0


def test_a_side_that_cannot_be_repeated_is_an_error() -> None:
    before = Scenario([*TWO_NODES, WEB[0]], plugins=[Alternating])
    # The schedulers of the first side prefer n2 and n1, the other one in between has no plugin.
    Alternating.scheduler_count = 0
    after = Scenario(
        [*TWO_NODES, make_pod("web-0", cpu="1", node_selector={"none": "none"})],
    )
    with pytest.raises(NotReproducible, match=r"default/web-0 was scheduled differently"):
        diff(before, after)


def test_a_short_repr() -> None:
    assert repr(Scenario([*TWO_NODES, *WEB])) == "<Scenario: 2 nodes, 2 pods>"
    assert repr(diff(*sides(*TWO_NODES, *WEB))) == "<PlacementDiff: 2 pods, 1 moved>"


# ------------------------------------------------------------------------------- explain


def test_every_reason_agrees_with_the_explanation_of_the_pod() -> None:
    objects = pw.load("examples/quickstart").objects
    scenarios = (
        Scenario(objects, strategy("LeastAllocated"), reschedule=True),
        Scenario(objects, strategy("MostAllocated"), reschedule=True),
    )
    found = diff(*scenarios)
    assert check_reasons(found, scenarios) >= 2 * len(found.moved) > 20


# ------------------------------------------------------------------------------- runs


def recorded(name: str) -> pw.DecisionLog:
    """Record two nodes and three pods with a scoring strategy."""
    run = Recorded(profiles=[profile(name)])
    run.put(*TWO_NODES, *WEB, make_pod("large", cpu="4"))
    for _ in range(3):
        run.cycle()
    return run.run.log


def test_two_runs_differ_with_the_reasons_of_their_cycles() -> None:
    logs = recorded("LeastAllocated"), recorded("MostAllocated")
    found = diff(*logs)
    assert {one.pod: one.change for one in found.differences} == {
        "default/web-1": "moved",
        "default/large": "no longer pending",
    }
    (moved,) = found.moved
    for side, log in enumerate(logs):
        because, theirs = moved.reasons[side], (moved.before, moved.after)[1 - side]
        assert because is not None
        assert theirs is not None
        check_reason(because, pw.explain_cycle(log, moved.pod), theirs.node)
    (large,) = found.no_longer_pending
    assert large.before is not None
    assert "2 Insufficient cpu" in large.before.message
    assert large.reasons[0] is not None
    assert large.reasons[0].rule == "NodeResourcesFit"
    assert found.nodes.used == (2, 2)


def test_a_run_equals_itself_also_by_its_folder(tmp_path: Path) -> None:
    record_run(tmp_path / "log", checkpoint_events=10)
    assert len(log_of(tmp_path / "log")) == len(log_of(str(tmp_path))) > 0
    found = diff(tmp_path, pw.DecisionLog.open(tmp_path / "log"))
    assert found.is_same
    nodes = {key: after.node for key, (_, after) in found.placements.items() if after is not None}
    assert nodes["default/urgent"] == "large"
    assert nodes["default/hopeless"] == ""


def test_the_progress_of_a_comparison_is_that_of_its_decisions_or_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []

    class Meter:
        def advance(self, done: float, note: object = None) -> None:
            shown.append(done)

        def close(self) -> None:
            shown.append("end")

    def display(what: str, total: float | None, is_shown: bool | None) -> Meter:
        shown.append((what, total, is_shown))
        return Meter()

    monkeypatch.setattr(_progress._Current, "display", display)
    log = recorded("LeastAllocated")
    diff(log, log, progress=True)
    assert shown == [("comparing runs", 2, True), 1, 2, "end"]
    shown.clear()
    one, two = (Scenario([*TWO_NODES, *WEB[:count]]) for count in (1, 2))
    diff(one, two, progress=True)
    assert shown == [("scheduling", 4, True), 1, 2, 3, "end"]


def test_a_pod_that_the_other_run_does_not_place_has_no_reason_against_a_node() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    def log(cpu: str) -> pw.DecisionLog:
        run = Recorded()
        run.attempt(make_node("n1", cpu=cpu), make_pod("p", cpu="2", spec={"affinity": affinity}))
        return run.run.log

    (pending,) = diff(log("2"), log("1")).newly_pending
    before, after = pending.reasons
    assert before is None
    assert after is not None
    assert after.reasons == ("Insufficient cpu",)


def owned(name: str, controller: str = "web", **fields: Any) -> pw.Pod:
    """Return a pod of a replica set."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": controller, "uid": controller}
    metadata = {"name": name, "uid": name, "ownerReferences": [owner | {"controller": True}]}
    document = encode(make_pod(name, scheduler="default-scheduler", **fields))
    return decode_as(document | {"metadata": document["metadata"] | metadata}, pw.Pod)


def test_pods_with_generated_names_are_matched_by_their_controller() -> None:
    def log(strategy: str, *names: str) -> pw.DecisionLog:
        run = Recorded(profiles=[profile(strategy)])
        run.put(*TWO_NODES, *(owned(name, cpu="1") for name in names), owned("x", "db", cpu="1"))
        for _ in range(len(names) + 1):
            run.cycle()
        return run.run.log

    spread = log("LeastAllocated", "web-a", "web-b", "web-c")
    packed = log("MostAllocated", "web-a", "web-p")
    found = diff(spread, packed)
    by_pod = {one.pod: one for one in found.differences}
    assert by_pod["default/web-b"].counterpart == "default/web-p"
    assert by_pod["default/web-b"].change == "moved"
    assert by_pod["default/web-c"].change == "removed"
    assert list(found.placements) == [
        "default/web-a", "default/web-b", "default/web-c", "default/x",
    ]  # fmt: skip
    _, after = by_pod["default/web-b"].reasons
    before = by_pod["default/web-b"].before
    assert after is not None
    assert before is not None
    check_reason(after, pw.explain_cycle(packed, "default/web-p"), before.node)


def test_pods_of_runs_follow_those_that_were_scheduled_before_them() -> None:
    def log(strategy: str) -> pw.DecisionLog:
        run = Recorded(profiles=[profile(strategy)])
        run.put(*TWO_NODES, make_pod("there", cpu="1", node="n1"), make_pod("low", cpu="1"))
        run.attempt(make_pod("high", cpu="1", priority=1))
        run.cycle()
        return run.run.log

    found = diff(log("LeastAllocated"), log("MostAllocated"))
    assert list(found.placements) == ["default/high", "default/low", "default/there"]
    follows = [(one.pod, one.follows) for one in found.differences]
    assert follows == [("default/high", False), ("default/low", True)]


def test_a_pod_that_was_created_again_is_of_its_last_controller() -> None:
    run = Recorded()
    run.put(owned("web-a"))
    run.remove(owned("web-a"))
    run.put(make_pod("web-a"))
    (other := Recorded()).put(owned("web-b"))
    found = {one.pod: one.change for one in diff(run.run.log, other.run.log).differences}
    assert found == {"default/web-a": "removed", "default/web-b": "added"}


def workload(kind: str, name: str, **spec: Any) -> Object:
    """Return a workload whose pods request one CPU."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "web:1"} | spec.pop("container", {})]},
    }
    selector = {"matchLabels": {"app": name}}
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": selector, "template": template} | spec,
        },
        source="test",
    )


def test_workloads_are_expanded() -> None:
    found = diff(*sides(*TWO_NODES, *WEB, workload("StatefulSet", "db", replicas=2)))
    assert list(found.placements) == [
        "default/web-0", "default/web-1", "default/db-0", "default/db-1",
    ]  # fmt: skip


def test_pods_of_two_versions_of_a_deployment_are_matched() -> None:
    requests = {"resources": {"requests": {"cpu": "3"}}}
    before = Scenario((*TWO_NODES, workload("Deployment", "web", replicas=3)))
    after = Scenario((*TWO_NODES, workload("Deployment", "web", replicas=3, container=requests)))
    found = diff(before, after)
    (one,) = found.newly_pending
    assert len(found.placements) == 3
    assert one.counterpart in {pod.key for pod in after.pods}
    assert one.reasons[1] is not None
    assert one.reasons[1].rule == "NodeResourcesFit"
    assert all(key in found.placements for key in (pod.key for pod in before.pods))


def test_a_finished_run_is_a_side() -> None:
    run = pw.simulate([*TWO_NODES, *WEB], seed=1)
    assert diff(run, run).is_same


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(Scenario(TWO_NODES), "run", "two scenarios or two runs", id="both kinds"),
        pytest.param("run", Scenario(TWO_NODES), "not a scenario with a run", id="a run first"),
        pytest.param(1, 2, "not int", id="neither"),
    ],
)
def test_wrong_sides_are_type_errors(before: Any, after: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        diff(before, after)


# ------------------------------------------------------------------------------- tables


def test_differences_as_tables() -> None:
    tables = diff(*sides(*TWO_NODES, *WEB)).tables
    (row,) = tables["pods"].to_pylist()
    assert row == {
        "namespace": "default", "pod": "web-1", "counterpart": None, "change": "moved",
        "before": "n2", "after": "n1",
        "kind_before": "priority", "kind_after": "priority", "rule_before": "NodeResourcesFit",
        "rule_after": "NodeResourcesFit", "follows": False,
    }  # fmt: skip
    scores = [row for row in tables["scores"].to_pylist() if row["side"] == "after"]
    assert {row["plugin"] for row in scores} >= {"NodeResourcesFit"}
    assert tables["nodes"].to_pylist() == [{"node": "n2", "change": "emptied"}]
    assert [row["resource"] for row in tables["resources"].to_pylist()] == ["cpu", "memory", "pods"]
    assert tables["zones"].num_rows == 1


def test_no_difference_has_empty_tables() -> None:
    spread, _ = sides(*TWO_NODES, *WEB)
    assert diff(spread, spread).tables["pods"].num_rows == 0


def test_reasons_are_found_for_the_first_pods_that_differ() -> None:
    pods = [make_pod(f"web-{number}", cpu="1") for number in range(4)]
    decisions: list[str] = []

    def watch(found: Any, _: int) -> Any:
        for decision in found:
            decisions.append(decision.pod.key)
            yield decision

    found = diff_scenarios(*sides(*TWO_NODES, *pods), most_reasons=1, watch=watch)
    everything = diff(*sides(*TWO_NODES, *pods))
    assert [one.pod for one in found.differences] == [one.pod for one in everything.differences]
    first, *others = found.differences
    assert first == everything.differences[0]
    assert others
    assert all(one.reasons == (None, None) for one in others)
    # The first side is scheduled again only up to the last pod with a reason.
    assert decisions[8:] == ["default/web-0", first.pod]


def test_a_gang_that_does_not_fit_is_decided_once() -> None:
    gates = parse_gates("GenericWorkload=true,GangScheduling=true")
    scenario = Scenario(
        [make_node("n1", cpu="1"), gang("g", 2), member("a", "g"), member("b", "g")], gates=gates
    )
    seen: list[int] = []
    found = diff_scenarios(scenario, scenario, watch=counted(seen.append))
    assert (found.is_same, found.tried_counts, seen) == (True, (2, 2), [1, 2, 3, 4])


def test_no_reasons_are_found_if_none_are_requested() -> None:
    found = diff_scenarios(*sides(*TWO_NODES, *WEB), most_reasons=0)
    assert [one.reasons for one in found.differences] == [(None, None)]
