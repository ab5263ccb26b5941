"""The form of a scenario file, as structs: what is read, and what the JSON Schema is made of.

Every field has a default, so that a document with mistakes is decoded as far as possible. The
docstrings are the descriptions in the schema that editors show.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
import msgspec.inspect
from msgspec import Meta

from podwright.apimachinery.objects import QuantityText
from podwright.simulation.world import Condition, Distribution

API_VERSION: Final = "podwright.dev/v1alpha1"
KIND: Final = "Scenario"

Object: TypeAlias = dict[str, Any]
OnNodesEntry: TypeAlias = Annotated[
    Any, Meta(extra_json_schema={"anyOf": [{"type": "string"}, {"type": "object"}]})
]

TimingEntry: TypeAlias = Annotated[
    Any, Meta(extra_json_schema={"anyOf": [{"type": "string"}, {"type": "object"}]})
]


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A struct of the document."""


class NodeGroup(_Entry, frozen=True, kw_only=True):
    """Nodes of one shape, named NAME-0, NAME-1 and so on.

    Attributes
    ----------
    name : str
    count : int
    cpu, memory, pods : str or number
        What each node has for pods.
    resources : dict of str to (str or number)
        Further resources, such as nvidia.com/gpu.
    zones : tuple of str
        The zones of the nodes, in turn.
    labels : dict of str to str
    taints : tuple of dict
    """

    name: str = "node"
    count: int = 1
    cpu: QuantityText = "8"
    memory: QuantityText = "32Gi"
    pods: QuantityText = "110"
    resources: dict[str, QuantityText] = {}
    zones: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    taints: tuple[Object, ...] = ()


class RunState(_Entry, frozen=True, kw_only=True):
    """The cluster of a recorded run at a time.

    Attributes
    ----------
    folder : str
        The run folder, relative to the scenario.
    at : str
        A duration since the start of the run, or a time; its end if empty.
    """

    folder: str = ""
    at: str = ""


class ClusterState(_Entry, frozen=True, kw_only=True):
    """The initial state: everything that is named here together.

    Attributes
    ----------
    files : tuple of str
        Manifests, dumps of live clusters, snapshots, tables and folders, relative to the scenario;
        cluster: or cluster:CONTEXT for a live cluster.
    run : RunState, optional
        A recorded run at a time.
    nodes : tuple of NodeGroup
        Generated nodes.
    objects : tuple of dict
        Manifests.
    """

    files: tuple[str, ...] = ()
    run: RunState | None = None
    nodes: tuple[NodeGroup, ...] = ()
    objects: tuple[Object, ...] = ()


class Arrivals(_Entry, frozen=True, kw_only=True):
    """When objects arrive.

    Attributes
    ----------
    process : str
        poisson (random, with the mean interval `every`), or regular (each `every`).
    every : str
        The interval; "0s" is all at once.
    burst : int
        How many arrive together.
    start : str
        The time of the first arrivals, since the start of the scenario.
    until : str
        No arrivals after it.
    count : int, optional
        The number of objects.
    """

    process: Literal["poisson", "regular"] = "poisson"
    every: str = ""
    burst: int = 1
    start: str = ""
    until: str = ""
    count: int | None = None


class Trace(_Entry, frozen=True, kw_only=True):
    """Pods of a table: a CSV file with a head, relative to the scenario; columns by name.

    Attributes
    ----------
    file : str
    arrival : str
        The column of arrival times, such as 1h30m, RFC 3339, or numbers with a unit.
    duration, name, cpu, memory, priority, namespace, group, replicas : str
        Further columns; see Workload.from_frame.
    resources, labels, node_selector : dict of str to str
        Columns by resource or label.
    unit : dict of str to str
        The units of columns of numbers, by field: arrival, duration, cpu, memory or a resource.
    """

    file: str = ""
    arrival: str = ""
    duration: str = ""
    name: str = ""
    cpu: str = ""
    memory: str = ""
    priority: str = ""
    namespace: str = ""
    group: str = ""
    replicas: str = ""
    resources: dict[str, str] = {}
    labels: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    unit: dict[str, str] = {}


class Load(_Entry, frozen=True, kw_only=True):
    """A load: objects that arrive over time, or the pods of a trace.

    Attributes
    ----------
    name : str
        What the names of the objects start with.
    object : dict, optional
        The manifest of each: a pod, a workload, a node, anything.
    arrivals : Arrivals, optional
    requests : dict of str to Distribution
        The requests of the pods, by resource, in place of those of the manifest.
    duration : Distribution, optional
        How long the pods run.
    lifetime : Distribution, optional
        When an object is deleted, since its arrival: churn.
    trace : Trace, optional
        In place of the others.
    """

    name: str = ""
    object: Object | None = None
    arrivals: Arrivals | None = None
    requests: dict[str, Distribution] = {}
    duration: Distribution | None = None
    lifetime: Distribution | None = None
    trace: Trace | None = None


