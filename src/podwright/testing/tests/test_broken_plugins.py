"""Plugins that are wrong in one place each, and exactly what `check_plugin` reports."""

# ruff: noqa: ARG001, ARG005 - methods have the arguments of extension points

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.apimachinery.objects import ObjectMeta, PodwrightError, ResourceClaim
from podwright.scheduler.assembly import Registry
from podwright.scheduler.columns.tests.storage_objects import claim, volume
from podwright.scheduler.framework import (
    CallError,
    ClaimUpdate,
    PodBinding,
    PodMetadataPatch,
    PostFilterResult,
    ResourceClaimWrite,
    VolumeUpdate,
)
from podwright.testing import PluginCheckFailed, check_plugin, make_node, make_pod

OK = pw.Status()
NO = pw.Status.unschedulable("no")


def plugin(**members: Any) -> pw.Plugin:
    """Return an instance of a class with these members."""
    made: pw.Plugin = type("Mine", (pw.Plugin,), {"name": "Mine", **members})()
    return made


def always(answer: Any) -> Any:
    """Return a method that returns `answer`, or raises it."""

    def method(self: pw.Plugin, *arguments: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return method


OOPS = always(ValueError("oops"))
NUMPY_DELAY = pw.Pending(delay_ns=np.int64(5))  # type: ignore[arg-type]
PENDING = always(pw.Pending(delay_ns=1))
ON_FIRST = "(pod default/plain)"
FIRST_PLACED = "(pod default/important, node node-0)"


def in_cycle(point: str, text: str) -> str:
    return f'cycle: running {point} plugin "Mine": {text}'


IN_ANSWERS = {
    "Filter": 'running "Mine" filter plugin',
    "Score": 'running Score plugins: plugin "Mine" failed with',
}


def in_answers(point: str, text: str) -> str:
    where = IN_ANSWERS.get(point, f'running {point} plugin "Mine"')
    return f"answers: {where}: {text}"


def write_integers(self: pw.Plugin, cycle: Any, nodes: Any, out: Any) -> None:
    out.reject(np.zeros(nodes.n_slots, dtype=np.int64), NO)


def return_mask(self: pw.Plugin, cycle: Any, nodes: Any, out: Any) -> Any:
    return np.zeros(nodes.n_slots, dtype=np.bool_)


def return_scores(self: pw.Plugin, cycle: Any, nodes: Any, out: Any) -> Any:
    return np.zeros(nodes.n_slots)


def replace_scores(self: pw.Plugin, cycle: Any, nodes: Any, out: Any) -> None:
    out.values = np.zeros(nodes.n_slots)


def pass_all(self: pw.Plugin, cycle: Any, node: Any) -> pw.Status:
    return OK


def odd_key(self: pw.Plugin, pod: pw.Pod, timestamp_ns: int) -> Any:
    return [1] if pod.metadata.name == "plain" else "key"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({}, "names: Mine implements no extension point", id="nothing at all"),
        pytest.param(
            {"name": "", "filter": always(OK)},
            "names: a plugin needs a class attribute `name`",
            id="no name",
        ),
        pytest.param(
            {"fillter": lambda self, cycle, node: OK},
            'names: fillter is not a method that plugins have; did you mean "filter"? (a method of'
            " your own can be named _fillter)",
            id="a misspelt method",
        ),
        pytest.param(
            {"preFilter": always(OK), "filter": always(OK)},
            'names: preFilter is not a method that plugins have; did you mean "pre_filter"? (a'
            " method of your own can be named _preFilter)",
            id="a method in the spelling of configurations",
        ),
        pytest.param(
            {"filter": always(OK), "filter_read": pw.Reads.NODE},
            "names: filter_read is not a declaration that plugins have; did you mean"
            ' "filter_reads"?',
            id="a misspelt declaration",
        ),
        pytest.param(
            {"pre_filter": always(None)},
            in_answers("PreFilter", f"returned None, not a Status or PreFilterResult {ON_FIRST}"),
            id="PreFilter without a result",
        ),
        pytest.param(
            {"pre_score": always(None), "score": always(1)},
            in_answers("PreScore", f"returned None, not a Status {ON_FIRST}"),
            id="PreScore without a result",
        ),
        pytest.param(
            {"filter_columns": return_mask},
            in_answers(
                "Filter",
                "TypeError: returned an array of bool; write the verdicts to `out`, for example"
                f" out.reject(mask, status), and return nothing {ON_FIRST}",
            ),
            id="a mask that is returned",
        ),
        pytest.param(
            {"filter_columns": write_integers},
            in_answers(
                "Filter",
                "TypeError: reject takes a mask of bool with 12 entries, one per slot, not an"
                f" array of int64 with shape (12,) {ON_FIRST}",
            ),
            id="a mask of integers",
        ),
        pytest.param(
            {"score_columns": return_scores},
            in_answers(
                "Score",
                "TypeError: returned an array of float64; write the scores to `out`, for example"
                f" out.values[out.rows] = scores, and return nothing {ON_FIRST}",
            ),
            id="scores that are returned",
        ),
        pytest.param(
            {"score_columns": replace_scores},
            in_answers(
                "Score",
                "TypeError: `out.values` must stay an array of int64 with 12 entries, one per"
                f" slot; write to out.values[out.rows] {ON_FIRST}",
            ),
            id="scores that are replaced",
        ),
        pytest.param(
            {"filter": always(OK), "events_to_register": always(42)},
            "events: returned 42; expected a tuple of EventHint",
            id="events that are none",
        ),
        pytest.param(
            {"pre_enqueue": OOPS},
            in_cycle("PreEnqueue", f"ValueError: oops {ON_FIRST}"),
            id="PreEnqueue raises",
        ),
        pytest.param(
            {"pre_enqueue": always(None)},
            in_cycle("PreEnqueue", f"returned None, not a Status {ON_FIRST}"),
            id="PreEnqueue without a result",
        ),
        pytest.param(
            {"pre_enqueue": always(pw.Status.skip())},
            in_cycle("PreEnqueue", "returned Skip"),
            id="PreEnqueue that skips",
        ),
        pytest.param(
            {"queue_sort_key": odd_key},
            in_cycle(
                "QueueSort", f"returned something of type list, which cannot be sorted {ON_FIRST}"
            ),
            id="a sort key that cannot be compared",
        ),
        pytest.param(
            {"filter": always(OK), "group_of": always([])},
            in_cycle("GroupOf", f"TypeError: unhashable type: 'list' {ON_FIRST}"),
            id="a group that cannot be a key",
        ),
        pytest.param(
            {"post_filter": always(None)},
            in_cycle(
                "PostFilter", "TypeError: returned None, not a PostFilterResult (pod default/huge)"
            ),
            id="PostFilter without a result",
        ),
        pytest.param(
            {"reserve": OOPS},
            in_cycle("Reserve", f"ValueError: oops {FIRST_PLACED}"),
            id="Reserve raises",
        ),
        pytest.param(
            {"reserve": always(None)},
            in_cycle("Reserve", f"returned None, not a Status {FIRST_PLACED}"),
            id="Reserve without a result",
        ),
        pytest.param(
            {"unreserve": OOPS},
            in_cycle("Unreserve", "ValueError: oops (pod default/important, node node-0)"),
            id="Unreserve raises",
        ),
        pytest.param(
            {"permit": always(5)},
            in_cycle("Permit", f"returned 5, not a Status {FIRST_PLACED}"),
            id="Permit with a number",
        ),
        pytest.param(
            {"permit": always((pw.Status.wait("x"), 1.5))},
            in_cycle(
                "Permit",
                "the timeout of Wait: 1.5 has no unit: must be a duration such as 1h30m, or a"
                f" timedelta {FIRST_PLACED}",
            ),
            id="Permit with a timeout without unit",
        ),
        pytest.param(
            {"pre_bind_pre_flight": OOPS, "pre_bind": always(OK)},
            f'cycle: running PreBindPreFlight "Mine": ValueError: oops {FIRST_PLACED}',
            id="PreBindPreFlight raises",
        ),
        pytest.param(
            {"pre_bind": always(None)},
            in_cycle("PreBind", f"returned None, not a Status {FIRST_PLACED}"),
            id="PreBind without a result",
        ),
        pytest.param(
            {"pre_bind": PENDING, "continue_pre_bind": OOPS},
            in_cycle("PreBind", f"ValueError: oops {FIRST_PLACED}"),
            id="the continuation of PreBind raises",
        ),
        pytest.param(
            {"pre_bind": PENDING, "continue_pre_bind": PENDING},
            "cycle: pods are not bound after 5,000 events: the plugin does not finish PreBind or"
            " Bind",
            id="PreBind that never ends",
        ),
        pytest.param(
            {"bind": OOPS},
            in_cycle("Bind", f"ValueError: oops {FIRST_PLACED}"),
            id="Bind raises",
        ),
        pytest.param(
            {"post_bind": OOPS},
            in_cycle("PostBind", "ValueError: oops (pod default/important, node node-6)"),
            id="PostBind raises",
        ),
        pytest.param(
            {"filter": always(OK), "pod_ended": OOPS},
            in_cycle("PodEnded", "ValueError: oops (pod default/gpu)"),
            id="pod_ended raises",
        ),
    ],
)
def test_the_first_finding(members: dict[str, Any], expected: str) -> None:
    with pytest.raises(PluginCheckFailed) as caught:
        check_plugin(plugin(**members))
    finding = caught.value.report.findings[0]
    assert f"{finding.check}: {finding.message}" == expected
    assert finding.check in caught.value.report.checked


