"""One scheduling cycle, extension point by extension point.

PreEnqueue, PreFilter (with skips and node restrictions), Filter on every node, then either
PreScore, Score, NormalizeScore and the weighted totals, or PostFilter and the fit error.

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes),
pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins,
RunFilterPluginsWithNominatedPods, RunPostFilterPlugins), pkg/scheduler/framework/types.go
(FitError).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.oracle import preemption
from tests.oracle.balanced_allocation import NodeResourcesBalancedAllocation
from tests.oracle.cluster import Cluster, Node, priority_of
from tests.oracle.config import Profile, load_profiles
from tests.oracle.declared_features import NodeDeclaredFeatures
from tests.oracle.dynamic_resources import DynamicResources
from tests.oracle.image_locality import ImageLocality
from tests.oracle.inter_pod_affinity import InterPodAffinity
from tests.oracle.node_affinity import NodeAffinity
from tests.oracle.node_name import NodeName
from tests.oracle.node_ports import NodePorts
from tests.oracle.node_resources_fit import NodeResourcesFit
from tests.oracle.node_unschedulable import NodeUnschedulable
from tests.oracle.node_volume_limits import NodeVolumeLimits
from tests.oracle.plugin import ERROR, Plugin, PluginError, Rejection, unresolvable
from tests.oracle.pod_topology_spread import PodTopologySpread
from tests.oracle.scheduling_gates import SchedulingGates
from tests.oracle.taint_toleration import TaintToleration
from tests.oracle.volume_binding import VolumeBinding
from tests.oracle.volume_restrictions import VolumeRestrictions
from tests.oracle.volume_zone import VolumeZone

Document = dict[str, Any]

PLUGINS: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        NodeDeclaredFeatures,
    )
}


class CycleError(Exception):
    """The cycle ended with an error."""


class NodeVerdict:
    """The rejection of a node: the plugin and the reasons."""

    def __init__(self, plugin: str, rejection: Rejection) -> None:
        self.plugin = plugin
        self.code = rejection.code
        self.reasons = rejection.reasons

    def document(self) -> Document:
        """Return the rejection in the form of the vectors."""
        return {"plugin": self.plugin, "code": self.code, "reasons": self.reasons}


class States:
    """The results of PreFilter: the plugins that skip, and the states of the others."""

    def __init__(self) -> None:
        self.skipped: set[str] = set()
        self.by_plugin: dict[str, Any] = {}

    def copy(self, plugins: dict[str, Plugin]) -> States:
        """Return independent copies for a dry run."""
        twin = States()
        twin.skipped = self.skipped
        twin.by_plugin = {
            name: plugins[name].copy_state(state) if state is not None else None
            for name, state in self.by_plugin.items()
        }
        return twin


class Cycle:
    """One pod, one profile, one cluster."""

    def __init__(self, cluster: Cluster, profile: Profile, pod: Document) -> None:
        self.cluster = cluster
        self.profile = profile
        self.pod = pod
        self.plugins = {
            name: plugin(cluster, profile.args.get(name, {})) for name, plugin in PLUGINS.items()
        }
        self.states = States()
        self.node_names: set[str] | None = None
        self.restricted_by: list[str] = []
        self.verdicts: dict[str, NodeVerdict] = {}
        self.absent: Rejection | None = None
        """The status of nodes that were not evaluated separately."""

    # ------------------------------------------------------------------ filtering

    def run_pre_filter(self) -> Document:
        """Run PreFilter in order; stop at the first rejection or error."""
        for name in self.profile.points["preFilter"]:
            try:
                answer = self.plugins[name].pre_filter(self.pod)
            except PluginError as error:
                text = f'running PreFilter plugin "{name}": {error}'
                return self._pre_filter_result(name, Rejection(ERROR, [text]))
            if answer.rejection:
                self.absent = answer.rejection
                return self._pre_filter_result(name, answer.rejection)
            if answer.is_skip:
                self.states.skipped.add(name)
                continue
            self.states.by_plugin[name] = answer.state
            if answer.node_names is not None:
                self.restricted_by.append(name)
                if self.node_names is None:
                    self.node_names = answer.node_names
                else:
                    self.node_names &= answer.node_names
        if self.node_names is not None:
            self.absent = unresolvable(
                f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(self.restricted_by))}]"
            )
        names = None if self.node_names is None else sorted(self.node_names)
        return {"status": "Success", "node_names": names}

    def _pre_filter_result(self, plugin: str, rejection: Rejection) -> Document:
        return {
            "status": rejection.code,
            "plugin": plugin,
            "reasons": rejection.reasons,
            "node_names": None,
        }

    def run_filters(self, states: States, node: Node) -> NodeVerdict | None:
        """Run the filters in order and return the first rejection."""
        for name in self.profile.points["filter"]:
            if name in states.skipped:
                continue
            try:
                rejection = self.plugins[name].filter(states.by_plugin.get(name), self.pod, node)
            except PluginError as error:
                raise CycleError(f'running "{name}" filter plugin: {error}') from error
            if rejection:
                return NodeVerdict(name, rejection)
        return None

    def add_pod(self, states: States, node: Node, other: Document) -> None:
        """Add a pod to a (copied) node, and update the PreFilter states."""
        node.place(other)
        for name, state in states.by_plugin.items():
            if state is not None:
                self.plugins[name].add_pod(state, self.pod, other, node)

    def remove_pod(self, states: States, node: Node, other: Document) -> None:
        """Remove a pod from a (copied) node, and update the PreFilter states."""
        node.displace(other)
        for name, state in states.by_plugin.items():
            if state is not None:
                self.plugins[name].remove_pod(state, self.pod, other, node)

    def _with_nominated(self, states: States, node: Node) -> tuple[States, Node] | None:
        """Add the relevant nominated pods to the node; return None if there are none."""
        nominated = [
            other
            for other in self.cluster.nominated.get(node.name, [])
            if priority_of(other) >= priority_of(self.pod)
            and other["metadata"].get("uid") != self.pod["metadata"].get("uid")
        ]
        if not nominated:
            return None
        states, node = states.copy(self.plugins), node.copy()
        for other in nominated:
            self.add_pod(states, node, other)
        return states, node

    def run_filters_with_nominated(self, states: States, node: Node) -> NodeVerdict | None:
        """Filter with the nominated pods, and again without them; both must pass."""
        crowded = self._with_nominated(states, node)
        if crowded is not None:
            verdict = self.run_filters(*crowded)
            if verdict:
                return verdict
        return self.run_filters(states, node)

    def find_feasible(self) -> list[Node]:
        """Filter the nodes; a nominated node that passes is the only one evaluated.

        The first feasible node ends the search if no plugin scores and no extender filters.
        """
        nomination = (self.pod.get("status") or {}).get("nominatedNodeName")
        nominated = self.cluster.nodes.get(nomination) if nomination else None
        if nominated is not None:
            verdict = self.run_filters_with_nominated(self.states, nominated)
            if verdict is None:
                return [nominated]
            self.verdicts[nominated.name] = verdict
        feasible = []
        for node in self.cluster.in_visiting_order():
            if self.node_names is not None and node.name not in self.node_names:
                continue
            verdict = self.run_filters_with_nominated(self.states, node)
            if verdict is None:
                feasible.append(node)
                if not self.profile.needs_choice:
                    break
            else:
                self.verdicts[node.name] = verdict
        return feasible

    # -------------------------------------------------------------------- scoring

    def score(self, feasible: list[Node]) -> Document:
        """Score the feasible nodes; return the fields of the vectors."""
        order = self.profile.points["score"]
        if not order:
            # Without score plugins upstream runs no PreScore, and every score is 1.
            return {"total": {node.name: 1 for node in feasible}}
        states: dict[str, Any] = {}
        skipped = set()
        for name in self.profile.points["preScore"]:
            try:
                answer = self.plugins[name].pre_score(
                    self.pod, feasible, self.states.by_plugin.get(name)
                )
            except PluginError as error:
                raise CycleError(f'running PreScore plugin "{name}": {error}') from error
            if answer.is_skip:
                skipped.add(name)
            else:
                states[name] = answer.state
        result: Document = {"skipped_score": sorted(skipped)} if skipped else {}
        scores: Document = {}
        total = {node.name: 0 for node in feasible}
        for name in order:
            if name in skipped:
                continue
            plugin, weight, state = self.plugins[name], self.profile.weights[name], states.get(name)
            raw = {node.name: plugin.score(state, self.pod, node) for node in feasible}
            normalized = plugin.normalize(state, raw)
            scores[name] = {"weight": weight, "raw": raw}
            if normalized != raw:
                scores[name]["normalized"] = normalized
            for node_name, points in normalized.items():
                total[node_name] += points * weight
        if scores:
            result["scores"] = scores
        result["total"] = total
        return result

    # -------------------------------------------------------------------- messages

    def fit_message(self, pre_filter: Document, post_filter_message: str) -> str:
        """Return the text of the fit error (FitError.Error)."""
        text = f"0/{len(self.cluster.nodes)} nodes are available:"
        if pre_filter["status"] != "Success":
            text += f" {', '.join(pre_filter['reasons'])}."
        else:
            text += self.histogram(
                {name: verdict.reasons for name, verdict in self.verdicts.items()},
                self.absent.reasons if self.absent else [],
            )
        return f"{text} {post_filter_message}" if post_filter_message else text

    def histogram(self, reasons_of: dict[str, list[str]], absent_reasons: list[str]) -> str:
        """Count the reasons of all nodes; entries sort as text."""
        counts: Counter[str] = Counter()
        for name in self.cluster.nodes:
            counts.update(reasons_of.get(name, absent_reasons))
        entries = sorted(f"{count} {reason}" for reason, count in counts.items())
        return f" {', '.join(entries)}." if entries else ""


def evaluate(case: Document) -> Document:
    """Decide one case of the golden vectors and return its `expect` document."""
    pod = case["pod"]
    cluster = Cluster(case.get("objects") or [])
    profiles = load_profiles(case.get("config"))
    expect: Document = {"feasible": [], "winners": []}
    if case.get("family") == "profiles":
        expect["plugins"] = {name: _plugin_lists(profile) for name, profile in profiles.items()}
    profile = profiles.get(pod["spec"].get("schedulerName", ""))
    if profile is None:
        return expect | {"ignored": True}
    if "SchedulingGates" in profile.points["preEnqueue"]:
        held = SchedulingGates(cluster, {}).pre_enqueue(pod)
        if held:
            return expect | {"pre_enqueue": NodeVerdict("SchedulingGates", held).document()}
    if not cluster.nodes:
        return expect | {"message": "no nodes available to schedule pods"}
    try:
        _schedule(Cycle(cluster, profile, pod), expect)
    except CycleError as error:
        expect["error"] = str(error)
    return expect


def _schedule(cycle: Cycle, expect: Document) -> None:
    """Set the fields of the result as far as the cycle gets."""
    pre_filter = expect["prefilter"] = cycle.run_pre_filter()
    if cycle.states.skipped:
        expect["skipped_filter"] = sorted(cycle.states.skipped)
    if pre_filter["status"] == ERROR:
        raise CycleError(pre_filter["reasons"][0])
    feasible = cycle.find_feasible() if pre_filter["status"] == "Success" else []
    expect["feasible"] = sorted(node.name for node in feasible)
    if cycle.verdicts:
        expect["filter"] = {name: one.document() for name, one in cycle.verdicts.items()}
    if len(feasible) == 1:
        expect["winners"] = expect["feasible"]
    elif feasible:
        expect |= cycle.score(feasible)
        greatest = max(expect["total"].values())
        expect["winners"] = sorted(n for n, total in expect["total"].items() if total == greatest)
    else:
        _explain_failure(cycle, expect)


def _explain_failure(cycle: Cycle, expect: Document) -> None:
    """Run PostFilter and set the fit error."""
    rejecting = {one.plugin for one in cycle.verdicts.values()} | set(cycle.restricted_by)
    if expect["prefilter"]["status"] != "Success":
        rejecting = {expect["prefilter"]["plugin"]}
    expect["unschedulable_plugins"] = sorted(rejecting)
    post_filter = preemption.run_post_filter(cycle)
    if post_filter is not None:
        expect["preemption"] = post_filter
    message = post_filter["message"] if post_filter else ""
    expect["message"] = cycle.fit_message(expect["prefilter"], message)


def _plugin_lists(profile: Profile) -> Document:
    """Return the enabled plugins, score plugins with their weights."""
    lists: Document = dict(profile.points)
    lists["score"] = [[name, profile.weights[name]] for name in profile.points["score"]]
    return lists
