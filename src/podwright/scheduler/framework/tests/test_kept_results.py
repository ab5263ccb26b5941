"""Results that are kept: a runner decides as a new one does, whatever has changed between pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright._arrays import I64Array
from podwright.apimachinery.objects import Pod, pending_requests
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, NodeColumns, Reads
from podwright.scheduler.framework import (
    Cycle,
    NodeView,
    Normalization,
    Plugin,
    PluginRunner,
    PreFilterResult,
    Profile,
    Status,
    Verdicts,
)
from podwright.scheduler.framework.plugin import KeyReads
from podwright.scheduler.framework.profile import TieRule
from podwright.scheduler.framework.rankings.ranking_cache import RankingCache
from podwright.scheduler.framework.rankings.scores import RequestScore
from podwright.scheduler.preemption.tests import situations
from podwright.testing import make_node, make_pod

PODS = Reads.NODE | Reads.PODS


def app_of(pod: Pod) -> str:
    return pod.metadata.labels["app"]


def cpu_of(pod: Pod) -> int:
    return pending_requests(pod).get("cpu", 0)


class Labelled(Plugin):
    """Rejects nodes that are labelled against the app, and only names nodes for some apps."""

    name = "Labelled"
    pre_filter_reads = Reads.NOTHING
    filter_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> Hashable:
        return app_of(pod)

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        match app_of(cycle.pod):
            case "named":
                return PreFilterResult(frozenset({"n3", "n5", "n20", "gone"}))
            case "refused":
                return Status.unschedulable("refused")
            case "skipped":
                return Status.skip()
            case _:
                return Status.OK

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        app = app_of(cycle.pod)
        return Status.unschedulable(f"no {app}") if f"no-{app}" in node.labels else Status.OK


class Limited(Plugin):
    """Rejects nodes with as many pods as their label allows."""

    name = "Limited"
    filter_reads = PODS

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        is_full = len(node.pods) >= int(node.labels["limit"])
        return Status.unschedulable("full") if is_full else Status.OK


class Roomy(Plugin):
    """Rejects nodes without room, and prefers those with much; most pods have other requests."""

    name = "Roomy"
    key_varies = True
    pre_filter_reads = pre_score_reads = Reads.NOTHING
    filter_reads = score_reads = PODS

    def pod_key(self, pod: Pod) -> Hashable:
        return cpu_of(pod)

    def pre_filter(self, cycle: Cycle) -> Status:
        return Status.skip() if cpu_of(cycle.pod) % 10 == 1 else Status.OK

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        is_full = self._free(node) < cpu_of(cycle.pod)
        return Status.unschedulable("no room") if is_full else Status.OK

    def pre_score(self, cycle: Cycle) -> Status:
        return Status.skip() if cpu_of(cycle.pod) % 10 == 2 else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return max(100 * (self._free(node) - cpu_of(cycle.pod)) // node.allocatable["cpu"], 0)

    def _free(self, node: NodeView) -> int:
        return node.allocatable["cpu"] - node.requested["cpu"]


class Rated(Plugin):
    """Scores nodes by their label."""

    name = "Rated"
    score_reads = Reads.NODE
    scores_in_range = True

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return int(node.labels["rate"])


class Scaled(Rated):
    name = "Scaled"
    normalization = Normalization.DEFAULT


class Reversed(Rated):
    name = "Reversed"
    normalization = Normalization.DEFAULT_REVERSED


class Constant(Rated):
    name = "Constant"

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 30


class Emptier(Rated):
    """Prefers nodes with few pods."""

    name = "Emptier"
    score_reads = PODS

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return max(100 - 10 * len(node.pods), 0)


class Zonal(Plugin):
    """Rejects the zone with the most pods, and prefers the others by their number of pods."""

    name = "Zonal"

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def _counts(self, cycle: Cycle) -> Counter[str]:
        cluster = cycle.cluster
        return Counter(
            cluster.nodes.labels_of(slot)["zone"]
            for slot in cluster.live_slots().tolist()
            for _ in cluster.pods_on[slot]
        )

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        counts = self._counts(cycle)
        is_most = counts[node.labels["zone"]] > min(counts.values(), default=0) + 2
        return Status.unschedulable("crowded") if is_most else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return min(7 * self._counts(cycle)[node.labels["zone"]], 100)


class Classy(Plugin):
    """Rejects and scores nodes by the StorageClasses that there are."""

    name = "Classy"
    filter_reads = score_reads = Reads.NODE | Reads.STORAGE

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        is_known = node.labels["zone"] in cycle.cluster.storage.classes
        return Status.unschedulable("no class") if is_known else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 10 * len(cycle.cluster.storage.classes)


class Shared(Plugin):
    """Reads pods for one app only, and keeps that one off nodes that have any."""

    name = "Shared"
    filter_reads = Reads.NODE
    score_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> Hashable:
        return app_of(pod)

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        reads = PODS if key == "web" else Reads.NODE
        return KeyReads(Reads.NOTHING, reads, reads)

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        is_alone = app_of(cycle.pod) == "web" and len(node.pods) > 1
        return Status.unschedulable("shared") if is_alone else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 50 if app_of(cycle.pod) == "web" and node.pods else 20


class Counting(Zonal):
    """Reads the whole cluster for one app only."""

    name = "Counting"

    def pod_key(self, pod: Pod) -> Hashable:
        return app_of(pod)

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        reads = Reads.CLUSTER if key == "web" else Reads.NODE
        return KeyReads(Reads.NOTHING, reads, reads)

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return super().filter(cycle, node) if app_of(cycle.pod) == "web" else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return super().score(cycle, node) if app_of(cycle.pod) == "web" else 60


class CountingLocally(Counting):
    filter_reads = score_reads = Reads.NODE


class Fails(Plugin):
    """Fails at some nodes, which another filter may reject before."""

    name = "Fails"
    filter_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        for slot in out.rows.tolist():
            if "no-web" in nodes.labels_of(slot):
                out.reject_slot(slot, Status.error("no disk"))


class FailsWhenFull(Fails):
    """Fails at nodes with many pods."""

    name = "FailsWhenFull"
    filter_reads = PODS

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        for slot in out.rows.tolist():
            if len(cycle.cluster.pods_on[slot]) > 3:
                out.reject_slot(slot, Status.error("no port"))


class FailsLater(Plugin):
    """Fails at PreScore, for one app."""

    name = "FailsLater"
    pre_score_reads = score_reads = Reads.NOTHING

    def pod_key(self, pod: Pod) -> Hashable:
        return app_of(pod) == "db"

    def pre_score(self, cycle: Cycle) -> Status:
        return Status.error("later") if app_of(cycle.pod) == "db" else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 9


def node(number: int, *, is_cordoned: bool = False, **labels: Any) -> Any:
    known = {
        "zone": "abc"[number % 3],
        "limit": str(3 + number % 2),
        "rate": str(20 * (number % 4)),
    }
    if number % 7 == 0:
        known["no-web"] = ""
    return make_node(
        f"n{number}", cpu=2 + number % 5, labels=known | labels, unschedulable=is_cordoned
    )


def storage_class(name: str) -> Any:
    document = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p"}
    return decode(document | {"metadata": {"name": name}})


NODES = 26
OTHERS = ("named", "refused", "skipped")
SPREADING = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
SPECS: dict[str, dict[str, Any]] = {
    "named": {"nodeSelector": {"limit": "3"}},
    "refused": {"topologySpreadConstraints": [SPREADING | {"whenUnsatisfiable": "DoNotSchedule"}]},
    "skipped": {"topologySpreadConstraints": [SPREADING | {"whenUnsatisfiable": "ScheduleAnyway"}]},
}


def place(cluster: Cluster, *slots: int) -> None:
    for slot in slots:
        name = f"placed-{sum(len(pods) for pods in cluster.pods_on)}-{slot}"
        cluster.place(make_pod(name, cpu="300m", labels={"app": "web"}), slot)


def move(cluster: Cluster, slot: int, times: int) -> None:
    for _ in range(times):
        cluster.place(make_pod("moved", cpu="300m"), slot)
        cluster.remove("default/moved")


def move_and_put(cluster: Cluster) -> None:
    move(cluster, 2, 1_100)
    put(cluster, node(4))


def put(cluster: Cluster, *objects: Any) -> None:
    for one in objects:
        cluster.put(one)


def delete(cluster: Cluster, *objects: Any) -> None:
    for one in objects:
        cluster.delete(one)


def make_rated(cluster: Cluster, slot: int, rate: str) -> Any:
    return node(int(cluster.nodes.names[slot][1:]), rate=rate)


NO_WEB: dict[str, Any] = {"no-web": ""}
CHANGES: dict[str, Callable[[Cluster], None]] = {
    "nothing": lambda _: None,
    "nothing again": lambda _: None,
    "a pod is placed": lambda cluster: place(cluster, 3),
    "two are, on one node": lambda cluster: place(cluster, 5, 5),
    "pods on two nodes": lambda cluster: place(cluster, 3, 8),
    "pods on two nodes, named twice": lambda cluster: place(cluster, 3, 8, 3, 8),
    "a pod comes and goes": lambda cluster: move(cluster, 4, 1),
    "a label is added": lambda cluster: put(cluster, node(4, **NO_WEB)),
    "a node gets a rate that none has": lambda cluster: put(cluster, node(6, rate="95")),
    "a node with a pod is cordoned": lambda cluster: put(cluster, node(8, is_cordoned=True)),
    "a pod is placed there": lambda cluster: place(cluster, 8),
    "it is uncordoned": lambda cluster: put(cluster, node(8)),
    "another pod is placed there": lambda cluster: place(cluster, 8),
    "a node is deleted": lambda cluster: delete(cluster, node(6)),
    "a pod is placed beside it": lambda cluster: place(cluster, 7),
    "another takes its place": lambda cluster: put(cluster, node(41, rate="70")),
    "many entries of few nodes": lambda cluster: move(cluster, 9, 40),
    "more than the journal of pods keeps": lambda cluster: move(cluster, 2, 1_100),
    "the same, and a node changes": move_and_put,
    "pods on most nodes": lambda cluster: place(cluster, *range(25)),
    "pods on a third": lambda cluster: place(cluster, *range(15, 25)),
    "a class": lambda cluster: put(cluster, storage_class("a")),
    "another class": lambda cluster: put(cluster, storage_class("fast")),
    "a class goes": lambda cluster: delete(cluster, storage_class("a")),
    "more nodes": lambda cluster: put(cluster, *map(node, range(50, 60))),
    "all rates are equal": lambda cluster: put(
        cluster, *[node(number, rate="40") for number in range(50, 60)]
    ),
    "most nodes go": lambda cluster: delete(cluster, *map(node, range(10, 26))),
    "a pod on a last one": lambda cluster: place(cluster, cluster.nodes.slot_of["n51"]),
    "each rate is equal": lambda cluster: put(
        cluster, *[make_rated(cluster, slot, "40") for slot in cluster.live_slots().tolist()]
    ),
    "one is put again as it is": lambda cluster: put(cluster, node(52, rate="40")),
    "one has another rate": lambda cluster: put(cluster, node(53, rate="90")),
}


PROFILES: dict[str, tuple[tuple[type[Plugin], ...], tuple[tuple[type[Plugin], int], ...]]] = {
    "rows of nodes": ((Labelled,), ((Rated, 1),)),
    "rows of pods": ((Labelled, Limited), ((Emptier, 2), (Rated, 1))),
    "three rows that are added": ((Limited,), ((Emptier, 2), (Rated, 1), (Roomy, 3))),
    "rows of requests": ((Labelled, Roomy), ((Roomy, 1), (Rated, 2))),
    "rows of requests and pods": ((Roomy, Limited), ((Constant, 3), (Roomy, 1))),
    "scores that are scaled": ((Labelled, Limited), ((Scaled, 1), (Reversed, 2))),
    "a filter of all nodes": ((Labelled, Zonal, Limited), ((Rated, 1),)),
    "a score of all nodes": ((Labelled, Limited), ((Zonal, 1), (Emptier, 1))),
    "both, and requests": ((Roomy, Zonal), ((Zonal, 1), (Roomy, 1), (Scaled, 1))),
    "reads that differ by pod": ((Shared, Roomy), ((Shared, 1), (Rated, 1))),
    "the cluster for some pods": ((Counting, Limited), ((Counting, 1), (Rated, 1))),
    "the cluster against what is declared": ((Limited,), ((CountingLocally, 1), (Rated, 1))),
    "a filter that fails": ((Labelled, Roomy, Fails), ((Rated, 1),)),
    "a filter that fails later": ((FailsWhenFull, Labelled), ((Rated, 1),)),
    "a score that is not prepared": ((Roomy,), ((FailsLater, 1), (Roomy, 1))),
    "other objects": ((Classy, Labelled), ((Classy, 1), (Rated, 1))),
}


def profile(name: str, tie_rule: TieRule = TieRule.DRAWN) -> Profile:
    if name == UPSTREAM:
        return msgspec.structs.replace(situations.profile(), tie_rule=tie_rule)
    filters, scores = PROFILES[name]
    made: dict[type[Plugin], Plugin] = {}
    for kind in (*filters, *(kind for kind, _ in scores)):
        made.setdefault(kind, kind())
    every = tuple(made.values())
    return Profile(
        scheduler_name="s",
        pre_filter=tuple(plugin for plugin in every if plugin.implements("pre_filter")),
        filter=tuple(made[kind] for kind in filters),
        pre_score=tuple(plugin for plugin in every if plugin.implements("pre_score")),
        score=tuple((made[kind], weight) for kind, weight in scores),
        tie_rule=tie_rule,
    )


UPSTREAM = "the plugins of upstream"


@pytest.mark.parametrize("name", [*PROFILES, UPSTREAM])
def test_a_runner_decides_as_a_new_one(name: str) -> None:
    cluster = Cluster()
    for number in range(NODES):
        cluster.put(node(number))
    kept = PluginRunner(profile(name), cluster, seed=3)
    # This one evaluates all nodes in every cycle.
    walking = PluginRunner(profile(name, TieRule.HEAP), cluster, seed=3)
    cycle_number = 0
    for number, (change, make) in enumerate(CHANGES.items()):
        make(cluster)
        for app in ("web", "db", "web", OTHERS[number % 3]):
            cycle_number += 1
            # One pod requests what no other does: little, much or more than nodes have left.
            own_cpu = 300 + 900 * (cycle_number % 5) + cycle_number
            cpu = f"{own_cpu if app == 'db' else 600}m"
            pod = make_pod(f"p{cycle_number}", cpu=cpu, labels={"app": app}, spec=SPECS.get(app))
            new = PluginRunner(profile(name), cluster, seed=3)
            found = kept.decide(pod, cycle_number=cycle_number)
            assert found == new.decide(pod, cycle_number=cycle_number), (change, app)
            walked = walking.decide(pod, cycle_number=cycle_number)
            for field in ("total", "tie_count", "feasible_count", "diagnosis", "error"):
                assert getattr(found, field) == getattr(walked, field), (change, app)
            if app in OTHERS:
                explained = new.explain(pod, cycle_number=cycle_number)
                assert found.error == explained.error, change
                assert found.feasible_count == len(explained.feasible), change
                if found.total is not None:
                    totals = explained.totals
                    assert totals[found.node] == max(totals.values()) == found.total, change
                    assert found.tie_count == len(explained.winners), change


class AlsoVaries(Rated):
    key_varies = True


class VariesWithCluster(Roomy):
    score_reads = Reads.CLUSTER


class FiltersCluster(Roomy):
    filter_reads = Reads.CLUSTER


class VariesAndFilters(Limited):
    key_varies = True


class VariesAndNormalizes(Rated):
    key_varies = True

    def normalize_score(self, cycle: Cycle, out: object) -> None:
        pass


class VariesOnColumns(Plugin):
    """Filters and scores all nodes at once."""

    name = "VariesOnColumns"
    key_varies = True
    filter_reads = score_reads = PODS

    def filter_columns(self, cycle: Cycle, nodes: object, out: object) -> None:
        pass

    def score_columns(self, cycle: Cycle, nodes: object, out: object) -> None:
        pass


class FiltersClusterOnColumns(VariesOnColumns):
    filter_reads = Reads.CLUSTER


class ScoresClusterOnColumns(VariesOnColumns):
    score_reads = Reads.CLUSTER


@pytest.mark.parametrize(
    ("plugin", "is_varying"),
    [
        pytest.param(VariesOnColumns, True, id="the same on columns"),
        pytest.param(FiltersClusterOnColumns, False, id="a filter on columns of the cluster"),
        pytest.param(ScoresClusterOnColumns, False, id="a score on columns of the cluster"),
        pytest.param(Roomy, True, id="a filter and a score of single nodes"),
        pytest.param(AlsoVaries, True, id="a score alone"),
        pytest.param(VariesAndFilters, True, id="a filter alone"),
        pytest.param(Limited, False, id="a filter whose keys do not vary"),
        pytest.param(FiltersCluster, False, id="a filter of single nodes that reads the cluster"),
        pytest.param(VariesWithCluster, False, id="a score that reads the cluster"),
        pytest.param(VariesAndNormalizes, False, id="a score that all nodes normalize"),
    ],
)
def test_plugins_whose_rows_are_exchanged_between_pods(
    plugin: type[Plugin], is_varying: bool
) -> None:
    made = plugin()
    rankings = RankingCache(
        Profile(
            scheduler_name="s",
            filter=(made,) if made.implements("filter") or made.filters_columns else (),
            score=((made, 1),) if made.implements("score") or made.scores_columns else (),
        ),
        Cluster(),
    )
    assert rankings._varying == ({made.name} if is_varying else set())


@pytest.mark.parametrize(
    ("weights", "are_kept"),
    [
        pytest.param((1,), True, id="one"),
        pytest.param((10_485,), True, id="up to a million in total"),
        pytest.param((10_486,), False, id="more"),
        pytest.param((10_000, 485), True, id="of two together"),
        pytest.param((10_000, 486), False, id="more of two together"),
    ],
)
def test_scores_are_kept_by_node_unless_totals_are_huge(
    weights: tuple[int, ...], are_kept: bool
) -> None:
    made = (Rated(), Constant())
    rankings = RankingCache(
        Profile(scheduler_name="s", score=tuple(zip(made, weights, strict=False))), Cluster()
    )
    expected = {plugin.name for plugin in made[: len(weights)]} if are_kept else set()
    assert rankings._local_scores == expected


@pytest.mark.parametrize("nominated", [False, True])
def test_a_suggestion_sees_the_nodes_as_they_are(nominated: bool) -> None:
    cluster = Cluster()
    put(cluster, *(make_node(name, cpu="2") for name in ("a", "b")))
    runner = PluginRunner(situations.profile(), cluster, keeps_totals=True)
    for number in range(3):
        runner.decide(make_pod(f"p{number}", cpu="1500m"), cycle_number=number)
    place(cluster, *[cluster.nodes.slot_of["a"]] * 3)
    if nominated:
        cluster.nominate(make_pod("first", cpu="1", priority=5), "b")
    statuses: list[Status | None] = []

    def suggest(filter_node: Callable[[str], Status | None]) -> str:
        statuses.extend(filter_node(name) for name in ("a", "b"))
        return "a"

    pod = make_pod("last", cpu="1500m")
    found = runner.decide(pod, cycle_number=9, suggest=suggest)
    assert statuses == [Status.unschedulable("Insufficient cpu").by("NodeResourcesFit"), Status.OK]
    assert found.node == ("" if nominated else "b")


class Adds(Plugin):
    """Adds up requests, and may not even read pods."""

    name = "Adds"

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK

    def filter_as_sums(self, cycle: Cycle) -> I64Array | None:
        return np.array([0, 100], dtype=np.int64)


@pytest.mark.parametrize(
    ("reads", "names", "adds_up"),
    [
        pytest.param(PODS, ("Adds",), True, id="one filter of pods"),
        pytest.param(Reads.NODE, ("Adds",), False, id="one that reads no pods"),
        pytest.param(PODS, ("Adds", "Also"), False, id="two of them"),
        pytest.param(PODS, (), False, id="none"),
    ],
)
def test_requests_determine_totals_if_one_filter_adds_up(
    reads: Reads, names: tuple[str, ...], adds_up: bool
) -> None:
    made = tuple(type(name, (Adds,), {"name": name, "filter_reads": reads})() for name in names)
    cluster = Cluster()
    put(cluster, make_node("n"))
    runner = PluginRunner(Profile(scheduler_name="s", filter=made), cluster)
    ranking = runner.ranking_of(make_pod("p"))
    assert (ranking._requests is not None) is adds_up


class Nothing(Adds):
    """Has no sums for any pod."""

    def filter_as_sums(self, cycle: Cycle) -> I64Array | None:
        return None


def scoring(name: str, *, is_balance: bool, has_sums: bool = True) -> Plugin:
    """Return a plugin that scores requests."""
    sums = RequestScore(plan=np.zeros(0, dtype=np.int64), is_balance=is_balance)
    fields = {
        "name": name,
        "score_reads": PODS,
        "pod_key": lambda *_: (),
        "score": lambda *_: 0,
        "score_as_requests": lambda *_: sums if has_sums else None,
    }
    made: Plugin = type(name, (Plugin,), fields)()
    return made


SHARES, BALANCE = scoring("Shares", is_balance=False), scoring("Balance", is_balance=True)


@pytest.mark.parametrize(
    ("filter_class", "scores", "adds_up"),
    [
        pytest.param(Adds, (), True, id="no score"),
        pytest.param(Adds, (SHARES,), True, id="shares"),
        pytest.param(Adds, (BALANCE,), True, id="a balance"),
        pytest.param(Adds, (SHARES, BALANCE), True, id="both"),
        pytest.param(Adds, (SHARES, scoring("S", is_balance=False)), False, id="shares twice"),
        pytest.param(Adds, (BALANCE, scoring("B", is_balance=True)), False, id="two balances"),
        pytest.param(
            Adds, (SHARES, scoring("N", is_balance=False, has_sums=False)), False, id="another one"
        ),
        pytest.param(Nothing, (SHARES,), False, id="a filter without sums"),
    ],
)
def test_requests_determine_totals_if_scores_compare_them(
    filter_class: type[Plugin], scores: tuple[Plugin, ...], adds_up: bool
) -> None:
    made = type("Sums", (filter_class,), {"filter_reads": PODS})()
    cluster = Cluster()
    put(cluster, make_node("n"))
    profile = Profile(
        scheduler_name="s", filter=(made,), score=tuple((plugin, 1) for plugin in scores)
    )
    ranking = PluginRunner(profile, cluster).ranking_of(make_pod("p"))
    assert (ranking._requests is not None) is adds_up


@pytest.mark.parametrize("name", ["rows of pods", "rows of requests and pods", UPSTREAM])
def test_rankings_that_share_rows_catch_up_in_turn(name: str) -> None:
    cluster = Cluster()
    for number in range(NODES):
        cluster.put(node(number))
    kept = PluginRunner(profile(name), cluster, seed=3)
    pods = [make_pod(app, cpu="600m", labels={"app": app}) for app in ("web", "db")]
    for cycle_number in range(4):
        kept.decide(pods[cycle_number % 2], cycle_number=cycle_number)
    # Each ranking misses every other change, which the other one has brought the rows up to.
    for cycle_number in range(4, 30):
        new = PluginRunner(profile(name), cluster, seed=3)
        pod = pods[cycle_number % 2]
        found = kept.decide(pod, cycle_number=cycle_number)
        assert found == new.decide(pod, cycle_number=cycle_number)
        if found.slot >= 0:
            place(cluster, found.slot)


class AddsUp(Plugin):
    """Follows from requests alone, but for pods with an annotation."""

    name = "AddsUp"
    filter_reads = Reads.NODE | Reads.PODS

    def filter_as_sums(self, cycle: Cycle) -> Any:
        if "apart" in cycle.pod.metadata.annotations:
            return None
        return np.array([0, 100], dtype=np.int64)

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK


def test_a_ranking_starts_over_if_the_same_rows_follow_from_requests() -> None:
    cluster = Cluster()
    cluster.put(make_node("n"))
    runner = PluginRunner(Profile(scheduler_name="s", filter=(AddsUp(),)), cluster)
    alike = make_pod("p"), make_pod("q")
    apart = make_pod("r", annotations={"apart": ""})
    ranking = runner.ranking_of(alike[0])
    ranking.own_state = {"of": "p"}
    before = ranking.cycle
    assert not ranking.restart(Cycle(apart, cluster))
    assert (ranking.cycle, ranking.own_state) == (before, {"of": "p"})
    again = Cycle(alike[1], cluster)
    assert ranking.restart(again)
    assert (ranking.cycle, ranking.own_state) == (again, {})
    other = runner.ranking_of(apart)
    assert other.restart(Cycle(apart, cluster))
    assert not other.restart(again)
