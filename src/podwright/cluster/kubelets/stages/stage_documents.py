"""The structs of Stage documents, in both forms of KWOK.

The old form has `next`, `key` and `expressionFrom`, the new form `steps` and `jq`.

Upstream: KWOK's pkg/apis/v1alpha1/stage_types.go
"""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects import Struct


class JqExpression(Struct, frozen=True):
    """A jq query."""

    expression: str


class CelExpression(Struct, frozen=True):
    """An expression in CEL."""

    expression: str


class ValueFrom(Struct, frozen=True):
    """The query that reads a value from the object; exactly one field is set."""

    expression_from: str | None = None
    jq: JqExpression | None = None
    cel: CelExpression | None = None


class JqRequirement(Struct, frozen=True):
    """A jq query with its operator and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class SelectorRequirement(Struct, frozen=True):
    """One requirement of a selector: `key`, `jq` or `cel`."""

    key: str | None = None
    operator: str | None = None
    values: tuple[str, ...] = ()
    jq: JqRequirement | None = None
    cel: CelExpression | None = None


class SelectorDocument(Struct, frozen=True):
    """The objects that the stage applies to."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_annotations: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[SelectorRequirement, ...] = ()


class DelayDocument(Struct, frozen=True):
    """The bounds of the delay."""

    duration_milliseconds: int | None = None
    duration_from: ValueFrom | None = None
    jitter_duration_milliseconds: int | None = None
    jitter_duration_from: ValueFrom | None = None


class EventDocument(Struct, frozen=True):
    """The Event to record."""

    type: str = ""
    reason: str = ""
    message: str = ""


class FinalizerItem(Struct, frozen=True):
    """The name of a finalizer."""

    value: str


class FinalizersDocument(Struct, frozen=True):
    """The finalizers to add and remove."""

    add: tuple[FinalizerItem, ...] = ()
    remove: tuple[FinalizerItem, ...] = ()
    empty: bool = False


class Impersonation(Struct, frozen=True):
    """The user that makes the request."""

    username: str


class PatchDocument(Struct, frozen=True):
    """A patch of the object."""

    template: str
    subresource: str = ""
    root: str = ""
    type: str | None = None
    impersonation: Impersonation | None = None


class ApplyDocument(Struct, frozen=True):
    """Another object to create or to change."""

    template: str = ""
    subresource: str = ""
    type: str | None = None
    impersonation: Impersonation | None = None


class StepDocument(Struct, frozen=True):
    """One step in the new form."""

    event: EventDocument | None = None
    finalizers: FinalizersDocument | None = None
    delete: bool = False
    patch: PatchDocument | None = None
    apply: ApplyDocument | None = None


class NextDocument(Struct, frozen=True):
    """The steps in the old form."""

    event: EventDocument | None = None
    finalizers: FinalizersDocument | None = None
    delete: bool = False
    patches: tuple[PatchDocument, ...] = ()
    status_subresource: str | None = None
    status_template: str = ""
    status_patch_as: Impersonation | None = None


class ResourceRef(Struct, frozen=True):
    """The kind of the objects."""

    kind: str
    api_group: str = "v1"


class StageSpec(Struct, frozen=True):
    """The spec of a stage."""

    resource_ref: ResourceRef
    selector: SelectorDocument | None = None
    weight: int = 0
    weight_from: ValueFrom | None = None
    delay: DelayDocument | None = None
    next: NextDocument | None = None
    steps: tuple[StepDocument, ...] = ()
    immediate_next_stage: bool = False


class StageDocument(Struct, frozen=True):
    """A Stage."""

    api_version: str
    kind: str
    spec: StageSpec
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    status: Any = None
