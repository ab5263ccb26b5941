"""The nodes that a single predicate rejects."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Object
from podwright.scheduler.classic import ClassicCluster
from podwright.scheduler.classic.predicates import REGISTERED, PredicateMetadata
from podwright.scheduler.classic.predicates.predicate import Predicate


def rejected(
    predicate: Predicate | str, pod: Any, *objects: Object, ignored: str = ""
) -> dict[str, list[str]]:
    """Return the reasons of each node that a predicate rejects, without those of its group."""
    cluster = ClassicCluster()
    for obj in objects:
        cluster.put(obj)
    meta = PredicateMetadata(pod, cluster, frozenset(ignored.split()))
    rule = REGISTERED[predicate] if isinstance(predicate, str) else predicate
    found = {
        node.name: [each.reason for each in rule.check(meta, node)] for node in cluster.nodes()
    }
    # What does not concern the pod rejects nothing.
    assert rule.concerns(meta) or not any(found.values())
    return {name: reasons for name, reasons in found.items() if reasons}
