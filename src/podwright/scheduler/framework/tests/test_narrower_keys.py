"""Pods whose results read the cluster, and that still share results by a narrower key."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.columns.tests.test_device_fits import a_slice, allocated
from podwright.scheduler.framework import Cycle, NodeView, Plugin, PluginRunner, Profile, Status
from podwright.scheduler.framework.cycle import StateKey
from podwright.scheduler.framework.plugin import KeyReads
from podwright.testing import make_node, make_pod

PODS = Reads.NODE | Reads.PODS
OWN: StateKey[str] = StateKey("PreFilterBySize")


class BySize(Plugin):
    """Reads an annotation in the cluster's place: what it requests decides, and not its name."""

    name = "BySize"
    filter_reads = pre_filter_reads = Reads.CLUSTER
    calls: ClassVar[list[str]] = []

    def pod_key(self, pod: Pod) -> Hashable:
        return ("pod", pod.metadata.name)

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        if isinstance(key, tuple) and key[0] == "pod":
            return KeyReads(Reads.CLUSTER, Reads.CLUSTER, Reads.CLUSTER)
        return KeyReads(Reads.NOTHING, Reads.NODE, Reads.NOTHING)

    def key_in_cluster(self, cycle: Cycle) -> Hashable | None:
        if not self.pre_filter(cycle).is_success:
            return None
        size = cycle.pod.metadata.annotations.get("size", "")
        if size == "broken":
            raise ValueError("no size")
        return ("size", size) if size else None

    def pre_filter(self, cycle: Cycle) -> Status:
        cycle.write(OWN, cycle.pod.metadata.name)
        refused = cycle.pod.metadata.annotations.get("refused")
        return Status.unresolvable("refused") if refused else Status.OK

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        BySize.calls.append(node.name)
        size = cycle.pod.metadata.annotations.get("size", "")
        return Status.OK if not size or size in node.labels else Status.unschedulable("no size")


class Flat(Plugin):
    name = "Flat"
    score_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 1


def runner() -> PluginRunner:
    cluster = Cluster()
    cluster.put(make_node("large", labels={"large": "", "small": ""}))
    cluster.put(make_node("small", labels={"small": ""}))
    plugin, flat = BySize(), Flat()
    profile = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(plugin,), score=((flat, 1),)
    )
    return PluginRunner(profile, cluster)


def pod(name: str, **annotations: str) -> Pod:
    return make_pod(name, annotations=annotations)


def calls_of(made: PluginRunner, *pods: Pod) -> list[int]:
    """Return how often the filter is called for each pod."""
    counts = []
    for number, one in enumerate(pods):
        BySize.calls.clear()
        decision = made.decide(one, cycle_number=number)
        assert decision.error is None, decision.error
        counts.append(len(BySize.calls))
    return counts


@pytest.mark.parametrize(
    ("annotations", "calls"),
    [
        pytest.param({"size": "small"}, [2, 2, 0, 0], id="a narrower key is cached"),
        pytest.param({}, [2, 2, 2, 2], id="without one every cycle filters"),
    ],
)
def test_results_are_shared_by_the_narrower_key(
    annotations: dict[str, str], calls: list[int]
) -> None:
    pods = [pod(f"p{number}", **annotations) for number in range(4)]
    assert calls_of(runner(), *pods) == calls


def test_only_changed_nodes_are_filtered_again() -> None:
    made = runner()
    calls_of(made, *(pod(f"p{number}", size="large") for number in range(3)))
    made.cluster.put(make_node("small", labels={"large": ""}))
    assert calls_of(made, pod("next", size="large")) == [1]
    assert made.decide(pod("last", size="large"), cycle_number=9).feasible_count == 2


class ByDevice(BySize):
    """Reads what the pods of a node, and their claims, leave free."""

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        reads = super().reads_for(key, cluster)
        return reads if reads.filter is Reads.CLUSTER else reads._replace(filter=PODS)


def test_nodes_whose_devices_changed_are_filtered_again() -> None:
    plugin = ByDevice()
    profile = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(plugin,), score=((Flat(), 1),)
    )
    cluster = runner().cluster
    for name in ("large", "small"):
        cluster.put(a_slice(name, name, devices=[{"name": "gpu-0"}]))
    made = PluginRunner(profile, cluster)
    calls_of(made, *(pod(f"p{number}", size="small") for number in range(3)))
    assert calls_of(made, pod("next", size="small")) == [0]
    cluster.devices.set_pending("c", allocated("small", "gpu-0"))
    assert calls_of(made, pod("last", size="small"), pod("again", size="small")) == [1, 0]
    assert BySize.calls == []


def test_the_state_is_that_of_the_pod_itself() -> None:
    made = runner()
    for name in ("p1", "p2", "p3"):
        one = pod(name, size="large")
        assert made.decide(one, cycle_number=1).node == "large"
        assert made.own_cycle(one).read(OWN) == name


def test_a_pod_that_fits_nowhere_is_rejected_for_its_own_reasons() -> None:
    made = runner()
    for number in range(3):
        decision = made.decide(pod(f"p{number}", size="huge"), cycle_number=number)
        assert decision.message == "0/2 nodes are available: 2 no size."
    refused = made.decide(pod("refused", size="small", refused="yes"), cycle_number=9)
    assert refused.message == "0/2 nodes are available: refused."


