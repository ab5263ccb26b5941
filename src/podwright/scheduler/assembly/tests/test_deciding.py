"""What a scheduler keeps of objects and pods, and the states to which it returns."""

from __future__ import annotations

import json
import pickle
import re
from typing import ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.objects import (
    CoschedulingPodGroup,
    InputError,
    PodGroup,
    decode_as,
    decode_pod,
    with_fields,
    with_nominated_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import accepting_reply, machine_of
from podwright.scheduler.config import ExtenderCall, ExtenderReply, parse_gates
from podwright.scheduler.framework import add_custom_result
from podwright.scheduler.machine import CycleDue, ObjectPut, SchedulerOptions
from podwright.testing import make_node, make_pod

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def scheduling(name: str, **fields):
    return decode({"apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": name}, **fields})


def runtime_class(name: str, **fields):
    return decode({
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "h",
        "metadata": {"name": name}, **fields,
    })  # fmt: skip


def test_pods_are_admitted_with_the_classes_that_are_there():
    scheduler = pw.Scheduler()
    high = scheduling("high", kind="PriorityClass", value=7)
    sandbox = runtime_class("sandbox", overhead={"podFixed": {"cpu": "1"}})
    classes = {"priorityClassName": "high", "runtimeClassName": "sandbox"}

    def pod(name: str, uid: str = ""):
        container = {"name": "c", "resources": {"limits": {"cpu": "1"}}}
        return decode_pod({
            "metadata": {"name": name, "uid": uid}, "spec": {"containers": [container], **classes},
        })  # fmt: skip

    def admitted(name: str):
        found = scheduler.pending[f"default/{name}"]
        container = found.spec.containers[0].resources.requests
        return found.priority, dict(found.spec.overhead), container, found.metadata.uid

    # The classes of one call come first.
    scheduler.add(pod("a"), high, sandbox)
    assert admitted("a") == (7, {"cpu": "1"}, {"cpu": "1"}, "default/a")
    # Pods with a uid have passed the admission of a server, which knew the runtime class.
    scheduler.add(pod("b", "u"))
    assert admitted("b") == (7, {}, {"cpu": "1"}, "u")
    assert scheduler.pending["default/a"].spec.scheduler_name == "default-scheduler"
    # Objects of other kinds may have the same names.
    scheduler.remove(make_node("high"), make_pod("sandbox"), runtime_class("high"))
    scheduler.remove(make_pod("high"), scheduling("sandbox", kind="PriorityClass", value=1))
    scheduler.add(pod("c"))
    assert admitted("c") == (7, {"cpu": "1"}, {"cpu": "1"}, "default/c")
    scheduler.remove(high, sandbox, runtime_class("unknown"))
    scheduler.add(pod("d"))
    assert admitted("d") == (0, {}, {"cpu": "1"}, "default/d")


@pytest.mark.parametrize(
    ("gates", "node"),
    [
        pytest.param("", "", id="on: the requests of the pod count"),
        pytest.param(
            "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false", "n1",
            id="off: those of its container count",
        ),
    ],
)  # fmt: skip
def test_pod_level_resources_count_with_their_gate(gates, node):
    scheduler = pw.Scheduler(gates=parse_gates(gates))
    scheduler.add(make_node("n1", cpu="2"))
    pod = make_pod("web", cpu="1", spec={"resources": {"requests": {"cpu": "3"}}})
    assert scheduler.schedule(pod).node == node


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_have_ended_are_not_pending_and_take_no_room(phase):
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="1"), make_pod("a", cpu="1"))
    scheduler.add(with_fields(make_pod("a", cpu="1"), "status", phase=phase))
    scheduler.add(with_fields(make_pod("b", cpu="1", node="n1"), "status", phase=phase))
    assert not scheduler.pending
    assert scheduler.schedule(make_pod("c", cpu="1")).node == "n1"


def test_a_pod_that_was_bound_elsewhere_is_not_pending_any_more():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), make_pod("a"))
    scheduler.add(make_pod("a", node="n1"))
    assert (list(scheduler.pending), list(scheduler.cluster.pods)) == ([], ["default/a"])


