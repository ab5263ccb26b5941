"""Priorities: rules of preference, one module each.

A priority maps each node separately to a number, and then reduces its row of numbers to scores from
0 to 10. `scores` applies the weights when it adds the rows.
"""

from collections.abc import Mapping
from typing import Final

from podwright.scheduler.classic.priorities.capacity_ratio import (
    BALANCED,
    CAPACITY_RATIO,
    LEAST,
    MOST,
    CapacityRatio as CapacityRatio,
    ShapePoint as ShapePoint,
    balanced as balanced,
    capacity_ratio as capacity_ratio,
)
from podwright.scheduler.classic.priorities.equal import EQUAL
from podwright.scheduler.classic.priorities.image_locality import IMAGE_LOCALITY
from podwright.scheduler.classic.priorities.inter_pod_affinity import INTER_POD_AFFINITY
from podwright.scheduler.classic.priorities.node_affinity import (
    NODE_AFFINITY,
    label_preference as label_preference,
)
from podwright.scheduler.classic.priorities.prefer_avoid_pods import PREFER_AVOID_PODS
from podwright.scheduler.classic.priorities.priority import (
    MAX_PRIORITY as MAX_PRIORITY,
    Map as Map,
    Priority as Priority,
    PriorityMetadata as PriorityMetadata,
)
from podwright.scheduler.classic.priorities.selector_spread import (
    SELECTOR_SPREAD,
    SERVICE_SPREADING,
    service_anti_affinity as service_anti_affinity,
)
from podwright.scheduler.classic.priorities.taint_toleration import TAINT_TOLERATION

REGISTERED: Final[Mapping[str, Priority]] = {
    priority.name: priority
    for priority in (
        BALANCED,
        CAPACITY_RATIO,
        EQUAL,
        IMAGE_LOCALITY,
        INTER_POD_AFFINITY,
        LEAST,
        MOST,
        NODE_AFFINITY,
        PREFER_AVOID_PODS,
        SELECTOR_SPREAD,
        SERVICE_SPREADING,
        TAINT_TOLERATION,
    )
}
"""The names that a policy may use without an argument."""
