"""Trials of a scheduler: pods that took a place, and replicas after a change."""

from __future__ import annotations

from random import Random
from typing import ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, Pod, decode_pod
from podwright.scheduler.advice import Change, Remedy
from podwright.scheduler.assembly import Displacement, broken_affinity
from podwright.scheduler.assembly.tests.test_gangs_together import (
    gang,
    member,
    scheduler as with_gangs,
)
from podwright.scheduler.assembly.tests.test_rare_decisions import Nominates
from podwright.scheduler.assembly.trials import SchedulerTrial
from podwright.scheduler.columns.tests.storage_objects import claim, storage_class, using, volume
from podwright.testing import make_node, make_pod

NODE = make_node("n", cpu="4")
SMALL = make_node("small", cpu="1")


def cores(name: str, cpu: str, **fields) -> Pod:
    return make_pod(name, cpu=cpu, **fields)


def apart_from(app: str) -> dict[str, object]:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": terms}, "nodeSelector": {"on": "n"}}


NAMES = tuple(f"default/ahead-{number:02}" for number in range(13))


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        pytest.param([NODE, cores("big", "5")], None, id="no pod is ahead"),
        pytest.param(
            [NODE, cores("first", "1"), cores("big", "5")], None, id="it would not fit alone either"
        ),
        pytest.param(
            [NODE, cores("first", "2"), cores("big", "3")],
            Displacement(node="n", node_count=1, pods=("default/first",)),
            id="the pod ahead took the place",
        ),
        pytest.param(
            [NODE, SMALL, make_node("m", cpu="2"), cores("first", "2", node_selector={"a": "b"}),
             cores("second", "4"), cores("big", "3")],
            Displacement(node="n", node_count=1, pods=("default/second",)),
            id="pods ahead that did not fit took none",
        ),
        pytest.param(
            [make_node("n", cpu="5"), cores("one", "1"), cores("two", "2"), cores("three", "1"),
             cores("big", "4")],
            Displacement(node="n", node_count=1, pods=("default/two", "default/three")),
            id="only pods without any of which it would not fit",
        ),
        pytest.param(
            [make_node("n", cpu="4"), cores("there", "1", node="n"), cores("one", "2"),
             cores("big", "3")],
            Displacement(node="n", node_count=1, pods=("default/one",)),
            id="pods that had a node before did not take it",
        ),
        pytest.param(
            [make_node("n", zone="z", labels={"on": "n", "zone": "z"}),
             make_node("m", zone="z", labels={"on": "m", "zone": "z"}),
             make_pod("near", labels={"app": "a"}, node_selector={"on": "m"}),
             make_pod("other", node_selector={"on": "n"}),
             make_pod("big", spec=apart_from("a"))],
            Displacement(node="n", node_count=1, pods=("default/near",)),
            id="a pod on another node keeps it away",
        ),
        pytest.param(
            [make_node("n", cpu="12"), *(cores(name[8:], "1") for name in NAMES[:12]),
             cores("big", "1")],
            Displacement(node="n", node_count=1, pods=("default/ahead-11",)),
            id="twelve pods are left out one by one",
        ),
        pytest.param(
            [make_node("n", cpu="13"), *(cores(name[8:], "1") for name in NAMES),
             cores("big", "1")],
            Displacement(node="n", node_count=1, pods=NAMES),
            id="more pods are named together",
        ),
        pytest.param(
            [NODE, cores("low", "3", node="n"), cores("first", "1", priority=5),
             cores("big", "4", priority=5)],
            None,
            id="it would have to preempt even alone",
        ),
        pytest.param(
            [NODE, make_node("m", cpu="4"), cores("low", "4", node="m"),
             cores("one", "1", priority=5), cores("two", "1", priority=5),
             cores("big", "4", priority=5)],
            Displacement(node="n", node_count=1, pods=("default/one", "default/two")),
            id="to preempt elsewhere is not to fit",
        ),
        pytest.param(
            [make_node("n", cpu="4"), make_node("m", cpu="4"), cores("one", "4"), cores("two", "4"),
             cores("big", "4")],
            Displacement(node="m", node_count=2, pods=("default/one",)),
            id="of several nodes the one that it would have had",
        ),
    ],
)  # fmt: skip
def test_pods_ahead_in_the_queue_that_took_the_place_are_named(
    objects: list[Object], found: Displacement | None
) -> None:
    scheduler = pw.Scheduler(tie_rule=pw.TieRule.FIRST)
    scheduler.add(*objects)
    before = scheduler.state()
    for _ in scheduler.schedule_before("default/big"):
        pass
    placed = {key: each.slot for key, each in scheduler.cluster.pods.items()}
    explanation = scheduler.explain("default/big")
    assert not explanation.decision.node
    assert scheduler.displacement(explanation, before) == found
    assert {key: each.slot for key, each in scheduler.cluster.pods.items()} == placed
    assert list(scheduler.pending)[-1] == "default/big"


