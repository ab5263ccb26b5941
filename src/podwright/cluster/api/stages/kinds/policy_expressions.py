"""What is wrong with the expressions of admission policies and webhooks.

Upstream: pkg/apis/admissionregistration/validation/validation.go
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from podwright.apimachinery.cel import (
    ExpressionProblem,
    MutatingPolicy,
    ValidatingPolicy,
    match_condition_problems,
)
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.versions.resources import Resource

_GROUP = "admissionregistration.k8s.io"


def with_expression_problems(
    found: list[Problem], resource: Resource, document: Document
) -> list[Problem]:
    """Return the errors of an object with those of its expressions.

    The error of an expression is before those of the fields beside it in a match condition, and
    behind them elsewhere.
    """
    made = list(found)
    for problem in _expression_problems(resource, document):
        beside = problem[0].rpartition(".")[0] + "."
        places = [index for index, (path, _, _) in enumerate(made) if path.startswith(beside)]
        if ".matchConditions[" in beside:
            place = places[0] if places else len(made)
        else:
            # The errors of what is around the fields, such as that it is immutable, are last.
            around = (i for i, (path, _, _) in enumerate(made) if problem[0].startswith(f"{path}."))
            place = places[-1] + 1 if places else next(around, len(made))
        made.insert(place, problem)
    return made


def _expression_problems(resource: Resource, document: Document) -> list[Problem]:
    """Return the errors of the expressions of an object; most kinds have no expressions."""
    if resource.group != _GROUP or resource.is_custom:
        return []
    return [_problem(each) for each in _found(resource.name, document)]


def _found(kind: str, document: Document) -> Iterable[ExpressionProblem]:
    match kind:
        case "ValidatingAdmissionPolicy":
            return ValidatingPolicy(document).problems()
        case "MutatingAdmissionPolicy":
            return MutatingPolicy(document).problems()
        case "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration":
            return [
                problem
                for index, hook in enumerate(document.get("webhooks") or ())
                for problem in match_condition_problems(
                    hook.get("matchConditions") or (), f"webhooks[{index}].matchConditions"
                )
            ]
        case _:
            return []


def _problem(found: ExpressionProblem) -> Problem:
    if found.is_internal:
        return found.path, f"Internal error: {found.detail}", None
    shown = json.dumps(found.value, ensure_ascii=False)
    return found.path, f"Invalid value: {shown}: {found.detail}", found.value