def test_a_scheduler_is_described_by_its_nodes_and_pending_pods():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), make_node("n2"), make_pod("a"), make_pod("b"), make_pod("c"))
    assert repr(scheduler) == "<Scheduler: 2 nodes, 3 pending pods>"
    page = re.sub(r"(<[^>]*>\s*)+", " ", scheduler._repr_html_()).split(" Scheduler ")[-1]
    assert page.split() == ["Nodes", "2", "Pending", "pods", "3"]
    assert scheduler.scheduler_names == ("default-scheduler",)
    with pytest.raises(TypeError, match=r"a Scheduler cannot be pickled.*call its scheduler\(\)"):
        pickle.dumps(scheduler)


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (make_pod("web", scheduler="other"), 'no profile has schedulerName "other"'),
        (
            with_fields(
                make_pod("web"), "metadata", deletion_timestamp="2026-01-01T00:00:00Z"
            ),
            "skip schedule deleting pod: default/web",
        ),
    ],
    ids=["of another scheduler", "that is deleted"],
)  # fmt: skip
def test_a_pod_is_not_scheduled(pod, message):
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), make_node("n2"), make_node("n3"))
    scheduler.remove(make_node("n2"))
    explanation = scheduler.explain(pod)
    assert explanation.node_names == ("n1", "n3")
    assert (explanation.decision.ignored, explanation.pre_filter) == (message, pw.Status.OK)
    assert explanation.skipped_filters == frozenset()
    assert not scheduler.pending
    assert scheduler.schedule(pod).ignored == message
    assert list(scheduler.pending) == ["default/web"]


def test_the_age_of_pods_is_the_time_of_creation_and_then_the_order_of_arrival():
    scheduler = pw.Scheduler()
    times = {"a": "2026-01-02T00:00:00Z", "b": None, "c": "2026-01-01T00:00:00Z", "d": None}
    for name, time in times.items():
        scheduler.add(with_fields(make_pod(name), "metadata", creation_timestamp=time))
    assert [pod.name for pod in scheduler.in_queue_order()] == ["b", "d", "c", "a"]


# ------------------------------------------------------------------------- nominations


def test_preemption_clears_the_nominations_of_lower_pods_and_keeps_the_victims():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="2"), make_pod("low", cpu="2", node="n1"))
    first = scheduler.schedule(make_pod("middle", cpu="2", priority=5))
    assert first.post_filter is not None
    assert scheduler.pending["default/middle"].status.nominated_node_name == "n1"
    scheduler.schedule(make_pod("high", cpu="2", priority=9))
    nominated = {key: pod.status.nominated_node_name for key, pod in scheduler.pending.items()}
    assert nominated == {"default/middle": "", "default/high": "n1"}
    assert list(scheduler.cluster.pods) == ["default/low"]
    # Room is kept for the pod of higher priority.
    scheduler.remove(scheduler.cluster.pods["default/low"].pod)
    assert not scheduler.schedule("default/middle").node
    assert scheduler.schedule("default/high").node == "n1"
    assert not scheduler.cluster.nominated


def test_without_post_filter_nothing_is_nominated():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="2"), make_pod("low", cpu="2", node="n1"))
    decision = scheduler.schedule(make_pod("high", cpu="2", priority=9), post_filter=False)
    assert decision.post_filter is None
    assert not scheduler.cluster.nominated
    assert scheduler.pending["default/high"].status.nominated_node_name == ""


class Refusing(pw.Plugin):
    """Refuses at Reserve."""

    name = "Refusing"
    status: ClassVar[pw.Status] = pw.Status.unschedulable("no license")

    def reserve(self, cycle, node_name):
        return self.status


class Pending(Refusing):
    """Lets pods wait at Reserve."""

    name = "Pending"
    status = pw.Status(pw.Code.PENDING, ("later",))


def test_a_nominated_pod_that_reserve_refuses_loses_its_nomination():
    scheduler = pw.Scheduler(plugins=[Refusing])
    scheduler.add(make_node("n1"), with_nominated_node_name(make_pod("web"), "n1"))
    decision = scheduler.schedule("default/web")
    assert decision.message.endswith("1 no license.")
    assert decision.diagnosis is not None
    assert decision.diagnosis.rejected_by == {"Refusing"}
    assert not decision.diagnosis.pending
    assert scheduler.pending["default/web"].status.nominated_node_name == ""
    assert not scheduler.cluster.nominated