@pytest.mark.parametrize(
    ("members", "count"),
    [
        pytest.param({"fillter": pass_all}, 1, id="which would be its only method"),
        pytest.param({"fillter": pass_all, "scor": pass_all}, 2, id="and another one"),
        pytest.param({"name": "", "fillter": pass_all}, 2, id="of a plugin without a name"),
    ],
)
def test_a_misspelt_method_is_the_finding_and_not_that_there_is_none(
    members: dict[str, Any], count: int
) -> None:
    with pytest.raises(PluginCheckFailed) as caught:
        check_plugin(plugin(**members))
    findings = [each.message for each in caught.value.report.findings]
    assert len(findings) == count
    assert not any("no extension point" in each for each in findings)


def test_a_report_names_the_plugin_and_the_class_of_one_without_a_name():
    assert check_plugin(plugin(name="Other", filter=always(OK))).plugin == "Other"
    with pytest.raises(PluginCheckFailed) as caught:
        check_plugin(plugin(name="", filter=always(OK)))
    assert caught.value.report.plugin == "Mine"


class Rejecting(pw.Plugin):
    """A constructor that refuses what it was made with."""

    name = "Rejecting"

    def __init__(self, zone: str) -> None:
        if getattr(Rejecting, "is_closed", False):
            raise KeyError(zone)
        self.zone = zone

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass all nodes."""
        return OK


def test_a_constructor_may_raise_anything(monkeypatch):
    made = Rejecting("a")
    monkeypatch.setattr(Rejecting, "is_closed", True, raising=False)
    with pytest.raises(PluginCheckFailed) as caught:
        check_plugin(made)
    (finding,) = caught.value.report.findings
    assert (finding.check, finding.message) == ("settings", "KeyError: 'a'")


@pytest.mark.parametrize(
    ("given", "pods", "expected"),
    [
        pytest.param(
            Rejecting,
            (),
            "check_plugin takes an instance of a plugin, not a class; pass Rejecting(...)",
            id="a class",
        ),
        pytest.param(5, (), "check_plugin takes an instance of a plugin, not 5", id="a number"),
        pytest.param(
            Rejecting("a"),
            (make_pod("web", node="nowhere"),),
            'pod default/web: spec.nodeName: no node is named "nowhere"; pass it in nodes=',
            id="a pod on a node that does not exist",
        ),
    ],
)
def test_wrong_arguments(given, pods, expected):
    with pytest.raises(PodwrightError) as caught:
        check_plugin(given, pods=pods)
    assert str(caught.value) == expected


# ---------------------------------------------------------------- what was not exercised

FILTER_NEVER_REJECTED = "filter never rejected a node; give nodes and pods that it rejects"
NO_KEY = "cannot save calls without pod_key: every pod has its own results"
STATE = (
    "the plugin keeps state from pod to pod and does not define remembers(): checkpoints of a"
    " recorded run cannot contain it"
)


def counting(self: Any, cycle: Any, node_name: str) -> pw.Status:
    self.count = getattr(self, "count", 0) + 1
    return OK


def by_name(self: pw.Plugin, cycle: Any, node: pw.NodeView) -> int:
    return int(node.name[-1])


def zone_a(self: pw.Plugin, cycle: Any, node: pw.NodeView) -> pw.Status:
    return OK if node.labels.get("topology.kubernetes.io/zone") == "a" else NO


def binds_itself(self: pw.Plugin, cycle: Any, node_name: str) -> Any:
    return pw.Status.SKIPPED


def for_one(answer: Any, other: Any) -> Any:
    """Return a method that returns `answer` for one pod, and `other` for the others."""

    def method(self: pw.Plugin, given: Any, *arguments: Any) -> Any:
        name = getattr(given, "pod", given).metadata.name
        return answer if name == "important" else other

    return method


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"filter": zone_a}, [], id="all was exercised"),
        pytest.param({"filter": always(OK)}, [FILTER_NEVER_REJECTED], id="rejects no node"),
        pytest.param(
            {"filter": always(NO)},
            ["filter never accepted a node; give nodes and pods that it accepts"],
            id="rejects all nodes",
        ),
        pytest.param(
            {"filter_columns": always(None)}, [FILTER_NEVER_REJECTED], id="rejects none, on columns"
        ),
        pytest.param(
            {"score_columns": always(None)},
            ["score gave all nodes the same score, for every pod"],
            id="scores are equal, on columns",
        ),
        pytest.param(
            {"filter": zone_a, "filter_reads": pw.Reads.NODE},
            [f"filter_reads {NO_KEY}"],
            id="declares what it reads, without a key",
        ),
        pytest.param(
            {
                "filter": zone_a,
                "score": by_name,
                "filter_reads": pw.Reads.NODE,
                "score_reads": pw.Reads.NODE,
            },
            [f"filter_reads and score_reads {NO_KEY}"],
            id="declares both, without a key",
        ),
        pytest.param({"score": by_name}, [], id="scores differ"),
        pytest.param(
            {"score": always(np.int16(7))},
            ["score gave all nodes the same score, for every pod"],
            id="scores are equal, and NumPy's",
        ),
        pytest.param(
            {"permit": always((OK, np.int64(0)))},
            ["permit never rejected a pod and never let one wait"],
            id="Permit that allows all",
        ),
        pytest.param(
            {"permit": always((pw.Status.wait("x"), np.timedelta64(1, "s")))},
            [],
            id="Permit that lets all wait",
        ),
        pytest.param(
            {"permit": always((pw.Status.wait("x"), "1h")), "pre_bind": always(OK)},
            [],
            id="Permit that lets all wait, of which some are allowed",
        ),
        pytest.param(
            {"pre_enqueue": always(OK)}, ["pre_enqueue never rejected a pod"], id="an open gate"
        ),
        pytest.param({"queue_sort_key": lambda self, pod, now: pod.metadata.name}, [], id="sorts"),
        pytest.param(
            {"pre_bind": always(OK), "continue_pre_bind": OOPS},
            ["continue_pre_bind was never called"],
            id="a continuation that is never needed",
        ),
        pytest.param({"pre_bind": always(NUMPY_DELAY)}, [], id="a NumPy delay"),
        pytest.param({"bind": binds_itself}, [], id="Bind that skips"),
        pytest.param(
            {"post_filter": always(PostFilterResult(status=NO))},
            ["post_filter never nominated a node"],
            id="PostFilter that helps no pod",
        ),
        pytest.param(
            {"permit": for_one((NO, 0), (OK, 0))},
            [],
            id="Permit that rejects one pod",
        ),
        pytest.param({"pre_enqueue": for_one(NO, OK)}, [], id="a gate for one pod"),
        pytest.param(
            {
                "filter": always(NO),
                "post_filter": for_one(
                    PostFilterResult(status=OK, nominated_node="node-0"),
                    PostFilterResult(status=NO),
                ),
            },
            ["filter never accepted a node; give nodes and pods that it accepts"],
            id="PostFilter that helps one pod",
        ),
        pytest.param(
            {"reserve": always(OK)},
            ["reserve has no unreserve: what it keeps for a pod stays when the attempt fails"],
            id="Reserve without Unreserve",
        ),
        pytest.param(
            {"reserve": counting, "unreserve": always(None)}, [STATE], id="undeclared state"
        ),
        pytest.param(
            {"reserve": counting, "unreserve": always(None), "remembers": always(False)},
            [],
            id="declared state",
        ),
    ],
)
def test_what_was_not_exercised_is_noted(members: dict[str, Any], expected: list[str]) -> None:
    report = check_plugin(plugin(**members))
    assert list(report.notes) == expected
    assert "cycle" in report.checked
    assert str(report).count("\n  note: ") == len(expected)


class Recording(pw.Plugin):
    """Records all calls from Reserve on, by pod."""

    name = "Recording"
    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls: list[str] = []

    def reserve(self, cycle: pw.Cycle, node_name: str) -> pw.Status:
        """Record."""
        self.calls.append(f"{cycle.pod.key} reserve {node_name}")
        return OK

    def unreserve(self, cycle: pw.Cycle, node_name: str) -> None:
        """Record."""
        self.calls.append(f"{cycle.pod.key} unreserve {node_name}")

    def pre_bind(self, cycle: pw.Cycle, node_name: str) -> pw.Status:
        """Record."""
        self.calls.append(f"{cycle.pod.key} pre_bind {node_name}")
        return OK

    def post_bind(self, cycle: pw.Cycle, node_name: str) -> None:
        """Record."""
        self.calls.append(f"{cycle.pod.key} post_bind {node_name}")

    def pod_ended(self, pod: pw.Pod) -> None:
        """Record."""
        self.calls.append(f"{pod.key} ended {pod.spec.node_name}")


def test_given_pods_go_through_a_whole_cycle_twice_and_end():
    recording = Recording()
    check_plugin(
        recording,
        nodes=[make_node("mine", cpu=1000, memory="1Ti", labels={"mine": "yes"})],
        pods=[
            make_pod("web", cpu="900", node_selector={"mine": "yes"}, scheduler="another"),
            make_pod("there", cpu="1", node="mine"),
        ],
    )
    of_web = [call.partition(" ")[2] for call in recording.calls if call.startswith("default/web")]
    assert of_web == [
        "reserve mine",
        "pre_bind mine",
        "unreserve mine",
        "reserve mine",
        "pre_bind mine",
        "post_bind mine",
        "ended mine",
    ]
    assert "default/there ended mine" in recording.calls
    assert type(recording) is Recording
    assert recording.handle is None


def test_bind_plugins_that_call_the_server_are_retried():
    class Binder(pw.Plugin):
        name = "Binder"
        errors: list[CallError | None] = []  # noqa: RUF012 - one per test

        def bind(self, cycle, node_name):
            return pw.Pending(calls=(PodBinding(),))

        def continue_bind(self, cycle, node_name, progress):
            Binder.errors += [answer.error for answer in progress.answers]
            return super().continue_bind(cycle, node_name, progress)

    assert check_plugin(Binder()).findings == ()
    assert {error is None for error in Binder.errors} == {True, False}


def test_the_victims_of_a_preemption_end_and_the_pod_is_bound_in_their_place():
    ended = []
    preemption: Any = Registry().class_of("DefaultPreemption")

    class Preempting(preemption):  # type: ignore[misc]
        def pod_ended(self, pod):
            ended.append(f"{pod.key} {pod.spec.node_name}")

    report = check_plugin(
        Preempting(),
        nodes=[make_node("mine", cpu=1000, labels={"mine": "yes"})],
        pods=[
            make_pod("victim", cpu="900", node="mine"),
            make_pod("urgent", cpu="900", node_selector={"mine": "yes"}, priority=10_000),
        ],
    )
    assert report.findings == ()
    of_both = [each for each in ended if each.startswith(("default/victim", "default/urgent"))]
    assert of_both == ["default/victim mine", "default/urgent mine"]


VOLUME, CLAIM = volume("v"), claim("c")
DEVICES = ResourceClaim(metadata=ObjectMeta(name="d", namespace="default"))


@pytest.mark.parametrize(
    ("call", "returned"),
    [
        pytest.param(VolumeUpdate(VOLUME), VOLUME, id="a volume"),
        pytest.param(ClaimUpdate(CLAIM), CLAIM, id="a claim"),
        pytest.param(ResourceClaimWrite("create", DEVICES), DEVICES, id="a claim of devices"),
        pytest.param(PodMetadataPatch(labels={"seen": "yes"}), None, id="metadata of the pod"),
    ],
)
def test_calls_of_prebind_are_answered_and_applied(call: Any, returned: Any) -> None:
    answers: list[Any] = []
    ended: list[str | None] = []

    class Caller(pw.Plugin):
        name = "Caller"

        def pre_bind(self, cycle: pw.Cycle, node_name: str) -> Any:
            """Make the call."""
            return pw.Pending(calls=(call,))

        def continue_pre_bind(self, cycle: pw.Cycle, node_name: str, progress: Any) -> Any:
            """Keep the answer."""
            answers.extend(progress.answers)
            return OK

        def pod_ended(self, pod: pw.Pod) -> None:
            """Keep the label."""
            ended.append(pod.metadata.labels.get("seen"))

    assert check_plugin(Caller()).findings == ()
    assert answers
    assert {each.error for each in answers} == {None}
    assert all(each.obj is returned for each in answers)
    is_patched = isinstance(call, PodMetadataPatch)
    assert ("yes" in ended) is is_patched
