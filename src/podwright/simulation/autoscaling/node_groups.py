"""Node groups and the options of the autoscaler, and the file that has them.

The options have the names of cluster-autoscaler's flags in camel case, with its defaults.

Upstream: cluster-autoscaler/config/flags/flags.go, config/autoscaling_options.go
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import (
    decode as decode_struct,
    duplicate,
    invalid,
    join,
    not_supported,
    parse_document,
    required,
)
from podwright.apimachinery.objects import (
    SECOND_NS,
    FieldError,
    InputError,
    InvalidObject,
    Node,
    Object,
    Pod,
    decode,
    quantity_value,
    with_fields,
)
from podwright.cluster.controllers import expand
from podwright.scheduler.config import DurationNs, format_duration
from podwright.simulation.files import read_paths

HOSTNAME: Final = "kubernetes.io/hostname"
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

EXPANDERS: Final = ("random", "least-waste", "most-pods", "least-nodes", "priority", "price")

_MINUTE_NS: Final = 60 * SECOND_NS


def _duration(name: str, default_ns: int) -> Any:
    return msgspec.field(default=default_ns, name=name)


def pool_of(node: Node, label: str = "") -> str:
    """Return the pool of a node; "" if no label says it."""
    labels = node.metadata.labels
    return next(
        (labels[name] for name in (label,) * bool(label) or POOL_LABELS if name in labels), ""
    )


class NodeTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What new nodes are like.

    Attributes
    ----------
    allocatable : dict of str to str or number
        What a node has for pods, as in its status.
    labels : dict of str to str
        Those of each node, besides its name.
    taints : tuple of dict
        As in the spec of a node.
    """

    allocatable: dict[str, str | int | float] = {}
    labels: dict[str, str] = {}
    taints: tuple[dict[str, Any], ...] = ()

    def node(self, name: str) -> Node:
        """Return a node of this template with the name `name`."""
        amounts = {"pods": "110"} | self.allocatable
        allocatable = {resource: str(amount) for resource, amount in amounts.items()}
        node = decode(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {**self.labels, HOSTNAME: name}},
                "spec": {"taints": list(self.taints)},
                "status": {"allocatable": allocatable, "capacity": allocatable},
            }
        )
        assert isinstance(node, Node), node.kind
        return node

    def errors(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the template, whose field in the file is `path`."""
        if not self.allocatable:
            yield required(f"{path}.allocatable", "such as {cpu: 4, memory: 16Gi}")
        for name, amount in self.allocatable.items():
            try:
                if quantity_value(str(amount)) < 0:
                    yield invalid(f"{path}.allocatable[{name}]", amount, "must not be negative")
            except ValueError:
                pass  # which the node reports
        try:
            self.node("node")
        except InvalidObject as error:
            for wrong in error.errors:
                part, _, field = wrong.path.partition(".")
                if not field.startswith("capacity"):  # a copy of what is allocatable
                    where = join(path, field if part in ("spec", "status") else wrong.path)
                    yield msgspec.structs.replace(wrong, source="", path=where)


def new_node(
    template: NodeTemplate, name: str, daemon_sets: Iterable[Object]
) -> tuple[Node, list[Pod]]:
    """Return a new node, and the pods of DaemonSets that it gets.

    Notes
    -----
    Upstream: simulator/node_info_utils.go, podsExpectedOnFreshNode
    """
    node = template.node(name)
    pods = [pod for pod in expand([*daemon_sets, node]).objects if isinstance(pod, Pod)]
    return node, [with_fields(pod, "metadata", name=f"{pod.name}-{name}") for pod in pods]


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which a group gets no nodes: those that are requested never register.

    Attributes
    ----------
    start_ns, end_ns : int
        Nanoseconds since the start of the run; durations `start` and `end` in a file.
    """

    start_ns: DurationNs = _duration("start", 0)
    end_ns: DurationNs = _duration("end", 0)


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes of one kind, whose number the autoscaler changes.

    Attributes
    ----------
    name : str
        Also that of the pool, by which existing nodes belong to the group.
    min_size, max_size : int
        The fewest and the most nodes (`minSize`, `maxSize` in a file).
    price : float
        Of one node for an hour.
    provisioning_ns : int
        From the request until the node registers; a duration `provisioningTime` in a file.
    outages : tuple of Outage
        When it gets no nodes.
    template : NodeTemplate
        What its nodes are like.
    """

    name: str = ""
    min_size: int = 0
    max_size: int | None = None
    price: float = 0.0
    provisioning_ns: DurationNs = _duration("provisioningTime", _MINUTE_NS)
    outages: tuple[Outage, ...] = ()
    template: NodeTemplate | None = None

    @property
    def size_limit(self) -> int:
        """The most nodes."""
        return self.max_size or 0

    def node_template(self, pool_label: str = "") -> NodeTemplate:
        """Return the template with the label by which its nodes belong to the group.

        `pool_label` is the key of that label; `podwright.dev/node-group` if empty.
        """
        template = self.template or NodeTemplate()
        labels = {**template.labels, pool_label or NODE_GROUP: self.name}
        return msgspec.structs.replace(template, labels=labels)


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

    scan_interval_ns: DurationNs = _duration("scanInterval", 10 * SECOND_NS)
    expander: tuple[str, ...] = ("least-waste",)
    priorities: dict[str, tuple[str, ...]] = {}
    pod_cpu_price: float = 0.033174
    pod_memory_price: float = 0.004446
    pool_label: str = ""
    max_nodes_total: int = 0
    max_nodes_per_scaleup: int = 1000
    enforce_node_group_min_size: bool = False
    expendable_pods_priority_cutoff: int = -10
    new_pod_scale_up_delay_ns: DurationNs = _duration("newPodScaleUpDelay", 0)
    max_node_provision_ns: DurationNs = _duration("maxNodeProvisionTime", 15 * _MINUTE_NS)
    initial_backoff_ns: DurationNs = _duration("initialNodeGroupBackoffDuration", 5 * _MINUTE_NS)
    max_backoff_ns: DurationNs = _duration("maxNodeGroupBackoffDuration", 30 * _MINUTE_NS)
    backoff_reset_ns: DurationNs = _duration("nodeGroupBackoffResetTimeout", 180 * _MINUTE_NS)
    ok_total_unready_count: int = 3
    max_total_unready_percentage: float = 45.0
    scale_down_enabled: bool = True
    scale_down_unready_enabled: bool = True
    delay_after_add_ns: DurationNs = _duration("scaleDownDelayAfterAdd", 10 * _MINUTE_NS)
    delay_after_delete_ns: DurationNs = _duration("scaleDownDelayAfterDelete", 0)
    unneeded_ns: DurationNs = _duration("scaleDownUnneededTime", 10 * _MINUTE_NS)
    unready_ns: DurationNs = _duration("scaleDownUnreadyTime", 20 * _MINUTE_NS)
    utilization_threshold: float = msgspec.field(default=0.5, name="scaleDownUtilizationThreshold")
    ignore_daemonsets_utilization: bool = False
    max_scale_down_parallelism: int = 10
    max_drain_parallelism: int = 1
    recheck_ns: DurationNs = _duration("unremovableNodeRecheckTimeout", 5 * _MINUTE_NS)
    delete_delay_ns: DurationNs = _duration("nodeDeleteDelayAfterTaint", 5 * SECOND_NS)
    max_pod_eviction_ns: DurationNs = _duration("maxPodEvictionTime", 2 * _MINUTE_NS)
    max_graceful_termination_sec: int = 600
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    skip_nodes_with_custom_controller_pods: bool = True
    min_replica_count: int = 0


class Autoscaling(msgspec.Struct, frozen=True, kw_only=True):
    """Node groups, and the options of the autoscaler that changes their sizes.

    Attributes
    ----------
    groups : tuple of NodeGroup
    options : AutoscalerOptions
    """

    groups: tuple[NodeGroup, ...] = ()
    options: AutoscalerOptions = AutoscalerOptions()

    def __repr__(self) -> str:
        return f"<Autoscaling: {', '.join(each.name for each in self.groups)}>"

    def errors(self, path: str = "") -> Iterator[FieldError]:
        """Yield what is wrong; paths begin with `path`."""
        prefix = f"{path}." if path else ""
        if not self.groups:
            yield required(f"{prefix}groups", "at least one group is expected")
        names = Counter(each.name for each in self.groups)
        for index, group in enumerate(self.groups):
            where = f"{prefix}groups[{index}]"
            if not group.name:
                yield required(f"{where}.name")
            elif names[group.name] > 1:
                yield duplicate(f"{where}.name", group.name)
            yield from _group_errors(group, where)
        yield from _option_errors(self.options, f"{prefix}options")


def _group_errors(group: NodeGroup, path: str) -> Iterator[FieldError]:
    if group.min_size < 0:
        yield invalid(f"{path}.minSize", group.min_size, "must not be negative")
    if group.max_size is None:
        yield required(f"{path}.maxSize")
    elif group.max_size < max(group.min_size, 0):
        detail = f"must not be below minSize, which is {max(group.min_size, 0)}"
        yield invalid(f"{path}.maxSize", group.max_size, detail)
    if not 0 <= group.price < math.inf:
        yield invalid(f"{path}.price", group.price, "must not be negative, and finite")
    if group.provisioning_ns < 0:
        shown = format_duration(group.provisioning_ns)
        yield invalid(f"{path}.provisioningTime", shown, "must not be negative")
    for index, outage in enumerate(group.outages):
        if outage.start_ns < 0:
            shown = format_duration(outage.start_ns)
            yield invalid(f"{path}.outages[{index}].start", shown, "must not be negative")
        if outage.end_ns <= outage.start_ns:
            shown = format_duration(outage.end_ns)
            yield invalid(f"{path}.outages[{index}].end", shown, "must be after the start")
    if group.template is None:
        yield required(f"{path}.template", "such as {allocatable: {cpu: 4, memory: 16Gi}}")
    else:
        yield from group.template.errors(f"{path}.template")


def _option_errors(options: AutoscalerOptions, path: str) -> Iterator[FieldError]:
    fields = zip(options.__struct_fields__, options.__struct_encode_fields__, strict=True)
    for field, name in fields:
        value = getattr(options, field)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and value < 0 and field != "expendable_pods_priority_cutoff":
            shown = format_duration(int(value)) if field.endswith("_ns") else value
            yield invalid(f"{path}.{name}", shown, "must not be negative")
    if options.scan_interval_ns == 0:
        yield invalid(f"{path}.scanInterval", "0s", "must be positive")
    for index, name in enumerate(options.expander):
        if name not in EXPANDERS:
            yield not_supported(f"{path}.expander[{index}]", name, EXPANDERS)
    if "priority" in options.expander and not options.priorities:
        yield required(f"{path}.priorities", "because of the expander priority")
    for text, patterns in options.priorities.items():
        if not text.isdecimal():
            yield invalid(f"{path}.priorities[{text}]", text, "a priority is a number from 0 on")
        for index, pattern in enumerate(patterns):
            try:
                re.compile(pattern)
            except re.error as error:
                yield invalid(f"{path}.priorities[{text}][{index}]", pattern, str(error))


def parse_node_groups(data: str | bytes | dict[str, Any], source: str) -> Autoscaling:
    """Read node groups: YAML or JSON with a list `groups`, and `options`.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    errors: list[FieldError] = []
    try:
        document = data if isinstance(data, dict) else parse_document(data)
        found = decode_struct(document, Autoscaling, "", errors)
    except ValueError as error:
        raise InputError([FieldError(source=source, path="", message=str(error))]) from error
    # A field of a wrong type has its default, which is not an error as well.
    wrong = {each.path for each in errors}
    errors += (each for each in found.errors() if each.path not in wrong)
    if errors:
        raise InputError(msgspec.structs.replace(each, source=source) for each in errors)
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
    ((source, data),) = read_paths([path])
    return parse_node_groups(data, source)
