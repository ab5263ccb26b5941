"""The scheduling queue: activeQ, backoffQ, unschedulable pods, gated pods, pods in flight.

The room decides which pod is scheduled next and when a rejected pod is retried. It does not run
scheduling cycles. It reads no clock: time is an argument, and the time of the next flush is
returned.

Words used here, besides upstream's:

- A *place* (`QueueName`) is the queue or set in which a pod is; each pod is in exactly one.
- To *park* a pod is to return it to the queue after a failed attempt.
- A *rejector* is a plugin that rejected the pod in its last attempt.
- A *story* is the log of the queue's operations on a pod.

Start with the rules in `queue.py`. `hints.py` decides which event requeues which pod, `rules.py`
is the interface that other rule sets implement, and `blocking.py` is a thread-safe queue for use
outside the scheduler, which nothing in the core imports.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.queueing.capture import (
        QueuedPodSnapshot as QueuedPodSnapshot,
        QueueSnapshot as QueueSnapshot,
        queued_from as queued_from,
        queued_snapshot as queued_snapshot,
    )
    from podwright.scheduler.queueing.events import (
        derive_events as derive_events,
        derive_node_update as derive_node_update,
        derive_pod_update as derive_pod_update,
    )
    from podwright.scheduler.queueing.heap import LazyHeap as LazyHeap
    from podwright.scheduler.queueing.hints import HintTable as HintTable, Requeue as Requeue
    from podwright.scheduler.queueing.nominator import Nominator as Nominator
    from podwright.scheduler.queueing.places import QueueName as QueueName
    from podwright.scheduler.queueing.pod import (
        QueuedPod as QueuedPod,
        SortKey as SortKey,
        priority_sort_key as priority_sort_key,
    )
    from podwright.scheduler.queueing.queue import (
        PreEnqueue as PreEnqueue,
        SchedulingQueue as SchedulingQueue,
    )
    from podwright.scheduler.queueing.rules import (
        PodQueue as PodQueue,
        QueueMetrics as QueueMetrics,
        Story as Story,
        Touch as Touch,
    )
    from podwright.scheduler.queueing.settings import (
        SECOND_NS as SECOND_NS,
        QueueSettings as QueueSettings,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
