"""The operations of a workload, as structs: one for each opcode of scheduler_perf.

Every field has a default, so that a document with mistakes is decoded as far as possible.

Upstream: test/integration/scheduler_perf/operations.go, dra.go, update.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from podwright.apimachinery.documents import (
    Count,
    NotNegativeNs,
    forbidden,
    invalid,
    join,
    needed,
    problem,
    required,
)
from podwright.apimachinery.objects import FieldError

ObjectCount: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]
"""More are taken for a mistake."""

STEADY_EXCLUDES: Final = "may not be combined with skipWaitToCompletion"


class Operation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operation; operations are executed one after the other.

    Attributes
    ----------
    opcode : str
    """

    opcode: str = ""

    @property
    def collects(self) -> bool:
        """Whether the results of measurements follow from the operation."""
        return False

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the template files, each with its field."""
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        for field, name in names:
            value = getattr(self, field)
            if isinstance(value, Operation):
                yield from ((join(name, where), path) for where, path in value.paths())
            elif field.endswith("_path") and value:
                yield name, value
            elif field.endswith("_paths"):
                yield from ((f"{name}[{index}]", path) for index, path in enumerate(value))


class NodeAllocatableStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What nodes have for pods, and the volumes of their CSI drivers."""

    node_allocatable: dict[str, str] = {}
    csi_node_allocatable: dict[str, dict[str, Any]] = {}
    migrated_plugins: tuple[str, ...] = ()


class LabelNodePrepareStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A label whose values are dealt in turn."""

    label_key: str = ""
    label_values: Annotated[tuple[str, ...], needed()] = ()


class UniqueNodeLabelStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A label with a value of its own for each node."""

    label_key: str = ""


class CreateNodes(Operation, frozen=True, kw_only=True):
    """Create nodes; at most one strategy prepares them."""

    count: ObjectCount = 0
    node_template_path: str = ""
    node_allocatable_strategy: NodeAllocatableStrategy | None = None
    label_node_prepare_strategy: LabelNodePrepareStrategy | None = None
    unique_node_label_strategy: UniqueNodeLabelStrategy | None = None

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong, below `path`."""
        given = (
            self.node_allocatable_strategy,
            self.label_node_prepare_strategy,
            self.unique_node_label_strategy,
        )
        if sum(each is not None for each in given) > 1:
            yield forbidden(path, "at most one strategy may be specified")


class CreateNamespaces(Operation, frozen=True, kw_only=True):
    """Create the namespaces PREFIX-0, PREFIX-1 and so on."""

    count: ObjectCount = 0
    prefix: str = ""
    namespace_template_path: str = ""


class CreatePods(Operation, frozen=True, kw_only=True):
    """Create pods, and wait until they are scheduled.

    Attributes
    ----------
    steady_state : bool
        Whether the pods are replaced whenever all are scheduled, for a duration.
    namespace : str
        A fresh one, `namespace-INDEX`, if empty.
    """

    count: ObjectCount = 0
    steady_state: bool = False
    duration_ns: NotNegativeNs = msgspec.field(default=0, name="duration")
    collect_metrics: bool = False
    namespace: str = ""
    pod_template_path: str = ""
    skip_wait_to_completion: bool = False
    persistent_volume_template_path: str = ""
    persistent_volume_claim_template_path: str = ""

    @property
    def collects(self) -> bool:
        """Whether the pods are measured."""
        return self.collect_metrics

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong, below `path`."""
        if self.collect_metrics and self.skip_wait_to_completion:
            yield forbidden(join(path, "collectMetrics"), STEADY_EXCLUDES)
        if self.steady_state and self.skip_wait_to_completion:
            yield forbidden(join(path, "steadyState"), STEADY_EXCLUDES)
        if self.steady_state and not self.duration_ns:
            yield required(join(path, "duration"), "a steady state lasts longer than 0s")
        if self.persistent_volume_claim_template_path and not self.persistent_volume_template_path:
            yield required(join(path, "persistentVolumeTemplatePath"))


