"""Validation rules of a structural schema: `x-kubernetes-validations`.

`compile_rules` makes the rules of a whole schema. `problems` of the result are what the API server
refuses when a definition is written, with the estimates of cost; `validate` evaluates the rules for
an object with the limits of cost.

Upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go, validation.go;
pkg/apis/apiextensions/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.apimachinery.cel.estimate import UNBOUNDED
from podwright.apimachinery.cel.uses.rule_evaluation import Evaluation, Unchanged
from podwright.apimachinery.cel.uses.rule_nodes import (
    FIELD,
    Reason,
    Rule,
    RuleError,
    RuleNode,
    compile_nodes,
)
from podwright.apimachinery.cel.uses.schema_types import MAX_REQUEST_SIZE, Schema
from podwright.apimachinery.cel.values import Value

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

    def problems(self, base: str = "") -> list[RuleError]:
        """Return why the API server refuses a definition with this schema.

        Parameters
        ----------
        base : str
            The path of the schema of the whole object, for messages; the paths of the errors are
            relative to it.
        """
        errors: list[RuleError] = []
        costs: list[tuple[int, str]] = []
        for node in _nodes(self._root):
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
        self, value: Value, old: Value = None, budget: int = OBJECT_COST_BUDGET
    ) -> tuple[list[RuleError], list[RuleError]]:
        """Evaluate the rules for an object.

        Parameters
        ----------
        value, old : Value
            The object, decoded from JSON, and its stored version if it is updated.
        budget : int
            The cost of all rules together.

        Returns
        -------
        tuple of lists
            The errors, and those of unchanged parts of the object, which are warnings.
        """
        evaluation = Evaluation(budget)
        evaluation.visit(
            self._root, value, old, "", Unchanged(value, old, is_known=old is not None)
        )
        return evaluation.errors, evaluation.warnings


def _nodes(root: RuleNode) -> Iterator[RuleNode]:
    yield root
    for child in (*root.all_of, *root.properties.values(), root.items, root.values):
        if child is not None:
            yield from _nodes(child)


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
