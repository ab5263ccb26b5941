"""The search for remedies with scripted trials, and the limits that the advice names."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import PriorityClass, with_fields
from podwright.scheduler.advice import Advice, find_advice, node_edits, pod_edits, remedies
from podwright.scheduler.advice.advise import (
    _claims_limit,
    _extender_limit,
    _preemption_limit,
    _texts,
    _without_claims,
)
from podwright.scheduler.advice.edits import Edit, ReplicaCount, numbered
from podwright.scheduler.advice.remedies import (
    Outcome,
    Search,
    SearchResult,
    UnknownReply,
    _remedy,
)
from podwright.scheduler.advice.tests.test_remedies import (
    owned,
    pending,
    placed,
)
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES
from podwright.testing import make_node, make_pod

# ------------------------------------------------------------------------- scripted searches


NEAR_WEB = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "host"}
    ]
}


class Scripted:
    """A trial whose outcomes are given by the texts of what is changed."""

    def __init__(self, explanation, accepts, *, pods_ahead=0, confirms=None, unknown=()):
        self.explanation = explanation
        self.accepts = accepts
        self.pods_ahead = pods_ahead
        self.confirms = accepts if confirms is None else confirms
        self.tried: list[Any] = []
        self.confirmed: list[Any] = []
        self.explained: list[Any] = []
        self.unknown = unknown

    def run(self, change):
        if change.bypassed or any(obj.name in self.unknown for obj in change.put):
            raise UnknownReply("no reply")
        self.tried.append(change)
        return self.accepts(change)

    def confirm(self, change):
        self.confirmed.append(change)
        return self.confirms(change)

    def explain(self, change):
        self.explained.append(change)
        return self.explanation


def never(_change):
    return None


def always(_change):
    return Outcome("n", 3)


def search(accepts, pod, *objects, custom=(), classes=(), **options):
    scheduler = Scheduler()
    scheduler.add(*objects, pod)
    explanation = scheduler.explain(pod.key)
    trial = Scripted(explanation, accepts, **options)
    made = Search(
        explanation,
        scheduler.cluster,
        trial,
        gates=DEFAULT_GATES,
        classes={each.name: each for each in classes},
        custom_plugins=custom,
    )
    return made, trial


def tainted(count):
    return [make_node(f"n{i:03}", taints=[f"k{i}:NoSchedule"]) for i in range(count)]


def test_a_hundred_and_fifty_changes_are_tried():
    made, trial = search(never, pending(), *tainted(100))
    result = made.run()
    assert (len(trial.tried), len(result.failed), result.remedies) == (150, 150, ())
    # The promising plans are extended, but no trial is left for their extensions.
    assert len(trial.explained) == 5


def test_thirty_nodes_are_tried_of_those_with_the_same_reasons():
    nodes = [make_node(f"n{number:03}", labels={"disk": f"x{number}"}) for number in range(40)]
    made, _ = search(never, pending(nodeSelector={"disk": "ssd"}), *nodes)
    texts = {plan[0].text for plan in made.run().failed}
    change = "change disk in nodeSelector from ssd to x"
    found = sorted(int(text.removeprefix(change)) for text in texts if text.startswith(change))
    assert found == list(range(30))


@pytest.mark.parametrize(("accepts", "failed"), [(never, 2), (always, 0)])
def test_no_change_of_a_group_is_tried_after_the_last_trial(accepts, failed):
    nodes = [make_node(f"n{i}", unschedulable=True) for i in range(5)]
    made, trial = search(accepts, pending(), *nodes)
    made._trials_left = 2
    plans = [(node_edits.uncordon(node.name),) for node in nodes]
    made._try_group(frozenset({("uncordon",)}), plans)
    assert (len(trial.tried), len(made._failed)) == (2, failed)
    assert made._promising == plans[:1] * bool(failed)
    assert [len(found) for _, found in made._found] == [2] * (not failed)


def adds(least):
    """Return what accepts a change that adds enough nodes."""
    return lambda change: Outcome("n", 1) if len(change.put) >= least else None


@pytest.mark.parametrize(
    ("trials", "unknown", "count"),
    [
        pytest.param(150, (), 11, id="the smallest number that works"),
        pytest.param(6, (), 12, id="as small as one trial after the last step finds"),
        pytest.param(5, (), 16, id="the last step, without a trial after it"),
        pytest.param(150, ("full-new-8",), 16, id="no reply for the numbers between"),
    ],
)
def test_a_smaller_number_of_nodes_is_searched_with_the_trials_that_are_left(
    trials, unknown, count
):
    made, trial = search(adds(11), pending(), make_node("full", cpu="1"), pods_ahead=1)
    made._trials_left = trials
    added = [
        (edit,)
        for edit in numbered(
            (1, 2, 4, 8, 16), lambda number: Edit(key=("add node",), text=f"{number}", effort=5.0,
                put=tuple(make_node(f"full-new-{k}") for k in range(number))),
        )
    ]  # fmt: skip
    made._try_group(frozenset({("add node",)}), added)
    ((_, (found,)),) = made._found
    trial.unknown = unknown
    assert made._smallest(found).plan[0].text == f"{count}"


def test_a_node_is_named_once_for_the_same_change():
    nodes = [make_node(f"n{i}", unschedulable=True) for i in range(2)]
    made, trial = search(always, pending(), *nodes)
    first, other = ((node_edits.uncordon(node.name),) for node in nodes)
    made._try_group(frozenset({("uncordon",)}), [first, first, other, first, other])
    assert [change.put[0].name for change in trial.tried] == ["n0", "n1"]
    assert [[each.plan for each in found] for _, found in made._found] == [[first, other]]


def test_a_change_whose_pods_outnumber_the_trials_that_are_left_is_no_remedy():
    workload = [placed(f"web-{i}", "n", labels={"app": "web"}) for i in range(3)]
    made, trial = search(always, pending(), make_node("n", cpu="1"), *workload)
    made._trials_left = 2
    scale = ReplicaCount("ReplicaSet", "default/web", 2)
    each = tuple((pod,) for pod in workload)
    made._try_group(frozenset(), [(Edit(key=(), text="", effort=4.0, each=each, scale=scale),)])
    assert (len(trial.tried), made._found) == (2, [])


def test_eight_remedies_are_kept_the_smallest_first():
    made, trial = search(always, pending(), *tainted(9))
    result = made.run()
    assert (result.failed, result.untried) == ((), ())
    assert [one.text for one in result.remedies] == [
        f"add a toleration for taint k{i}:NoSchedule" for i in range(8)
    ]
    assert len(trial.tried) == 8


def test_five_nodes_of_one_change_are_kept():
    nodes = [make_node(f"n{i}", unschedulable=True) for i in range(8)]
    made, trial = search(
        lambda change: always(change) if len(change.put) == 1 else None, pending(), *nodes
    )
    first = made.run().remedies[0]
    assert (first.text, first.alternatives) == ("uncordon node n0", ("n1", "n2", "n3", "n4"))
    # After those, a new node.
    assert [change.put[0].name for change in trial.tried] == [
        "n0", "n1", "n2", "n3", "n4", "n0-new-1",
    ]  # fmt: skip


def test_new_nodes_of_four_shapes_are_tried():
    nodes = [make_node(f"n{i}", cpu=f"{i}", pods=1) for i in range(1, 7)]
    pods = [make_pod(f"o{i}", node=f"n{i}") for i in range(1, 7)]
    made, trial = search(never, make_pod("web"), *nodes, *pods)
    made.run()
    put = {change.put[0].name for change in trial.tried if change.put}
    assert {name for name in put if "-new-" in name} == {f"n{i}-new-1" for i in range(1, 5)}


def test_a_new_node_has_a_shape_on_which_the_pod_fits():
    small = [make_node(f"n{i}", cpu=f"{100 * i}m") for i in range(1, 7)]
    full = make_node("z", cpu="4"), make_pod("o", cpu="4", node="z")
    made, trial = search(never, make_pod("web", cpu="2"), *small, *full)
    made.run()
    put = {change.put[0].name for change in trial.tried if change.put}
    assert {name for name in put if "-new-" in name} == {"z-new-1"}


def test_two_removals_are_kept():
    pods = [placed(f"o{i}", "n") for i in range(4)]
    made, _ = search(
        lambda change: always(change) if change.delete else None,
        pending(), make_node("n", cpu="4"), *pods,
    )  # fmt: skip
    assert [one.text for one in made.run().remedies] == [
        "delete pod default/o0", "delete pod default/o1",
    ]  # fmt: skip


def test_the_workloads_of_the_eight_nearest_nodes_are_tried():
    nodes = [make_node(f"n{i}", cpu="1") for i in range(9)]
    # The pod of the ninth node would be the first one by its priority.
    pods = [placed(f"o{i}", f"n{i}", priority=-5 if i == 8 else 0) for i in range(9)]
    made, trial = search(never, pending(priority=-10), *nodes, *pods)
    made.run()
    tried = {pod.key for change in trial.tried for pod in change.delete}
    assert tried == {f"default/o{i}" for i in range(8)}


def test_every_pod_of_a_workload_has_to_help_and_the_last_outcome_counts():
    pods = [owned(placed(f"web-{i}", "n"), "ReplicaSet", "web") for i in range(3)]

    def accept(change):
        names = [pod.name for pod in change.delete]
        return Outcome(names[0], 1) if names and names != ["web-1"] else None

    for accepts, text, node, deleted in (
        (accept, "to 0", "web-0", ["default/web-0", "default/web-1", "default/web-2"]),
        (lambda change: Outcome(change.delete[0].name, 1) if change.delete else None,
         "to 1", "web-2", ["default/web-2"]),
    ):  # fmt: skip
        made, _ = search(accepts, pending(), make_node("n", cpu="3"), *pods)
        (remedy,) = [one for one in made.run().remedies if one.delete]
        expected = text if text == "to 0" else "to 2"
        assert remedy.text == f"reduce replicas of ReplicaSet default/web {expected}"
        assert (remedy.node, list(remedy.delete)) == (node, deleted)
        assert remedy.scales == (ReplicaCount("ReplicaSet", "default/web", int(expected[-1])),)


def test_what_others_may_take_is_confirmed_and_what_concerns_the_pod_alone_is_not():
    node = make_node("n", cpu="500m", unschedulable=True)
    made, trial = search(
        lambda _: Outcome("n", 1), pending(), node, pods_ahead=2,
        confirms=lambda _: Outcome("confirmed", 2),
    )  # fmt: skip
    plans = [(node_edits.uncordon("n"),), (pod_edits.drop_gates(["a"]),)]
    found = [made._try(plan) for plan in plans]
    assert [one.outcome for one in found] == [Outcome("confirmed", 2), Outcome("n", 1)]
    assert len(trial.confirmed) == 1
    alone, trial = search(lambda _: Outcome("n", 1), pending(), node)
    assert alone._try(plans[0]).outcome == Outcome("n", 1)
    assert trial.confirmed == []


def test_victims_are_accepted_only_if_the_priority_is_the_point():
    evicting = Outcome("n", 1, ("default/o",))
    made, _ = search(lambda _: evicting, pending(), make_node("n", cpu="1"), placed("o", "n"))
    raised = pod_edits.raise_priority(5, None, ())
    assert made._try((node_edits.uncordon("n"),)) is None
    assert made._try((raised,)).outcome == evicting
    # An eviction costs one more than the same edit without.
    remedies = made.run().remedies
    assert [one.victims for one in remedies] == [("default/o",)]


NEW_CLASSES = [f"raise the priority to {n} with a new PriorityClass" for n in (4, 8, 3_001)]


@pytest.mark.parametrize(
    ("classes", "texts"),
    [
        ((), NEW_CLASSES),
        ((("a", 4), ("b", 9)), ["use priorityClassName a (4)", "use priorityClassName b (9)",
                                NEW_CLASSES[2]]),
        ((("b", 9), ("a", 9), ("c", 3)), ["use priorityClassName a (9)", NEW_CLASSES[2]]),
        ((("system", 2_000_000_000),), NEW_CLASSES),
        ((("most", 1_000_000_000),), ["use priorityClassName most (1000000000)"]),
    ],
)  # fmt: skip
def test_the_priority_is_raised_just_above_that_of_others(classes, texts):
    made, _ = search(
        never,
        pending(priority=3),
        make_node("n", cpu="4"),
        *(placed(f"o{i}", "n", priority=i) for i in (3, 7, 1_000_000_000, 3_000)),
        classes=[
            PriorityClass(metadata=make_pod(name).metadata, value=value) for name, value in classes
        ],
    )
    assert [edit.text for (edit,) in made._priorities(made._pod)] == texts


def raised(trial):
    """Return the raised priorities in the order in which they were tried alone."""
    return [change.pod.priority for change in trial.tried if change.evicts]


LEVELS = [placed(f"o{priority}", "n", priority=priority) for priority in (3, 7, 3_000)]
NEVER = [
    PriorityClass(metadata=make_pod("a").metadata, value=4),
    PriorityClass(metadata=make_pod("z").metadata, value=3_001, preemption_policy="Never"),
]


@pytest.mark.parametrize(
    ("fits_from", "spec", "classes", "expected"),
    [
        (9_999, {}, (), [3_001]),
        (3_001, {}, (), [3_001, 4, 8, 3_001]),
        (8, {}, (), [3_001, 4, 8]),
        (4, {}, (), [3_001, 4]),
        (9_999, {"affinity": {"podAffinity": NEAR_WEB}}, (), [4, 8, 3_001]),
        (9_999, {}, NEVER, [4, 3_001]),
    ],
    ids=["none", "the highest", "the second", "the lowest", "it may evict what it needs",
         "a class that does not evict"],
)  # fmt: skip
def test_the_highest_priority_is_tried_before_all_others(fits_from, spec, classes, expected):
    def accepts(change):
        return Outcome("n", 1, ("default/o",)) if change.pod.priority >= fits_from else None

    pod = pending(priority=3, **spec)
    made, trial = search(accepts, pod, make_node("n", cpu="4"), *LEVELS, classes=classes)
    plans = list(made._priorities(pod))
    made._search(plans)
    assert raised(trial) == expected
    assert bool(made._found) is (fits_from != 9_999)


def test_other_priorities_are_tried_if_the_outcome_of_the_highest_is_unknown():
    class Unknown(Scripted):
        def run(self, change):
            if change.pod.priority == 3_001:
                raise UnknownReply("no reply")
            return super().run(change)

    pod = pending(priority=3)
    made, _ = search(never, pod, make_node("n", cpu="4"), *LEVELS)
    made._trial = trial = Unknown(made._trial.explanation, never)
    made._search(list(made._priorities(pod)))
    assert raised(trial) == [4, 8]


def test_pods_are_evicted_in_trials_of_a_higher_priority_only():
    made, trial = search(never, pending(), *tainted(3), placed("o", "n000"))
    made.run()
    assert {change.evicts for change in trial.tried} == {False, True}
    assert all(change.evicts is (change.pod.priority > 0) for change in trial.tried)


@pytest.mark.parametrize(("most", "tried"), [(1, 2), (4, 2), (6, 3), (200, 12)])
def test_preemption_fails_on_so_many_nodes_at_most(most, tried, monkeypatch):
    monkeypatch.setattr(remedies, "_MOST_DRY_NODES", most)
    made, trial = search(never, pending(), *tainted(2), placed("o", "n000"))
    result = made.run()
    assert len(raised(trial)) == tried
    assert result.without_dry_run == 12 - tried
    limits = list(_preemption_limit(result, 2))
    assert len(limits) == bool(result.without_dry_run)


@pytest.mark.parametrize(
    ("count", "text"), [(1, "1 change was not tried"), (2, "2 changes were not tried")]
)
def test_changes_that_were_not_tried_for_their_effort_are_counted(count, text):
    (limit,) = _preemption_limit(SearchResult(without_dry_run=count), 5_000)
    assert limit == (
        f"{text} together with a higher priority, because each trial looks for pods to evict on "
        "5000 nodes"
    )


def test_the_nodes_of_a_trial_with_preemption_are_those_of_the_cluster(monkeypatch):
    monkeypatch.setattr(remedies, "_MOST_DRY_NODES", 1)
    pod = pending()
    made, trial = search(never, pod, *tainted(3), placed("o", "n000"))
    advice = find_advice(made._explanation, made._cluster, trial)
    assert [limit.endswith("pods to evict on 3 nodes") for limit in advice.limits] == [True]


def test_a_single_priority_is_tried_once():
    def accepts(change):
        return Outcome("n", 1, ("default/o",)) if change.pod.priority else None

    made, trial = search(accepts, pending(), make_node("n", cpu="4"), LEVELS[0])
    plans = list(made._priorities(pending()))
    made._search(plans)
    assert (len(plans), raised(trial)) == (1, [plans[0][0].on_pod(pending()).priority])


def test_a_pod_that_preempts_needs_no_priority_and_no_removal():
    waiting = pending(priority=9)
    nominated = with_fields(waiting, "status", nominated_node_name="n")
    for pod in (nominated, waiting):
        made, trial = search(never, pod, make_node("n", cpu="1"), placed("o", "n"))
        result = made.run()
        assert result.remedies == ()
        assert not any(change.delete or change.pod.priority != 9 for change in trial.tried)


def test_nodes_are_added_for_the_pods_ahead_in_growing_numbers():
    for ahead, counts in ((0, [1]), (3, [1, 2, 4, 8, 16])):
        made, trial = search(never, pending(), make_node("n", cpu="1"), placed("o", "n"),
                             pods_ahead=ahead)  # fmt: skip
        made.run()
        new = [[obj for obj in change.put if obj.kind == "Node"] for change in trial.tried]
        found = [len(nodes) for nodes in new if nodes]
        assert (found[: len(counts)], max(found)) == (counts, counts[-1])
    small, trial = search(never, pending(), make_node("n", cpu="10m"), make_node("m", cpu="20m"),
                          make_node("k", cpu="30m"), pods_ahead=1)  # fmt: skip
    small.run()
    sizes = [
        (change.put[0].name, change.put[0].status.allocatable["cpu"], len(change.put))
        for change in trial.tried
        if change.put
    ]
    assert sorted(set(sizes)) == sorted(
        [(f"{name}-new-1", "1", 1) for name in "nmk"]
        + [(f"{name}-new-1", "2", 1) for name in "kn" if name != "n"]
        + [("m-new-1", "2", 1)]
        + [("k-new-1", "1", count) for count in (2, 4, 8, 16)]
    )


def test_without_pods_ahead_a_new_node_has_what_the_pod_requests():
    made, trial = search(never, pending(), make_node("n", cpu="10m"))
    made.run()
    sizes = {
        obj.status.allocatable["cpu"]
        for change in trial.tried
        for obj in change.put
        if obj.kind == "Node" and obj.name != "n"
    }
    assert sizes == {"1"}


def test_changes_without_a_known_reply_are_untried_and_are_not_extended():
    made, trial = search(never, pending(), *tainted(3), unknown=("n001",))
    result = made.run()
    texts = [" and ".join(edit.text for edit in plan) for plan in result.untried]
    assert texts[0] == "remove taint k1:NoSchedule from node n001"
    assert all("remove taint k1:" in text for text in texts)
    assert len(trial.explained) == 5
    assert not any(obj.name == "n001" for change in trial.explained for obj in change.put)


def test_a_remedy_has_all_parts_of_its_plan():
    victim = make_pod("v")
    plan = (
        node_edits.uncordon("n"),
        Edit(key=("x",), text="do it", effort=1, put=(make_node("new"),), delete=(victim,),
             drop=(victim,), extender=2, scale=ReplicaCount("Job", "default/j", 1)),
        pod_edits.drop_gates(["a"]),
    )  # fmt: skip
    made, _ = search(always, pending(), make_node("n", cpu="1", unschedulable=True))
    made._trial.run = always
    made._try_group(frozenset(edit.key for edit in plan), [plan])
    remedy = _remedy(made._found[0][1])
    gates = "remove the scheduling gate a"
    assert remedy.text == f"uncordon node n and do it and {gates}"
    assert remedy.edits == ("uncordon node n", "do it", gates)
    assert remedy.commands == ("kubectl uncordon n",)
    assert (remedy.node, remedy.node_count, remedy.alternatives) == ("n", 3, ())
    assert [obj.name for obj in remedy.put] == ["n", "new"]
    assert (remedy.delete, remedy.drop) == (("default/v",), (victim,))
    assert [change(pending()).spec.scheduling_gates for change in remedy.pod_edits] == [()]
    assert remedy.scales == (ReplicaCount("Job", "default/j", 1),)
    assert remedy.bypassed == frozenset({2})
    assert repr(remedy) == f"<Remedy: {remedy.text}; opens 3 nodes, such as n>"


# ------------------------------------------------------------------------- limits of the advice


def test_texts_of_changes_are_shown_once_and_four_of_them():
    plans = [(node_edits.uncordon(name),) for name in ("a", "a", "b", "c", "d", "e", "f")]
    first = "uncordon node a; uncordon node b; uncordon node c; uncordon node d"
    assert _texts(plans) == f"{first}; and 2 more"
    assert _texts(plans[:6]) == f"{first}; and 1 more"
    assert _texts(plans[:5]) == first
    assert _texts(plans[:4]) == first.rpartition("; ")[0]
    assert _texts([]) == ""
    assert _texts([(*plans[0], *plans[2])]) == "uncordon node a and uncordon node b"


def test_the_nodes_for_a_pod_without_its_claims():
    would = "without its claims the pod would"
    assert _without_claims(None) == f"{would} not fit either"
    assert _without_claims(Outcome("n", 1)) == f"{would} fit on 1 node: n"
    assert _without_claims(Outcome("n", 2)) == f"{would} fit on 2 nodes, such as n"


class OnlyGold(pw.Plugin):
    """Rejects nodes without the label tier=gold."""

    name = "OnlyGold"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes of the tier."""
        if node.labels.get("tier") == "gold":
            return pw.Status()
        return pw.Status.unresolvable("node(s) of another tier")


