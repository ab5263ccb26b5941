"""The whole rule set of the Kubernetes 1.16 scheduler, node by node, for reading.

The room contains predicates in their fixed order, priorities from 0 to 10 by map and reduce,
preemption, the queue of three parts, and policies, as plain Python over one node at a time. The
rules of 1.36 are in other rooms and share no code with these. The room starts no thread: parallel
steps take a `parallelize_until` from their caller.

Start with `scheduler` (a whole decision), then read one module of `predicates/` and one of
`priorities/`. `queue` is independent of both. `runner`, `cluster` and `extender` adapt the
rules to `framework`, so that the same machine, `Scheduler` and explanations run them.

Words of this room, all of them of 1.16: a *predicate* is what a filter is today, a *priority* a
score plugin; a *policy* is a file that selects both; a *provider* is a named selection. *Classic*
stands for v1.16 in the names of types.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.classic.algorithm import (
        PROVIDERS as PROVIDERS,
        Algorithm as Algorithm,
        Weighted as Weighted,
        algorithm_from_policy as algorithm_from_policy,
        algorithm_of_provider as algorithm_of_provider,
    )
    from podwright.scheduler.classic.cluster import (
        ClassicCluster as ClassicCluster,
        MirroredCluster as MirroredCluster,
    )
    from podwright.scheduler.classic.events import (
        QueueCall as QueueCall,
        queue_calls as queue_calls,
    )
    from podwright.scheduler.classic.extender import (
        Extender as Extender,
        ExtenderAnswer as ExtenderAnswer,
        ExtenderError as ExtenderError,
        ExtenderSettings as ExtenderSettings,
        called_extender as called_extender,
        request_body as request_body,
    )
    from podwright.scheduler.classic.failure import (
        Failure as Failure,
        SchedulingError as SchedulingError,
        fit_error as fit_error,
    )
    from podwright.scheduler.classic.node_info import NodeInfo as NodeInfo
    from podwright.scheduler.classic.node_tree import (
        NodeTree as NodeTree,
        nodes_to_find as nodes_to_find,
    )
    from podwright.scheduler.classic.policy import (
        Policy as Policy,
        PolicyError as PolicyError,
        affinity_weight_problem as affinity_weight_problem,
        ignored_fields as ignored_fields,
        read_policy as read_policy,
    )
    from podwright.scheduler.classic.preemption import (
        Preemption as Preemption,
        lower_nominated as lower_nominated,
        preempt as preempt,
    )
    from podwright.scheduler.classic.priorities import (
        REGISTERED as REGISTERED,
        PriorityMetadata as PriorityMetadata,
    )
    from podwright.scheduler.classic.queue import (
        ClassicQueue as ClassicQueue,
        ClassicQueueSettings as ClassicQueueSettings,
    )
    from podwright.scheduler.classic.runner import (
        ClassicPreemption as ClassicPreemption,
        ClassicRunner as ClassicRunner,
    )
    from podwright.scheduler.classic.scheduler import (
        ClassicScheduler as ClassicScheduler,
        Decision as Decision,
    )
    from podwright.scheduler.classic.scores import (
        ParallelizeUntil as ParallelizeUntil,
        ScoreTable as ScoreTable,
        in_order as in_order,
        prioritize as prioritize,
        select_host as select_host,
    )
    from podwright.scheduler.classic.victims import Victims as Victims
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
