"""The whole rule set of the Kubernetes 1.16 scheduler, node by node, for reading.

The room contains predicates in their fixed order, priorities from 0 to 10 by map and reduce,
preemption, the queue of three parts, and policies, as plain Python over one node at a time. The
rules of 1.36 are in other rooms and share no code with these. The room starts no thread: parallel
steps take a `parallelize_until` from their caller.

Start with `scheduler` (a whole decision), then read one module of `predicates/` and one of
`priorities/`. `queue` is independent of both. `runner`, `mirror` and `extender_calls` adapt the
rules to `framework`, so that the same machine, `Scheduler` and explanations run them.

Words of this room, all of them of 1.16: a *predicate* is what a filter is today, a *priority* a
score plugin; a *policy* is a file that selects both; a *provider* is a named selection. *Classic*
stands for v1.16 in the names of types.
"""

from podwright.scheduler.classic.algorithm import (
    PROVIDERS,
    Algorithm,
    Weighted,
    algorithm_from_policy,
    algorithm_of_provider,
)
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.events import QueueCall, queue_calls
from podwright.scheduler.classic.extender import (
    Extender,
    ExtenderAnswer,
    ExtenderError,
    ExtenderSettings,
    request_body,
)
from podwright.scheduler.classic.extender_calls import called_extender
from podwright.scheduler.classic.failure import Failure, SchedulingError, fit_error
from podwright.scheduler.classic.mirror import MirroredCluster
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.node_tree import NodeTree, nodes_to_find
from podwright.scheduler.classic.parallel import ParallelizeUntil, in_order
from podwright.scheduler.classic.policy import (
    Policy,
    PolicyError,
    affinity_weight_problem,
    read_policy,
)
from podwright.scheduler.classic.preemption import Preemption, lower_nominated, preempt
from podwright.scheduler.classic.priorities import REGISTERED, PriorityMetadata
from podwright.scheduler.classic.queue import ClassicQueue, ClassicQueueSettings
from podwright.scheduler.classic.runner import ClassicPreemption, ClassicRunner
from podwright.scheduler.classic.scheduler import ClassicScheduler, Decision
from podwright.scheduler.classic.scores import ScoreTable, prioritize, select_host
from podwright.scheduler.classic.victims import Victims

__all__ = [
    "PROVIDERS",
    "REGISTERED",
    "Algorithm",
    "ClassicCluster",
    "ClassicPreemption",
    "ClassicQueue",
    "ClassicQueueSettings",
    "ClassicRunner",
    "ClassicScheduler",
    "Decision",
    "Extender",
    "ExtenderAnswer",
    "ExtenderError",
    "ExtenderSettings",
    "Failure",
    "MirroredCluster",
    "NodeInfo",
    "NodeTree",
    "ParallelizeUntil",
    "Policy",
    "PolicyError",
    "Preemption",
    "PriorityMetadata",
    "QueueCall",
    "SchedulingError",
    "ScoreTable",
    "Victims",
    "Weighted",
    "affinity_weight_problem",
    "algorithm_from_policy",
    "algorithm_of_provider",
    "called_extender",
    "fit_error",
    "in_order",
    "lower_nominated",
    "nodes_to_find",
    "preempt",
    "prioritize",
    "queue_calls",
    "read_policy",
    "request_body",
    "select_host",
]