class CreatePodSets(Operation, frozen=True, kw_only=True):
    """The same creation of pods in the namespaces PREFIX-0, PREFIX-1 and so on."""

    count: ObjectCount = 0
    namespace_prefix: str = ""
    create_pods_op: CreatePods = CreatePods()

    @property
    def collects(self) -> bool:
        """Whether the pods are measured."""
        return self.create_pods_op.collects


class DeletePods(Operation, frozen=True, kw_only=True):
    """Delete pods, all at once or so many a second."""

    namespace: str = ""
    label_selector: dict[str, str] = {}
    skip_wait_to_completion: bool = False
    delete_pods_per_second: Count = 0


class Churn(Operation, frozen=True, kw_only=True):
    """Create, or create and delete, objects in the background until the workload ends."""

    mode: Literal["create", "recreate"] = "create"
    number: Count = 0
    interval_milliseconds: Count = 0
    namespace: str = ""
    template_paths: Annotated[tuple[str, ...], needed()] = ()

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong, below `path`."""
        if self.mode == "recreate" and not self.number:
            yield invalid(join(path, "number"), 0, "must be greater than or equal to 1")


class Barrier(Operation, frozen=True, kw_only=True):
    """Wait for pods of namespaces: of all so far, if none is named."""

    namespaces: tuple[str, ...] = ()
    label_selector: dict[str, str] = {}
    stage_requirement: Literal["", "Scheduled", "Attempted"] = ""


class Sleep(Operation, frozen=True, kw_only=True):
    """Wait for a time."""

    duration_ns: NotNegativeNs = msgspec.field(default=0, name="duration")


class StartCollectingMetrics(Operation, frozen=True, kw_only=True):
    """Start to measure pods of namespaces."""

    name: str = ""
    namespaces: Annotated[tuple[str, ...], needed()] = ()
    label_selector: dict[str, str] = {}


class StopCollectingMetrics(Operation, frozen=True):
    """Stop to measure."""

    @property
    def collects(self) -> bool:
        """Whether the results of measurements follow."""
        return True


class CreateAny(Operation, frozen=True, kw_only=True):
    """Create objects of any kind from a template."""

    namespace: str = ""
    template_path: Annotated[str, needed()] = ""
    count: ObjectCount = 1


class UpdateAny(CreateAny, frozen=True, kw_only=True):
    """Replace objects and then their status, all at once or so many a second."""

    update_per_second: Count = 0
    subresources: tuple[str, ...] = ()


class CreateResourceClaims(CreateAny, frozen=True, kw_only=True):
    """Create claims."""

    namespace: Annotated[str, needed()] = ""
    count: ObjectCount = 0


class CreateResourceDriver(Operation, frozen=True, kw_only=True):
    """Publish devices of nodes whose names match a pattern."""

    driver_name: Annotated[str, needed()] = ""
    nodes: Annotated[str, needed()] = ""
    max_claims_per_node: Count = 0


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

_WITH_PARAM: Final = {"count", "duration", "maxClaimsPerNode", "steadyState"}
"""The fields whose value a field with the ending `Param` may take from a workload."""


def with_params(
    written: Any, params: Mapping[str, Any], path: str, used: set[str], errors: list[FieldError]
) -> Any:
    """Return the document of an operation with the values of parameters in place of their names.

    Parameters
    ----------
    written : object
        The document; what is not a mapping is returned as it is.
    params : mapping of str to object
        Those of a workload.
    path : str
        Of the operation.
    used : set of str, written
        Receives the names of the parameters.
    errors : list of FieldError, written
        Receives what is wrong.
    """
    if not isinstance(written, dict):
        return written
    found = copy(written)
    for name, value in written.items():
        target, where = name.removesuffix("Param"), join(path, name)
        if name == "createPodsOp":
            found[name] = with_params(value, params, where, used, errors)
        if target == name or target not in _WITH_PARAM:
            continue
        del found[name]
        key = str(value).removeprefix("$")
        used.add(key)
        if key == value or not isinstance(value, str):
            errors.append(invalid(where, value, 'must be "$" and the name of a parameter'))
        elif key not in params:
            errors.append(problem(where, f"the workload has no parameter {key}"))
        else:
            found[target] = params[key]
    return found
