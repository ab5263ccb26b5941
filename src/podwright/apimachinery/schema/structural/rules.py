"""The errors of validation rules as problems of an object.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from podwright.apimachinery.cel import RuleError
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.validation.field_errors import FieldErrors


def rule_problems(errors: Iterable[RuleError], path: str = "") -> list[Problem]:
    """Return the errors of rules as problems.

    Parameters
    ----------
    path : str
        The field to which the paths of the errors are relative.
    """
    found = FieldErrors()
    for error in errors:
        at = f"{path}.{error.path}" if path and error.path else path or error.path or "<nil>"
        add_rule_error(found, at, error)
    return found.problems


def add_rule_error(found: FieldErrors, path: str, error: RuleError) -> None:
    """Add the error of a rule at a path."""
    match error.reason:
        case "FieldValueRequired":
            found.required(path, error.detail)
        case "FieldValueForbidden":
            found.forbidden(path, error.detail)
        case "FieldValueDuplicate" if error.value is UNSET:
            found.problems.append((path, "Duplicate value", None))
        case "FieldValueDuplicate":
            found.duplicate(path, error.value)
        case _ if error.value is UNSET:
            found.invalid_object(path, error.detail)
        case _:
            found.invalid(path, error.value, error.detail)
