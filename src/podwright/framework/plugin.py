"""The words that plugins speak: one class, any of the extension points.

A plugin implements the extension points of the scheduling framework under their usual
names. Filter and score come in two forms: per node (`filter`, `score`: simple) or as columns
(`filter_columns`, `score_columns`: every slot at once). A plugin that has only the per-node
form is run by an adapter that fills the same columns. In-tree plugins use this interface and
nothing else.

Upstream: k8s.io/kube-scheduler/framework/interface.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from podwright._arrays import I64Array
from podwright.columns import Cluster, NodeColumns, PlacedPod, Reads
from podwright.framework.binding import Pending, Progress
from podwright.framework.cycle import Cycle, PreFilterResult
from podwright.framework.decision import PostFilterResult
from podwright.framework.events import EventHint
from podwright.framework.handle import Handle
from podwright.framework.scores import Normalization, RequestScore, ScoreGroups, Scores
from podwright.framework.status import Status
from podwright.framework.verdicts import Verdicts
from podwright.objects import Node, Pod

if TYPE_CHECKING:
    from podwright.framework.extenders import Steps
    from podwright.framework.post_filter import FailedCycle


class NodeView:
    """One node as the per-node forms see it; read-only."""

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
        """What the placed pods ask for, per resource: milli-CPU, bytes, units."""
        return self._amounts(self._cluster.nodes.requested)

    def _amounts(self, matrix: Any) -> dict[str, int]:
        resources = self._cluster.nodes.resources
        return {name: int(matrix[self.slot, i]) for name, i in resources.items()}


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
        True: `__init__` takes the feature gates too, a `podwright.config.Gates` under the
        keyword `gates`. ``"Name" in gates`` tells whether one is on.
    pre_filter_reads, filter_reads, pre_score_reads, score_reads : Reads
        What the answers depend on besides `pod_key`. Answers that do not name
        `Reads.CLUSTER` are kept and brought up to date slot by slot; the default is safe
        and asks again in every cycle.
    normalization : Normalization
        How raw scores become 0 to 100.
    scores_in_range : bool
        True promises normalised scores from 0 to 100; otherwise they are checked.
    rests_when_skipped : bool
        True promises that Reserve, Permit, PreBind and PostBind have nothing to do for pods
        for which PreFilter answered Skip; they are not called then.
    key_varies : bool
        True where most pods have a key of their own (their requests): answers for one key
        are then kept only if it comes again. It changes nothing but speed.
    key_reads_all_labels : bool
        False promises that `pod_key` and the answers look at no labels of the pod but those
        that workloads, affinity terms, or its own terms and constraints select by. `pod_key` is
        then asked about the pod without the others, and pods that differ in them alone share
        all answers. A class that has a `pod_key` of its own has to promise anew.
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
    """The machine that runs the plugin; None outside of one. Set by the machine."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.filters_columns = cls.implements("filter_columns")
        cls.scores_columns = cls.implements("score_columns")
        if "pod_key" in vars(cls) and "key_reads_all_labels" not in vars(cls):
            cls.key_reads_all_labels = True
        # Who filters or scores in another way has to say anew what that comes to.
        if _place_of(cls, "filter", "filter_columns") < _place_of(cls, "filter_as_sums"):
            cls.filter_as_sums = Plugin.filter_as_sums  # type: ignore[method-assign]
        if _place_of(cls, "score", "score_columns") < _place_of(cls, "score_as_requests"):
            cls.score_as_requests = Plugin.score_as_requests  # type: ignore[method-assign]
        # Who writes a `normalize_score` means it to be called.
        if cls.normalization is Normalization.NONE and cls.implements("normalize_score"):
            cls.normalization = Normalization.CUSTOM

    def pod_key(self, pod: Pod) -> Hashable:
        """Return what this plugin reads of a pod; equal keys get equal answers.

        The default is the pod itself (its uid), which is safe and shares nothing.
        """
        return (pod.key, pod.metadata.uid)

    def key_is_of_template(self, pod: Pod) -> bool:
        """Tell whether `pod_key` depends on nothing but spec, labels, namespace and owners.

        Pods of one template then share the key without being asked for it. Plugins that
        define a `pod_key` promise this unless they override this method too.
        """
        return type(self).pod_key is not Plugin.pod_key

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return the parts of a pod that decide what this plugin says of it, as plain data.

        Pods for which every plugin of the profile gives equal data count as alike in
        opportunistic batching (`framework.signature`). A part that other plugins read too
        goes under the same key.

        Returns
        -------
        mapping of str to object, optional
            What JSON can hold, by key. None: there is no telling, for example because it
            depends on other pods; such a pod is like no other.
        """
        raise NotImplementedError

    def preparation_reads(self, key: Hashable) -> Reads:
        """Return what PreFilter and PreScore depend on for pods with this key.

        The key ``()`` says that the pod does not use the feature: its answers depend on
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

    # ------------------------------------------------------------ before the cycle

    def pre_enqueue(self, pod: Pod) -> Status:
        """Let a pod into the queue, or hold it back with a rejection."""
        raise NotImplementedError

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> Any:
        """Return a key by which queued pods are ordered, smallest first (QueueSort)."""
        raise NotImplementedError

    def group_of(self, pod: Pod) -> Hashable | None:
        """Return the group of a pod that this plugin keeps together with others, or None.

        The machine then keeps the members of each group; see `framework.handle`. The answer
        depends on nothing but the pod.
        """
        raise NotImplementedError

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the cluster events that may make a pod rejected by this plugin fit."""
        raise NotImplementedError

    def remembers(self) -> bool:
        """Tell whether the plugin knows something from earlier cycles that still counts.

        The state of a machine cannot be written down meanwhile: a plugin that is made anew
        would not know it.
        """
        return False

    # ------------------------------------------------------------ filtering

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Prepare filtering, skip it, restrict it to named nodes, or reject the pod."""
        raise NotImplementedError

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        """Accept or reject one node."""
        raise NotImplementedError

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Write a code for every slot in `out.rows`; the codes there are 0 before."""
        raise NotImplementedError

    def filter_as_sums(self, cycle: Cycle) -> I64Array | None:
        """Return what the filter compares with the free resources of a node, if that is all.

        Dry runs of preemption then need not ask the filter about every pod that could go.

        Returns
        -------
        (2 * n,) int64, optional
            Pairs of resource column and amount. The codes that `filter_columns` writes have
            to be those of `kernels.fit.fit_codes` for them.
        """
        return None

    def add_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Adapt the cycle's state as if a pod were added (PreFilterExtensions.AddPod)."""

    def remove_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Adapt the cycle's state as if a pod were gone (PreFilterExtensions.RemovePod)."""

    def post_filter(
        self, cycle: Cycle, failed: FailedCycle
    ) -> PostFilterResult | Steps[PostFilterResult]:
        """Do something about a pod that fits nowhere; nothing is changed here and now.

        A plugin that has to ask extenders (`failed.extenders`) returns a generator of calls.
        """
        raise NotImplementedError

    # ------------------------------------------------------------ scoring

    def pre_score(self, cycle: Cycle) -> Status:
        """Prepare scoring, skip it, or fail."""
        raise NotImplementedError

    def score(self, cycle: Cycle, node: NodeView) -> int:
        """Return the raw score of one node."""
        raise NotImplementedError

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Write the raw score of every slot in `out.rows`."""
        raise NotImplementedError

    def score_as_requests(self, cycle: Cycle) -> RequestScore | None:
        """Return what the score makes of requests, if that is all it looks at.

        Returns
        -------
        RequestScore, optional
            The scores that `score_columns` writes have to be those of the kernel for it.
        """
        return None

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        """Rewrite `out.values` at `out.rows` (the feasible slots) to 0..100, in place."""
        raise NotImplementedError

    def score_groups(self, cycle: Cycle) -> ScoreGroups | None:
        """Return groups of slots that get one score, if there are few; after `pre_score`.

        It changes nothing but speed, and is for scores that depend on the other nodes. Instead of
        scoring every slot in every cycle, podwright then asks for one score per group. The
        answers have to be those of `score_columns` and `normalize_score`.
        """
        return None

    # ------------------------------------------------------------ placing

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Set aside what the pod needs on the chosen node."""
        raise NotImplementedError

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Take back what `reserve` set aside; must not fail."""
        raise NotImplementedError

    def permit(self, cycle: Cycle, node_name: str) -> tuple[Status, int]:
        """Allow, refuse or hold the pod; the second value is the time-out in ns."""
        raise NotImplementedError

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        """Say before PreBind whether it will have anything to do (success) or not (skip)."""
        return Status.OK

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Do what has to be done before binding, or say what it has to wait for."""
        raise NotImplementedError

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        """Go on with what answered `Pending`; by default, succeed unless a call failed."""
        return _outcome(progress)

    def bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Bind the pod, or skip and leave it to the next plugin."""
        raise NotImplementedError

    def continue_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status | Pending:
        """Go on with what answered `Pending`; by default, succeed unless a call failed."""
        return _outcome(progress)

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        """Learn that the pod was bound."""
        raise NotImplementedError

    # ------------------------------------------------------------ what it has

    @classmethod
    def implements(cls, method: str) -> bool:
        """Tell whether this class overrides a method of `Plugin`."""
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
    """Return how far up its bases, mixins too, a class finds the first of some methods."""
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
    "reserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}
