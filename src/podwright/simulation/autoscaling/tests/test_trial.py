"""The trial cluster: what its scheduler keeps of a configuration, forks, and reading."""

from __future__ import annotations

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, decode
from podwright.scheduler.config import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Rules,
)
from podwright.scheduler.framework import Cycle, Plugin, PreFilterResult, Status
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling.trial_cluster import (
    TrialCluster,
    filter_options,
    is_expendable,
)
from podwright.testing import make_node, make_pod


def trial_of(*objects, **options):
    trial = TrialCluster(SchedulerOptions(**options))
    for each in objects:
        trial.change(None, each)
    return trial


def where(trial, *nodes):
    return {name: [pod.name for pod in trial.pods_on(name)] for name in nodes}


def test_a_pod_goes_to_one_of_the_nodes_that_are_given():
    trial = trial_of(*(make_node(name) for name in "abc"), make_pod("p", cpu="3"))
    pod = trial.scheduler.pending["default/p"]
    with trial.forked():
        assert trial.schedule(pod, []) == ""
        assert trial.schedule(pod, ["b"]) == "b"
        assert "default/p" not in trial.scheduler.pending
        assert trial.schedule(make_pod("q", cpu="3"), ["b", "c"]) == "c"
        assert trial.schedule(make_pod("r", cpu="3"), ["b", "c"]) == ""
        assert where(trial, "a", "b", "c") == {"a": [], "b": ["p"], "c": ["q"]}
    assert where(trial, "a", "b", "c") == {"a": [], "b": [], "c": []}
    assert list(trial.scheduler.pending) == ["default/p"]


class Named(Plugin):
    """A plugin of a user."""

    name = "Named"

    def __init__(self):
        self.names = frozenset({"a"})

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult(node_names=self.names)


def test_the_restrictions_of_other_plugins_remain():
    plugins = {"preFilter": {"enabled": [{"name": "Named"}]}}
    trial = trial_of(
        make_node("a"), make_node("b"), plugins=(Named,),
        configuration=KubeSchedulerConfiguration(
            profiles=(profile("default-scheduler", plugins),)
        ),
    )  # fmt: skip
    with trial.forked():
        assert trial.schedule(make_pod("p"), ["b"]) == ""
        assert trial.schedule(make_pod("p"), ["b", "a"]) == "a"
    assert trial.rejection(make_pod("p"), "b") == ("node(s) didn't satisfy plugin(s) [Named]",)


def profile(name, plugins=None):
    document = {"schedulerName": name, "plugins": plugins or {}}
    return msgspec.convert(document, KubeSchedulerProfile)


def test_the_profiles_of_a_configuration_decide_without_scores_and_extenders():
    plugins = {"filter": {"disabled": [{"name": "TaintToleration"}]}}
    given = KubeSchedulerConfiguration(
        profiles=(profile("default-scheduler"), profile("tolerant", plugins)),
        extenders=(Extender(url_prefix="http://extender"),),
        percentage_of_nodes_to_score=5,
    )
    options = SchedulerOptions(configuration=given, seed=7, source="file")
    found = filter_options(options)
    assert found.configuration is not None
    assert found.configuration.extenders == ()
    assert found.configuration.percentage_of_nodes_to_score is None
    assert (found.seed, found.source) == (7, "file")
    assert [each.scheduler_name for each in found.configuration.profiles] == [
        "default-scheduler", "tolerant",
    ]  # fmt: skip
    trial = TrialCluster(options)
    trial.change(None, make_node("n", taints=["k=v:NoSchedule"]))
    for made in trial.scheduler.profiles.values():
        assert not made.score
        assert not made.pre_score
        assert not made.post_filter
        assert not made.permit
    spec = {"schedulerName": "tolerant"}
    assert trial.rejection(make_pod("p", spec=spec), "n") is None
    assert trial.rejection(make_pod("q"), "n") == ("node(s) had untolerated taint(s)",)


def test_a_configuration_of_other_rules_is_replaced_by_the_default_profile():
    default = filter_options(SchedulerOptions()).configuration
    assert default is not None
    assert default.profiles[0].plugins is not None
    given = KubeSchedulerConfiguration(rules=Rules(name="classic"))
    found = filter_options(SchedulerOptions(configuration=given)).configuration
    assert found is not None
    assert found.rules_name == "modern"
    assert len(found.profiles) == 1


def test_forks_are_taken_back_with_their_nodes_and_pods():
    trial = trial_of(make_node("a"), make_pod("old", cpu="2", node="a"), make_pod("p", cpu="3"))
    pod = trial.scheduler.pending["default/p"]
    nodes = trial.scheduler.cluster.nodes.slot_of
    with trial.forked():
        daemon = make_pod("daemon", cpu="1")
        assert trial.add_node(make_node("new", cpu="4"), [daemon]) == "new"
        assert trial.schedule(pod, ["a", "new"]) == "new"
        assert where(trial, "a", "new") == {"a": ["old"], "new": ["daemon", "p"]}
        with trial.forked():
            assert [each.name for each in trial.remove_node("a")] == ["old"]
            assert trial.node("a").metadata.labels == {}
            assert where(trial, "a") == {"a": []}
        assert where(trial, "a") == {"a": ["old"]}
        assert trial.node("a").metadata.labels != {}
        with trial.forked() as fork:
            trial.remove_node("a")
            trial.add_node(make_node("second"), [])
            fork.is_kept = True
        assert where(trial, "a", "second") == {"a": [], "second": []}
    assert where(trial, "a") == {"a": ["old"]}
    assert trial.node("a").metadata.labels == make_node("a").metadata.labels
    assert list(nodes) == ["a"]
    assert list(trial.scheduler.pending) == ["default/p"]
    with trial.forked():
        assert trial.add_node(make_node("new"), []) == "new", "the name is free again"


