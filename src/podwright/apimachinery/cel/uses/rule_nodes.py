"""The rules of a structural schema, compiled with the schemas that they belong to.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.cel.environment import KUBERNETES_BASE, Compiled, Environment
from podwright.apimachinery.cel.estimate import UNBOUNDED, Path, Range
from podwright.apimachinery.cel.expressions import Identifier, children
from podwright.apimachinery.cel.program import Program
from podwright.apimachinery.cel.types import BOOL, STRING, Type, optional_of
from podwright.apimachinery.cel.uses.schema_types import (
    DeclaredType,
    Schema,
    declared_type,
    escape,
    structs_of,
)
from podwright.apimachinery.cel.values import CompileError, ProgramError

Reason: TypeAlias = Literal[
    "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"
]

FIELD: Final = "x-kubernetes-validations"
"""The field of a schema that has its rules."""


class RuleError(msgspec.Struct, frozen=True):
    """A problem of a rule, or of an object that a rule refuses.

    Attributes
    ----------
    path : str
        The field, such as `spec.size`; in a schema the path within it, such as
        `properties[spec].x-kubernetes-validations[0].rule`.
    reason : str
        As causes of a Status have it.
    value : Any
        The value that the error shows; UNSET if it shows none, as of an object or array.
    detail : str
        The message.
    """

    path: str
    reason: Reason
    value: Any
    detail: str


class Rule(msgspec.Struct, frozen=True):
    """A compiled rule.

    Attributes
    ----------
    source : mapping
        As it is written: `rule`, `message`, `messageExpression`, `reason`, `fieldPath`,
        `optionalOldSelf`.
    error : str
        Why it does not compile; then there is no program.
    cost : int
        The worst case of one evaluation.
    """

    source: Mapping[str, Any]
    program: Program | None
    error: str
    uses_old_self: bool = False
    cost: int = 0
    message: Program | None = None
    message_error: str = ""
    message_cost: int = 0

    @property
    def text(self) -> str:
        """The message, or else the rule, as errors of the evaluation name it."""
        return str(self.source.get("message") or self.source.get("rule", "")).strip()


class RuleNode(msgspec.Struct):
    """The rules of a schema and of the schemas below it.

    Attributes
    ----------
    path : str
        The place of the schema in the whole one.
    cardinality : int or None
        How many values of one object the schema can have; None if that is not bounded.
    uncorrelatable : str or None
        The schema around it whose parts have no counterparts in the stored object.
    """

    schema: Schema
    is_root: bool
    path: str
    rules: tuple[Rule, ...]
    declared: DeclaredType
    cardinality: int | None
    uncorrelatable: str | None
    properties: dict[str, RuleNode]
    items: RuleNode | None = None
    values: RuleNode | None = None
    all_of: tuple[RuleNode, ...] = ()

    @property
    def has_rules(self) -> bool:
        """Whether the schema or one below it has rules."""
        return bool(
            self.rules
            or self.properties
            or self.items is not None
            or self.values is not None
            or self.all_of
        )


class _Bounds:
    """The sizes of `self` and what is below it.

    Upstream does not look at the first step of a path: `oldSelf`, the name of a type, and what
    has no other path, like the elements of a computed list, get the size of `self`.
    """

    def __init__(self, declared: DeclaredType) -> None:
        self._declared = declared

    def size(self, path: Path) -> Range | None:
        return self._declared.size(path[1:])


_SELF_TYPE: Final = "selfType"
"""What the type of `self` is called; upstream appends a number, another one each time."""


def compile_nodes(schema: Schema) -> RuleNode | None:
    """Compile the rules of the schema of a whole object; None if it has none."""
    if not has_rules(schema):
        return None
    declared = declared_type(schema, _SELF_TYPE, is_root=True)
    if declared is None:
        return None
    return _node(schema, schema, declared, "", cardinality=1, is_root=True)


def has_rules(schema: Schema) -> bool:
    """Return whether a schema or one below it has rules."""
    if schema.get(FIELD):
        return True
    parts = [*(schema.get("properties") or {}).values(), *(schema.get("allOf") or ())]
    parts += [schema.get("items"), schema.get("additionalProperties")]
    return any(has_rules(part) for part in parts if isinstance(part, Mapping))


def _node(
    rules: Schema,
    schema: Schema,
    declared: DeclaredType,
    path: str,
    *,
    cardinality: int | None,
    is_root: bool = False,
    uncorrelatable: str | None = None,
) -> RuleNode:
    """Compile the rules of a schema; those of an `allOf` are evaluated on the schema around it."""
    # The names of types start at `self`, wherever it is in the object.
    scoped = declared.renamed(_SELF_TYPE) if rules.get(FIELD) else declared
    compiled = tuple(_compile_rule(rule, scoped) for rule in rules.get(FIELD) or ())
    node = RuleNode(schema, is_root, path, compiled, declared, cardinality, uncorrelatable, {})
    granular = schema.get("x-kubernetes-map-type") in (None, "granular", "atomic")
    for name, part in (rules.get("properties") or {}).items():
        field_schema = (schema.get("properties") or {}).get(name)
        field = _field_type(declared, name, field_schema)
        if field_schema is None or field is None:
            continue
        child = _node(
            part, field_schema, field, f"{path}.properties[{name}]".removeprefix("."),
            cardinality=cardinality, is_root=_is_embedded(field_schema),
            uncorrelatable=uncorrelatable if granular else _first(uncorrelatable, path),
        )  # fmt: skip
        if child.has_rules:
            node.properties[name] = child
    for name, limit in (("items", "maxItems"), ("additionalProperties", "maxProperties")):
        part, nested = rules.get(name), schema.get(name)
        if not isinstance(part, Mapping) or not isinstance(nested, Mapping):
            continue
        if declared.element is None:
            continue
        is_map_list = schema.get("x-kubernetes-list-type") == "map"
        child = _node(
            part, nested, declared.element, f"{path}.{name}".removeprefix("."),
            cardinality=_times(cardinality, schema.get(limit)), is_root=_is_embedded(nested),
            uncorrelatable=uncorrelatable
            if (is_map_list if name == "items" else granular)
            else _first(uncorrelatable, path),
        )  # fmt: skip
        if child.has_rules:
            if name == "items":
                node.items = child
            else:
                node.values = child
    for index, part in enumerate(rules.get("allOf") or ()):
        child = _node(
            part,
            schema,
            declared,
            f"{path}.allOf[{index}]".removeprefix("."),
            cardinality=cardinality,
            is_root=is_root,
            uncorrelatable=uncorrelatable,
        )
        if child.has_rules:
            node.all_of = (*node.all_of, child)
    return node


def _first(uncorrelatable: str | None, path: str) -> str:
    return path if uncorrelatable is None else uncorrelatable


def _field_type(declared: DeclaredType, name: str, schema: Schema | None) -> DeclaredType | None:
    escaped = escape(name)
    if escaped is not None:
        return (declared.fields or {}).get(escaped)
    if schema is None:
        return None
    # Such a field cannot be named, but rules of its own schema apply to it.
    return declared_type(schema, _SELF_TYPE, is_root=_is_embedded(schema))


def _is_embedded(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _times(cardinality: int | None, limit: int | None) -> int | None:
    if cardinality is None or limit is None:
        return None
    return min(cardinality * max(limit, 0), UNBOUNDED)


def _environment(declared: DeclaredType, *, optional_old_self: bool) -> Environment:
    old: Type = optional_of(declared.type) if optional_old_self else declared.type
    return KUBERNETES_BASE.extended(
        variables={"self": declared.type, "oldSelf": old},
        structs=structs_of(declared),
        bounds=_Bounds(declared),
    )


def _compile_rule(source: Mapping[str, Any], declared: DeclaredType) -> Rule:
    text = str(source.get("rule", ""))
    if not text.strip():
        return Rule(source, None, "rule is not specified")
    environment = _environment(
        declared, optional_old_self=source.get("optionalOldSelf") is not None
    )
    try:
        compiled = environment.compile(text)
        if compiled.output_type != BOOL:
            return Rule(source, None, "cel expression must evaluate to a bool")
        program = compiled.program()
    except CompileError as error:
        return Rule(source, None, f"compilation failed: {error}")
    except ProgramError as error:
        return Rule(source, None, f"program instantiation failed: {error}")
    return Rule(
        source, program, "", uses_name(compiled, "oldSelf"), compiled.cost().high,
        **_compile_message(source, environment),
    )  # fmt: skip


def _compile_message(source: Mapping[str, Any], environment: Environment) -> dict[str, Any]:
    """Return the fields of a rule about its message."""
    text = str(source.get("messageExpression") or "")
    if not text:
        return {}
    try:
        compiled = environment.compile(text)
        if compiled.output_type != STRING:
            return {"message_error": "messageExpression must evaluate to a string"}
        return {"message": compiled.program(), "message_cost": compiled.cost().high}
    except CompileError as error:
        return {"message_error": f"messageExpression compilation failed: {error}"}
    except ProgramError as error:
        return {"message_error": f"messageExpression instantiation failed: {error}"}


def uses_name(compiled: Compiled, name: str) -> bool:
    """Return whether an expression names a variable."""
    pending = [compiled.expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Identifier) and node.name == name:
            return True
        pending += children(node)
    return False
