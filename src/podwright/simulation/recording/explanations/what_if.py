"""A past cycle run again with a change, for its hypothetical decision.

The cluster, the pod and the random draw are those of the recorded cycle, except for the change.
Only this cycle runs; the effect on later cycles is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from podwright._html import section
from podwright.apimachinery.objects import (
    NamespacedName,
    Node,
    PodwrightError,
    Taint,
    Time,
    nearest,
    with_fields,
)
from podwright.scheduler.assembly import assemble, prepare
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import Explanation, Plugin, Runner
from podwright.simulation.recording.explanations.explain import PastCycle, find_cycle
from podwright.simulation.recording.log.decision_log import DecisionLog, require_log
from podwright.simulation.recording.log.log_format import Setup
from podwright.simulation.recording.log.record import options_of


class ImpossibleChange(PodwrightError):  # noqa: N818 - named for what it is
    """The change cannot be made: it refers to an object that does not exist, for example."""


class WhatIf(msgspec.Struct, frozen=True):
    """A cycle as recorded, and the same cycle with a change.

    Attributes
    ----------
    before, after : Explanation
    """

    before: Explanation
    after: Explanation

    def __repr__(self) -> str:
        before, after = self.before.decision, self.after.decision
        return (
            f"<WhatIf for {before.pod.key}: {before.node or 'no node'}, after the change"
            f" {after.node or 'no node'}>"
        )

    def _repr_html_(self) -> str:
        return section("As recorded", self.before._repr_html_()) + section(
            "After the change", self.after._repr_html_()
        )

    @property
    def is_same(self) -> bool:
        """Whether the decision is the same: the same node, or no node."""
        return self.before.decision.node == self.after.decision.node


def what_if(  # noqa: PLR0913 - one keyword for each kind of change
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at: Time | None = None,
    configuration: KubeSchedulerConfiguration | None = None,
    weights: Mapping[str, int] | None = None,
    taint: tuple[str, Taint, Literal["add", "remove"]] | None = None,
    add_nodes: Sequence[Node] = (),
    plugins: Iterable[type[Plugin]] = (),
) -> WhatIf:
    """Run a past cycle as recorded, and again with changes.

    Parameters
    ----------
    log : DecisionLog
    pod : str
        `namespace/name`.
    attempt : int
        1 is the first cycle of the pod, -1 the last.
    at : Time, optional
        Instead of `attempt`: the last cycle that had ended at this time.
    configuration : KubeSchedulerConfiguration, optional
        The configuration to use instead of the recorded one.
    weights : mapping of str to int, optional
        New weights of score plugins, or of priorities under the v1.16 rules; others are unchanged.
    taint : (str, Taint, "add" or "remove"), optional
        A node name, and the taint to add or to remove. A taint is removed by key and effect.
    add_nodes : sequence of Node
        Additional nodes, without pods.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.

    Raises
    ------
    UnknownCycle
        If the pod has no such scheduling attempt.
    ImpossibleChange
        If a given plugin or node does not exist, if a node of `add_nodes` does, or if
        `configuration` is given and a plugin had state before the cycle.
    InputError
        If the configuration is invalid.
    LogError
        If the run cannot be replayed.
    """
    require_log(log)
    own = tuple(plugins)
    at_ns = log.read_optional_time(at)
    if own:
        # On a separate machine: confirming handles the cycle, and `past` has to stay before it.
        find_cycle(log, pod, attempt, at_ns=at_ns, plugins=own).confirm()
    past = find_cycle(log, pod, attempt, at_ns=at_ns, plugins=own)
    unrestorable = past.machine.unrestorable
    if configuration is not None and unrestorable:
        raise ImpossibleChange(
            f"another configuration creates new plugins without the state that"
            f" {', '.join(unrestorable)} had before the cycle; change weights, taints or nodes"
            " instead"
        )
    before = past.explain()
    runner = _runner(past, log.setup, configuration, own)
    if weights:
        _check_names(runner.weights, weights)
        runner = runner.with_weights(weights)
    if taint is not None:
        _taint(past, *taint)
    for node in add_nodes:
        if node.name in past.machine.cluster.nodes.slot_of:
            raise ImpossibleChange(f"node {node.name} exists already")
        past.machine.cluster.put(node)
    return WhatIf(before, past.explain(runner))


def _runner(
    past: PastCycle,
    setup: Setup,
    configuration: KubeSchedulerConfiguration | None,
    plugins: tuple[type[Plugin], ...],
) -> Runner:
    if configuration is None:
        return past.runner
    recorded = options_of(setup, plugins=plugins)
    options = msgspec.structs.replace(recorded, configuration=configuration)
    ready, registry = prepare(options)
    parts = assemble(ready, registry, options)
    name = past.pod.spec.scheduler_name
    if name not in parts.profiles:
        known = ", ".join(parts.profiles)
        raise ImpossibleChange(
            f'the pod has schedulerName "{name}"; the profiles of the configuration are {known}'
        )
    cluster = past.machine.cluster
    if not parts.reads(cluster):
        raise ImpossibleChange(
            "this run was recorded with the v1.36 rules and lacks state that the v1.16 rules"
            " read; to compare both rule sets, use podwright compare-rules"
        )
    runner = parts.runners(cluster)[name]
    position = past.runner.search_position()
    # Each rule set has its own order of nodes, so a position is valid for the same rules only.
    if type(runner) is type(past.runner):
        runner.restore_search_position(position)
    return runner


def _check_names(known: Collection[str], weights: Mapping[str, int]) -> None:
    for name in weights:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near}?" if near else f": {', '.join(sorted(known))}"
            raise ImpossibleChange(f'no score plugin "{name}"{hint}')


def _taint(past: PastCycle, name: str, taint: Taint, change: Literal["add", "remove"]) -> None:
    nodes = past.machine.cluster.nodes
    slot = nodes.slot_of.get(name)
    node = None if slot is None else nodes.objects[slot]
    if node is None:
        near = nearest(name, nodes.slot_of)
        hint = f"; did you mean {near}?" if near else ""
        raise ImpossibleChange(f'no node "{name}" in the cluster at that time{hint}')
    others = tuple(
        present
        for present in node.spec.taints
        if (present.key, present.effect) != (taint.key, taint.effect)
    )
    if change == "remove" and len(others) == len(node.spec.taints):
        raise ImpossibleChange(f"node {name} has no taint {taint.key}:{taint.effect}")
    taints = (*others, taint) if change == "add" else others
    past.machine.cluster.put(with_fields(node, "spec", taints=taints))
