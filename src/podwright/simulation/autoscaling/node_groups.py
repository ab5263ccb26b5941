"""Node groups and the options of the autoscaler, and the file that has them.

The options have the names of cluster-autoscaler's flags in camel case, with its defaults.

Upstream: cluster-autoscaler/config/flags/flags.go, config/autoscaling_options.go
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

import msgspec

from podwright.apimachinery.documents import (
    Amount,
    Count,
    NotNegative,
    NotNegativeNs,
    decode as decode_struct,
    did_you_mean,
    duplicate,
    invalid,
    join,
    needed,
    raise_errors,
    read_document,
    required,
)
from podwright.apimachinery.objects import (
    PLATFORM_LABELS,
    SECOND_NS,
    FieldError,
    InvalidObject,
    Node,
    Object,
    Pod,
    decode,
    permanent_taints,
    with_fields,
)
from podwright.cluster.controllers import expand
from podwright.scheduler.config import DurationNs, format_duration
from podwright.simulation.files import read_path

HOSTNAME: Final = "kubernetes.io/hostname"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
NODE_GROUP: Final = "podwright.dev/node-group"
POOL_LABELS: Final = (
    NODE_GROUP,
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "node.cluster.x-k8s.io/pool",
    "agentpool",
    "pool",
)
"""The labels that say to which pool a node belongs; the first one that a node has counts."""

Expander: TypeAlias = Literal[
    "random", "least-waste", "most-pods", "least-nodes", "priority", "price"
]

_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods")
_UNLIMITED: Final = 2**31 - 1
_MINUTE_NS: Final = 60 * SECOND_NS


def _duration(name: str, default_ns: int) -> Any:
    return msgspec.field(default=default_ns, name=name)


def pool_of(node: Node, label: str = "") -> str:
    """Return the pool of a node; "" if no label says it."""
    labels = node.metadata.labels
    return next(
        (labels[name] for name in (label,) * bool(label) or POOL_LABELS if name in labels), ""
    )


def is_resource(name: str) -> bool:
    """Whether a node may have a resource of this name, and pods may request it."""
    prefixes = ("hugepages-", "attachable-volumes-")
    return "/" in name or name in _RESOURCES or name.startswith(prefixes)


class NodeTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What new nodes are like.

    Attributes
    ----------
    allocatable : dict of str to str or number
        What a node has for pods, as in its status.
    labels : dict of str to str
        Those of each node, besides its name; without others Linux on amd64.
    taints : tuple of dict
        As in the spec of a node.
    """

    allocatable: Annotated[dict[str, Amount], needed("such as {cpu: 4, memory: 16Gi}")] = {}
    labels: dict[str, str] = {}
    taints: tuple[dict[str, Any], ...] = ()

    @classmethod
    def like(cls, node: Node, **fields: Any) -> Self:
        """Return the template of nodes that are like another one.

        Parameters
        ----------
        node : Node
        fields
            What a subclass has besides, such as `name`.
        """
        return cls(
            allocatable={k: str(v) for k, v in node.status.allocatable.items() if is_resource(k)},
            labels={k: v for k, v in node.metadata.labels.items() if k != HOSTNAME},
            taints=tuple(msgspec.to_builtins(taint) for taint in permanent_taints(node)),
            **fields,
        )

    def node(self, name: str) -> Node:
        """Return a node of this template with the name `name`."""
        amounts = {"pods": "110"} | self.allocatable
        allocatable = {resource: str(amount) for resource, amount in amounts.items()}
        node = decode(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {**PLATFORM_LABELS, **self.labels, HOSTNAME: name},
                },
                "spec": {"taints": list(self.taints)},
                "status": {"allocatable": allocatable, "capacity": allocatable},
            }
        )
        assert isinstance(node, Node), node.kind
        return node

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with a node of the template; `path` is that of the struct."""
        for name in self.allocatable:
            if not is_resource(name):
                detail = "must be a standard resource type or fully qualified"
                detail += did_you_mean(name, _RESOURCES)
                yield invalid(join(path, f"allocatable[{name}]"), name, detail)
        try:
            self.node("node")
        except InvalidObject as error:
            for wrong in error.errors:
                # The template has the fields without `metadata`, `spec` or `status`.
                _, _, field = wrong.path.partition(".")
                yield msgspec.structs.replace(wrong, source="", path=join(path, field))


def new_node(
    template: NodeTemplate, name: str, daemon_sets: Iterable[Object]
) -> tuple[Node, list[Pod]]:
    """Return a new node, and the pods of DaemonSets that it gets.

    Notes
    -----
    Upstream: simulator/node_info_utils.go, podsExpectedOnFreshNode
    """
    node = template.node(name)
    # A set of a server has its pods on other nodes, and none on this one.
    sets = [with_fields(each, "metadata", resource_version="") for each in daemon_sets]
    pods = [pod for pod in expand([*sets, node]).objects if isinstance(pod, Pod)]
    return node, [with_fields(pod, "metadata", name=f"{pod.name}-{name}") for pod in pods]


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which a group gets no nodes: those that are requested never register.

    Attributes
    ----------
    start_ns, end_ns : int
        Nanoseconds since the start of the run; durations `start` and `end` in a file.
    """

    start_ns: NotNegativeNs = _duration("start", 0)
    end_ns: DurationNs = _duration("end", 0)

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield an error in `path` if it ends before it starts."""
        if self.end_ns <= self.start_ns:
            shown = format_duration(self.end_ns)
            yield invalid(join(path, "end"), shown, "must be after the start")


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes of one kind, whose number the autoscaler changes.

    Attributes
    ----------
    name : str
        Also that of the pool, by which existing nodes belong to the group.
    min_size, max_size : int
        The fewest and the most nodes (`minSize`, `maxSize` in a file, which requires the latter).
        None if no limit is known.
    price : float
        Of one node for an hour.
    provisioning_ns : int
        From the request until the node registers; a duration `provisioningTime` in a file.
    outages : tuple of Outage
        When it gets no nodes.
    template : NodeTemplate
        What its nodes are like.
    """

    name: Annotated[str, needed()] = ""
    min_size: Count = 0
    max_size: Count | None = None
    price: NotNegative = 0.0
    provisioning_ns: NotNegativeNs = _duration("provisioningTime", _MINUTE_NS)
    outages: tuple[Outage, ...] = ()
    template: Annotated[
        NodeTemplate | None, needed("such as {allocatable: {cpu: 4, memory: 16Gi}}")
    ] = None

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield an error in `path` if its limits are none."""
        if self.max_size is not None and self.max_size < self.min_size:
            detail = f"must not be below minSize, which is {self.min_size}"
            yield invalid(join(path, "maxSize"), self.max_size, detail)

    @property
    def size_limit(self) -> int:
        """The most nodes."""
        return _UNLIMITED if self.max_size is None else self.max_size

    def node_template(self, pool_label: str = "") -> NodeTemplate:
        """Return the template with the label by which its nodes belong to the group.

        `pool_label` is the key of that label; `podwright.dev/node-group` if empty.
        """
        template = self.template or NodeTemplate()
        labels = {**template.labels, pool_label or NODE_GROUP: self.name}
        return msgspec.structs.replace(template, labels=labels)


def pool_groups(objects: Iterable[Object], label: str = "") -> Autoscaling:
    """Form a node group from each pool of a cluster.

    How many nodes a pool may have is not known: at least none, and any number. New nodes are like
    its first node; a pool with several instance types or zones is one group all the same, because
    the pool is what an autoscaler of it changes.

    Parameters
    ----------
    objects : iterable of object
        The cluster; only its nodes count. Objects that describe pools, such as NodePools of
        Karpenter, are not read: they name requirements, and a dump has no instance types.
    label : str
        The label that names a node's pool; by default those of known providers.

    Returns
    -------
    Autoscaling
        Without groups if no node has a label that names its pool.

    Examples
    --------
    >>> import podwright as pw
    >>> pw.pool_groups([pw.testing.make_node("n1", labels={"pool": "a"})])
    <Autoscaling: a>
    """
    first: dict[str, Node] = {}
    for node in objects:
        if isinstance(node, Node) and (pool := pool_of(node, label)):
            first.setdefault(pool, node)
    groups = tuple(
        NodeGroup(name=pool, template=NodeTemplate.like(node)) for pool, node in first.items()
    )
    return Autoscaling(groups=groups, options=AutoscalerOptions(pool_label=label))


class AutoscalerOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The options of the autoscaler, which are those of cluster-autoscaler's flags.

    A file has the flags' names without dashes, such as `scaleDownUnneededTime` for `unneeded_ns`,
    and durations for the times, which are nanoseconds here.

    Attributes
    ----------
    scan_interval_ns : int
        How often the cluster is evaluated (`scanInterval`).
    expander : tuple of str
        The expanders in turn, until one option is left; the rest is drawn.
    priorities : dict of str to tuple of str
        For the expander `priority`: regular expressions of names of groups, by priority.
    pod_cpu_price, pod_memory_price : float
        For the expander `price`: of a requested core, and of a requested GiB, for an hour.
    pool_label : str
        The label of nodes that names their group; without it, the labels of known providers.
    max_nodes_total : int
        The most nodes of the cluster; 0 for no limit.
    max_nodes_per_scaleup : int
        The most nodes that one evaluation adds.
    enforce_node_group_min_size : bool
        Whether groups with fewer nodes than their minimum get them without pending pods.
    expendable_pods_priority_cutoff : int
        Pods of a lower priority neither add nodes nor keep them.
    new_pod_scale_up_delay_ns : int
        Pending pods that are younger are not counted yet (`newPodScaleUpDelay`).
    max_node_provision_ns : int
        A requested node that has not registered is given up then (`maxNodeProvisionTime`).
    initial_backoff_ns, max_backoff_ns : int
        How long a group is not tried after a failure: at first, and at most after more of them.
    backoff_reset_ns : int
        Without failures for so long, a group's backoff is the initial one again.
    ok_total_unready_count, max_total_unready_percentage : int, float
        With more unready nodes than both, nothing is added or removed.
    scale_down_enabled, scale_down_unready_enabled : bool
        Whether nodes are removed, and whether unready ones are.
    delay_after_add_ns, delay_after_delete_ns : int
        For how long no node is removed after nodes were added, or removed.
    unneeded_ns, unready_ns : int
        How long a node must have been unneeded before its removal, if it is ready, or unready.
    utilization_threshold : float
        A node is unneeded only if its utilization is below this share.
    gpu_utilization_threshold : float
        The same for nodes with GPUs, of which only these count.
    ignore_daemonsets_utilization : bool
        Whether the pods of DaemonSets do not count as utilization.
    max_scale_down_parallelism, max_drain_parallelism : int
        The most nodes that are removed at a time, and of these with pods to evict.
    recheck_ns : int
        How long a node that could not be removed is not examined again.
    delete_delay_ns : int
        The time between the taint and the removal of a node (`nodeDeleteDelayAfterTaint`).
    max_pod_eviction_ns : int
        How long an eviction is retried.
    max_graceful_termination_sec : int
        The most seconds that evicted pods get to terminate.
    skip_nodes_with_system_pods, skip_nodes_with_local_storage : bool
        Whether nodes with pods of kube-system, or with pods that use local storage, are kept.
    skip_nodes_with_custom_controller_pods : bool
        Whether nodes with pods of controllers that are not built in are kept.
    min_replica_count : int
        Pods of controllers with fewer replicas keep their nodes.
    """

    scan_interval_ns: NotNegativeNs = _duration("scanInterval", 10 * SECOND_NS)
    expander: tuple[Expander, ...] = ("least-waste",)
    priorities: dict[str, tuple[str, ...]] = {}
    pod_cpu_price: NotNegative = 0.033174
    pod_memory_price: NotNegative = 0.004446
    pool_label: str = ""
    max_nodes_total: Count = 0
    max_nodes_per_scaleup: Count = 1000
    enforce_node_group_min_size: bool = False
    expendable_pods_priority_cutoff: int = -10
    new_pod_scale_up_delay_ns: NotNegativeNs = _duration("newPodScaleUpDelay", 0)
    max_node_provision_ns: NotNegativeNs = _duration("maxNodeProvisionTime", 15 * _MINUTE_NS)
    initial_backoff_ns: NotNegativeNs = _duration("initialNodeGroupBackoffDuration", 5 * _MINUTE_NS)
    max_backoff_ns: NotNegativeNs = _duration("maxNodeGroupBackoffDuration", 30 * _MINUTE_NS)
    backoff_reset_ns: NotNegativeNs = _duration("nodeGroupBackoffResetTimeout", 180 * _MINUTE_NS)
    ok_total_unready_count: Count = 3
    max_total_unready_percentage: NotNegative = 45.0
    scale_down_enabled: bool = True
    scale_down_unready_enabled: bool = True
    delay_after_add_ns: NotNegativeNs = _duration("scaleDownDelayAfterAdd", 10 * _MINUTE_NS)
    delay_after_delete_ns: NotNegativeNs = _duration("scaleDownDelayAfterDelete", 0)
    unneeded_ns: NotNegativeNs = _duration("scaleDownUnneededTime", 10 * _MINUTE_NS)
    unready_ns: NotNegativeNs = _duration("scaleDownUnreadyTime", 20 * _MINUTE_NS)
    utilization_threshold: NotNegative = msgspec.field(
        default=0.5, name="scaleDownUtilizationThreshold"
    )
    gpu_utilization_threshold: NotNegative = msgspec.field(
        default=0.5, name="scaleDownGpuUtilizationThreshold"
    )
    ignore_daemonsets_utilization: bool = False
    max_scale_down_parallelism: Count = 10
    max_drain_parallelism: Count = 1
    recheck_ns: NotNegativeNs = _duration("unremovableNodeRecheckTimeout", 5 * _MINUTE_NS)
    delete_delay_ns: NotNegativeNs = _duration("nodeDeleteDelayAfterTaint", 5 * SECOND_NS)
    max_pod_eviction_ns: NotNegativeNs = _duration("maxPodEvictionTime", 2 * _MINUTE_NS)
    max_graceful_termination_sec: Count = 600
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    skip_nodes_with_custom_controller_pods: bool = True
    min_replica_count: Count = 0

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        if self.scan_interval_ns == 0:
            yield invalid(join(path, "scanInterval"), "0s", "must be positive")
        if "priority" in self.expander and not self.priorities:
            yield required(join(path, "priorities"), "because of the expander priority")
        for text, patterns in self.priorities.items():
            place = join(path, f"priorities[{text}]")
            if not text.isdecimal():
                yield invalid(place, text, "a priority is a number from 0 on")
            for index, pattern in enumerate(patterns):
                try:
                    re.compile(pattern)
                except re.error as error:
                    yield invalid(f"{place}[{index}]", pattern, str(error))