def test_a_pod_that_reserve_lets_wait_is_pending_by_the_plugin_and_not_rejected():
    scheduler = pw.Scheduler(plugins=[Pending])
    scheduler.add(make_node("n1"), make_node("n2"))
    decision = scheduler.schedule(make_pod("web"))
    assert decision.diagnosis is not None
    found = decision.diagnosis
    assert found.node_count == 1
    assert (found.rejected_by, found.pending) == (frozenset(), frozenset({"Pending"}))
    assert (decision.node, decision.slot, decision.tie_count, decision.total) == ("", -1, 0, None)


# --------------------------------------------------------------------------- extenders

EXTENDER = {"urlPrefix": "http://e", "filterVerb": "filter", "nodeCacheCapable": True}


def configured(*extenders):
    return pw.read_configuration({**HEAD, "extenders": list(extenders)}, source="c.yaml")


def test_extenders_need_a_function_that_calls_them():
    with pytest.raises(InputError) as caught:
        pw.Scheduler(configured(EXTENDER, {**EXTENDER, "urlPrefix": "http://f"}), source="c.yaml")
    assert str(caught.value) == (
        "c.yaml: extenders[0].urlPrefix: the configuration has extenders and call_extender is"
        " missing: pass call_extender=podwright.online.client.ExtenderClient(configuration).call,"
        " or leave extenders out"
    )


def test_a_filter_of_an_extender_is_bypassed_for_a_while():
    calls: list[str] = []

    def refuse(call: ExtenderCall) -> ExtenderReply:
        calls.append(f"{call.extender} {call.verb}")
        return ExtenderReply(status=200, body=json.dumps({"NodeNames": []}).encode())

    prioritize = {**EXTENDER, "prioritizeVerb": "score", "weight": 1}
    scheduler = pw.Scheduler(configured(prioritize, EXTENDER), call_extender=refuse)
    scheduler.add(make_node("n1"), make_node("n2"))
    assert not scheduler.explain(make_pod("web")).decision.node
    with scheduler.bypassing(frozenset({0})):
        assert not scheduler.schedule(make_pod("web")).node
        with scheduler.bypassing(frozenset({0, 1})):
            assert scheduler.explain(make_pod("web")).decision.node
        assert not scheduler.explain(make_pod("web")).decision.node
    assert not scheduler.explain(make_pod("web")).decision.node
    assert calls == [
        "0 filter", "1 filter", "0 prioritize", "1 filter", "0 filter"
    ]  # fmt: skip


def test_an_accepting_reply_has_the_nodes_of_the_call():
    body = {"Pod": {"a": 1}, "NodeNames": ["n1"], "Nodes": None}
    call = ExtenderCall(
        extender=0, verb="filter", url="", body=json.dumps(body).encode(), timeout_ns=1
    )
    reply = accepting_reply(call)
    assert reply.status == 200
    assert json.loads(reply.body) == {"Nodes": None, "NodeNames": ["n1"]}


def test_a_pod_waits_for_a_node_that_only_an_extender_knows():
    nodes = {"Nodes": {"items": [{"metadata": {"name": "new"}}]}}

    def other(_: ExtenderCall) -> ExtenderReply:
        return ExtenderReply(status=200, body=json.dumps(nodes).encode())

    extender = {**EXTENDER, "nodeCacheCapable": False}
    scheduler = pw.Scheduler(configured(extender), call_extender=other)
    scheduler.add(make_node("n1", cpu="1"))
    decision = scheduler.schedule(make_pod("web", cpu="1"))
    assert (decision.node, decision.slot) == ("new", -1)
    assert not scheduler.pending
    scheduler.add(make_node("new", cpu="1"))
    assert list(scheduler.cluster.pods) == ["default/web"]


# ------------------------------------------------------------------------------- states


class Keeps(pw.Plugin):
    """Records what is reserved, and fails for a pod of one name."""

    name = "Keeps"
    calls: ClassVar[list[str]] = []

    def reserve(self, cycle, node_name):
        self.calls.append(f"+{cycle.pod.name}")
        return pw.Status()

    def unreserve(self, cycle, node_name):
        self.calls.append(f"-{cycle.pod.name}")


