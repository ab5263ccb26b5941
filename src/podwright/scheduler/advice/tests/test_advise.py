"""What limits advice: devices that are not allocated, and custom plugins with unknown rules."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, Pod, decode_as, encode
from podwright.scheduler.advice import Advice, find_advice, node_edits
from podwright.scheduler.advice.edits import Change
from podwright.scheduler.advice.fixes import Fixes
from podwright.scheduler.advice.remedies import Outcome, Search
from podwright.scheduler.advice.tests.test_remedies import (
    attachment,
    claims_of,
    limited,
    pending,
    volumes,
)
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES
from podwright.scheduler.framework import Explanation
from podwright.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


class KeepTier(pw.Plugin):
    """Rejects nodes without the label tier=gold."""

    name = "KeepTier"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes of the tier."""
        if node.labels.get("tier") == "gold":
            return pw.Status()
        return pw.Status.unresolvable("node(s) of another tier")


class KeepZone(pw.Plugin):
    """Rejects nodes outside a zone."""

    name = "KeepZone"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes of the zone."""
        if node.labels.get(ZONE) == "a":
            return pw.Status()
        return pw.Status.unresolvable("node(s) outside zone a")


class KeepNone(pw.Plugin):
    """Rejects every node."""

    name = "KeepNone"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass no node."""
        return pw.Status.unschedulable("never")


class KeepFull(pw.Plugin):
    """Rejects every node but one."""

    name = "KeepFull"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass one node."""
        return pw.Status() if node.name == "full" else pw.Status.unresolvable("another node")


class KeepAll(pw.Plugin):
    """Rejects no node."""

    name = "KeepAll"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass every node."""
        return pw.Status()


class KeepOut(pw.Plugin):
    """Holds every pod back."""

    name = "KeepOut"

    def pre_enqueue(self, pod: pw.Pod) -> pw.Status:
        """Admit no pod."""
        return pw.Status.unresolvable("closed")


def advice(pod: Pod, *objects: Object, plugins: tuple[type[pw.Plugin], ...] = ()) -> Advice:
    scheduler = Scheduler(plugins=plugins)
    scheduler.add(*objects, pod)
    return scheduler.advice(scheduler.explain(pod.key))