def test_a_place_is_taken_without_preemption_as_well() -> None:
    profile = {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configuration = pw.read_configuration(head | {"profiles": [profile]}, source="c")
    scheduler = pw.Scheduler(configuration)
    scheduler.add(make_node("n", cpu="4"), cores("one", "4"), cores("big", "4"))
    before = scheduler.state()
    scheduler.schedule("default/one")
    found = scheduler.displacement(scheduler.explain("default/big"), before)
    assert found == Displacement(node="n", node_count=1, pods=("default/one",))


def test_the_pods_that_a_remedy_deletes_are_gone_while_it_is_tried() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("old", "1", node="small"), cores("web-0", "1"))
    pod = scheduler.pending["default/web-0"]
    remedy = Remedy(
        text="", edits=(), node="small", node_count=1, pod=pod, delete=("default/old", "default/x")
    )
    with scheduler.trying(remedy) as trial:
        assert [trial.place(cores(name, "1")) for name in ("web-0", "web-1")] == [True, False]
    assert list(scheduler.cluster.pods) == ["default/old"]


@pytest.mark.parametrize(
    "pod",
    [make_pod("web", cpu="1"), make_pod("web", cpu="1", scheduler="other")],
    ids=["a pod that fits", "a pod of another scheduler"],
)
def test_no_place_was_taken_from_a_pod_that_is_not_rejected(pod: Pod) -> None:
    scheduler = pw.Scheduler()
    scheduler.add(NODE, cores("first", "1"), pod)
    before = scheduler.state()
    scheduler.schedule("default/first")
    assert scheduler.displacement(scheduler.explain("default/web"), before) is None


def test_replicas_are_tried_one_after_the_other_and_everything_is_reverted() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("old", "1", node="small"), cores("web-0", "1"))
    (remedy,) = [
        each for each in scheduler.remedies(scheduler.explain("default/web-0"))
        if each.text .startswith("add ")
    ]  # fmt: skip
    with scheduler.trying(remedy) as trial:
        assert [trial.place(cores(name, "1")) for name in ("web-0", "web-1")] == [True, False]
        assert "default/web-1" not in scheduler.pending
        trial.remove("default/old")
        assert trial.place(cores("web-1", "1"))
        trial.remove("default/web-0")
        assert trial.place(cores("web-2", "1"))
        assert sorted(scheduler.cluster.pods) == ["default/web-1", "default/web-2"]
    assert list(scheduler.cluster.pods) == ["default/old"]
    assert list(scheduler.pending) == ["default/web-0"]
    assert len(scheduler.cluster.live_slots()) == 1


def test_a_replica_may_preempt() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("low", "1", node="small"), cores("web-0", "1", priority=5))
    trial = SchedulerTrial(scheduler, scheduler.pending["default/web-0"], None)
    with trial.replicas(Change(scheduler.pending["default/web-0"])) as replicas:
        assert replicas.place(cores("web-0", "1", priority=5))
        assert list(scheduler.cluster.pods) == ["default/web-0"]
        assert not replicas.place(cores("web-1", "1", priority=5))
    assert list(scheduler.cluster.pods) == ["default/low"]


