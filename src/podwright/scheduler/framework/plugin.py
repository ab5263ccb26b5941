"""The base class of plugins: one class with all extension points, each optional.

A plugin implements extension points of the scheduling framework under their usual names. Filter
and score have two forms: per node (`filter`, `score`: simple) or on columns (`filter_columns`,
`score_columns`: all slots in one call). For a plugin that has only the per-node form, an
adapter fills the same columns. In-tree plugins use only this interface.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go;
staging/src/k8s.io/kube-scheduler/framework/interface.go, `Handle`, `PodGroupManager`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar, overload

import msgspec

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import Duration, KubernetesObject, NamespacedName, Node, Pod
from podwright.scheduler.columns import Cluster, NodeColumns, PlacedPod, Reads
from podwright.scheduler.framework.binding import ApiCall, Pending, Progress
from podwright.scheduler.framework.cycle import Cycle, FailedCycle
from podwright.scheduler.framework.decision import PostFilterResult
from podwright.scheduler.framework.events import EventHint
from podwright.scheduler.framework.rankings.scores import (
    FilterGroups,
    Normalization,
    RequestScore,
    ScoreGroups,
    Scores,
)
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.status import PreFilterResult, Status

if TYPE_CHECKING:
    from podwright.scheduler.framework.extenders.extender_calls import Steps


class NodeView:
    """One node as the per-node forms see it; read-only.

    Parameters
    ----------
    cluster : Cluster
        The state of the cluster.
    slot : int
        The row of the node in its columns.
    """

    __slots__ = ("_cluster", "slot")

    def __init__(self, cluster: Cluster, slot: int) -> None:
        self._cluster = cluster
        self.slot = slot

    @property
    def node(self) -> Node:
        """The Node object."""
        node = self._cluster.nodes.objects[self.slot]
        assert node is not None, f"slot {self.slot} is empty"
        return node

    @property
    def name(self) -> str:
        """The node's name."""
        return self._cluster.nodes.names[self.slot]

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.metadata.labels

    @property
    def pods(self) -> list[Pod]:
        """The pods placed on the node, in order of placement."""
        return [placed.pod for placed in self._cluster.pods_on[self.slot].values()]

    @property
    def allocatable(self) -> dict[str, int]:
        """Allocatable per resource: milli-CPU, bytes, units."""
        return self._amounts(self._cluster.nodes.allocatable)

    @property
    def requested(self) -> dict[str, int]:
        """The requests of the placed pods, per resource: milli-CPU, bytes, units."""
        return self._amounts(self._cluster.nodes.requested)

    def _amounts(self, matrix: Any) -> dict[str, int]:
        resources = self._cluster.nodes.resources
        return {name: matrix.item(self.slot, i) for name, i in resources.items()}


class Placement(NamedTuple):
    """Nodes to which the pods of a group are confined, and those of its pods that fit there.

    Attributes
    ----------
    name : str
        Placements are tried in the order of their names.
    slots : (k,) int32 array
        The nodes, in visiting order.
    pods : tuple of Pod
        Empty until the group has been tried on these nodes.
    """

    name: str
    slots: I32Array
    pods: tuple[Pod, ...] = ()


class KeyReads(NamedTuple):
    """What the results of a plugin for one key depend on, besides the key.

    Attributes
    ----------
    preparation : Reads
        PreFilter and PreScore.
    filter, score : Reads
    """

    preparation: Reads
    filter: Reads
    score: Reads


