"""The reader of Stage documents: KWOK's YAML becomes stages, or a list of all errors.

Unknown fields are rejected.

Upstream: KWOK pkg/apis/v1alpha1/stage_types.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from podwright.apimachinery.cel import StageExpression, StageExpressionError, stage_expression
from podwright.apimachinery.documents import (
    decode,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    problem,
    required,
)
from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InputError,
    Struct,
    YamlError,
    api_group,
    quoted,
    read_yaml,
)
from podwright.cluster.kubelets.patches import PatchType
from podwright.cluster.kubelets.stages.stage import (
    FUNCTION_NAMES,
    ApplyStep,
    Bound,
    Delay,
    DeleteStep,
    EventStep,
    FinalizersStep,
    Operator,
    PatchStep,
    Rendering,
    Requirement,
    Stage,
    Step,
    Weight,
    milliseconds,
    read_delay,
)
from podwright.cluster.kubelets.templates.go_templates import Template
from podwright.cluster.kubelets.templates.jq import (
    TRUE,
    CelQuery,
    Query,
    QueryError,
    ValueQuery,
    all_true,
    duration_of,
    integer_of,
    query,
    read_nanoseconds,
)
from podwright.cluster.kubelets.templates.template_parser import TemplateError

T = TypeVar("T")

API_VERSION = "kwok.x-k8s.io/v1alpha1"

_OPERATORS: tuple[Operator, ...] = ("DoesNotExist", "Exists", "In", "NotIn")
_APPLY_TYPES = ("apply", "merge", "strategic")
_PATCH_TYPES: tuple[PatchType, ...] = ("json", "merge", "strategic")
_STRATEGIC = {("", "Node"), ("", "Pod")}


def read_stages(data: bytes | str, *, source: str) -> tuple[Stage, ...]:
    """Read the stages of a file.

    Parameters
    ----------
    data : bytes or str
        YAML, with any number of Stage documents and nothing else.
    source : str
        The file's name, for errors.

    Returns
    -------
    tuple of Stage
        In the order of the file.

    Raises
    ------
    InputError
        With all errors in all documents.
    """
    errors: list[FieldError] = []
    stages: list[Stage] = []
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        for index, document in enumerate(read_yaml(text), start=1):
            if document.value is None:
                continue
            place = f"{source}: document {index} (line {document.line})"
            found: list[FieldError] = []
            stage = _stage(document.value, place, found)
            if stage is not None and any(_names(stage) == _names(other) for other in stages):
                found.append(duplicate("metadata.name", stage.name))
            errors += [msgspec.structs.replace(error, source=place) for error in found]
            if stage is not None:
                stages.append(stage)
    except UnicodeDecodeError as error:
        raise InputError(
            [FieldError(source=source, path="", message=f"not UTF-8: {error}")]
        ) from None
    except YamlError as error:
        place = f"{source}: line {error.line}"
        errors.append(FieldError(source=place, path="", message=str(error)))
    if errors:
        raise InputError(errors)
    return tuple(stages)


def read_stage(document: Document, *, source: str) -> Stage:
    """Read one Stage document.

    Raises
    ------
    InputError
        With all errors in the document.
    """
    errors: list[FieldError] = []
    stage = _stage(document, source, errors)
    if errors:
        raise InputError(msgspec.structs.replace(error, source=source) for error in errors)
    assert stage is not None, "no stage and no error"
    return stage


def _names(stage: Stage) -> tuple[str, str, str]:
    return stage.group, stage.kind, stage.name


def _stage(value: Any, place: str, errors: list[FieldError]) -> Stage | None:
    if not isinstance(value, dict):
        errors.append(problem("", f"expected a Stage, got {quoted(value)}"))
        return None
    for path, expected in (("apiVersion", API_VERSION), ("kind", "Stage")):
        if path in value and value[path] != expected:
            errors.append(not_supported(path, str(value[path]), [expected]))
    if errors:
        return None
    document = decode(value, StageDocument, "", errors)
    if errors:
        return None
    return _Reader(errors).stage(document, place)


class _Reader:
    """Builds a stage from a decoded document, and collects the errors in its values."""

    def __init__(self, errors: list[FieldError]) -> None:
        self._errors = errors
        self.warnings: list[str] = []

    def stage(self, document: StageDocument, place: str) -> Stage | None:
        spec, before = document.spec, len(self._errors)
        name = document.metadata.get("name")
        if not isinstance(name, str) or not name:
            self._errors.append(required("metadata.name"))
        if not spec.resource_ref.kind:
            self._errors.append(required("spec.resourceRef.kind"))
        group = api_group(spec.resource_ref.api_group)
        is_strategic = (group, spec.resource_ref.kind) in _STRATEGIC
        default_type: PatchType = "strategic" if is_strategic else "merge"
        if spec.next is None and not spec.steps:
            self._errors.append(required("spec.next", "a stage without next or steps does nothing"))
        requirements = self._requirements(spec.selector)
        weight_query = self._query_of(spec.weight_from, "spec.weightFrom", integer_of)
        weight = Weight(spec.weight, weight_query)
        if spec.weight < 0:
            self._errors.append(invalid("spec.weight", spec.weight, "must not be negative"))
        delay = self._delay(spec.delay)
        if spec.next is not None and spec.steps:
            self.warnings.append("spec.next: has no effect, since there are steps")
        steps = (
            self._steps(spec.steps, default_type)
            if spec.steps
            else self._next(spec.next, default_type)
        )
        if len(self._errors) > before:
            return None
        return Stage(
            name=str(name),
            group=group,
            kind=spec.resource_ref.kind,
            requirements=requirements,
            weight=weight,
            delay=delay,
            steps=tuple(steps),
            is_immediate=spec.immediate_next_stage,
            source=place,
            warnings=tuple(f"{place}: {warning}" for warning in self.warnings),
        )

    # ------------------------------------------------------------------------- selector

    def _requirements(self, selector: SelectorDocument | None) -> tuple[Requirement, ...] | None:
        if selector is None:
            return None
        requirements = [
            Requirement(query(f".metadata.{field}[{quoted_key(key)}]"), "In", (value,))
            for field, values_by_key in (
                ("labels", selector.match_labels),
                ("annotations", selector.match_annotations),
            )
            for key, value in values_by_key.items()
        ]
        conditions: list[StageExpression] = []
        for index, expression in enumerate(selector.match_expressions):
            path = f"spec.selector.matchExpressions[{index}]"
            if expression.cel is not None and expression.jq is None:
                condition = self._expression(expression.cel.expression, path)
                if condition is not None:
                    conditions.append(condition)
                continue
            requirement = self._requirement(expression, path)
            if requirement is not None:
                requirements.append(requirement)
        if conditions:
            requirements.append(Requirement(all_true(conditions), "In", TRUE))
        return tuple(requirements)

    def _expression(self, text: str, path: str) -> StageExpression | None:
        if not text:
            self._errors.append(required(f"{path}.cel.expression"))
            return None
        return self._try_build(lambda: stage_expression(text), text, f"{path}.cel.expression")

    def _requirement(self, expression: SelectorRequirement, path: str) -> Requirement | None:
        key, operator, values = expression.key, expression.operator, expression.values
        if expression.jq is not None:
            path = f"{path}.jq"
            key, operator = expression.jq.key, expression.jq.operator
            values = expression.jq.values
        found = self._query(key, f"{path}.key")
        chosen = next((known for known in _OPERATORS if known == operator), None)
        if chosen is None:
            self._errors.append(not_supported(f"{path}.operator", operator or "", _OPERATORS))
        elif chosen in {"In", "NotIn"} and not values:
            self._errors.append(required(f"{path}.values", f"{chosen} requires values"))
        elif chosen in {"Exists", "DoesNotExist"} and values:
            self._errors.append(forbidden(f"{path}.values", f"{chosen} takes no values"))
        if found is None or chosen is None:
            return None
        return Requirement(found, chosen, values)

    def _query(self, text: str | None, path: str) -> Query | None:
        if not text:
            self._errors.append(required(path))
            return None
        return self._try_build(lambda: query(text), text, path)

    def _try_build(self, make: Callable[[], T], value: Any, path: str) -> T | None:
        try:
            return make()
        except (QueryError, StageExpressionError) as error:
            self._errors.append(invalid(path, value, str(error)))
        except TemplateError as error:
            # The error names the line of the template; the whole template is not repeated.
            self._errors.append(problem(path, str(error)))
        return None

    def _query_of(
        self, source: ValueFrom | None, path: str, query_for: Callable[[StageExpression], CelQuery]
    ) -> ValueQuery | None:
        if source is None:
            return None
        if source.cel is not None:
            expression = self._expression(source.cel.expression, path)
            return None if expression is None else query_for(expression)
        if source.jq is not None:
            return self._query(source.jq.expression, f"{path}.jq.expression")
        return self._query(source.expression_from, f"{path}.expressionFrom")

    def _delay(self, delay: DelayDocument | None) -> Delay:
        if delay is None:
            return Delay()
        bounds = []
        for name, value, source in (
            ("duration", delay.duration_milliseconds, delay.duration_from),
            ("jitterDuration", delay.jitter_duration_milliseconds, delay.jitter_duration_from),
        ):
            path = f"spec.delay.{name}"
            if value is not None and value < 0:
                detail = "must not be negative"
                self._errors.append(invalid(f"{path}Milliseconds", value, detail))
            found = self._query_of(source, f"{path}From", duration_of)
            if name == "jitterDuration" and isinstance(found, CelQuery):
                self.warnings.append(f"{path}From.cel: KWOK ignores it here; use jq")
                found = None
            read = read_nanoseconds if isinstance(found, CelQuery) else read_delay
            bounds.append(Bound(milliseconds(value), found, read))
        duration, jitter = bounds
        if duration.default_ns is None:
            # In KWOK the default is 0 if the duration comes from the document only.
            duration = Bound(0, duration.query, duration.read)
        return Delay(duration, jitter)

    # ---------------------------------------------------------------------------- steps

    def _next(self, following: NextDocument | None, default_type: PatchType) -> list[Step]:
        if following is None:
            return []
        path = "spec.next"
        steps = self._common(following.event, following.finalizers, path)
        if following.delete:
            # A deletion overrides patches.
            return [*steps, DeleteStep()]
        if following.status_template and following.patches:
            self.warnings.append(f"{path}.statusTemplate: has no effect, since there are patches")
        elif following.status_template:
            patch = PatchDocument(
                template=following.status_template,
                subresource="status"
                if following.status_subresource is None
                else following.status_subresource,
                root="status",
                impersonation=following.status_patch_as,
            )
            steps += self._patch(patch, f"{path}.statusTemplate", path, default_type)
        for index, patch in enumerate(following.patches):
            at = f"{path}.patches[{index}]"
            steps += self._patch(patch, f"{at}.template", at, default_type)
        return steps

    def _steps(self, given: tuple[StepDocument, ...], default_type: PatchType) -> list[Step]:
        steps: list[Step] = []
        for index, step in enumerate(given):
            path = f"spec.steps[{index}]"
            steps += self._common(step.event, step.finalizers, path)
            if step.delete:
                steps.append(DeleteStep())
            elif step.patch is not None:
                at = f"{path}.patch"
                steps += self._patch(step.patch, f"{at}.template", at, default_type)
            if step.apply is not None and not step.delete:
                steps += self._apply(step.apply, f"{path}.apply")
        return steps

    def _apply(self, apply: ApplyDocument, path: str) -> list[Step]:
        template = self._template(apply.template, f"{path}.template")
        if (apply.type or "apply") not in _APPLY_TYPES:
            self._errors.append(not_supported(f"{path}.type", apply.type or "", _APPLY_TYPES))
        if apply.subresource not in {"", "status"}:
            detail = 'only "status" and the object itself can be applied'
            self._errors.append(invalid(f"{path}.subresource", apply.subresource, detail))
        if template is None:
            return []
        user = "" if apply.impersonation is None else apply.impersonation.username
        return [ApplyStep(Rendering(template), apply.subresource, user)]

    def _common(
        self, event: EventDocument | None, finalizers: FinalizersDocument | None, path: str
    ) -> list[Step]:
        steps: list[Step] = []
        if event is not None:
            at = f"{path}.event"
            if "{{" in event.message:
                self.warnings.append(f"{at}.message: not a template; it is recorded as it is")
            if event.type not in {"Normal", "Warning"}:
                self._errors.append(not_supported(f"{at}.type", event.type, ["Normal", "Warning"]))
            steps.append(EventStep(event.type, event.reason, event.message))
        if finalizers is not None:
            add = tuple(item.value for item in finalizers.add)
            remove = tuple(item.value for item in finalizers.remove)
            steps.append(FinalizersStep(add, remove, finalizers.empty))
        return steps

    def _patch(
        self, patch: PatchDocument, template_path: str, path: str, default_type: PatchType
    ) -> list[Step]:
        template = self._template(patch.template, template_path)
        chosen = next((t for t in _PATCH_TYPES if t == (patch.type or default_type)), None)
        if chosen is None:
            self._errors.append(not_supported(f"{path}.type", patch.type or "", _PATCH_TYPES))
        if patch.subresource not in {"", "status"}:
            detail = 'only "status" and the object itself can be patched'
            self._errors.append(invalid(f"{path}.subresource", patch.subresource, detail))
        if template is None or chosen is None:
            return []
        user = "" if patch.impersonation is None else patch.impersonation.username
        return [PatchStep(Rendering(template), patch.root, patch.subresource, chosen, user)]

    def _template(self, text: str, path: str) -> Template | None:
        return self._try_build(lambda: Template(text, FUNCTION_NAMES), text, path)


def quoted_key(key: str) -> str:
    """Return a key as jq writes it in brackets."""
    return msgspec.json.encode(key).decode()


# The structs of Stage documents, in both forms of KWOK.
#
# The old form has `next`, `key` and `expressionFrom`, the new form `steps` and `jq`.


class JqExpression(Struct, frozen=True, kw_only=True):
    """A jq query."""

    expression: str


class CelExpression(Struct, frozen=True, kw_only=True):
    """An expression in CEL."""

    expression: str


class ValueFrom(Struct, frozen=True, kw_only=True):
    """The query that reads a value from the object; exactly one field is set."""

    expression_from: str | None = None
    jq: JqExpression | None = None
    cel: CelExpression | None = None


class JqRequirement(Struct, frozen=True, kw_only=True):
    """A jq query with its operator and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class SelectorRequirement(Struct, frozen=True, kw_only=True):
    """One requirement of a selector: `key`, `jq` or `cel`."""

    key: str | None = None
    operator: str | None = None
    values: tuple[str, ...] = ()
    jq: JqRequirement | None = None
    cel: CelExpression | None = None