def test_a_scheduler_returns_to_an_earlier_state_and_back():
    scheduler = pw.Scheduler(plugins=[Keeps])
    scheduler.add(make_node("n1"), *(make_pod(name) for name in "abc"))
    scheduler.schedule("default/a")
    before, before_all = scheduler.state(), scheduler.bookkeeping()
    assert before.since() == []
    list(scheduler.schedule_all())
    assert before.since() == ["default/b", "default/c"]
    Keeps.calls.clear()
    with scheduler.rewound(before):
        assert list(scheduler.cluster.pods) == ["default/a"]
        assert list(scheduler.pending) == ["default/b", "default/c"]
        assert Keeps.calls == ["-c", "-b"]
        assert scheduler.bookkeeping() == before_all
    assert list(scheduler.cluster.pods) == ["default/a", "default/b", "default/c"]
    assert not scheduler.pending
    assert Keeps.calls == ["-c", "-b", "+b", "+c"]


def test_a_state_has_the_positions_of_the_search_and_the_number_of_cycles():
    nodes = [make_node(f"n{number}") for number in range(130)]
    scheduler = pw.Scheduler(
        pw.read_configuration({**HEAD, "percentageOfNodesToScore": 1}, source="c")
    )
    scheduler.add(*nodes)
    before = scheduler.state()
    first = scheduler.schedule(make_pod("a"))
    assert scheduler.visiting() == {"default-scheduler": 100}
    with scheduler.visiting_from({"default-scheduler": 7}):
        assert scheduler.visiting() == {"default-scheduler": 7}
    assert scheduler.visiting() == {"default-scheduler": 100}
    before.restore()
    assert scheduler.visiting() == {"default-scheduler": 0}
    assert scheduler.bookkeeping().cycle_number == 0
    # Draws depend on the number of the cycle.
    assert scheduler.schedule(make_pod("a")).node == first.node


def test_a_withdrawn_pod_gives_back_its_place_and_what_was_reserved():
    scheduler = pw.Scheduler(plugins=[Keeps])
    scheduler.add(make_node("n1", cpu="1"), make_pod("pending"))
    scheduler.add(with_nominated_node_name(make_pod("nominated", cpu="1", priority=5), "n1"))
    scheduler.schedule(make_pod("a", cpu="1", priority=9))
    Keeps.calls.clear()
    for name in ("a", "pending", "nominated", "unknown"):
        scheduler.withdraw(f"default/{name}")
    assert Keeps.calls == ["-a"]
    assert not scheduler.pending
    assert not scheduler.bookkeeping().reservations
    assert scheduler.schedule(make_pod("b", cpu="1")).node == "n1"


def test_an_explanation_has_what_plugins_added_at_reserve():
    class Adds(pw.Plugin):
        name = "Adds"

        def filter(self, cycle, node):
            add_custom_result(cycle, "filter", node.name)
            return pw.Status()

        def reserve(self, cycle, node_name):
            add_custom_result(cycle, "reserve", node_name)
            return pw.Status()

    scheduler = pw.Scheduler(plugins=[Adds])
    scheduler.add(make_node("n1"))
    explanation = scheduler.explain(make_pod("web"))
    assert explanation.custom_results == {"filter": "n1", "reserve": "n1"}
    assert not scheduler.cluster.pods


# ------------------------------------------------------------------------------ machines


class Counts(pw.Plugin):
    """Defines groups, so all pods are kept."""

    name = "Counts"
    seen: ClassVar[list[tuple[int, int]]] = []

    def group_of(self, pod):
        return "all"

    def pre_filter(self, cycle):
        assert self.handle is not None
        members = self.handle.members(self.name, "all")
        self.seen.append((len(members.scheduled), len(members.pods)))
        return pw.Status()


@pytest.mark.parametrize("plugins", [(), (Counts,)], ids=["without groups", "with groups"])
def test_a_scheduler_takes_over_a_machine(plugins):
    configuration = pw.read_configuration({**HEAD, "percentageOfNodesToScore": 1}, source="c")
    options = SchedulerOptions(configuration=configuration, plugins=plugins, seed=5)
    machines = [machine_of(options) for _ in range(2)]
    objects = [
        *(make_node(f"n{number}", cpu="2") for number in range(130)),
        scheduling("high", kind="PriorityClass", value=7),
        *(make_pod(f"p{number}", cpu="1", scheduler="default-scheduler") for number in range(3)),
        make_pod("bound", cpu="1", node="n129"),
    ]
    for machine in machines:
        for obj in objects:
            machine.handle(ObjectPut(obj), 0)
        machine.handle(CycleDue(), 0)
    scheduler, machine = pw.Scheduler(options), machines[0]
    scheduler.take_over(machine)
    assert list(scheduler.pending) == ["default/p1", "default/p2"]
    assert scheduler.visiting() == {"default-scheduler": 100}
    Counts.seen.clear()
    node = scheduler.schedule("default/p1").node
    if plugins:
        assert Counts.seen == [(2, 4)]
    machines[1].handle(CycleDue(), 0)
    assert machines[1].assumed()["default/p1"] == node
    named = decode_pod({
        "metadata": {"name": "x"}, "spec": {"priorityClassName": "high", "containers": []},
    })  # fmt: skip
    scheduler.add(named)
    assert scheduler.pending["default/x"].priority == 7