class Plugin:
    """A scheduler plugin; subclass it and implement the extension points that you need.

    Class attributes
    ----------------
    name : str
        As configurations name it.
    Args : type, optional
        A msgspec Struct of the plugin's arguments; `__init__` then takes one of it.
        Without it, `pluginConfig` args become keyword arguments of `__init__`.
    takes_gates : bool
        True: `__init__` also takes the feature gates, a `config.Gates` under the
        keyword `gates`. ``"Name" in gates`` is true if a gate is enabled.
    pre_filter_reads, filter_reads, pre_score_reads, score_reads : Reads
        What the results depend on besides `pod_key`. Results that do not name `Reads.CLUSTER`
        are cached per `pod_key` and updated slot by slot. The default is safe: the plugin is
        called again in every cycle.
    normalization : Normalization
        How raw scores become 0 to 100.
    scores_in_range : bool
        True: normalized scores are always from 0 to 100, so the framework does not check them.
        It affects speed only, and a false declaration gives wrong totals.
    rests_when_skipped : bool
        True: Reserve, Permit, PreBind and PostBind are not called for pods for which PreFilter
        returned Skip.
    key_varies : bool
        True where most pods have different keys (their requests): results for a key are then
        cached only when it occurs again. It affects speed only.
    key_reads_all_labels : bool
        False: `pod_key` and the results read only those labels of the pod that are selected by
        workloads, by affinity terms, or by its own terms and constraints. `pod_key` is then
        called with the pod without its other labels, and pods that differ only in these share
        all results. A class that defines its own `pod_key` must set it again.
    filters_columns, scores_columns : bool
        Whether the class has the column forms; set by itself.
    """

    name: ClassVar[str] = ""
    Args: ClassVar[type[msgspec.Struct] | None] = None
    takes_gates: ClassVar[bool] = False
    pre_filter_reads: ClassVar[Reads] = Reads.CLUSTER
    filter_reads: ClassVar[Reads] = Reads.CLUSTER
    pre_score_reads: ClassVar[Reads] = Reads.CLUSTER
    score_reads: ClassVar[Reads] = Reads.CLUSTER
    normalization: ClassVar[Normalization] = Normalization.NONE
    scores_in_range: ClassVar[bool] = False
    rests_when_skipped: ClassVar[bool] = False
    key_varies: ClassVar[bool] = False
    key_reads_all_labels: ClassVar[bool] = True
    filters_columns: ClassVar[bool] = False
    scores_columns: ClassVar[bool] = False

    handle: Handle | None = None
    """What runs the plugin, a machine or a `Scheduler`, which sets it; None before."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.filters_columns = cls.implements("filter_columns")
        cls.scores_columns = cls.implements("score_columns")
        if "pod_key" in vars(cls) and "key_reads_all_labels" not in vars(cls):
            cls.key_reads_all_labels = True
        # A subclass that filters or scores differently must override these methods too.
        for form in ("filter_as_sums", "filter_ignores_pods", "filter_groups"):
            if _place_of(cls, "filter", "filter_columns") < _place_of(cls, form):
                setattr(cls, form, getattr(Plugin, form))
        for form in ("score_as_requests", "score_groups"):
            if _place_of(cls, "score", "score_columns") < _place_of(cls, form):
                setattr(cls, form, getattr(Plugin, form))
        # A subclass with a `normalize_score` of its own needs it to be called.
        if cls.normalization is Normalization.NONE and cls.implements("normalize_score"):
            cls.normalization = Normalization.CUSTOM

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the parts of `pod` that this plugin reads; equal keys give equal results.

        The default is the pod itself (its uid), which is safe and shares nothing.
        """
        return (pod.key, pod.metadata.uid)

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether `pod_key` depends on nothing but spec, labels, namespace and owners.

        Pods of one template then share the key without a call. A plugin that defines `pod_key`
        returns true unless it overrides this method too. `pod` is the first one of its template.
        """
        return type(self).pod_key is not Plugin.pod_key

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return the parts of `pod` that determine this plugin's results, as plain data.

        Opportunistic batching (`framework.signature`) treats pods as equal if every plugin of
        the profile returns equal data for them. Plugins that read the same part use the same
        key.

        Returns
        -------
        mapping of str to object, optional
            JSON-compatible values, by key. None: unknown, for example because the results
            depend on other pods; such a pod is equal to no other.
        """
        raise NotImplementedError

    def preparation_reads(self, key: Hashable) -> Reads:
        """Return what PreFilter and PreScore depend on for pods whose `pod_key` is `key`.

        The key ``()`` means that the pod does not use the feature: its results depend on
        nothing. For other keys it is `pre_filter_reads` and `pre_score_reads`.
        """
        reads = Reads.NOTHING
        if key == ():
            return reads
        if self.implements("pre_filter"):
            reads |= self.pre_filter_reads
        if self.implements("pre_score"):
            reads |= self.pre_score_reads
        return reads

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        """Return what the results for pods with this key depend on.

        For a plugin whose results depend on more for some pods than for others. Keys are
        forgotten when the extended resources of device classes change; besides these, the
        result must depend on the key alone.

        Parameters
        ----------
        key : hashable
            What `pod_key` returned.
        cluster : Cluster
            The state of the cluster, of which only the device classes may be read.
        """
        return KeyReads(self.preparation_reads(key), self.filter_reads, self.score_reads)

    def key_in_cluster(self, cycle: Cycle) -> Hashable | None:
        """Return a narrower key for a pod whose results read the cluster; None: there is none.

        For a plugin whose results depend on the cluster by `reads_for`, but for most pods only
        on a few other objects. Pods with equal narrower keys then share results that are updated
        node by node; `reads_for` is called with the narrower key too and must not return
        `Reads.CLUSTER` for it. It is called in every cycle of such a pod.

        Parameters
        ----------
        cycle : Cycle
            A new cycle of the pod. Call `pre_filter` with it: the state that it writes is the
            pod's own from Reserve on. Return None unless PreFilter accepts the pod.
        """
        raise NotImplementedError

    def finds_same_terms(self, cycle: Cycle) -> bool:
        """Return whether PreFilter and PreScore would find the terms that they have found.

        For a plugin whose preparation reads the terms of placed pods (`Reads.TERMS`), of which few
        concern a pod. It is called after some of them have come or gone, and nothing else that the
        preparation reads has changed; without it, PreFilter and PreScore are called again.

        Parameters
        ----------
        cycle : Cycle
            A pod with the same key, and the state that PreFilter and PreScore have written.
        """
        raise NotImplementedError

    # ------------------------------------------------------------ before the cycle

    def pre_enqueue(self, pod: Pod) -> Status:
        """Admit `pod` to the active queue, or reject it."""
        raise NotImplementedError

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> Any:
        """Return a key by which queued pods are ordered, smallest first (QueueSort).

        Parameters
        ----------
        pod : Pod
            A pod that enters the queue.
        timestamp_ns : int
            When it entered the queue, in nanoseconds since 1970.
        """
        raise NotImplementedError

    def group_of(self, pod: Pod) -> Hashable | None:
        """Return the group of `pod` that this plugin keeps together with others, or None.

        The machine then maintains the members of each group; see `framework.handle`. The result
        depends only on the pod.
        """
        raise NotImplementedError

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the cluster events that may make a pod rejected by this plugin fit."""
        raise NotImplementedError

    def remembers(self) -> bool:
        """Return whether the plugin holds state from earlier cycles that still matters.

        The machine takes no checkpoint meanwhile, because a new plugin object would lack that
        state.
        """
        return False

    # ------------------------------------------------------------ filtering

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Prepare filtering, skip it, restrict it to named nodes, or reject the pod.

        What is prepared is kept with `cycle.write`; the pod is `cycle.pod`.
        """
        raise NotImplementedError

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        """Accept or reject `node` for the pod of `cycle`."""
        raise NotImplementedError

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Write a code for every slot in `out.rows`; the codes there are 0 before.

        Parameters
        ----------
        cycle : Cycle
            The pod, and the state that `pre_filter` wrote.
        nodes : NodeColumns
            The columns of all nodes, which `out.rows` are indexes of.
        out : Verdicts
            The slots to decide about, and the codes to write.
        """
        raise NotImplementedError

    def rejection_details(self, cycle: Cycle, node: NodeView) -> Sequence[str]:
        """Return in words what `node` lacks, which the filter rejects; empty: the reason says all.

        Called only for explanations, with the `cycle` of `pre_filter`, for the nearest nodes.
        """
        return ()

    def filter_as_sums(self, cycle: Cycle) -> I64Array | None:
        """Return the amounts that the filter of `cycle` compares with free resources, if only that.

        Dry runs of preemption then need not call the filter for every possible victim.

        Returns
        -------
        (2 * n,) int64, optional
            Pairs of resource column and amount. The codes that `filter_columns` writes have
            to be those of `kernels.fit.fit_codes` for them.
        """
        return None

    def filter_ignores_pods(self, cycle: Cycle) -> bool:
        """Return whether no pods on the nodes can change what the filter decides in `cycle`.

        For a filter that reads pods: neither fewer of those that are placed, nor the nominated
        pods beside them. Dry runs of preemption then need not call it.
        """
        return False

    def add_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Update the state of `cycle` with the pod `placed` added (PreFilterExtensions.AddPod)."""

    def remove_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Update the state of `cycle` without the pod `placed` (PreFilterExtensions.RemovePod)."""

    def post_filter(
        self, cycle: Cycle, failed: FailedCycle
    ) -> PostFilterResult | Steps[PostFilterResult]:
        """Try to make room for a pod that fits on no node; only proposes changes.

        A plugin that calls extenders (`failed.extenders`) returns a generator of calls.

        Parameters
        ----------
        cycle : Cycle
            The pod, and the state of the cycle.
        failed : FailedCycle
            Why each node was rejected, and what can be tried.
        """
        raise NotImplementedError

    # ------------------------------------------------------------ scoring

    def pre_score(self, cycle: Cycle) -> Status:
        """Prepare the scores of `cycle`, skip them, or fail."""
        raise NotImplementedError

    def score(self, cycle: Cycle, node: NodeView) -> int:
        """Return the raw score of `node` for the pod of `cycle`."""
        raise NotImplementedError

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Write the raw score of every slot in `out.rows`.

        Parameters
        ----------
        cycle : Cycle
            The pod, and the state that `pre_score` wrote.
        nodes : NodeColumns
            The columns of all nodes, which `out.rows` are indexes of.
        out : Scores
            The slots to score, and the scores to write.
        """
        raise NotImplementedError

    def score_as_requests(self, cycle: Cycle) -> RequestScore | None:
        """Return how the scores of `cycle` follow from requests, if they read nothing else.

        Returns
        -------
        RequestScore, optional
            The scores that `score_columns` writes have to be those of the kernel for it.
        """
        return None

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        """Rewrite `out.values` at `out.rows` (feasible slots of `cycle`) to 0..100, in place."""
        raise NotImplementedError

    def filter_groups(self, cycle: Cycle) -> FilterGroups | None:
        """Return groups of slots that get one verdict, if there are few; after `pre_filter`.

        It is to `filter_columns` what `score_groups` is to `score_columns`, for filters that
        never fail. `cycle` has the state that `pre_filter` wrote.
        """
        return None

    def score_groups(self, cycle: Cycle) -> ScoreGroups | None:
        """Return groups of slots with one score in `cycle`, if there are few; after `pre_score`.

        It affects speed only, and is meant for scores that depend on the other nodes. Instead
        of scoring every slot in every cycle, the framework then requests one score per group.
        The scores must equal those of `score_columns` and `normalize_score`.
        """
        return None

    # ------------------------------------------------------------ placing

    def generate_placements(
        self, cluster: Cluster, group: NamespacedName
    ) -> Sequence[Placement] | Status:
        """Return the placements on which the pods of the PodGroup `group` are tried, or why none.

        They are sets of nodes of `cluster`. With the feature gate TopologyAwareWorkloadScheduling;
        a profile has one such plugin.
        """
        raise NotImplementedError

    def score_placement(self, cluster: Cluster, group: NamespacedName, placement: Placement) -> int:
        """Return how good it is to place the pods of `placement`, those of the PodGroup `group`.

        It is called if several placements fit. The pods count on no node of `cluster`.
        """
        raise NotImplementedError

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """Return `scores`, those of all placements in their order, as 0 to 100."""
        return scores

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Reserve what the pod of `cycle` needs on the node `node_name`; by default, succeed."""
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Take back what `reserve` set aside for `cycle` on the node `node_name`; must not fail."""

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        """Allow, refuse or hold the pod; with `Status.wait()`, return for how long too.

        Parameters
        ----------
        cycle : Cycle
            The pod, and the state of the cycle.
        node_name : str
            The node that was chosen.

        Examples
        --------
        `return pw.Status()` allows it; `return pw.Status.wait(), "30s"` holds it.
        """
        raise NotImplementedError

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        """Return success if PreBind has work to do for the pod, or skip (PreBindPreFlight).

        `cycle` and `node_name` are those that `pre_bind` receives then.
        """
        return Status.OK

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Do the work that must precede binding, or return `Pending`.

        Parameters
        ----------
        cycle : Cycle
            The pod, and the state of the cycle.
        node_name : str
            The node to which the pod will be bound.
        """
        raise NotImplementedError

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        """Continue after `Pending`; by default, succeed unless a call failed.

        Parameters
        ----------
        cycle, node_name
            As for `pre_bind`.
        progress : Progress
            The time, and the answers to the calls of the `Pending`.
        """
        return _outcome(progress)

    def bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Bind the pod of `cycle` to the node `node_name`, or skip for the next plugin."""
        raise NotImplementedError

    def continue_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status | Pending:
        """Continue after `Pending`; by default, succeed unless a call failed.

        `cycle` and `node_name` are those of `bind`; for `progress` see `continue_pre_bind`.
        """
        return _outcome(progress)

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        """Learn that the pod of `cycle` was bound to the node `node_name`."""
        raise NotImplementedError

    def pod_ended(self, pod: Pod) -> None:
        """Release what the plugin keeps for `pod`, which had a node and has ended; must not fail.

        A pod ends when it succeeds, fails or is deleted. The method is called once for every
        pod that ends while it has a node, also if it was not scheduled here, and before the
        queue handles the event. A failed attempt ends with `unreserve` instead. Release by the
        pod's uid: a pod whose binding was reported as failed may be bound nevertheless.

        Notes
        -----
        Upstream plugins register their own informer handlers for this.
        """
        raise NotImplementedError

    # ------------------------------------------------------------ implemented methods

    @classmethod
    def implements(cls, method: str) -> bool:
        """Return whether this class overrides the method of `Plugin` named `method`."""
        return getattr(cls, method) is not getattr(Plugin, method)

    @classmethod
    def extension_points(cls) -> frozenset[str]:
        """Return the extension points that the class implements, as configurations name them."""
        return frozenset(
            point
            for point, methods in _METHODS.items()
            if any(cls.implements(method) for method in methods)
        )