def gold_advice(*nodes, unknown=()) -> Advice:
    scheduler = Scheduler(plugins=(OnlyGold,))
    scheduler.add(*nodes, make_pod("p", cpu="1"))
    explanation = scheduler.explain("default/p")
    trial: Any = Scripted(explanation, never, unknown=unknown)
    return find_advice(explanation, scheduler.cluster, trial, custom_plugins={"OnlyGold"})


def test_changes_of_the_rejected_nodes_that_do_not_help_are_named():
    full = make_node("full", cpu="10m", labels={"tier": "gold"})
    plain = make_node("plain", cpu="4", taints=["k:NoSchedule"])
    rejects = "the rule of the custom plugin OnlyGold, which rejects"
    unhelpful = "is not known; these changes of nodes do not help"
    found = gold_advice(full, plain)
    # The taint is tolerated by the pod or removed, which the filter before it wants.
    assert [limit.startswith(f"{rejects} 1 node, {unhelpful}: ") for limit in found.limits] == [
        True
    ]
    assert "set label tier=gold on node plain" in found.limits[0]
    assert "toleration" not in found.limits[0], "this changes the pod"
    assert "full and" not in found.limits[0]
    two = gold_advice(full, plain, make_node("other", cpu="4"))
    assert two.limits[0].startswith(f"{rejects} 2 nodes, {unhelpful}: ")
    assert gold_advice(full) == Advice(), "it rejects no node"


