"""The form of a scenario file, as structs: what is read, and what the JSON Schema is made of.

Every field has a default, so that a document with mistakes is decoded as far as possible. The
docstrings are the descriptions in the schema that editors show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
import msgspec.inspect
from msgspec import Meta

from podwright.apimachinery.documents import (
    Amount,
    Count,
    DurationText,
    NamespacedNameText,
    OptionalDurationText,
    PositiveCount,
    SelectorText,
    checked,
    decode,
    duplicate,
    forbidden,
    given_fields,
    invalid,
    join,
    needed,
    not_supported,
    problem,
    required,
)
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    api_group,
    read_time,
    timestamp_ns,
)
from podwright.apimachinery.schema import UNKNOWN_FIELD, built_in
from podwright.simulation.autoscaling import Autoscaling
from podwright.simulation.world import (
    START_NS,
    Condition,
    Distribution,
    DurationDistribution,
    OperationLine,
    Selected,
    amount_parser,
    problems_of,
)

API_VERSION: Final = "podwright.dev/v1alpha1"
KIND: Final = "Scenario"

Object: TypeAlias = dict[str, Any]
TimingEntry: TypeAlias = Annotated[
    Any, Meta(extra_json_schema={"anyOf": [{"type": "string"}, {"type": "object"}]})
]


MOST_NODES: Final = 200_000
MOST_ARRIVALS: Final = 5_000_000
"""More are taken for a mistake."""


def _between(low: int, high: int) -> Meta:
    detail = f"must be between {low:,} and {high:,}"
    return checked(lambda n, path: () if low <= n <= high else [invalid(path, n, detail)])


def _end_problems(text: str, path: str) -> Iterator[FieldError]:
    try:
        # Whether a time is before the start is known when the inputs are.
        first_ns = START_NS if timestamp_ns(text) is None else None
        read_time(text or "0s", "", start_ns=START_NS, first_ns=first_ns)
    except InputError as error:
        yield problem(path, error.errors[0].message)


def _autoscaling_problems(document: object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    decode(document, Autoscaling, path, errors)
    return errors


LabelKey: TypeAlias = Annotated[
    str, checked(lambda key, path: () if key else [required(path, "a label of nodes")])
]
Share: TypeAlias = Annotated[
    float,
    checked(
        lambda share, path: (
            () if 0 <= share <= 1 else [invalid(path, share, "must be a share of 0 to 1")]
        )
    ),
]


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
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
    count: Annotated[int, _between(0, MOST_NODES)] = 1
    cpu: Amount = "8"
    memory: Amount = "32Gi"
    pods: Amount = "110"
    resources: dict[str, Amount] = {}
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

    folder: Annotated[str, needed()] = ""
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
    every: Annotated[OptionalDurationText, needed("the mean interval of arrivals, such as 10s")] = (
        ""
    )
    burst: PositiveCount = 1
    start: OptionalDurationText = ""
    until: OptionalDurationText = ""
    count: Annotated[int, _between(1, MOST_ARRIVALS)] | None = None


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

    file: Annotated[str, needed()] = ""
    arrival: Annotated[str, needed()] = ""
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


def pod_of(manifest: Object) -> Object | None:
    """Return the pod or the pod template of a manifest."""
    if manifest.get("kind") == "Pod":
        return manifest
    kind = api_group(str(manifest.get("apiVersion", ""))), str(manifest.get("kind", ""))
    path = built_in().pod_templates.get(kind)
    if path is None:
        return None
    for name in path.split("."):
        manifest = section_of(manifest, name)
    return manifest


def section_of(manifest: Object, name: str) -> Object:
    """Return a section of a manifest, which gets an empty one if it has none."""
    found: Object = manifest.get(name) or {}
    manifest[name] = found
    return found


def _type_problems(manifest: Object, path: str) -> Iterator[FieldError]:
    """Yield the values of wrong types; unknown fields are reported when the manifest is read."""
    for name in ("apiVersion", "kind"):
        if not manifest.get(name):
            yield required(join(path, name))
    kind = built_in().find(str(manifest.get("apiVersion")), str(manifest.get("kind")))
    if kind is not None:
        for where, message, value in kind.decoding_problems(manifest):
            if not message.startswith(UNKNOWN_FIELD):
                yield FieldError(source="", path=join(path, where), message=message, value=value)
    elif not isinstance(manifest.get("metadata") or {}, dict):
        yield problem(join(path, "metadata"), "must be an object")


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

    name: Annotated[str, needed()] = ""
    object: Object | None = None
    arrivals: Arrivals | None = None
    requests: dict[str, Distribution] = {}
    duration: DurationDistribution | None = None
    lifetime: DurationDistribution | None = None
    trace: Trace | None = None

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        if self.trace is not None:
            for name in ("object", "arrivals", "requests", "duration", "lifetime"):
                if getattr(self, name):
                    yield forbidden(join(path, "trace"), f"cannot be combined with {name}")
            return
        if self.object is None:
            yield required(join(path, "object"), "a manifest, or a trace in place of it")
        elif wrong := list(_type_problems(self.object, join(path, "object"))):
            yield from wrong
        elif pod_of(self.object) is None:
            for name in ("requests", "duration"):
                if getattr(self, name):
                    why = "the object is not a pod and has no template"
                    yield forbidden(join(path, name), why)
        if self.arrivals is None:
            yield required(join(path, "arrivals"))
        for resource, amounts in self.requests.items():
            place = join(path, f"requests[{resource}]")
            yield from problems_of(amounts, place, amount_parser(resource))


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

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield an error if there are two configurations."""
        if self.file and self.configuration is not None:
            yield forbidden(join(path, "configuration"), "cannot be combined with file")