class Operation(_Entry, frozen=True, kw_only=True):
    """An operation: at most one of at and after, and one of the others, as in event files.

    Attributes
    ----------
    at : str
        When: a duration since the start, or a time. Times do not decrease.
    after : str
        How long after the operation before; without any time, immediately after it.
    step : int, optional
        Operations of a step start when those of the step before have no effect any more.
    when : Condition, optional
        Wait until this holds.
    apply, create : dict, optional
        A manifest; create fails if the object exists.
    subresource : str
        status, to apply the status.
    patch, delete, scale : str, optional
        kind/name.
    with_ : object
        The patch.
    type : str
        The type of the patch, as for kubectl patch.
    namespace : str
    grace_period_seconds, replicas : int, optional
    cordon, uncordon, drain, fail, restore : str or dict, optional
        A node, or a label selector: {selector: zone=a}.
    wait_until : Condition, optional
        Only wait.
    done : bool, optional
        End the scenario.
    """

    at: str | None = None
    after: str | None = None
    step: int | None = None
    when: Condition | None = None
    apply: Object | None = None
    create: Object | None = None
    subresource: Literal["", "status"] = ""
    patch: str | None = None
    with_: Any = msgspec.field(name="with", default=None)
    type: Literal["strategic", "merge", "json"] = "strategic"
    delete: str | None = None
    namespace: str | None = None
    grace_period_seconds: int | None = None
    scale: str | None = None
    replicas: int | None = None
    cordon: OnNodesEntry = None
    uncordon: OnNodesEntry = None
    drain: OnNodesEntry = None
    fail: OnNodesEntry = None
    restore: OnNodesEntry = None
    wait_until: Condition | None = None
    done: bool | None = None


class Configuration(_Entry, frozen=True, kw_only=True):
    """A scheduler: the default one, or that of a configuration.

    Attributes
    ----------
    name : str
    file : str
        A KubeSchedulerConfiguration, relative to the scenario.
    configuration : dict, optional
        The same, here.
    plugins : tuple of str
        Plugin files.
    feature_gates : str
        Such as A=true,B=false.
    """

    name: str = "default"
    file: str = ""
    configuration: Object | None = None
    plugins: tuple[str, ...] = ()
    feature_gates: str = ""


class Stop(_Entry, frozen=True, kw_only=True):
    """The end of the scenario: the first of these, or when nothing is left but retries.

    Attributes
    ----------
    at : str
        A duration since the start, or a time.
    when : Condition, optional
    """

    at: str = ""
    when: Condition | None = None


class Options(_Entry, frozen=True, kw_only=True):
    """Options of the simulation, as those of podwright simulate.

    Attributes
    ----------
    start : str
        The start of the simulated time.
    sample, job_duration : str
    ending, openb_gpus : str
    """

    start: str = ""
    sample: str = "1m"
    job_duration: str = ""
    ending: Literal["at_deletion_time", "after_run_time"] = "at_deletion_time"
    openb_gpus: Literal["", "milli", "count"] = ""


class SpreadLimit(_Entry, frozen=True, kw_only=True):
    """How unevenly pods may be spread: the difference of their numbers in two domains.

    Attributes
    ----------
    topology_key : str
        The label of nodes that names the domain.
    max_skew : int
    """

    topology_key: str = "topology.kubernetes.io/zone"
    max_skew: int = 1


class UtilizationRange(_Entry, frozen=True, kw_only=True):
    """The utilization of a resource, as a share of what is allocatable.

    Attributes
    ----------
    resource : str
    of : str
        mean, over the run, or peak.
    at_least : float
    at_most : float, optional
    """

    resource: str = "cpu"
    of: Literal["mean", "peak"] = "mean"
    at_least: float = 0.0
    at_most: float | None = None


class BudgetLimit(_Entry, frozen=True, kw_only=True):
    """How long a disruption budget may reject the eviction of a pod.

    Attributes
    ----------
    budget : str
        namespace/name.
    at_most : str
    """

    budget: str = ""
    at_most: str = "0s"


class Placement(_Entry, frozen=True, kw_only=True):
    """Where a pod is at the end.

    Attributes
    ----------
    pod : str
        namespace/name.
    nodes : tuple of str
        It is on one of these; pending if there are none.
    """

    pod: str = ""
    nodes: tuple[str, ...] = ()