def test_a_narrower_key_that_fails_is_an_error_of_the_cycle() -> None:
    made = runner()
    error = made.decide(pod("p", size="broken"), cycle_number=1).error
    assert error is not None
    assert "ValueError: no size (pod default/p)" in error.message
    assert made.decide(pod("q", size="large"), cycle_number=2).node == "large"


def test_a_known_decision_is_not_repeated_for_a_key_that_may_be_narrower() -> None:
    made: Any = runner()
    assert made.repeat(pod("p", size="large"), "large") is None


def test_a_known_decision_is_repeated_for_a_key_that_is_as_narrow_as_can_be() -> None:
    class Narrow(BySize):
        """Has a key for each pod that reads nodes alone."""

        def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
            return KeyReads(Reads.NOTHING, Reads.NODE, Reads.NOTHING)

    plugin = Narrow()
    profile = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(plugin,), score=((Flat(), 1),)
    )
    made: Any = PluginRunner(profile, runner().cluster)
    found = made.repeat(pod("p", size="large"), "large")
    assert (found.node, found.slot) == ("large", 0)


def test_the_number_of_narrower_keys_that_are_known_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podwright.scheduler.framework.rankings.ranking_cache._MOST_SEEN", 20)
    made = runner()
    counts = []
    for number in range(50):
        made.decide(pod(f"p{number}", size=str(number)), cycle_number=number)
        counts.append(len(made._rankings._cacheable))
    assert counts == [1 + number % 20 for number in range(50)]


class Other(BySize):
    """Another plugin with keys of its own; it narrows its key for pods that have the annotation."""

    name = "Other"

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        if isinstance(key, tuple) and key[:1] == ("other",):
            return KeyReads(Reads.CLUSTER, Reads.CLUSTER, Reads.CLUSTER)
        return KeyReads(Reads.NOTHING, Reads.NODE, Reads.NOTHING)

    def pod_key(self, pod: Pod) -> Hashable:
        other = pod.metadata.annotations.get("other")
        return () if other is None else ("other", pod.metadata.name, other)

    def key_in_cluster(self, cycle: Cycle) -> Hashable | None:
        return cycle.pod.metadata.annotations["other"] or None

    def pre_filter(self, cycle: Cycle) -> Status:
        return Status.OK


class Reader(Plugin):
    """Reads the cluster in PreFilter, whatever the key, for pods with the annotation."""

    name = "Reader"
    filter_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> Hashable:
        return ("reads", "reads" in pod.metadata.annotations)

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        prepares = Reads.CLUSTER if key == ("reads", True) else Reads.NOTHING
        return KeyReads(prepares, Reads.NODE, Reads.NOTHING)

    def pre_filter(self, cycle: Cycle) -> Status:
        return Status.OK

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK


@pytest.mark.parametrize(
    ("annotations", "is_shared"),
    [
        pytest.param({"size": "small"}, True, id="one plugin reads the cluster"),
        pytest.param({"size": "small", "other": "x"}, True, id="two do, and narrow their keys"),
        pytest.param({"size": "small", "other": ""}, False, id="one of them cannot"),
        pytest.param({"size": "", "other": "x"}, False, id="the other one cannot"),
        pytest.param({"size": "small", "reads": ""}, False, id="another plugin reads the cluster"),
    ],
)
def test_results_are_shared_if_no_plugin_reads_the_cluster(
    annotations: dict[str, str], is_shared: bool
) -> None:
    plugins = (BySize(), Other(), Reader())
    profile = Profile(scheduler_name="s", pre_filter=plugins, filter=plugins, score=((Flat(), 1),))
    made = PluginRunner(profile, runner().cluster)
    counts = calls_of(made, *(pod(f"p{number}", **annotations) for number in range(4)))
    assert (counts[-1] == 0) is is_shared
    for number, size in enumerate(("large", "huge")):
        decision = made.decide(pod("q", **annotations | {"size": size}), cycle_number=9 + number)
        assert decision.node == ("large" if size == "large" else "")


def test_keys_are_forgotten_before_a_narrower_one_if_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podwright.scheduler.framework.keys._MOST_NUMBERS", 12)
    made = runner()
    for number in range(40):
        size = ("large", "small")[number % 2]
        decision = made.decide(pod(f"p{number}", size=size), cycle_number=number)
        assert (decision.error, decision.feasible_count) == (None, 1 + number % 2)
        assert made.own_cycle(pod(f"p{number}", size=size)).read(OWN) == f"p{number}"
        counts = [len(numbers.numbers) for numbers in made._rankings._keys.numbers]
        assert sum(counts) <= 15, "those of a cycle are added before they are counted"


def test_narrower_keys_of_a_pod_that_was_kept_by_its_own_key_are_forgotten_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podwright.scheduler.framework.keys._MOST_NUMBERS", 12)
    made = runner()
    for number in range(3):
        assert made.decide(pod("p"), cycle_number=number).feasible_count == 2
    for number in range(40):
        size = ("large", f"huge-{number}")[number % 2]
        assert made.decide(pod("p", size=size), cycle_number=3 + number).feasible_count == (
            1 - number % 2
        )
        counts = [len(numbers.numbers) for numbers in made._rankings._keys.numbers]
        assert sum(counts) <= 15, "those of a cycle are added before they are counted"
