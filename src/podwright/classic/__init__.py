"""The whole rule set of the Kubernetes 1.16 scheduler, node by node, for reading.

Predicates in their fixed order, priorities from 0 to 10 by map and reduce, preemption, the
three-part queue, policies. The rules of 1.36 live in the other rooms and are not mixed with
these; what a rule means is said here by plain Python over one node at a time. Nothing here
starts a thread: parallel steps take a `parallelize_until` from whoever calls.

Start with `scheduler` (a whole decision), then one module of `predicates/` and one of
`priorities/`. `queue` stands by itself. `runner`, `mirror` and `extender_calls` put the rules
into the words of `framework`, so that the same machine, `Scheduler` and explanations work.
"""

from podwright.classic.algorithm import (
    PROVIDERS,
    Algorithm,
    Weighted,
    algorithm_from_policy,
    algorithm_of_provider,
)
from podwright.classic.cluster import ClassicCluster
from podwright.classic.events import QueueCall, queue_calls
from podwright.classic.extender import (
    Extender,
    ExtenderAnswer,
    ExtenderError,
    ExtenderSettings,
    request_body,
)
from podwright.classic.extender_calls import called_extender
from podwright.classic.failure import Failure, SchedulingError, fit_error
from podwright.classic.mirror import MirroredCluster
from podwright.classic.node_info import NodeInfo
from podwright.classic.node_tree import NodeTree, nodes_to_find
from podwright.classic.parallel import ParallelizeUntil, in_order
from podwright.classic.policy import Policy, PolicyError, affinity_weight_problem, read_policy
from podwright.classic.preemption import Preemption, Victims, lower_nominated, preempt
from podwright.classic.priorities import REGISTERED, PriorityMetadata
from podwright.classic.queue import ClassicQueue, ClassicQueueSettings
from podwright.classic.runner import ClassicPreemption, ClassicRunner
from podwright.classic.scheduler import ClassicScheduler, Decision
from podwright.classic.scores import ScoreTable, prioritize, select_host

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