def with_claim(pod: Pod) -> Pod:
    spec = encode(pod)["spec"] | {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-0"}]}
    return decode_as(encode(pod) | {"spec": spec}, Pod)


@pytest.mark.parametrize(
    ("nodes", "apart"),
    [
        pytest.param(("n",), "would fit on 1 node: n", id="it fits apart from the claims"),
        pytest.param(("n", "m"), "would fit on 2 nodes, such as ", id="on several nodes"),
        pytest.param((), "would not fit either", id="it does not fit anyway"),
    ],
)
def test_missing_claims_are_not_advised_on(nodes: tuple[str, ...], apart: str) -> None:
    small = make_node("small", cpu="500m")
    found = advice(with_claim(make_pod("p", cpu="1")), small, *map(make_node, nodes))
    assert found.remedies == ()
    (limit,) = found.limits
    assert limit.startswith(
        "the resource claims have to be usable first (could not find ResourceClaim"
        ' "default/gpu-0"), so no change was tried; without its claims the pod '
    )
    assert apart in limit


def test_a_label_of_the_nodes_that_a_custom_plugin_accepts_is_tried() -> None:
    full = make_node("full", cpu="500m", labels={"tier": "gold"})
    found = advice(make_pod("p", cpu="1"), full, make_node("n", cpu="4"), plugins=(KeepTier,))
    assert "set label tier=gold on node n" in [remedy.text for remedy in found.remedies]
    (limit,) = found.limits
    assert limit.startswith(
        "the rule of the custom plugin KeepTier, which rejects 1 node, is not known"
    )


def test_a_node_of_a_shape_that_a_custom_plugin_accepts_is_tried() -> None:
    """The zone of a node is not changed: a node of the zone is added."""
    full = make_node("full", cpu="4", labels={ZONE: "a"})
    there = make_pod("there", cpu="4", node="full")
    other = make_node("n", cpu="4", labels={ZONE: "b"})
    found = advice(make_pod("p", cpu="1"), full, there, other, plugins=(KeepZone,))
    texts = [remedy.text for remedy in found.remedies]
    assert "add a node like full" in texts
    assert not any("label" in text or "like n" in text for text in texts)


def test_changes_of_nodes_that_do_not_help_are_named() -> None:
    found = advice(make_pod("p", cpu="1"), make_node("n"), plugins=(KeepNone,))
    assert found.remedies == ()
    assert found.limits == (
        "the rule of the custom plugin KeepNone, which rejects 1 node, is not known; these changes"
        " of nodes do not help: add a node like n",
    )


def test_what_is_attached_to_a_node_is_no_change_of_the_node() -> None:
    """A change of an attachment says nothing about the rule of a plugin."""
    full = make_node("full", cpu="500m", labels={"tier": "gold"})
    limits = [limited("n", 1), *volumes("a", "b"), attachment("left-over", "n", "pv-b")]
    pod = pending(volumes=claims_of("a"))
    found = advice(pod, full, make_node("n"), *limits, plugins=(KeepFull,))
    (limit,) = found.limits
    assert limit.endswith("; these changes of nodes do not help: add a node like n")


def test_a_custom_plugin_that_holds_the_pod_back_is_named() -> None:
    found = advice(make_pod("p", cpu="1"), make_node("n"), plugins=(KeepOut,))
    text = "the rule of the custom plugin KeepOut, which holds the pod in PreEnqueue, is not known"
    assert found == Advice(limits=(text,))


def test_advice_without_custom_plugins_has_no_limits() -> None:
    found = advice(make_pod("p", cpu="1"), make_node("n", cpu="4", unschedulable=True))
    assert found.remedies[0].text == "uncordon node n"
    assert found.limits == ()
    assert advice(make_pod("p"), make_node("n")) == Advice()


def test_only_a_cordoned_node_is_uncordoned_for_a_custom_plugin() -> None:
    """A guess makes a node more like those that the plugin accepts."""
    full = make_node("full", cpu="500m", labels={"tier": "gold"})
    for is_cordoned in (False, True):
        node = make_node("n", cpu="4", taints=["k:NoExecute"], unschedulable=is_cordoned)
        scheduler = Scheduler(plugins=(KeepTier, KeepAll))
        scheduler.add(full, node, make_pod("p", cpu="1"))
        fixes = Fixes(
            scheduler.explain("default/p"), scheduler.cluster, DEFAULT_GATES,
            custom_plugins={"KeepTier"},
        )  # fmt: skip
        plans = fixes._guesses("KeepTier", node)
        texts = {edit.text for plan in plans for edit in plan}
        expected = {"set label tier=gold on node n", "remove taint k:NoExecute from node n"}
        assert texts == expected | ({"uncordon node n"} if is_cordoned else set())
        assert len(plans[-1]) == len(expected) + is_cordoned, "all of them together"
        assert plans[0][0].command == "kubectl label node n tier=gold", "it has no such label"
        assert fixes._guesses("KeepAll", node) == [], "a plugin that rejects no node"


def test_of_many_guesses_three_are_tried_apart_and_all_together() -> None:
    scheduler = Scheduler(plugins=(KeepTier,))
    labels = {"tier": "gold", "disk": "ssd", "rack": "1", "row": "2"}
    node = make_node("n", cpu="4")
    scheduler.add(make_node("full", cpu="500m", labels=labels), node, make_pod("p", cpu="1"))
    fixes = Fixes(
        scheduler.explain("default/p"), scheduler.cluster, DEFAULT_GATES,
        custom_plugins={"KeepTier"},
    )  # fmt: skip
    plans = [[edit.text for edit in plan] for plan in fixes._guesses("KeepTier", node)]
    all_together = [f"set label {key}={value} on node n" for key, value in labels.items()]
    assert plans == [*([text] for text in all_together[:3]), all_together]


def test_a_guess_is_what_all_nodes_have_that_a_custom_plugin_accepts() -> None:
    labels = {"tier": "gold", "disk": "ssd", ZONE: "a", "kubernetes.io/os": "linux"}
    taint = "k:NoExecute"
    accepted = [
        make_node("a", cpu="500m", labels=labels, taints=[taint]),
        make_node("b", cpu="500m", labels=labels | {"disk": "hdd", "rack": "1"}),
    ]
    node = make_node("n", cpu="4", labels={"disk": "nvme"}, taints=[taint, "other:NoSchedule"])
    scheduler = Scheduler(plugins=(KeepTier,))
    scheduler.add(*accepted, node, make_pod("p", cpu="1"))
    fixes = Fixes(
        scheduler.explain("default/p"), scheduler.cluster, DEFAULT_GATES,
        custom_plugins={"KeepTier"},
    )  # fmt: skip
    plans = [[edit.text for edit in plan] for plan in fixes._guesses("KeepTier", node)]
    label, taint_text = "set label tier=gold on node n", "remove taint other:NoSchedule from node n"
    assert plans == [[label], [taint_text], [label, taint_text]]
    # A plugin that did not run, or that rejects all nodes, has no node to be like.
    assert fixes._guesses("KeepZone", node) == []


def test_no_change_is_tried_after_ten_that_differ_by_their_node_have_failed() -> None:
    scheduler = Scheduler()
    scheduler.add(
        *(make_node(f"n{number:02}", cpu="4", unschedulable=True) for number in range(15)),
        make_pod("p", cpu="1"),
    )
    explanation = scheduler.explain("default/p")
    trial = Failing(explanation)
    search = Search(
        explanation, scheduler.cluster, trial, gates=DEFAULT_GATES, classes={}, custom_plugins=()
    )
    plans = [(node_edits.uncordon(f"n{number:02}"),) for number in range(15)]
    search._try_group(frozenset({("uncordon",)}), plans)
    assert trial.tried == 10


class Failing:
    """A trial of a pod that fits after no change."""

    pods_ahead = 0

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        self.tried = 0
        self.priorities: set[int] = set()

    def run(self, change: Change) -> Outcome | None:
        self.tried += 1
        self.priorities.add(change.pod.priority)
        return None

    confirm = run

    def explain(self, change: Change) -> Explanation:
        return self.explanation


def test_without_priority_classes_a_new_one_is_tried() -> None:
    scheduler = Scheduler()
    scheduler.add(make_node("n", cpu="1"), make_pod("low", cpu="1", priority=3, node="n"))
    scheduler.add(make_pod("p", cpu="1"))
    explanation = scheduler.explain("default/p")
    trial = Failing(explanation)
    assert find_advice(explanation, scheduler.cluster, trial) == Advice()
    assert trial.priorities == {0, 4}
