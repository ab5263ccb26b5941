"""Validation rules of a structural schema: `x-kubernetes-validations`.

`compile_rules` makes the rules of a whole schema. `problems` of the result are what the API server
refuses when a definition is written, with the estimates of cost; `validate` evaluates the rules for
an object with the limits of cost.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go,
validation.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from podwright.apimachinery.cel.estimate import UNBOUNDED
from podwright.apimachinery.cel.uses.rule_nodes import (
    FIELD,
    Reason,
    Rule,
    RuleError,
    RuleNode,
    compile_nodes,
)
from podwright.apimachinery.cel.uses.schema_types import MAX_REQUEST_SIZE, Schema, schema_value
from podwright.apimachinery.cel.values import NONE, ErrorValue, Value, present

RULE_COST_LIMIT: Final = 10_000_000
"""The estimate at which a rule is refused."""

SCHEMA_COST_LIMIT: Final = 100_000_000
"""The sum of the estimates at which a schema is refused."""

OBJECT_COST_BUDGET: Final = 10_000_000
"""The cost of all rules of one object."""


def compile_rules(schema: Schema) -> SchemaRules | None:
    """Compile the rules of the schema of a whole object; None if it has none."""
    root = compile_nodes(schema)
    return None if root is None else SchemaRules(root)


class SchemaRules:
    """The rules of the schema of a kind."""

    def __init__(self, root: RuleNode) -> None:
        self._root = root

    def problems(self, base: str = "", wrong: Collection[str] = ()) -> list[RuleError]:
        """Return why the API server refuses a definition with this schema.

        Parameters
        ----------
        base : str
            The path of the schema of the whole object, for messages; the paths of the errors are
            relative to it.
        wrong : collection of str
            The paths of schemas, after `base`, whose rules are left out.
        """
        errors: list[RuleError] = []
        costs: list[tuple[int, str]] = []
        for node in _nodes(self._root):
            if wrong and ".".join(filter(None, (base, node.path))) in wrong:
                continue
            for index, rule in enumerate(node.rules):
                errors += _rule_problems(node, rule, f"{node.path}.{FIELD}[{index}]", costs, base)
        total = min(sum(cost for cost, _ in costs), UNBOUNDED)
        if total > SCHEMA_COST_LIMIT:
            # Upstream names the most expensive rules up to four.
            for cost, path in sorted(costs, key=lambda each: -each[0])[:4]:
                if cost < SCHEMA_COST_LIMIT // 100:
                    continue
                detail = (
                    "contributed to estimated rule cost total exceeding cost limit for entire "
                    "OpenAPIv3 schema"
                )
                errors.append(RuleError(path, "FieldValueForbidden", None, detail))
            what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
            detail = cost_message(what, total, SCHEMA_COST_LIMIT)
            errors.append(RuleError("", "FieldValueForbidden", None, detail))
        return errors

    def validate(
        self,
        value: Value,
        old: Value = None,
        budget: int = OBJECT_COST_BUDGET,
        *,
        spares_unchanged: bool = True,
    ) -> tuple[list[RuleError], list[RuleError]]:
        """Evaluate the rules for an object.

        Parameters
        ----------
        value, old : Value
            The object, decoded from JSON, and its stored version if it is updated.
        budget : int
            The cost of all rules together.
        spares_unchanged : bool
            Whether the errors of unchanged parts are warnings.

        Returns
        -------
        tuple of lists
            The errors, and those of unchanged parts of the object, which are warnings.
        """
        evaluation = Evaluation(budget)
        is_known = spares_unchanged and old is not None
        evaluation.visit(self._root, value, old, "", Unchanged(value, old, is_known=is_known))
        return evaluation.errors, evaluation.warnings


def _nodes(root: RuleNode) -> Iterator[RuleNode]:
    for child in (*root.all_of, root.values, *root.properties.values(), root.items):
        if child is not None:
            yield from _nodes(child)
    yield root


def _rule_problems(
    node: RuleNode, rule: Rule, path: str, costs: list[tuple[int, str]], base: str
) -> Iterator[RuleError]:
    path = path.removeprefix(".")
    for name, cost, what in (
        ("rule", rule.cost, "estimated rule cost"),
        ("messageExpression", rule.message_cost, "estimated messageExpression cost"),
    ):
        total = _total_cost(node, cost)
        if total > RULE_COST_LIMIT:
            detail = cost_message(what, total, RULE_COST_LIMIT)
            yield RuleError(f"{path}.{name}", "FieldValueForbidden", None, detail)
        if cost:
            costs.append((total, f"{path}.{name}"))
    if rule.error:
        is_missing = rule.error == "rule is not specified"
        reason: Reason = "FieldValueRequired" if is_missing else "FieldValueInvalid"
        yield RuleError(f"{path}.rule", reason, dict(rule.source), rule.error)
    if rule.message_error:
        value = dict(rule.source)
        yield RuleError(f"{path}.messageExpression", "FieldValueInvalid", value, rule.message_error)
    if rule.uses_old_self and node.uncorrelatable is not None:
        within = ".".join(filter(None, (base, node.uncorrelatable)))
        detail = (
            f"oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
        )
        yield RuleError(f"{path}.rule", "FieldValueInvalid", rule.source.get("rule"), detail)
    given = rule.source.get("optionalOldSelf")
    if not rule.uses_old_self and given is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield RuleError(f"{path}.optionalOldSelf", "FieldValueInvalid", given, detail)


def _total_cost(node: RuleNode, cost: int) -> int:
    """Return the cost of a rule for all values of an object that its schema can have."""
    cardinality = node.cardinality
    if cardinality is None:
        cardinality = MAX_REQUEST_SIZE // (node.declared.min_size + 1)
    return min(cost * cardinality, UNBOUNDED)


def cost_message(what: str, cost: int, limit: int) -> str:
    """Return the message for an estimate that exceeds its limit."""
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding "
        "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


# The evaluation of the rules of a schema for an object, within limits of cost.

CALL_COST_LIMIT: Final = 1_000_000
"""The cost at which the evaluation of one rule ends."""

MAX_MESSAGE_LENGTH: Final = 5 * 1024
"""The most bytes of a message that an expression gives."""

_REASONS: Final[tuple[Reason, ...]] = (
    "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate",
)  # fmt: skip
_OVER_LIMIT = "operation cancelled: actual cost limit exceeded"


class Unchanged:
    """Whether a part of an object is as it was: then errors about it are warnings."""

    def __init__(self, value: Value, old: Value, *, is_known: bool) -> None:
        self._is_known = is_known
        self._value = value
        self._old = old
        self._parent: Unchanged | None = None

    def __bool__(self) -> bool:
        if self._is_known:
            return bool(self._value == self._old)
        return self._parent is not None and bool(self._parent)

    def of_all_of(self) -> Unchanged:
        """Return the state for the schemas of `allOf`, for which the container decides."""
        part = Unchanged(self._value, self._old, is_known=False)
        part._parent = self._parent
        return part

    def child(self, value: Value, old: Value) -> Unchanged:
        """Return the state of a part; without a counterpart its container decides."""
        if not self._is_known:
            return self
        part = Unchanged(value, old, is_known=old is not None)
        part._parent = self
        return part


class Evaluation:
    """One validation of an object: what is left of its budget, and what was found."""

    def __init__(self, budget: int) -> None:
        self.errors: list[RuleError] = []
        self.warnings: list[RuleError] = []
        self._budget = budget

    def visit(
        self, node: RuleNode, value: Value, old: Value, path: str, unchanged: Unchanged
    ) -> bool:
        """Evaluate the rules of a node and below; return whether the budget lasts."""
        if value is None:
            return True
        if node.rules and not self._evaluate(node, value, old, path, unchanged):
            return False
        for each in node.all_of:
            if not self.visit(each, value, old, path, unchanged.of_all_of()):
                return False
        return all(
            self.visit(child, part, old_part, part_path, unchanged.child(part, same))
            for child, part, old_part, same, part_path in _parts(node, value, old, path)
        )

    def _evaluate(
        self, node: RuleNode, value: Value, old: Value, path: str, unchanged: Unchanged
    ) -> bool:
        kind = str(node.schema.get("type", ""))
        if self._budget <= 0:
            return self._exhausted(path, kind)
        current = schema_value(value, node.schema, is_root=node.is_root)
        before = None if old is None else schema_value(old, node.schema, is_root=node.is_root)
        for rule in node.rules:
            if rule.error:
                detail = f"rule compile error: {rule.error}"
                self.errors.append(RuleError(path, "FieldValueInvalid", kind, detail))
                continue
            variables = {"self": current}
            if rule.source.get("optionalOldSelf"):
                variables["oldSelf"] = NONE if before is None else present(before)
            elif before is not None:
                variables["oldSelf"] = before
            elif rule.uses_old_self:
                # A rule about a change is not evaluated for a new value.
                continue
            if not self._run(rule, variables, path, value, kind, unchanged):
                return False
        return True

    def _run(
        self,
        rule: Rule,
        variables: dict[str, Value],
        path: str,
        value: Value,
        kind: str,
        unchanged: Unchanged,
    ) -> bool:
        assert rule.program is not None
        result, cost = rule.program.run(variables, CALL_COST_LIMIT)
        if cost > self._budget:
            return self._exhausted(path, kind)
        self._budget -= cost
        if isinstance(result, ErrorValue):
            detail, goes_on = _failure(result.message, rule.text)
            self.errors.append(RuleError(path, "FieldValueInvalid", kind, detail))
            return goes_on
        if result is True:
            return True
        field = _field_path(str(rule.source.get("fieldPath") or ""))
        at = f"{path}{field}".removeprefix(".")
        detail, goes_on = self._message(rule, variables)
        shown = value
        if not goes_on:
            shown = kind
        elif kind in ("object", "array"):
            shown = msgspec.UNSET
        reason = _reason_of(rule) if goes_on else "FieldValueInvalid"
        error = RuleError(at, reason, shown, detail)
        if not rule.uses_old_self and unchanged:
            self.warnings.append(error)
        else:
            self.errors.append(error)
        return goes_on

    def _message(self, rule: Rule, variables: dict[str, Value]) -> tuple[str, bool]:
        """Return the message of a rule that refuses a value, and whether the limits last."""
        default = str(rule.source.get("message") or "").strip() or f"failed rule: {rule.text}"
        if rule.message is None:
            return default, True
        result, cost = rule.message.run(variables, CALL_COST_LIMIT)
        if cost > self._budget:
            return (
                "messageExpression evaluation failed due to running out of cost budget, no "
                "further validation rules will be run"
            ), False
        self._budget -= cost
        if isinstance(result, ErrorValue) and result.message.startswith(_OVER_LIMIT):
            source = json.dumps(str(rule.source.get("messageExpression")), ensure_ascii=False)
            return (
                "no further validation rules will be run due to call cost exceeds limit for "
                f"messageExpression: {source}"
            ), False
        text = result.strip() if isinstance(result, str) else ""
        is_usable = text and "\n" not in text and len(text.encode()) <= MAX_MESSAGE_LENGTH
        return (text if is_usable else default), True

    def _exhausted(self, path: str, kind: str) -> bool:
        detail = (
            "validation failed due to running out of cost budget, no further validation rules "
            "will be run"
        )
        self.errors.append(RuleError(path, "FieldValueInvalid", kind, detail))
        return False


def _failure(message: str, text: str) -> tuple[str, bool]:
    """Return the text for an evaluation that failed, and whether further rules are evaluated."""
    if message.startswith("no such overload"):
        return (
            f"'{message}': call arguments did not match a supported operator, function or macro "
            f"signature for rule: {text}"
        ), True
    if message.startswith(_OVER_LIMIT):
        return (
            f"'{message}': no further validation rules will be run due to call cost exceeds "
            f"limit for rule: {text}"
        ), False
    return f"{message} evaluating rule: {text}", True


def _reason_of(rule: Rule) -> Reason:
    given = rule.source.get("reason")
    return next((reason for reason in _REASONS if reason == given), "FieldValueInvalid")


def _field_path(text: str) -> str:
    """Return a path as errors write it: `.spec['a.b']` as `.spec[a.b]`."""
    return text.replace("['", "[").replace("']", "]")


def _parts(
    node: RuleNode, value: Value, old: Value, path: str
) -> Iterator[tuple[RuleNode, Value, Value, Value, str]]:
    """Yield the parts with rules: node, value, old value for `oldSelf`, its counterpart, path."""
    if isinstance(value, list):
        if node.items is None:
            return
        before = _by_keys(node.schema, old)
        for index, element in enumerate(value):
            same = before.get(_keys_of(node.schema, element)) if before else None
            yield node.items, element, same, same, f"{path}[{index}]"
    elif isinstance(value, dict):
        old = old if isinstance(old, dict) else {}
        for key, part in value.items():
            if node.values is not None:
                yield node.values, part, old.get(key), old.get(key), f"{path}[{key}]"
            child = node.properties.get(key)
            if child is not None:
                yield child, part, old.get(key), old.get(key), f"{path}.{key}".removeprefix(".")


def _by_keys(schema: Schema, old: Value) -> dict[tuple[str, ...], Value]:
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return {}
    return {_keys_of(schema, element): element for element in old}


def _keys_of(schema: Schema, element: Value) -> tuple[str, ...]:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return tuple(repr(element.get(key)) if isinstance(element, dict) else "" for key in keys)
