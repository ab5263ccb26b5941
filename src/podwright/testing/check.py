"""`check_plugin`: the contract that every plugin must keep, as one call.

The plugin runs on a small cluster with varied nodes and pods, in both its forms, twice, and
again after various changes; then the framework's cached results are compared with uncached
ones, and whole cycles are run. The report lists the checks that do not apply, and what was not
exercised: a filter that rejected no node was hardly checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np

from podwright.apimachinery.objects import InputError, Node, Object, Pod, PodwrightError
from podwright.scheduler.assembly import SchedulerHandle
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.config import Gates
from podwright.scheduler.framework import (
    MAX_NODE_SCORE,
    Cycle,
    NodeView,
    Plugin,
    PluginFailure,
    PluginRunner,
    PreFilterResult,
    Profile,
    Scores,
    Status,
    Verdicts,
    described,
    filter_on_columns,
    misspelt_names,
    normalize,
    raised,
    score_on_columns,
)
from podwright.scheduler.machine import hint_table
from podwright.testing.generate import (
    Change,
    changes,
    make_candidates,
    make_cluster,
    make_namespaces,
    make_nodes,
    make_placed,
)
from podwright.testing.report import CHECKS, Finding, PluginCheckFailed, PluginReport
from podwright.testing.whole_cycle import notes_of, run_whole_cycles

_MOST_FINDINGS = 5
"""Per check; one mistake shows in many pods."""


def check_plugin(
    plugin: Plugin,
    *,
    nodes: Iterable[Node] = (),
    pods: Iterable[Pod] = (),
    objects: Iterable[Object] = (),
) -> PluginReport:
    """Check that a plugin keeps the contract of plugins.

    Parameters
    ----------
    plugin : Plugin
        An instance, with the settings to be checked.
    nodes, pods : iterable
        Nodes and pods in addition to the generated ones: those to which this plugin applies. A
        pod that names a node is placed there, and the others are pending.
    objects : iterable of object
        Other objects that the plugin finds with its handle, such as Services.

    Returns
    -------
    PluginReport
        Its `notes` say what was not exercised.

    Raises
    ------
    PluginCheckFailed
        If the plugin violates the contract; the text and `report` have all findings.
    PodwrightError
        If `plugin` is not an instance, or a pod names a node that does not exist.

    Examples
    --------
    >>> import podwright as pw
    >>> class OnlySmall(pw.Plugin):
    ...     name = "OnlySmall"
    ...
    ...     def filter(self, cycle, node):
    ...         if node.allocatable["cpu"] <= 4000:
    ...             return pw.Status()
    ...         return pw.Status.unschedulable("node(s) too large")
    >>> pw.testing.check_plugin(OnlySmall()).findings
    ()
    """
    given: object = plugin
    if isinstance(given, type):
        raise PodwrightError(
            f"check_plugin takes an instance of a plugin, not a class; pass {given.__name__}(...)"
        )
    if not isinstance(given, Plugin):
        raise PodwrightError(f"check_plugin takes an instance of a plugin, not {described(given)}")
    check = _Check(plugin, nodes, pods, objects)
    check.run()
    report = PluginReport(
        plugin=plugin.name or type(plugin).__name__,
        checked=tuple(name for name in CHECKS if name in check.checked),
        left_out=check.left_out,
        findings=tuple(check.findings),
        notes=tuple(check.notes),
    )
    if report.findings:
        raise PluginCheckFailed(report)
    return report


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a plugin for one pod as plain data, so that they can be compared."""

    pre_filter: Any = None
    filters: dict[str, Status] = {}
    raw: dict[str, int] = {}
    scores: dict[str, int] = {}

    def exercised(self) -> set[str]:
        """Return what of the plugin these results show."""
        shown = {"rejects" for status in self.filters.values() if status.is_rejection}
        shown |= {"accepts" for status in self.filters.values() if status.is_success}
        if len(set(self.scores.values())) > 1:
            shown.add("distinguishes")
        return shown

    def accepts(self) -> bool:
        """Whether some node passes; none has a status if PreFilter rejects the pod."""
        return any(status.is_success for status in self.filters.values())


