"""The state that the parts of the machine share: the cluster, the queue, and unfinished work.

The state makes no decisions. Each part of the machine is a class that reads and changes it;
`validate` checks what must hold between two events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from podwright.apimachinery.objects import NamespacedName, Object, Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.machine.actions import Action
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.eviction import Eviction
from podwright.scheduler.machine.cycles.failure import Failure
from podwright.scheduler.machine.cycles.waiting import WaitingPod
from podwright.scheduler.machine.groups import Groups
from podwright.scheduler.machine.metrics.machine_metrics import Metrics
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.machine.timers import Timers
from podwright.scheduler.queueing import PodQueue


class State:
    """Everything that survives from one event to the next.

    Attributes
    ----------
    cluster : Cluster
        Nodes, and the pods that count on them: those that have a node and assumed ones.
    queue : PodQueue
        Pending pods.
    profiles : dict of str to RunningProfile
        By schedulerName.
    pods : dict of str to Pod
        The last received version of every pod, by `namespace/name`; pods that have ended are
        not kept.
    objects : dict
        Every other object, by kind and name.
    assumed : dict of str to Binding
        Pods that count on a node without confirmation by the API server, by uid.
    expired : set of str
        Uids of pods that were bound and have been assumed for too long: they count nowhere
        until they are received again.
    waiting : dict of str to WaitingPod
        Pods that wait at Permit, by uid.
    bindings : dict of int to Binding
        The unfinished binding cycles, by number.
    bindings_by_uid : dict of str to Binding
        The same, by the pod's uid.
    evictions : dict of str to Eviction
        Unfinished asynchronous preemptions, by the preemptor's uid.
    calls : dict of int to Binding or Eviction
        What waits for the answer to a call; the answer to a call without an entry is ignored.
    requested : dict of int to Pod
        The pods of calls that plugins requested and do not wait for.
    ready : deque of Binding
        Binding cycles that are to continue at the end of the event.
    actions : list of Action
        The actions of this event so far.
    groups : Groups
        The members of pod groups.
    releasing : tuple of Plugin
        The plugins of all profiles that implement `pod_ended`.
    metrics : Metrics
        The counters of all parts.
    on_failure : callable, optional
        Called with every failed attempt: the pod, why, and when.
    now_ns : int
        The time of this event.
    cycle_started_ns : int
        When the scheduling cycle started that runs, or ran last.
    """

    def __init__(
        self,
        cluster: Cluster,
        queue: PodQueue,
        profiles: Mapping[str, RunningProfile],
    ) -> None:
        self.cluster = cluster
        self.queue = queue
        self.profiles = dict(profiles)
        self.pods: dict[NamespacedName, Pod] = {}
        self.objects: dict[tuple[str, str], Object] = {}
        self.assumed: dict[str, Binding] = {}
        self.expired: set[str] = set()
        self.waiting: dict[str, WaitingPod] = {}
        self.bindings: dict[int, Binding] = {}
        self.bindings_by_uid: dict[str, Binding] = {}
        self.evictions: dict[str, Eviction] = {}
        self.calls: dict[int, Binding | Eviction] = {}
        self.requested: dict[int, Pod] = {}
        self.ready: deque[Binding] = deque()
        self.timers = Timers()
        self.actions: list[Action] = []
        plugins = [p for running in profiles.values() for p in running.profile.all_plugins()]
        self.groups = Groups(plugins)
        self.releasing = tuple(plugin for plugin in plugins if plugin.implements("pod_ended"))
        self.metrics = Metrics({name: running.profile for name, running in profiles.items()})
        self.on_failure: Callable[[Pod, Failure, int], None] | None = None
        self.now_ns = 0
        self.cycle_started_ns = 0
        self.call_count = 0
        self.binding_count = 0
        self.waiting_count = 0

    def next_call(self) -> int:
        """Return a number for a call."""
        self.call_count += 1
        return self.call_count