class SelectorDocument(Struct, frozen=True, kw_only=True):
    """The objects that the stage applies to."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_annotations: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[SelectorRequirement, ...] = ()


class DelayDocument(Struct, frozen=True, kw_only=True):
    """The bounds of the delay."""

    duration_milliseconds: int | None = None
    duration_from: ValueFrom | None = None
    jitter_duration_milliseconds: int | None = None
    jitter_duration_from: ValueFrom | None = None


class EventDocument(Struct, frozen=True, kw_only=True):
    """The Event to record."""

    type: str = ""
    reason: str = ""
    message: str = ""


class FinalizerItem(Struct, frozen=True, kw_only=True):
    """The name of a finalizer."""

    value: str


class FinalizersDocument(Struct, frozen=True, kw_only=True):
    """The finalizers to add and remove."""

    add: tuple[FinalizerItem, ...] = ()
    remove: tuple[FinalizerItem, ...] = ()
    empty: bool = False


class Impersonation(Struct, frozen=True, kw_only=True):
    """The user that makes the request."""

    username: str


class PatchDocument(Struct, frozen=True, kw_only=True):
    """A patch of the object."""

    template: str
    subresource: str = ""
    root: str = ""
    type: str | None = None
    impersonation: Impersonation | None = None


class ApplyDocument(Struct, frozen=True, kw_only=True):
    """Another object to create or to change."""

    template: str = ""
    subresource: str = ""
    type: str | None = None
    impersonation: Impersonation | None = None


class StepDocument(Struct, frozen=True, kw_only=True):
    """One step in the new form."""

    event: EventDocument | None = None
    finalizers: FinalizersDocument | None = None
    delete: bool = False
    patch: PatchDocument | None = None
    apply: ApplyDocument | None = None


class NextDocument(Struct, frozen=True, kw_only=True):
    """The steps in the old form."""

    event: EventDocument | None = None
    finalizers: FinalizersDocument | None = None
    delete: bool = False
    patches: tuple[PatchDocument, ...] = ()
    status_subresource: str | None = None
    status_template: str = ""
    status_patch_as: Impersonation | None = None


class ResourceRef(Struct, frozen=True, kw_only=True):
    """The kind of the objects."""

    kind: str
    api_group: str = "v1"


class StageSpec(Struct, frozen=True, kw_only=True):
    """The spec of a stage."""

    resource_ref: ResourceRef
    selector: SelectorDocument | None = None
    weight: int = 0
    weight_from: ValueFrom | None = None
    delay: DelayDocument | None = None
    next: NextDocument | None = None
    steps: tuple[StepDocument, ...] = ()
    immediate_next_stage: bool = False


class StageDocument(Struct, frozen=True, kw_only=True):
    """A Stage."""

    api_version: str
    kind: str
    spec: StageSpec
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    status: Any = None