class Stop(_Entry, frozen=True, kw_only=True):
    """The end of the scenario: the first of these, or when nothing is left but retries.

    Attributes
    ----------
    at : str
        A duration since the start, or a time.
    when : Condition, optional
    """

    at: Annotated[str, checked(_end_problems)] = ""
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

    topology_key: LabelKey = "topology.kubernetes.io/zone"
    max_skew: Count = 1


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
    at_least: Share = 0.0
    at_most: Share | None = None


class BudgetLimit(_Entry, frozen=True, kw_only=True):
    """How long a disruption budget may reject the eviction of a pod.

    Attributes
    ----------
    budget : str
        namespace/name.
    at_most : str
    """

    budget: Annotated[NamespacedNameText, needed("namespace/name")] = ""
    at_most: DurationText = "0s"


class Placement(_Entry, frozen=True, kw_only=True):
    """Where a pod is at the end.

    Attributes
    ----------
    pod : str
        namespace/name.
    nodes : tuple of str
        It is on one of these; pending if there are none.
    """

    pod: Annotated[NamespacedNameText, needed("namespace/name")] = ""
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
    pods: SelectorText = ""
    namespace: str = ""
    priority_class: str = ""
    scheduled_within: DurationText | None = None
    pending_at_most: Count | None = None
    spread: SpreadLimit | None = None
    no_preemption_of: str | None = None
    utilization: UtilizationRange | None = None
    budget_blocked: BudgetLimit | None = None
    placed: Placement | None = None
    same_placement: tuple[str, ...] = ()

    @property
    def expected(self) -> dict[str, Any]:
        """What is expected, by the name of its field: one of them."""
        given = given_fields(self)
        return {name: given[name] for name in given if name not in _BESIDE_AN_EXPECTATION}

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        if len(self.expected) != 1:
            kinds = [n for n in self.__struct_encode_fields__ if n not in _BESIDE_AN_EXPECTATION]
            found = f", not {' and '.join(self.expected)}" if self.expected else ""
            yield required(path, f"specify one of {', '.join(kinds)}{found}")
        if len(self.same_placement) == 1:
            yield required(join(path, "samePlacement"), "two configurations or more")


_BESIDE_AN_EXPECTATION: Final = ("name", "configurations", "pods", "namespace", "priorityClass")


class Spec(_Entry, frozen=True, kw_only=True):
    """What happens.

    Attributes
    ----------
    cluster : ClusterState
    operations : tuple of OperationLine
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
    operations: tuple[OperationLine, ...] = ()
    events: tuple[str, ...] = ()
    load: tuple[Load, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    seed: int = 0
    stop: Stop = Stop()
    options: Options = Options()
    autoscaling: Annotated[Object, checked(_autoscaling_problems)] | None = None
    timing: TimingEntry = None
    expectations: tuple[Expectation, ...] = ()

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        names = [each.name for each in self.configurations] or ["default"]
        for field, entries in (("configurations", self.configurations), ("load", self.load)):
            taken = [each.name for each in entries]
            for index, name in enumerate(taken):
                if name in taken[:index]:
                    yield duplicate(join(path, f"{field}[{index}].name"), name)
        for index, entry in enumerate(self.load):
            ends = entry.arrivals is None or entry.arrivals.count or entry.arrivals.until
            if not ends and not self.stop.at:
                detail = "never ends; set count or until here, or spec.stop.at"
                yield required(join(path, f"load[{index}].arrivals"), detail)
        for index, expectation in enumerate(self.expectations):
            where = join(path, f"expectations[{index}]")
            for field in ("configurations", "same_placement"):
                shown = "samePlacement" if field == "same_placement" else field
                for number, name in enumerate(getattr(expectation, field)):
                    if name not in names:
                        known = tuple(dict.fromkeys(names))
                        yield not_supported(f"{where}.{shown}[{number}]", name, known)


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

    api_version: Annotated[
        Literal["podwright.dev/v1alpha1"], needed(f'must be "{API_VERSION}"')
    ] = "podwright.dev/v1alpha1"
    kind: Annotated[Literal["Scenario"], needed(f'must be "{KIND}"')] = "Scenario"
    metadata: ScenarioMetadata = ScenarioMetadata()
    spec: Annotated[Spec, needed()] = Spec()


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, for editors."""
    (root,), definitions = msgspec.json.schema_components([Document], ref_template="#/$defs/{name}")
    structs: tuple[Any, ...] = (
        *_Entry.__subclasses__(), OperationLine, Selected, Condition, Distribution,
    )  # fmt: skip
    for cls in structs:
        definition = definitions[cls.__name__]
        definition["additionalProperties"] = False
        definition["description"], texts = _described(cls.__doc__ or "")
        fields = msgspec.inspect.type_info(cls).fields  # type: ignore[attr-defined]  # a struct's
        for field in fields:
            shown = definition["properties"][field.encode_name]
            text = texts.get(field.name)
            if "$ref" not in shown and text:
                shown["description"] = text
    definitions["Document"]["required"] = ["apiVersion", "kind", "spec"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


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
