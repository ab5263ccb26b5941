"""GeneralPredicates: resources, host name, ports and selector, with all reasons together.

It is the only predicate that continues after a failure.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go, GeneralPredicates
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.failure import Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates import host_name, host_ports, node_selector, resources
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata, always

_PARTS: Final = (host_name.PREDICATE, host_ports.PREDICATE, node_selector.PREDICATE)


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Collect the failures of the four predicates."""
    failures = resources.check(meta, node)
    for part in _PARTS:
        if part.concerns(meta):
            failures = (*failures, *part.check(meta, node))
    return failures


PREDICATE: Final = Predicate("GeneralPredicates", always, check)