def test_a_trial_counts_the_pods_ahead_and_places_them_again_where_it_confirms() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("lost", "8"), cores("first", "1"), cores("web", "1"))
    since = scheduler.state()
    for _ in scheduler.schedule_before("default/web"):
        pass
    web = scheduler.pending["default/web"]
    trial = SchedulerTrial(scheduler, web, since)
    assert trial.pods_ahead == 2
    assert SchedulerTrial(scheduler, web, None).pods_ahead == 0
    assert SchedulerTrial(scheduler, make_pod("absent"), since).pods_ahead == 0
    large, same = Change(web, put=(make_node("new", cpu="8"),)), Change(web, put=(SMALL,))
    found = trial.run(large)
    assert found is not None
    assert (found.node, found.feasible_count, found.victims) == ("new", 1, ())
    # The pods ahead take the node first.
    assert trial.confirm(large) is None
    later = SchedulerTrial(scheduler, web, since)
    assert later.confirm(large) is None
    assert later.run(same) is None
    assert list(scheduler.cluster.pods) == ["default/first"]
    assert trial.run(same) is None
    placed = scheduler.cluster.pods["default/first"].pod
    alone = trial.confirm(Change(web, delete=(placed,)))
    assert alone is not None
    assert alone.node == "small"
    assert trial.explain(large).decision.node == "new"
    assert list(scheduler.pending) == ["default/lost", "default/web"]
    assert list(scheduler.cluster.pods) == ["default/first"]


def test_an_outcome_of_preemption_names_the_victims() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("low", "1", node="small"), cores("web", "1", priority=5))
    web = scheduler.pending["default/web"]
    found = SchedulerTrial(scheduler, web, None).run(Change(web))
    assert found is not None
    assert (found.node, found.feasible_count, found.victims) == ("small", 1, ("default/low",))
    trial = SchedulerTrial(scheduler, web, None)
    assert trial.run(Change(web, evicts=False)) is None
    assert trial.explain(Change(web)).decision.post_filter is not None
    assert trial.explain(Change(web, evicts=False)).decision.post_filter is None
    assert list(scheduler.cluster.pods) == ["default/low"]
    assert scheduler.pending["default/web"] is web


def test_a_pod_that_is_not_pending_is_tried_beside_those_that_are() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("web", "1"))
    other = cores("other", "1")
    found = SchedulerTrial(scheduler, other, None).run(Change(other))
    assert found is not None
    assert (found.node, found.feasible_count, found.victims) == ("small", 1, ())
    assert list(scheduler.pending) == ["default/web"]
    assert not scheduler.cluster.pods


class Keeps(pw.Plugin):
    """Records what is reserved and released."""

    name = "Keeps"
    calls: ClassVar[list[str]] = []

    def reserve(self, cycle: pw.Cycle, node_name: str) -> pw.Status:
        self.calls.append(f"+{cycle.pod.name}")
        return pw.Status()

    def unreserve(self, cycle: pw.Cycle, node_name: str) -> None:
        self.calls.append(f"-{cycle.pod.name}")


def test_what_a_trial_reserves_is_released_once() -> None:
    scheduler = pw.Scheduler(plugins=[Keeps])
    scheduler.add(NODE, cores("placed", "1"), cores("web", "1"))
    scheduler.schedule("default/placed")
    web = scheduler.pending["default/web"]
    Keeps.calls.clear()
    trial = SchedulerTrial(scheduler, web, None)
    for _ in range(2):
        assert trial.run(Change(web)) is not None
    assert Keeps.calls == ["+web", "-web"] * 2
    scheduler.schedule("default/web")
    assert Keeps.calls[4:] == ["+web"]


def test_a_changed_pod_is_tried_in_the_place_of_the_pending_one() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL, cores("web", "8"))
    web = scheduler.pending["default/web"]
    trial = SchedulerTrial(scheduler, web, None)
    found = trial.run(Change(cores("web", "1")))
    assert found is not None
    assert (found.node, scheduler.pending["default/web"]) == ("small", web)


def test_a_pod_that_is_not_pending_is_admitted_before_it_is_tried() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(SMALL)
    container = {"name": "c", "resources": {"limits": {"cpu": "8"}}}
    pod = decode_pod({"metadata": {"name": "web"}, "spec": {"containers": [container]}})
    assert SchedulerTrial(scheduler, pod, None).run(Change(pod)) is None