class _Check:
    """The checks of one plugin, and their findings."""

    def __init__(
        self,
        plugin: Plugin,
        nodes: Iterable[Node],
        pods: Iterable[Pod],
        objects: Iterable[Object],
    ) -> None:
        self._plugin = plugin
        self._objects: list[Object] = [*make_namespaces(), *objects]
        self._nodes = make_nodes(nodes)
        given = list(pods)
        self._placed = [*make_placed(self._nodes), *_placed_of(given, self._nodes)]
        self._pods = make_candidates(pod for pod in given if not pod.spec.node_name)
        self._can_filter = plugin.implements("filter") or plugin.implements("filter_columns")
        self._can_score = plugin.implements("score") or plugin.implements("score_columns")
        self.checked: set[str] = set()
        self.left_out: dict[str, str] = {}
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self._exercised: set[str] = set()

    def run(self) -> None:
        """Run every check that applies."""
        self._check_names()
        if self.findings:
            return
        self._check_answers()
        if self.findings:
            # A failure here would repeat in every check; one finding is enough.
            return
        self._check_forms()
        self._check_settings()
        self._check_cache()
        if self._registers_events():
            self._check_events()
            self._check_cycle()
        self._note_what_was_not_exercised()

    def _found(self, check: str, message: str) -> None:
        if sum(finding.check == check for finding in self.findings) < _MOST_FINDINGS:
            self.findings.append(Finding(check=check, message=message))

    def _cluster(self) -> Cluster:
        cluster = make_cluster(self._nodes, self._placed)
        self._give_handle(self._plugin, cluster)
        return cluster

    def _changed(self, cluster: Cluster) -> Iterator[Change]:
        """Make one change after the other; the plugin sees it by its handle, too."""
        for change in changes():
            change.apply(cluster)
            self._give_handle(self._plugin, cluster)
            yield change

    def _give_handle(self, plugin: Plugin, cluster: Cluster) -> None:
        """Give a plugin a handle with the objects of a cluster, and the pending pods."""
        handle = SchedulerHandle([_profile_of(plugin)])
        for obj in (*self._objects, *(node for node in cluster.nodes.objects if node is not None)):
            handle.put(obj)
        for placed in cluster.pods.values():
            handle.put_pod(placed.pod)
            handle.mark(placed.pod, is_placed=True)
        for pod in self._pods:
            handle.put_pod(pod)

    # ------------------------------------------------------------ names

    def _check_names(self) -> None:
        self.checked.add("names")
        cls = type(self._plugin)
        for problem in misspelt_names(cls):
            self._found("names", problem)
        if not cls.name:
            self._found("names", "a plugin needs a class attribute `name`")
        if not self.findings and not cls.extension_points():
            self._found("names", f"{cls.__name__} implements no extension point")

    # ------------------------------------------------------------ uncached results

    def _check_answers(self) -> None:
        """Run the plugin for every pod, twice, and check the results."""
        self.checked |= {"answers", "inputs", "repeatable", "reasons"}
        if self._can_score:
            self.checked.add("range")
        else:
            self.left_out["range"] = "the plugin does not score"
        cluster = self._cluster()
        before = _fingerprint(cluster, self._pods)
        for pod in self._pods:
            try:
                answer = _ask(self._plugin, cluster, pod, as_columns=self._as_columns)
                again = _ask(self._plugin, cluster, pod, as_columns=self._as_columns)
            except PluginFailure as failure:
                kind = "range" if "invalid score" in str(failure) else "answers"
                self._found(kind, str(failure))
                continue
            self._exercised |= answer.exercised()
            if answer != again:
                self._found("repeatable", f"pod {pod.key}: {_difference(answer, again)}")
            self._check_reasons(pod, answer)
            for node, score in answer.scores.items():
                if not 0 <= score <= MAX_NODE_SCORE:
                    self._found("range", f"pod {pod.key}, node {node}: score {score}")
        after = _fingerprint(cluster, self._pods)
        for what in before:
            if before[what] != after[what]:
                self._found("inputs", f"{what} changed while the plugin was called")

    def _check_reasons(self, pod: Pod, answer: _Answer) -> None:
        statuses = {f", node {node}": status for node, status in answer.filters.items()}
        if isinstance(answer.pre_filter, Status):
            statuses[""] = answer.pre_filter
        for where, status in statuses.items():
            if status.is_rejection and not any(status.reasons):
                self._found("reasons", f"pod {pod.key}{where}: rejected without a reason")

    # ------------------------------------------------------------ two forms

    @property
    def _as_columns(self) -> bool:
        """Return the form that the framework uses, for checks that need only one."""
        plugin = self._plugin
        return plugin.implements("filter_columns") or plugin.implements("score_columns")

    def _check_forms(self) -> None:
        plugin = self._plugin
        has_both = any(
            plugin.implements(form) and plugin.implements(f"{form}_columns")
            for form in ("filter", "score")
        )
        if not has_both:
            self.left_out["forms"] = "the plugin has one form only"
            return
        self.checked.add("forms")
        cluster = self._cluster()
        for pod in self._pods:
            columns = _ask(plugin, cluster, pod, as_columns=True)
            per_node = _ask(plugin, cluster, pod, as_columns=False)
            if columns != per_node:
                difference = _difference(per_node, columns, "per node", "as columns")
                self._found("forms", f"pod {pod.key}: {difference}")

    # ------------------------------------------------------------ settings

    def _check_settings(self) -> None:
        """Write the settings as JSON, read them again, and compare the results."""
        plugin = self._plugin
        try:
            twin = _rebuilt(plugin)
        except _NotRebuilt as reason:
            self.left_out["settings"] = str(reason)
            return
        except (TypeError, ValueError) as error:
            self.checked.add("settings")
            self._found("settings", str(error))
            return
        except Exception as error:  # noqa: BLE001 - a user's constructor may raise anything
            self.checked.add("settings")
            self._found("settings", raised(error))
            return
        self.checked.add("settings")
        cluster = self._cluster()
        self._give_handle(twin, cluster)
        form = self._as_columns
        for pod in self._pods:
            one, other = (
                _ask(plugin, cluster, pod, as_columns=form),
                _ask(twin, cluster, pod, as_columns=form),
            )
            if one != other:
                self._found("settings", f"pod {pod.key}: {_difference(one, other)}")

    # ------------------------------------------------------------ caches

    def _check_cache(self) -> None:
        """Compare the framework's cached results with uncached ones."""
        if not (self._can_filter or self._can_score or self._plugin.implements("pre_filter")):
            reason = "the plugin neither filters nor scores"
            self.left_out |= {"pod_key": reason, "reads": reason}
            return
        self.checked |= {"pod_key", "reads"}
        cluster = self._cluster()
        kept = PluginRunner(_profile_of(self._plugin), cluster)
        for pod in self._pods:
            self._compare(kept, cluster, pod, "pod_key", "after other pods")
        for change in self._changed(cluster):
            for pod in self._pods:
                self._compare(kept, cluster, pod, "reads", f"after {change.what}")

    def _compare(
        self, kept: PluginRunner, cluster: Cluster, pod: Pod, check: str, when: str
    ) -> None:
        fresh = PluginRunner(_profile_of(self._plugin), cluster)
        try:
            cached, right = _totals(kept, pod), _totals(fresh, pod)
        except PluginFailure as failure:
            self._found("answers", f"{when}: {failure}")
            return
        for node, total in right.items():
            if cached[node] != total:
                self._found(
                    check,
                    f"pod {pod.key}, node {node}, {when}: "
                    f"cached {_shown(cached[node])}, uncached {_shown(total)}",
                )
                return

    # ------------------------------------------------------------ events

    def _registers_events(self) -> bool:
        """Report whether a machine can be made: `events_to_register` returns EventHints."""
        try:
            hint_table(_profile_of(self._plugin))
        except InputError as error:
            self.checked.add("events")
            self._found("events", error.errors[0].message)
            return False
        return True

    def _check_events(self) -> None:
        """Check that a change after which a pod fits is registered by the plugin."""
        plugin = self._plugin
        hints = plugin.events_to_register() if plugin.implements("events_to_register") else None
        if hints is None:
            self.left_out["events"] = "the plugin registers none, so every event retries its pods"
            return
        self.checked.add("events")
        registered = [hint.event for hint in hints]
        cluster = self._cluster()
        form = self._as_columns
        accepted = {
            pod.key: _ask(plugin, cluster, pod, as_columns=form).accepts() for pod in self._pods
        }
        for change in self._changed(cluster):
            for pod in self._pods:
                now = _ask(plugin, cluster, pod, as_columns=form).accepts()
                if now and not accepted[pod.key] and not _is_registered(registered, change):
                    self._found(
                        "events",
                        f"pod {pod.key} fits when {change.what}, but {change.event.label} "
                        "is not registered",
                    )
                accepted[pod.key] = now

    # ------------------------------------------------------------ whole cycles

    def _check_cycle(self) -> None:
        """Schedule, bind and end pods with the plugin in a machine."""
        self.checked.add("cycle")
        objects: list[Object] = [*self._objects, *self._nodes, *self._placed]
        outcome = run_whole_cycles(self._plugin, objects, self._pods)
        for problem in outcome.problems:
            self._found("cycle", problem)
        self.notes += notes_of(self._plugin, outcome)

    # ------------------------------------------------------------ notes

    def _note_what_was_not_exercised(self) -> None:
        plugin, shown = self._plugin, self._exercised
        if self._can_filter and "rejects" not in shown:
            self.notes.append("filter never rejected a node; give nodes and pods that it rejects")
        if self._can_filter and "accepts" not in shown:
            self.notes.append("filter never accepted a node; give nodes and pods that it accepts")
        if self._can_score and "distinguishes" not in shown:
            self.notes.append("score gave all nodes the same score, for every pod")
        declared = [
            name
            for name, can in (("filter_reads", self._can_filter), ("score_reads", self._can_score))
            if can and not getattr(plugin, name) & Reads.CLUSTER
        ]
        if declared and not plugin.implements("pod_key"):
            self.notes.append(
                f"{' and '.join(declared)} cannot save calls without pod_key: every pod has"
                " its own results"
            )