def test_changes_that_an_extender_would_have_to_see_are_counted():
    full = make_node("full", cpu="10m", labels={"tier": "gold"})
    end = (
        "could not be tried, because an extender would have to be called again, and a recorded"
        " run has only the replies to its own calls: "
    )
    found = gold_advice(full, make_node("plain", cpu="4"), unknown=("plain",))
    label = "set label tier=gold on node plain"
    assert found.limits[1] == f"2 changes {end}{label}; add a node like plain and {label}"


def test_one_change_that_could_not_be_tried_is_one_change():
    (limit,) = _extender_limit(SearchResult(untried=((node_edits.uncordon("n"),),)))
    assert limit.startswith("1 change could not be tried, ")
    assert limit.endswith(": uncordon node n")
    assert list(_extender_limit(SearchResult())) == []


# ------------------------------------------------------------------------- unusable claims


def claims_limit(pod, outcome, failed=()):
    trial = Scripted(None, lambda _: outcome)
    status = pw.Status.unresolvable("no class a", "no class b")
    return _claims_limit(pod, status, trial, failed)


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        (None, "without its claims the pod would not fit either"),
        (Outcome("n", 1), "without its claims the pod would fit on 1 node: n"),
        (Outcome("n", 2), "without its claims the pod would fit on 2 nodes, such as n"),
    ],
)
def test_claims_that_have_to_be_usable_first(outcome, ending):
    first = "the resource claims have to be usable first (no class a; no class b), "
    plain = make_pod("web")
    with_claims = make_pod("web", spec={"resourceClaims": [{"name": "gpu"}]})
    assert claims_limit(plain, outcome) == f"{first}so no change was tried"
    assert claims_limit(with_claims, outcome) == f"{first}so no change was tried; {ending}"
    failed = [(node_edits.uncordon("n"),), (node_edits.uncordon("m"),)]
    texts = "; ".join(plan[0].text for plan in failed)
    assert claims_limit(with_claims, outcome, failed) == (
        f"{first}and this does not suffice: {texts}; {ending}"
    )


def test_a_pod_whose_extender_cannot_be_called_again_is_not_tried_without_its_claims():
    class Unknown(Scripted):
        def run(self, change):
            raise UnknownReply("no reply")

    pod = make_pod("web", spec={"resourceClaims": [{"name": "gpu"}]})
    found = _claims_limit(pod, pw.Status.unresolvable("no class"), Unknown(None, never))
    assert found == (
        "the resource claims have to be usable first (no class), so no change was tried"
    )