class Autoscaling(msgspec.Struct, frozen=True, kw_only=True):
    """Node groups, and the options of the autoscaler that changes their sizes.

    Attributes
    ----------
    groups : tuple of NodeGroup
    options : AutoscalerOptions
    """

    groups: Annotated[tuple[NodeGroup, ...], needed("name at least one group")] = ()
    options: AutoscalerOptions = AutoscalerOptions()

    def __repr__(self) -> str:
        return f"<Autoscaling: {', '.join(each.name for each in self.groups)}>"

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield an error in `path` for each name that several groups have."""
        names = Counter(each.name for each in self.groups)
        for index, group in enumerate(self.groups):
            if group.name and names[group.name] > 1:
                yield duplicate(join(path, f"groups[{index}].name"), group.name)


def parse_node_groups(data: str | bytes | dict[str, Any], source: str) -> Autoscaling:
    """Read node groups: YAML or JSON with a list `groups`, and `options`.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    errors: list[FieldError] = []
    document = data if isinstance(data, dict) else read_document(data, source=source)
    found = decode_struct(document, Autoscaling, "", errors)
    for index, group in enumerate(found.groups):
        path = f"groups[{index}]"
        if group.max_size is None and not any(each.path.startswith(path) for each in errors):
            errors.append(required(join(path, "maxSize")))
    raise_errors(errors, source=source)
    return found


def read_node_groups(path: Any) -> Autoscaling:
    """Read the node groups of an autoscaler from a file.

    Parameters
    ----------
    path : path
        A YAML or JSON file with a list `groups`, and `options`.

    Raises
    ------
    InputError
        With all mistakes, each with its path.

    Examples
    --------
    >>> import podwright as pw
    >>> pw.read_node_groups("examples/autoscaling/groups.yaml")
    <Autoscaling: small, large>
    """
    source, data = read_path(path)
    return parse_node_groups(data, source)