def _placed_of(pods: Iterable[Pod], nodes: Iterable[Node]) -> list[Pod]:
    """Return the pods that name a node."""
    names = {node.metadata.name for node in nodes}
    placed = [pod for pod in pods if pod.spec.node_name]
    for pod in placed:
        if pod.spec.node_name not in names:
            raise PodwrightError(
                f'pod {pod.key}: spec.nodeName: no node is named "{pod.spec.node_name}";'
                " pass it in nodes="
            )
    return placed


# ---------------------------------------------------------------- running


def _ask(plugin: Plugin, cluster: Cluster, pod: Pod, *, as_columns: bool) -> _Answer:
    """Run the plugin's part of a cycle for one pod over all nodes."""
    cycle = Cycle(pod, cluster)
    pre_filter: Any = None
    if plugin.implements("pre_filter"):
        pre_filter = _called(plugin, "PreFilter", cycle, lambda: plugin.pre_filter(cycle))
        if not isinstance(pre_filter, Status | PreFilterResult):
            text = f"returned {described(pre_filter)}, not a Status or PreFilterResult"
            raise PluginFailure(plugin, "PreFilter", f"{text} (pod {pod.key})")
        if isinstance(pre_filter, Status) and pre_filter.is_rejection:
            return _Answer(pre_filter=pre_filter)
    filters = dict.fromkeys(_names(cluster), Status.OK)
    if not (isinstance(pre_filter, Status) and pre_filter.is_skip):
        filters |= _filter(plugin, cycle, as_columns=as_columns)
    feasible = [name for name, status in filters.items() if status.is_success]
    raw, scores = _score(plugin, cycle, feasible, as_columns=as_columns)
    return _Answer(pre_filter=pre_filter, filters=filters, raw=raw, scores=scores)