class Expectation(_Entry, frozen=True, kw_only=True):
    """What is expected of the run: one of the fields after priorityClass.

    Attributes
    ----------
    name : str
    configurations : tuple of str
        Of which it is expected; of all if left out.
    pods, namespace, priority_class : str
        The pods that it is about: a label selector, a namespace, a class; all pods otherwise.
    scheduled_within : str, optional
        Each pod got a node in this time.
    pending_at_most : int, optional
        So many of the pods are without a node at the end.
    spread : SpreadLimit, optional
        How the pods are spread at the end.
    no_preemption_of : str, optional
        No pod of this priority class was preempted.
    utilization : UtilizationRange, optional
    budget_blocked : BudgetLimit, optional
    placed : Placement, optional
    same_placement : tuple of str
        The runs of these configurations place all pods on the same nodes.
    """

    name: str = ""
    configurations: tuple[str, ...] = ()
    pods: str = ""
    namespace: str = ""
    priority_class: str = ""
    scheduled_within: str | None = None
    pending_at_most: int | None = None
    spread: SpreadLimit | None = None
    no_preemption_of: str | None = None
    utilization: UtilizationRange | None = None
    budget_blocked: BudgetLimit | None = None
    placed: Placement | None = None
    same_placement: tuple[str, ...] = ()


class Spec(_Entry, frozen=True, kw_only=True):
    """What happens.

    Attributes
    ----------
    cluster : ClusterState
    operations : tuple of Operation
        In order; one that waits delays those after it.
    events : tuple of str
        Files of operations or recorded changes, one JSON object on each line.
    load : tuple of Load
    configurations : tuple of Configuration
        The first one is simulated, unless another is chosen.
    seed : int
    stop : Stop
    options : Options
    autoscaling : dict, optional
        The node groups and options of an autoscaler, as in a file of podwright simulate
        --node-groups.
    timing : str or dict, optional
        A timing model: its file, relative to the scenario, or the document.
    expectations : tuple of Expectation
        What podwright check checks.
    """

    cluster: ClusterState = ClusterState()
    operations: tuple[Operation, ...] = ()
    events: tuple[str, ...] = ()
    load: tuple[Load, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    seed: int = 0
    stop: Stop = Stop()
    options: Options = Options()
    autoscaling: Object | None = None
    timing: TimingEntry = None
    expectations: tuple[Expectation, ...] = ()


class ScenarioMetadata(_Entry, frozen=True, kw_only=True):
    """Metadata of the scenario.

    Attributes
    ----------
    name : str
    labels, annotations : dict of str to str
    """

    name: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Document(_Entry, frozen=True, kw_only=True):
    """A scenario of podwright: a cluster, what happens to it, and what is expected of it.

    Attributes
    ----------
    api_version : str
    kind : str
    metadata : ScenarioMetadata
    spec : Spec
    """

    api_version: Literal["podwright.dev/v1alpha1"] = "podwright.dev/v1alpha1"
    kind: Literal["Scenario"] = "Scenario"
    metadata: ScenarioMetadata = ScenarioMetadata()
    spec: Spec = Spec()


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, for editors."""
    (root,), definitions = msgspec.json.schema_components([Document], ref_template="#/$defs/{name}")
    by_name = _structs(Document, {})
    for name, definition in definitions.items():
        definition["additionalProperties"] = False
        summary, fields = _described(by_name[name].__doc__ or "")
        definition["description"] = summary
        names = dict(
            zip(
                by_name[name].__struct_fields__, by_name[name].__struct_encode_fields__, strict=True
            )
        )
        for field, text in fields.items():
            shown = definition["properties"][names[field]]
            if "$ref" not in shown and text:
                shown["description"] = text
    definitions["Document"]["required"] = ["apiVersion", "kind", "spec"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _structs(cls: type[msgspec.Struct], found: dict[str, Any]) -> dict[str, Any]:
    found[cls.__name__] = cls
    for field in msgspec.inspect.type_info(cls).fields:  # type: ignore[attr-defined]  # a struct's
        kinds = [field.type]
        while kinds:
            kind = kinds.pop()
            kinds += getattr(kind, "types", ())
            kinds += [
                inner
                for name in ("type", "item_type", "value_type")
                if (inner := getattr(kind, name, None)) is not None
            ]
            if isinstance(kind, msgspec.inspect.StructType) and kind.cls.__name__ not in found:
                _structs(kind.cls, found)
    return found


def _described(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the summary of a docstring, and the text of each attribute."""
    summary, _, attributes = docstring.partition("\n\n    Attributes\n    ----------\n")
    fields: dict[str, str] = {}
    names: list[str] = []
    for line in attributes.splitlines():
        if line.startswith("        "):
            for name in names:
                fields[name] = f"{fields[name]} {line.strip()}".strip()
        elif line.strip():
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
            fields |= dict.fromkeys(names, "")
    return " ".join(summary.split()), fields