def _place_of(cls: type, *methods: str) -> int:
    """Return the position in a class's MRO of the first class that defines one of some methods."""
    return next(
        i for i, base in enumerate(cls.__mro__) if not vars(base).keys().isdisjoint(methods)
    )


def _outcome(progress: Progress) -> Status:
    for answer in progress.answers:
        if answer.error is not None:
            return Status.error(answer.error.message)
    return Status.OK


_METHODS: dict[str, tuple[str, ...]] = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("queue_sort_key",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_columns"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_columns"),
    "placementGenerate": ("generate_placements",),
    "placementScore": ("score_placement",),
    "reserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}


# The handle: what plugins can read and do besides their cycle.
#
# Most plugins decide about one pod and need only their `Cycle`. With its `handle` a plugin finds
# objects of any kind. A plugin that schedules groups of pods also needs the other members:
# `Plugin.group_of` returns the group of a pod, and the machine, which receives every pod event,
# maintains the groups. The plugin reads a group, allows or rejects waiting members, and moves
# members back into the active queue.
#
# A plugin has a handle in a machine, and a simpler one in `Scheduler`, which has no clock and no
# waiting pods. `Plugin.handle` is None before, as in the constructor.

Kind = TypeVar("Kind", bound=KubernetesObject)


class Members:
    """The pods of one group; to read.

    Attributes
    ----------
    pods : dict of str to Pod
        All that exist and have not ended, by uid, in order of arrival.
    scheduled : set of str
        The uids of those that count on a node: bound, assumed, or placed in a dry run.
    """

    __slots__ = ("pods", "scheduled")

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.scheduled: set[str] = set()

    def unscheduled(self) -> list[Pod]:
        """Return the pods that do not count on a node, in order of names."""
        pods = [pod for uid, pod in self.pods.items() if uid not in self.scheduled]
        return sorted(pods, key=lambda pod: pod.key)