def _called(
    plugin: Plugin, point: str, cycle: Cycle, call: Callable[[], Any], node: str = ""
) -> Any:
    try:
        return call()
    except Exception as error:  # a user's plugin may raise anything
        raise PluginFailure.raised(plugin, point, cycle, error, node) from error


def _names(cluster: Cluster) -> list[str]:
    return [cluster.nodes.names[slot] for slot in cluster.live_slots().tolist()]


def _filter(plugin: Plugin, cycle: Cycle, *, as_columns: bool) -> dict[str, Status]:
    nodes, live = cycle.cluster.nodes, cycle.cluster.live_slots()
    if plugin.implements("filter_columns") and (as_columns or not plugin.implements("filter")):
        out = Verdicts(np.zeros(nodes.n_slots, dtype=np.int64), live)
        filter_on_columns(plugin, cycle, out)
        return {nodes.names[slot]: out.status_of(int(out.codes[slot])) for slot in live.tolist()}
    if not plugin.implements("filter"):
        return {}
    answers: dict[str, Status] = {}
    for slot in live.tolist():
        view = NodeView(cycle.cluster, slot)
        answers[view.name] = _called(
            plugin, "Filter", cycle, partial(plugin.filter, cycle, view), view.name
        )
        if not isinstance(answers[view.name], Status):
            text = f"returned {answers[view.name]!r}, not a Status (node {view.name})"
            raise PluginFailure(plugin, "Filter", text)
    return answers