def test_a_trial_returns_to_the_present_slots_where_nodes_have_new_ones() -> None:
    scheduler = pw.Scheduler()
    nodes = [make_node(f"n{number}", cpu="1") for number in range(1_030)]
    scheduler.add(*nodes, SMALL, cores("old", "1", node="small"), cores("web", "1"))
    web = scheduler.pending["default/web"]
    trial = SchedulerTrial(scheduler, web, None)
    assert trial.run(Change(web)) is not None
    before = scheduler.cluster.numbering
    scheduler.remove(*nodes)
    assert scheduler.cluster.numbering > before
    for _ in range(2):
        assert trial.run(Change(web)) is None
    assert list(scheduler.cluster.pods) == ["default/old"]
    assert scheduler.cluster.pods["default/old"].slot in scheduler.cluster.live_slots()


def test_what_a_trial_reserves_is_released_while_the_volumes_are_still_there() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), storage_class("local"), claim("a"))
    pod = make_pod("web", spec={"volumes": using("a")})
    scheduler.add(pod)
    web = scheduler.pending["default/web"]
    trial = SchedulerTrial(scheduler, web, None)
    for _ in range(2):
        found = trial.run(Change(web, put=(volume("v", on=["n1"]),)))
        assert found is not None
        assert found.node == "n1"
        assert trial.run(Change(web)) is None
    kept = scheduler.cluster.storage.claim("default/a")
    assert kept is not None
    assert kept.spec.volume_name == ""


def test_a_nomination_without_victims_is_not_an_outcome() -> None:
    scheduler = pw.Scheduler(plugins=[Nominates])
    scheduler.add(make_node("n1"), make_pod("web"))
    web = scheduler.pending["default/web"]
    assert SchedulerTrial(scheduler, web, None).run(Change(web)) is None


def test_a_replica_of_a_gang_fits_with_the_others_only() -> None:
    scheduler = with_gangs(make_node("n1"), gang("g", 2), member("a", "g"), member("b", "g"))
    trial = SchedulerTrial(scheduler, scheduler.pending["default/a"], None)
    with trial.replicas(Change(scheduler.pending["default/a"])) as replicas:
        for name in ("default/a", "default/b"):
            replicas.remove(name)
        assert not replicas.place(scheduler._admit(member("a", "g")))


def test_without_preemption_no_affinity_stops_it() -> None:
    profile = {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    scheduler = pw.Scheduler(pw.read_configuration(head | {"profiles": [profile]}, source="c"))
    scheduler.add(SMALL, cores("web", "8"))
    assert broken_affinity(scheduler.explain("default/web"), scheduler.cluster) == ()


def test_the_placed_pods_are_copied_again_only_after_a_change() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(NODE, cores("old", "1", node="n"), cores("one", "1"))
    before = scheduler.state()
    placed = before.placed
    scheduler.schedule("default/one")
    before.restore()
    assert scheduler.state().placed is placed
    scheduler.cluster.nominate(scheduler.pending["default/one"], "n")
    assert scheduler.state().placed is not placed, "a nomination"
    placed = scheduler.state().placed
    scheduler.cluster.remove("default/old")
    assert scheduler.state().placed is not placed, "a pod less"


@pytest.mark.parametrize("seed", range(20))
def test_a_state_that_is_kept_is_restored_as_a_new_one(seed: int) -> None:
    draw = Random(seed)
    scheduler = pw.Scheduler(seed=seed)
    scheduler.add(*(make_node(f"n{number}", cpu="4") for number in range(3)))
    scheduler.add(*(cores(f"p{number}", "1", node=f"n{number % 3}") for number in range(6)))
    scheduler.add(*(cores(f"q{number}", "1") for number in range(12)))
    cluster = scheduler.cluster

    def shown() -> list[list[str]]:
        return [list(pods) for pods in cluster.pods_on]

    def change() -> None:
        if cluster.pods and draw.random() < 0.4:
            cluster.remove(draw.choice(list(cluster.pods)))
        elif scheduler.pending:
            scheduler.schedule(draw.choice(list(scheduler.pending)))

    for _ in range(12):
        outer, outer_shown = scheduler.state(), shown()
        for _ in range(draw.randrange(3)):
            inner, inner_shown = scheduler.state(), shown()
            for _ in range(draw.randrange(4)):
                change()
            inner.restore()
            assert shown() == inner_shown
            if draw.random() < 0.5:
                change()
        outer.restore()
        assert shown() == outer_shown
        change()
