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
    """Return the options among which is drawn: each expander leaves those of its least score."""
    for name in choice.options.expander:
        score = _SCORES[name]
        scored = [(score(each, choice), each) for each in found]
        least = min((value for value, _ in scored), default=0.0)
        found = [each for value, each in scored if value == least]
    return found


def requested(pods: Iterable[Pod], resource: str) -> int:
    """Return the sum of the requests for a resource, CPU in milli-CPU."""
    return sum(pending_requests(pod).get(resource, 0) for pod in pods)


def capacity_of(node: Node, resource: str) -> int:
    """Return the capacity of a node, CPU in milli-CPU."""
    text = node.status.capacity.get(resource, "0")
    return quantity_milli_value(text) if resource == "cpu" else quantity_value(text)


def _waste(option: ScaleUpOption, _: Choice) -> float:
    total = 0.0
    for resource in ("cpu", "memory"):
        offered = capacity_of(option.node, resource) * option.count
        used = requested(option.pods, resource)
        total += (offered - used) / offered if offered else math.inf
    return total


def _priority(option: ScaleUpOption, choice: Choice) -> int:
    """Return the highest priority of a group; -1 if it has none."""
    name = option.group.name
    patterns = choice.options.priorities.items()
    matching = (int(n) for n, each in patterns if any(re.search(p, name) for p in each))
    return max(matching, default=-1)


def _price(option: ScaleUpOption, choice: Choice) -> float:
    """Return what the nodes cost for their pods, less for nodes of a fitting size."""
    options = choice.options

    def pod_price(cpu: int, memory: int) -> float:
        return cpu / 1000 * options.pod_cpu_price + memory / _GIB * options.pod_memory_price

    stable = pod_price(_STABILIZING_CPU, _STABILIZING_MEMORY)
    preferred = next((cpu for size, cpu in _PREFERRED if choice.node_count <= size), _LARGEST)
    cpu, memory = (requested(option.pods, name) for name in ("cpu", "memory"))
    nodes_price = option.group.price * option.count
    ratio = (nodes_price + stable) / (pod_price(cpu, memory) + stable) if stable else 0.0
    own = capacity_of(option.node, "cpu") or 1
    unfitness = max(preferred / own, own / preferred)
    suppressed = (unfitness - 1.0) * (1.0 - math.tanh((option.count - 1) / _SUPPRESSION)) + 1.0
    return suppressed * ratio


_SCORES: Final[dict[str, Callable[[ScaleUpOption, Choice], float]]] = {
    "random": lambda _option, _choice: 0.0,
    "least-waste": _waste,
    "most-pods": lambda option, _: -len(option.pods),
    "least-nodes": lambda option, _: option.count,
    "priority": lambda option, choice: -_priority(option, choice),
    "price": _price,
}