def _score(
    plugin: Plugin, cycle: Cycle, feasible: list[str], *, as_columns: bool
) -> tuple[dict[str, int], dict[str, int]]:
    cluster = cycle.cluster
    nodes = cluster.nodes
    rows = np.array([nodes.slot_of[name] for name in feasible], dtype=np.int32)
    if not len(rows) or not (plugin.implements("score") or plugin.implements("score_columns")):
        return {}, {}
    if plugin.implements("pre_score"):
        answer = _called(plugin, "PreScore", cycle, lambda: plugin.pre_score(cycle))
        if not isinstance(answer, Status):
            text = f"returned {described(answer)}, not a Status (pod {cycle.pod.key})"
            raise PluginFailure(plugin, "PreScore", text)
        if answer.is_skip:
            return {}, {}
    mask = np.zeros(nodes.n_slots, dtype=np.bool_)
    mask[rows] = True
    out = Scores(np.zeros(nodes.n_slots, dtype=np.int64), rows, mask)
    if plugin.implements("score_columns") and (as_columns or not plugin.implements("score")):
        score_on_columns(plugin, cycle, out)
    else:
        for slot in rows.tolist():
            view = NodeView(cluster, slot)
            score = _called(plugin, "Score", cycle, partial(plugin.score, cycle, view), view.name)
            if not isinstance(score, int | np.integer) or isinstance(score, bool):
                text = f"returned {score!r}, not an integer (pod {cycle.pod.key}, node {view.name})"
                raise PluginFailure(plugin, "Score", text)
            out.values[slot] = score
    raw = {nodes.names[slot]: int(out.values[slot]) for slot in rows.tolist()}
    normalize(plugin, cycle, out)
    return raw, {nodes.names[slot]: int(out.values[slot]) for slot in rows.tolist()}


def _totals(runner: PluginRunner, pod: Pod) -> dict[str, int | str]:
    """Return the total per node, or the reason why it is rejected."""
    cluster = runner.cluster
    ranking = runner.ranking_of(pod)
    if ranking.outcome.rejection is not None:
        return dict.fromkeys(_names(cluster), ranking.outcome.rejection.message)
    totals = ranking.sweep_filters(cluster)
    ranking.write_rows(cluster)
    live = cluster.live_slots().tolist()
    answers: dict[str, int | str] = {
        cluster.nodes.names[slot]: ranking.first_rejection(slot).message
        for slot in live
        if totals[slot] < 0
    }
    allowed = ranking.outcome.node_names
    if (totals >= 0).any():
        totals = ranking.sweep_scores(totals)
    for slot in live:
        name = cluster.nodes.names[slot]
        if allowed is not None and name not in allowed:
            answers[name] = "excluded by PreFilter"
        elif name not in answers:
            answers[name] = int(totals[slot])
    return answers


