"""The form of an operation, in event files and in scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.documents import (
    Count,
    DurationText,
    Name,
    SelectorText,
    given_fields,
    invalid,
    join,
    needed,
    not_supported,
    required,
)
from podwright.apimachinery.objects import Document, FieldError
from podwright.simulation.world.inputs.conditions import Condition
from podwright.simulation.world.inputs.operations import ON_NODE, PatchType

OPERATIONS: Final = (
    "apply", "create", "patch", "delete", "scale", *ON_NODE, "waitUntil", "done",
)  # fmt: skip
TIMES: Final = ("at", "after", "when", "step")
_BESIDE: Final = {
    "apply": ("subresource",),
    "delete": ("gracePeriodSeconds", "namespace"),
    "patch": ("namespace", "type", "with"),
    "scale": ("namespace", "replicas"),
}


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes whose labels match `selector`."""

    selector: Annotated[
        SelectorText, needed("a label selector, such as topology.kubernetes.io/zone=a")
    ] = ""


OnNodesEntry: TypeAlias = Name | Selected | None
"""The name of a node, or which nodes."""


class OperationLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
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
    after: DurationText | None = None
    step: Count | None = None
    when: Condition | None = None
    apply: Document | None = None
    create: Document | None = None
    subresource: Literal["status"] | None = None
    patch: Name | None = None
    with_: Any = msgspec.field(name="with", default=None)
    type: PatchType | None = None
    delete: Name | None = None
    namespace: Name | None = None
    grace_period_seconds: Count | None = None
    scale: Name | None = None
    replicas: Count | None = None
    cordon: OnNodesEntry = None
    uncordon: OnNodesEntry = None
    drain: OnNodesEntry = None
    fail: OnNodesEntry = None
    restore: OnNodesEntry = None
    wait_until: Condition | None = None
    done: bool | None = None

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        given = given_fields(self)
        names = [name for name in OPERATIONS if name in given]
        if len(names) != 1:
            found = f", not {' and '.join(names)}" if names else ""
            yield required(path, f"specify one of {', '.join(OPERATIONS)}{found}")
            return
        beside = _BESIDE.get(names[0], ())
        for field in given.keys() - {*TIMES, names[0], *beside}:
            yield not_supported(join(path, field), field, (*TIMES, names[0], *beside))
        if self.done is False:
            yield invalid(join(path, "done"), value=False, detail="must be true")
        if self.scale is not None and self.replicas is None:
            yield required(join(path, "replicas"))
        expected, what = (list, "a list") if self.type == "json" else (dict, "an object")
        if self.patch is not None and not isinstance(self.with_, expected):
            yield invalid(join(path, "with"), self.with_, f"must be {what}: the patch")
