"""The operations of a workload, as structs: one for each opcode of scheduler_perf.

Every field has a default, so that a document with mistakes is decoded as far as possible. A field
whose name ends with `_param` names a parameter of the workload, which replaces the field before it.

Upstream: test/integration/scheduler_perf/operations.go, dra.go, update.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, Literal

import msgspec

from podwright.apimachinery.documents import (
    forbidden,
    invalid,
    join,
    not_supported,
    problem,
    required,
)
from podwright.apimachinery.objects import FieldError, parse_duration

STEADY_EXCLUDES: Final = "may not be combined with skipWaitToCompletion"


class Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operation; operations are executed one after the other.

    Attributes
    ----------
    opcode : str
    """

    collects: ClassVar[bool] = False
    """Whether the results of measurements follow from the operation."""

    opcode: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong, with paths below the operation."""
        yield from ()

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the template files, each with its field."""
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if field.endswith("_path") and value:
                yield self.__struct_encode_fields__[self.__struct_fields__.index(field)], value


class Counted(Operation, frozen=True, kw_only=True):
    """An operation on a number of objects.

    Attributes
    ----------
    count : int
    """

    count: int = 0
    count_param: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        if self.count < 0:
            yield invalid("count", self.count, "must be greater than or equal to 0")


class NodeAllocatableStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What nodes have for pods, and the volumes of their CSI drivers."""

    node_allocatable: dict[str, str] = {}
    csi_node_allocatable: dict[str, dict[str, Any]] = {}
    migrated_plugins: tuple[str, ...] = ()


class LabelNodePrepareStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A label whose values are dealt in turn."""

    label_key: str = ""
    label_values: tuple[str, ...] = ()


class UniqueNodeLabelStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A label with a value of its own for each node."""

    label_key: str = ""


class CreateNodes(Counted, frozen=True, kw_only=True):
    """Create nodes; at most one strategy prepares them."""

    node_template_path: str = ""
    node_allocatable_strategy: NodeAllocatableStrategy | None = None
    label_node_prepare_strategy: LabelNodePrepareStrategy | None = None
    unique_node_label_strategy: UniqueNodeLabelStrategy | None = None

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from Counted.problems(self)
        allocatable, labels = self.node_allocatable_strategy, self.label_node_prepare_strategy
        given = (allocatable, labels, self.unique_node_label_strategy)
        if sum(each is not None for each in given) > 1:
            yield forbidden("", "at most one strategy may be specified")
        if labels is not None and not labels.label_values:
            yield required("labelNodePrepareStrategy.labelValues")


class CreateNamespaces(Counted, frozen=True, kw_only=True):
    """Create the namespaces PREFIX-0, PREFIX-1 and so on."""

    prefix: str = ""
    namespace_template_path: str = ""


class CreatePods(Counted, frozen=True, kw_only=True):
    """Create pods, and wait until they are scheduled.

    Attributes
    ----------
    steady_state : bool
        Whether the pods are replaced whenever all are scheduled, for a duration.
    namespace : str
        A fresh one, `namespace-INDEX`, if empty.
    """

    steady_state: bool = False
    steady_state_param: str = ""
    duration: str = ""
    duration_param: str = ""
    collect_metrics: bool = False
    namespace: str = ""
    pod_template_path: str = ""
    skip_wait_to_completion: bool = False
    persistent_volume_template_path: str = ""
    persistent_volume_claim_template_path: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from Counted.problems(self)
        if self.collect_metrics and self.skip_wait_to_completion:
            yield forbidden("collectMetrics", STEADY_EXCLUDES)
        if self.steady_state and self.skip_wait_to_completion:
            yield forbidden("steadyState", STEADY_EXCLUDES)
        yield from _duration_problems(self.duration)
        if self.steady_state and not self.duration_ns:
            yield required("duration", "a steady state lasts longer than 0s")
        if self.persistent_volume_claim_template_path and not self.persistent_volume_template_path:
            yield required("persistentVolumeTemplatePath")

    @property
    def duration_ns(self) -> int:
        """The duration of the steady state."""
        return _duration_ns(self.duration)


class CreatePodSets(Counted, frozen=True, kw_only=True):
    """The same creation of pods in the namespaces PREFIX-0, PREFIX-1 and so on."""

    namespace_prefix: str = ""
    create_pods_op: CreatePods = CreatePods()

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from Counted.problems(self)
        for error in self.create_pods_op.problems():
            yield msgspec.structs.replace(error, path=join("createPodsOp", error.path))

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the template files."""
        for field, path in self.create_pods_op.paths():
            yield join("createPodsOp", field), path