# --------------------------------------------------------------------------------- gangs

LABEL = "scheduling.x-k8s.io/pod-group"
COSCHEDULING = {
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    }
}
IN_TREE = SchedulerOptions(gates=parse_gates("GenericWorkload=true,GangScheduling=true"))
LABELLED = SchedulerOptions(
    configuration=pw.read_configuration({**HEAD, "profiles": [COSCHEDULING]}, source="c")
)


def group(kind: type[PodGroup | CoschedulingPodGroup], least: int):
    gang = {"gang": {"minCount": least}} if least else {"basic": {}}
    spec = {"schedulingPolicy": gang} if kind is PodGroup else {"minMember": least}
    return decode_as({"metadata": {"name": "g", "namespace": "default"}, "spec": spec}, kind)


def member(name: str, node: str = ""):
    spec = {"schedulingGroup": {"podGroupName": "g"}, "nodeName": node}
    return decode_pod({"metadata": {"name": name, "labels": {LABEL: "g"}}, "spec": spec})


@pytest.mark.parametrize(
    ("options", "objects", "found"),
    [
        pytest.param(IN_TREE, [group(PodGroup, 2)], 2, id="in-tree"),
        pytest.param(
            IN_TREE, [group(PodGroup, 2), member("a", "n1")], 2, id="one of two has a node"
        ),
        pytest.param(
            IN_TREE, [group(PodGroup, 2), member("a", "n1"), member("b", "n1")], None,
            id="enough have nodes",
        ),
        pytest.param(IN_TREE, [], None, id="the group is not there"),
        pytest.param(IN_TREE, [group(PodGroup, 0)], None, id="its policy is not a gang's"),
        pytest.param(
            IN_TREE, [group(CoschedulingPodGroup, 2)], None, id="the group of the other plugin"
        ),
        pytest.param(SchedulerOptions(), [group(PodGroup, 2)], None, id="without the gate"),
        pytest.param(LABELLED, [group(CoschedulingPodGroup, 3)], 3, id="Coscheduling"),
        pytest.param(
            LABELLED, [group(CoschedulingPodGroup, 1), member("a", "n1")], None,
            id="enough of Coscheduling have nodes",
        ),
        pytest.param(LABELLED, [], None, id="the group of Coscheduling is not there"),
    ],
)  # fmt: skip
def test_the_gang_of_a_pod_has_its_least_number_until_enough_have_nodes(options, objects, found):
    scheduler = pw.Scheduler(options)
    scheduler.add(make_node("n1"), *objects, member("new"))
    gang = scheduler.gang_of(scheduler.pending["default/new"])
    assert gang == (None if found is None else (objects[0], found))
    assert scheduler.gang_of(make_pod("alone")) is None


def test_a_withdrawn_member_is_missing_from_its_gang():
    scheduler = pw.Scheduler(IN_TREE)
    gang = group(PodGroup, 2)
    scheduler.add(make_node("n1"), gang, member("a", "n1"), member("b"), member("new"))
    new = scheduler.pending["default/new"]
    assert scheduler.schedule("default/b").node == "n1"
    assert scheduler.gang_of(new) is None
    scheduler.withdraw("default/b")
    assert scheduler.gang_of(new) == (gang, 2)


def test_the_members_of_a_gang_are_counted_again_in_an_earlier_state():
    scheduler = pw.Scheduler(IN_TREE)
    gang = group(PodGroup, 2)
    scheduler.add(make_node("n1"), gang, member("a", "n1"), member("b"), member("new"))
    new = scheduler.pending["default/new"]
    before = scheduler.state()
    scheduler.schedule("default/b")
    with scheduler.rewound(before):
        assert scheduler.gang_of(new) == (gang, 2)
    assert scheduler.gang_of(new) is None