def _profile_of(plugin: Plugin) -> Profile:
    def at(*methods: str) -> tuple[Plugin, ...]:
        return (plugin,) if any(plugin.implements(method) for method in methods) else ()

    return Profile(
        scheduler_name="check",
        pre_filter=at("pre_filter"),
        filter=at("filter", "filter_columns"),
        pre_score=at("pre_score"),
        score=tuple((plugin, 1) for plugin in at("score", "score_columns")),
    )


def _is_registered(registered: list[Any], change: Change) -> bool:
    return any(event.matches(change.event) for event in registered)


# ---------------------------------------------------------------- settings


class _NotRebuilt(Exception):  # noqa: N818 - the name says what happened
    """The settings cannot be read from the plugin."""


def _rebuilt(plugin: Plugin) -> Plugin:
    """Construct the plugin again from its settings, through JSON."""
    cls = type(plugin)
    gates: dict[str, Any] = {}
    if cls.takes_gates:
        found = [value for value in vars(plugin).values() if isinstance(value, Gates)]
        if not found:
            raise _NotRebuilt("the plugin does not keep its gates")
        gates["gates"] = found[0]
    if cls.Args is not None:
        args = next((v for v in vars(plugin).values() if isinstance(v, cls.Args)), None)
        if args is None:
            raise _NotRebuilt("the plugin does not keep its Args")
        args = msgspec.json.decode(msgspec.json.encode(args), type=cls.Args)
        return cls(args, **gates)  # type: ignore[call-arg]  # a class with Args takes one
    if cls.__init__ is object.__init__:
        return cls()
    settings: dict[str, Any] = {}
    for name in list(inspect.signature(cls).parameters):
        if name in gates:
            continue
        if not hasattr(plugin, name):
            text = f"the plugin does not keep its constructor argument {name!r} as self.{name}"
            raise _NotRebuilt(text)
        settings[name] = getattr(plugin, name)
    try:
        written = msgspec.json.encode(settings)
    except TypeError as error:
        raise TypeError(f"settings cannot be written in a configuration: {error}") from error
    return cls(**msgspec.json.decode(written), **gates)


# ---------------------------------------------------------------- comparing


def _fingerprint(cluster: Cluster, pods: Iterable[Pod]) -> dict[str, bytes]:
    """Return all inputs as bytes, by description."""
    nodes = cluster.nodes
    prints = {f"pod {pod.key}": msgspec.json.encode(pod) for pod in pods}
    prints |= {
        f"node {node.metadata.name}": msgspec.json.encode(node) for node in nodes.objects if node
    }
    prints |= {
        f"column {name}": getattr(nodes, name).tobytes()
        for name in ("alive", "unschedulable", "taint_set_ids", "non_zero_requested")
    }
    # Reads may add resource columns; existing ones must not change.
    known = ("cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu")
    for resource in known:
        index = nodes.resources.get(resource)
        if index is not None:
            prints[f"allocatable {resource}"] = nodes.allocatable[:, index].tobytes()
            prints[f"requested {resource}"] = nodes.requested[:, index].tobytes()
    prints["the placed pods"] = msgspec.json.encode([sorted(there) for there in cluster.pods_on])
    return prints


def _difference(one: _Answer, other: _Answer, first: str = "first", second: str = "then") -> str:
    """Describe the first field in which two results differ."""
    if one.pre_filter != other.pre_filter:
        return f"PreFilter returned {first} {one.pre_filter!r}, {second} {other.pre_filter!r}"
    for field in ("filters", "raw", "scores"):
        left: Mapping[str, Any] = getattr(one, field)
        right: Mapping[str, Any] = getattr(other, field)
        for node in dict.fromkeys((*left, *right)):
            if left.get(node) != right.get(node):
                return (
                    f"node {node}: {first} {_shown(left.get(node))}, "
                    f"{second} {_shown(right.get(node))}"
                )
    return "the results differ"


def _shown(value: object) -> str:
    if isinstance(value, Status):
        return "passed" if value.is_success else f"{value.code.label}: {value.message}"
    return f"rejected: {value}" if isinstance(value, str) else str(value)