class DeletePods(Operation, frozen=True, kw_only=True):
    """Delete pods, all at once or so many a second."""

    namespace: str = ""
    label_selector: dict[str, str] = {}
    skip_wait_to_completion: bool = False
    delete_pods_per_second: int = 0

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from _rate_problems("deletePodsPerSecond", self.delete_pods_per_second)


class Churn(Operation, frozen=True, kw_only=True):
    """Create, or create and delete, objects in the background until the workload ends."""

    mode: Literal["create", "recreate"] = "create"
    number: int = 0
    interval_milliseconds: int = 0
    namespace: str = ""
    template_paths: tuple[str, ...] = ()

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        if self.number < 0 or (self.mode == "recreate" and not self.number):
            least = 1 if self.mode == "recreate" else 0
            yield invalid("number", self.number, f"must be greater than or equal to {least}")
        if self.interval_milliseconds < 0:
            yield invalid(
                "intervalMilliseconds", self.interval_milliseconds, "must not be negative"
            )
        if not self.template_paths:
            yield required("templatePaths")

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the template files."""
        for index, path in enumerate(self.template_paths):
            yield f"templatePaths[{index}]", path


class Barrier(Operation, frozen=True, kw_only=True):
    """Wait for pods of namespaces: of all so far, if none is named."""

    namespaces: tuple[str, ...] = ()
    label_selector: dict[str, str] = {}
    stage_requirement: Literal["", "Scheduled", "Attempted"] = ""


class Sleep(Operation, frozen=True, kw_only=True):
    """Wait for a time."""

    duration: str = ""
    duration_param: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from _duration_problems(self.duration)

    @property
    def duration_ns(self) -> int:
        """How long."""
        return _duration_ns(self.duration)


class StartCollectingMetrics(Operation, frozen=True, kw_only=True):
    """Start to measure pods of namespaces."""

    name: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: dict[str, str] = {}

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        if not self.namespaces:
            yield required("namespaces")


class StopCollectingMetrics(Operation, frozen=True, kw_only=True):
    """Stop to measure."""

    collects = True


class OnObjects(Operation, frozen=True, kw_only=True):
    """Objects of any kind from a template."""

    namespace: str = ""
    template_path: str = ""
    count: int = 1
    count_param: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        if not self.template_path:
            yield required("templatePath")
        if self.count < 0:
            yield invalid("count", self.count, "must be greater than or equal to 0")


class CreateAny(OnObjects, frozen=True, kw_only=True):
    """Create objects."""


class UpdateAny(OnObjects, frozen=True, kw_only=True):
    """Replace objects and then their status, all at once or so many a second."""

    update_per_second: int = 0
    subresources: tuple[str, ...] = ()

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from OnObjects.problems(self)
        yield from _rate_problems("updatePerSecond", self.update_per_second)


class CreateResourceClaims(Counted, frozen=True, kw_only=True):
    """Create claims."""

    namespace: str = ""
    template_path: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        yield from Counted.problems(self)
        for name, value in (("namespace", self.namespace), ("templatePath", self.template_path)):
            if not value:
                yield required(name)


class CreateResourceDriver(Operation, frozen=True, kw_only=True):
    """Publish devices of nodes whose names match a pattern."""

    driver_name: str = ""
    nodes: str = ""
    max_claims_per_node: int = 0
    max_claims_per_node_param: str = ""

    def problems(self) -> Iterator[FieldError]:
        """Yield what is wrong."""
        if self.max_claims_per_node < 0:
            yield invalid("maxClaimsPerNode", self.max_claims_per_node, "must not be negative")
        for name, value in (("driverName", self.driver_name), ("nodes", self.nodes)):
            if not value:
                yield required(name)


class AllocResourceClaims(Operation, frozen=True, kw_only=True):
    """Allocate devices for the claims of a namespace, or of all."""

    namespace: str = ""


OPCODES: Final[dict[str, type[Operation]]] = {
    "allocResourceClaims": AllocResourceClaims,
    "barrier": Barrier,
    "churn": Churn,
    "createAny": CreateAny,
    "createNamespaces": CreateNamespaces,
    "createNodes": CreateNodes,
    "createPodSets": CreatePodSets,
    "createPods": CreatePods,
    "createResourceClaims": CreateResourceClaims,
    "createResourceDriver": CreateResourceDriver,
    "deletePods": DeletePods,
    "sleep": Sleep,
    "startCollectingMetrics": StartCollectingMetrics,
    "stopCollectingMetrics": StopCollectingMetrics,
    "updateAny": UpdateAny,
}
"""The structs by opcode."""


def collects_metrics(operation: Operation) -> bool:
    """Return whether the results of measurements follow from an operation."""
    if isinstance(operation, CreatePodSets):
        operation = operation.create_pods_op
    return operation.collects or (isinstance(operation, CreatePods) and operation.collect_metrics)


def opcode_problem(opcode: object) -> FieldError:
    """Return the error of an unknown opcode."""
    return not_supported("opcode", str(opcode), sorted(OPCODES))


_TYPES: Final = {int: "an integer", bool: "true or false", str: "a text"}


def with_params(
    operation: Operation, params: Mapping[str, Any], used: set[str], errors: list[FieldError]
) -> Operation:
    """Return an operation with the values of parameters in place of their names.

    Parameters
    ----------
    used : set of str, written
        Receives the names of the parameters.
    errors : list of FieldError, written
        Receives what is wrong, with paths below the operation.
    """
    changes: dict[str, Any] = {}
    for field, name in zip(
        operation.__struct_fields__, operation.__struct_encode_fields__, strict=True
    ):
        value = getattr(operation, field)
        if isinstance(value, Operation):
            inner: list[FieldError] = []
            changes[field] = with_params(value, params, used, inner)
            errors += [msgspec.structs.replace(e, path=join(name, e.path)) for e in inner]
        if not field.endswith("_param") or not value:
            continue
        key, target = value.removeprefix("$"), field.removesuffix("_param")
        used.add(key)
        type_ = type(getattr(operation, target))
        found = params.get(key)
        if key == value:
            errors.append(invalid(name, value, 'must be "$" and the name of a parameter'))
        elif key not in params:
            errors.append(problem(name, f"the workload has no parameter {key}"))
        elif type(found) is not type_:
            errors.append(invalid(name, found, f"{key} must be {_TYPES[type_]}"))
        else:
            changes[target] = found
    return msgspec.structs.replace(operation, **changes)


def _duration_ns(text: str) -> int:
    try:
        return parse_duration(text) if text else 0
    except ValueError:
        return 0


def _duration_problems(text: str) -> Iterator[FieldError]:
    try:
        is_valid = not text or parse_duration(text) >= 0
    except ValueError:
        is_valid = False
    if not is_valid:
        yield invalid("duration", text, 'must be a duration that is not negative, such as "10s"')


def _rate_problems(name: str, rate: int) -> Iterator[FieldError]:
    if rate < 0:
        yield invalid(name, rate, "must be greater than or equal to 0")