NO_MEMBERS = Members()
"""A group of which no pod exists."""


class Handle(Protocol):
    """The machine, as its plugins see it."""

    @property
    def binds(self) -> bool:
        """Whether pods are bound after Reserve; False: they are placed at once."""

    @property
    def now_ns(self) -> int:
        """The time of the event that is being handled, in nanoseconds since 1970."""

    @overload
    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None: ...
    @overload
    def find(self, kind: str, name: NamespacedName) -> KubernetesObject | None: ...
    def find(self, kind: type[Kind] | str, name: NamespacedName) -> KubernetesObject | None:
        """Return the object of `kind`, a type such as `Node`, named `name`, or None.

        The name is `namespace/name`, or the name alone for a kind without namespaces. A kind
        without a type is named with its group, ``NodeMetric.slo.koordinator.sh``; its object has
        the document in `raw`.
        """

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which `group_of` of the plugin named `plugin` returns `group`."""

    def waiting(self) -> tuple[str, ...]:
        """Return the uids of the pods that wait at Permit, in order of arrival."""

    def allow(self, uid: str, plugin: str) -> None:
        """Allow the waiting pod of `uid` on behalf of the plugin named `plugin`.

        It is bound once every plugin that holds it has allowed it (upstream: WaitingPod.Allow).
        """

    def reject(self, uid: str, plugin: str, message: str) -> None:
        """Refuse the waiting pod of `uid`; the reasons are `plugin`, a name, and `message`."""

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended `resource`; "" if there is none."""

    def request(self, call: ApiCall, pod: Pod | None = None) -> None:
        """Make a call to the API server for which nothing waits.

        Parameters
        ----------
        call : ApiCall
            The call, such as a `PodMetadataPatch`.
        pod : Pod, optional
            The pod of a call that changes one.
        """

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        """Record a normal Event about `pod`, with `reason`, `note` and the action `Scheduling`."""

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move `pods` into the active queue, from wherever they wait."""

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        """Add 1 to a counter of kube-scheduler.

        Parameters
        ----------
        metric : str
            Its name, as in docs/reference/metrics.md.
        labels : tuple of str
            The values of its labels, in the order of that page.
        """

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        """Add `duration_ns` to a histogram of kube-scheduler; `metric`, `labels`: see `count`."""
