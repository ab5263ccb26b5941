"""Expanders: which of the groups that would help is scaled up.

Each expander leaves the best options; the next one chooses among them, and what is left after the
last one is drawn.

Upstream: cluster-autoscaler/expander/factory/chain.go, BestOption; random/random.go;
waste/waste.go; mostpods/mostpods.go; leastnodes/leastnodes.go; priority/priority.go;
price/price.go, price/preferred.go
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Node,
    Pod,
    draw,
    pending_requests,
    quantity_milli_value,
    quantity_value,
)
from podwright.simulation.autoscaling.node_groups import AutoscalerOptions, NodeGroup

EXPANDER_STREAM: Final = 40
"""The stream of the draws among equal options."""

_GIB: Final = 1 << 30
_MIB: Final = 1 << 20
_PREFERRED: Final = ((2, 1000), (6, 2000), (20, 4000), (60, 8000), (200, 16000))
"""Up to so many nodes in the cluster, nodes of so many milli-CPU are preferred."""
_LARGEST: Final = 32000
_SUPPRESSION: Final = 15.0
_STABILIZING_CPU: Final = 500
_STABILIZING_MEMORY: Final = 500 * _MIB


class ScaleUpOption(msgspec.Struct, frozen=True, kw_only=True):
    """A group that would help, and how many nodes it would get.

    Attributes
    ----------
    group : NodeGroup
    node : Node
        A node of its template.
    count : int
        How many nodes.
    pods : tuple of Pod
        The pods that would be scheduled on them.
    """

    group: NodeGroup
    node: Node
    count: int
    pods: tuple[Pod, ...]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What the expanders depend on besides the options.

    Attributes
    ----------
    options : AutoscalerOptions
    node_count : int
        The number of nodes in the cluster.
    seed, number : int
        Of the draw.
    """

    options: AutoscalerOptions
    node_count: int
    seed: int = 0
    number: int = 0


Options = Sequence[ScaleUpOption]


def best_option(found: Options, choice: Choice) -> ScaleUpOption | None:
    """Return the option that the expanders choose; None without options."""
    found = equal_options(found, choice)
    if not found:
        return None
    return found[draw(choice.seed, EXPANDER_STREAM, choice.number) % len(found)]


def equal_options(found: Options, choice: Choice) -> Options:
    """Return the options among which is drawn."""
    for name in choice.options.expander:
        found = _FILTERS[name](found, choice)
    return found


def requested(pods: Iterable[Pod], resource: str) -> int:
    """Return the sum of the requests for a resource, CPU in milli-CPU."""
    return sum(pending_requests(pod).get(resource, 0) for pod in pods)


def capacity_of(node: Node, resource: str) -> int:
    """Return the capacity of a node, CPU in milli-CPU."""
    text = node.status.capacity.get(resource, "0")
    return quantity_milli_value(text) if resource == "cpu" else quantity_value(text)


def _least(found: Options, score: Callable[[ScaleUpOption], float]) -> Options:
    scored = [(score(each), each) for each in found]
    least = min((value for value, _ in scored), default=0.0)
    return [each for value, each in scored if value == least]


def _any(found: Options, _: Choice) -> Options:
    return found


def _least_waste(found: Options, _: Choice) -> Options:
    def waste(option: ScaleUpOption) -> float:
        total = 0.0
        for resource in ("cpu", "memory"):
            offered = capacity_of(option.node, resource) * option.count
            used = requested(option.pods, resource)
            total += (offered - used) / offered if offered else math.inf
        return total

    return _least(found, waste)


def _most_pods(found: Options, _: Choice) -> Options:
    return _least(found, lambda option: -len(option.pods))


def _least_nodes(found: Options, _: Choice) -> Options:
    return _least(found, lambda option: option.count)


def _priority(found: Options, choice: Choice) -> Options:
    """Return the options of the highest priority; all of them if none has one."""
    patterns = choice.options.priorities

    def priority(option: ScaleUpOption) -> int:
        name = option.group.name
        matching = (int(n) for n, each in patterns.items() if any(re.search(p, name) for p in each))
        return max(matching, default=-1)

    return _least(found, lambda option: -priority(option))


def _price(found: Options, choice: Choice) -> Options:
    """Return the options whose nodes cost least for their pods, and are of a fitting size."""
    options = choice.options

    def pod_price(cpu: int, memory: int) -> float:
        return cpu / 1000 * options.pod_cpu_price + memory / _GIB * options.pod_memory_price

    stable = pod_price(_STABILIZING_CPU, _STABILIZING_MEMORY)
    preferred = next((cpu for size, cpu in _PREFERRED if choice.node_count <= size), _LARGEST)

    def score(option: ScaleUpOption) -> float:
        cpu, memory = (requested(option.pods, name) for name in ("cpu", "memory"))
        nodes_price = option.group.price * option.count
        ratio = (nodes_price + stable) / (pod_price(cpu, memory) + stable) if stable else 0.0
        own = capacity_of(option.node, "cpu") or 1
        unfitness = max(preferred / own, own / preferred)
        suppressed = (unfitness - 1.0) * (1.0 - math.tanh((option.count - 1) / _SUPPRESSION)) + 1.0
        return suppressed * ratio

    return _least(found, score)


_FILTERS: Final = {
    "random": _any,
    "least-waste": _least_waste,
    "most-pods": _most_pods,
    "least-nodes": _least_nodes,
    "priority": _priority,
    "price": _price,
}