def test_a_pod_that_is_put_on_a_node_is_no_longer_pending():
    trial = trial_of(make_node("a", cpu="1"), make_pod("p", cpu="3"))
    with trial.forked():
        trial.put_pod(trial.scheduler.pending["default/p"], "a")
        assert where(trial, "a") == {"a": ["p"]}
        assert trial.scheduler.pending == {}
    assert list(trial.scheduler.pending) == ["default/p"]


def test_the_pods_of_a_node_are_in_the_order_of_their_names():
    trial = trial_of(make_node("a"), *(make_pod(name, cpu="1", node="a") for name in "bca"))
    assert where(trial, "a") == {"a": ["a", "b", "c"]}


def test_changes_of_objects_are_taken_over():
    node, pod = make_node("a"), make_pod("p", node="a")
    trial = trial_of(node, pod)
    assert where(trial, "a") == {"a": ["p"]}
    trial.change(pod, None)
    assert where(trial, "a") == {"a": []}
    trial.change(node, make_node("a", cpu="9"))
    assert trial.node("a").status.allocatable["cpu"] == "9"
    trial.change(None, None)


@pytest.mark.parametrize(
    ("pods", "ignored", "cpu", "memory"),
    [
        ([], [], 0.0, 0.0),
        ([("1", "4Gi")], [], 0.25, 0.25),
        ([("1", "4Gi"), ("2", "0")], [], 0.75, 0.25),
        ([("1", "4Gi"), ("2", "4Gi")], [1], 0.5, 1 / 3),
        ([("4", "16Gi")], [0], 0.0, 0.0),
        ([("5", "4Gi")], [], 1.25, 0.25),
    ],
)
def test_the_use_of_a_node_is_what_its_pods_request(pods, ignored, cpu, memory):
    made = [
        make_pod(f"p{n}", cpu=given, memory=size, node="a") for n, (given, size) in enumerate(pods)
    ]
    trial = trial_of(make_node("a"), *made)
    less = [made[index] for index in ignored]
    assert trial.use_of("a", "cpu", less) == pytest.approx(cpu)
    assert trial.use_of("a", "memory", less) == pytest.approx(memory)
    bare = make_pod("bare", node="a")
    assert trial.use_of("a", "cpu", [bare]) == trial.use_of("a", "cpu")


@pytest.mark.parametrize(
    ("priority", "policy", "is_one"),
    [
        (-11, None, True), (-11, "PreemptLowerPriority", True), (-11, "", True),
        (-11, "Never", False), (-10, None, False), (5, None, False), (None, None, False),
    ],
)  # fmt: skip
def test_pods_below_the_cutoff_that_preempt_are_expendable(priority, policy, is_one):
    """Upstream: core/utils/expendable.go, IsExpendablePod"""
    spec = {"containers": [], "priority": priority, "preemptionPolicy": policy}
    spec = {key: value for key, value in spec.items() if value is not None}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    pod = decode(document)
    assert isinstance(pod, Pod)
    assert is_expendable(pod, -10) is is_one


def test_expendable_pods_leave_their_nodes_in_a_fork():
    pods = [make_pod(f"p{n}", cpu="1", priority=n, node="a") for n in (-12, -11, -10, 0)]
    trial = trial_of(make_node("a"), *pods)
    with trial.forked():
        trial.withdraw_expendable(-10)
        assert where(trial, "a") == {"a": ["p-10", "p0"]}
    with trial.forked():
        trial.withdraw_expendable(-12)
        assert len(trial.pods_on("a")) == 4
    assert len(trial.pods_on("a")) == 4


def test_a_rejection_has_the_words_of_the_scheduler_and_leaves_nothing_behind():
    near = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["b"]}]}]}}}  # fmt: skip
    trial = trial_of(make_node("a", cpu="1"), make_node("b"))
    assert trial.rejection(make_pod("p", cpu="2", memory="99Gi"), "a") == (
        "Insufficient cpu", "Insufficient memory",
    )  # fmt: skip
    assert trial.rejection(make_pod("p", cpu="2"), "b") is None
    assert where(trial, "a", "b") == {"a": [], "b": []}
    assert trial.rejection(make_pod("p", spec={"affinity": near}), "a") == (
        "node(s) didn't match Pod's node affinity/selector",
    )
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]}
    assert trial.rejection(make_pod("p", spec=claim), "a") == (
        'persistentvolumeclaim "gone" not found',
    )


class Particular(Plugin):
    """A plugin of a user that rejects pods before or after the filters."""

    name = "Particular"

    def pre_filter(self, cycle: Cycle) -> Status:
        if cycle.pod.name == "odd":
            return Status.unschedulable("one", "two")
        return Status.OK

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        return Status.unschedulable(f"not on {node_name}") if node_name == "a" else Status.OK


def test_what_rejects_a_pod_before_or_after_the_filters_is_the_reason():
    enabled = {"enabled": [{"name": "Particular"}]}
    plugins = {"preFilter": enabled, "reserve": enabled}
    trial = trial_of(
        make_node("a"), make_node("b"), plugins=(Particular,),
        configuration=KubeSchedulerConfiguration(
            profiles=(profile("default-scheduler", plugins),)
        ),
    )  # fmt: skip
    assert trial.rejection(make_pod("odd"), "b") == ("one", "two")
    assert trial.rejection(make_pod("p"), "b") is None
    assert trial.rejection(make_pod("p"), "a") == ("0/1 nodes are available: 1 not on a.",)
