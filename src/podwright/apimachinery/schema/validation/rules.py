"""Rules of fields as rows: a struct is a call whose keywords are its fields, with a rule each.

    validate_runtime_class = of_object(
        struct(handler=required(LABEL), scheduling=struct(nodeSelector=validate_labels)),
        _validate_overhead,
    )

Rows are checked in the order in which they are written, which is that of upstream's errors. A rule
adds the errors of a value at a path; it is not called for a field that is absent or null, unless
it is `required`, `not_null` or `always`. Functions of the same form stand between structs where
fields depend on each other.

Upstream: apimachinery pkg/api/validate, which has such rules for generated validation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats
from podwright.apimachinery.schema.validation.names import (
    dns_1035_label,
    dns_label,
    dns_subdomain,
    ip_address,
    label_value,
    path_segment,
    port_name,
    port_number,
    qualified_name,
)

Rule: TypeAlias = Callable[[FieldErrors, str, Any], object]
"""Adds the errors of a value at a path."""

ObjectRule: TypeAlias = Callable[[FieldErrors, Document], object]
"""Adds the errors of a whole object."""


_passes: Final[dict[Rule, Callable[[Any], object]]] = {}
"""Quick tests of values: one that passes has no errors by the rule."""


def _tested(rule: Rule, passes: Callable[[Any], object] | None) -> Rule:
    if passes is not None:
        _passes[rule] = passes
    return rule


class _Always:
    """A rule that is called for absent fields, too."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def __call__(self, errors: FieldErrors, path: str, value: Any) -> None:
        self.rule(errors, path, value)


# ------------------------------------------------------------------------------ structs


def struct(**rows: Rule) -> Rule:
    """Return the rule of a struct, from the rules of its fields in upstream's order."""
    below, at_root = (
        [
            (name, start + name, rule.rule, True, _passes.get(rule.rule))
            if isinstance(rule, _Always)
            else (name, start + name, rule, False, _passes.get(rule))
            for name, rule in rows.items()
        ]
        for start in (".", "")
    )

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        found = value or {}
        for name, end, rule, is_always, passes in below if path else at_root:
            part = found.get(name)
            if part is None:
                if is_always:
                    rule(errors, path + end, None)
            elif passes is None or not passes(part):
                rule(errors, path + end, part)

    tests = {name: passes for name, _, _, _, passes in below if passes is not None}
    always_read = [name for name, _, _, is_always, _ in below if is_always]

    def passes_all(value: Any) -> bool:
        if not value:
            return not always_read
        for name in always_read:
            if value.get(name) is None:
                return False
        for name, part in value.items():
            test = tests.get(name)
            if test is not None and part is not None and not test(part):
                return False
        return True

    return _tested(check, passes_all if len(tests) == len(rows) else None)


def all_of(*rules: Rule) -> Rule:
    """Return the rule of a value to which several rules apply, one after the other."""
    if not rules:
        return _tested(lambda _errors, _path, _value: None, lambda _value: True)
    if len(rules) == 1:
        return rules[0]

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        for rule in rules:
            rule(errors, path, value)

    tests = [_passes[rule] for rule in rules if rule in _passes]
    if len(tests) < len(rules):
        return check
    return _tested(check, lambda value: all(test(value) for test in tests))


def of_object(*rules: Rule) -> ObjectRule:
    """Return the rule of an object, from rules of the whole of it."""
    rule = all_of(*rules)
    return lambda errors, document: rule(errors, "", document)


def of_spec(*rules: Rule) -> ObjectRule:
    """Return the rule of an object, from rules of its spec."""
    rule = all_of(*rules)
    return lambda errors, document: rule(errors, "spec", document.get("spec") or {})


# ------------------------------------------------------------------- absent and empty values


def always(rule: Rule, default: Any = None) -> Rule:
    """Return a rule for absent values, too; an absent or empty one is the default, if any."""
    if default is None:
        return _Always(rule)
    passes = _passes.get(rule)
    return _Always(
        _tested(
            lambda errors, path, value: rule(errors, path, value or default),
            passes and (lambda value: value and passes(value)),
        )
    )


def optional(*rules: Rule) -> Rule:
    """Return rules that an empty value passes."""
    rule = all_of(*rules)

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        if value:
            rule(errors, path, value)

    return _tested(check, _passes.get(rule))


def nonempty(*rules: Rule, detail: str = "") -> Rule:
    """Return rules of a value that may be absent, but not empty."""
    rule = all_of(*rules)

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        if value:
            rule(errors, path, value)
        else:
            errors.required(path, detail)

    passes = _passes.get(rule)
    return _tested(check, passes and (lambda value: value and passes(value)))


def required(*rules: Rule, detail: str = "") -> Rule:
    """Return rules of a value that may not be absent or empty."""
    return _Always(nonempty(*rules, detail=detail))


def not_null(*rules: Rule, detail: str = "") -> Rule:
    """Return rules of a value that may be empty, but not absent."""
    rule = all_of(*rules)

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        if value is None:
            errors.required(path, detail)
        else:
            rule(errors, path, value)

    return _Always(check)


def not_blank(detail: str = "") -> Rule:
    """Return the rule of a text that must have more than white space."""

    def check(errors: FieldErrors, path: str, value: str) -> None:
        if not value.strip():
            errors.required(path, detail)

    return always(check, "")


# ------------------------------------------------------------------------------- values


def one_of(*choices: str) -> Rule:
    """Return the rule of an enumeration; upstream's errors list the choices in this order."""

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        if value not in choices:
            errors.unsupported(path, value, choices)

    return _tested(check, choices.__contains__)


def form(details: Callable[[Any], Iterable[str]]) -> Rule:
    """Return a rule with an error for each detail about a value."""

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        for detail in details(value):
            errors.invalid(path, value, detail)

    return _tested(check, lambda value: not any(details(value)))


def joined(details: Callable[[Any], Iterable[str]], separator: str = ",") -> Rule:
    """Return a rule with one error for all details about a value."""

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        if found := separator.join(details(value)):
            errors.invalid(path, value, found)

    return check


def valid(test: Callable[[Any], object], detail: str) -> Rule:
    """Return the rule of a value that must pass a test."""
    return _tested(form(lambda value: () if test(value) else (detail,)), test)


def at_least(low: int, detail: str = "") -> Rule:
    """Return the rule of a number with a lower bound."""
    text = detail or f"must be greater than or equal to {low}"
    return valid(lambda number: number >= low, text)


def at_most(high: int, detail: str = "") -> Rule:
    """Return the rule of a number with an upper bound."""
    text = detail or f"must be less than or equal to {high}"
    return valid(lambda number: number <= high, text)


def max_bytes(limit: int) -> Rule:
    """Return the rule of a text whose length is limited."""

    def check(errors: FieldErrors, path: str, value: Any) -> None:
        if len(value.encode()) > limit:
            errors.too_long(path, limit)

    return check


def max_items(limit: int) -> Rule:
    """Return the rule of a list whose length is limited."""

    def check(errors: FieldErrors, path: str, values: Any) -> None:
        if len(values) > limit:
            errors.too_many(path, len(values), limit)

    return _tested(check, lambda values: len(values) <= limit)


def forbidden(detail: str) -> Rule:
    """Return the rule of a field that may not be set here."""
    return lambda errors, path, _value: errors.forbidden(path, detail)


# -------------------------------------------------------------------------------- lists


def each(
    rule: Rule, *, most: int | None = None, key: str = "", checks_too_many: bool = False
) -> Rule:
    """Return the rule of a list, from the one of its items.

    Parameters
    ----------
    most : int, optional
        How many items a list may have.
    key : str
        A field of the items whose values, unless empty, are distinct; "" if there is none.
    checks_too_many : bool
        Whether the items of a list that is too long are checked.
    """
    passes = _passes.get(rule)

    def check(errors: FieldErrors, path: str, values: Any) -> None:
        if most is not None and len(values) > most:
            errors.too_many(path, len(values), most)
            if not checks_too_many:
                return
        seen: set[str] = set()
        for index, value in enumerate(values):
            if passes is None or not passes(value):
                rule(errors, f"{path}[{index}]", value)
            if key:
                name = value.get(key)
                if name in seen:
                    errors.duplicate(f"{path}[{index}].{key}", name)
                if name:
                    seen.add(name)

    if passes is None or key or most is not None:
        return check
    return _tested(check, lambda values: all(map(passes, values)))


def distinct(rule: Rule) -> Rule:
    """Return the rule of a list of distinct values, from the one of its items."""

    def check(errors: FieldErrors, path: str, values: list[Any]) -> None:
        for index, (value, is_repeated) in enumerate(zip(values, repeats(values), strict=True)):
            rule(errors, f"{path}[{index}]", value)
            if is_repeated:
                errors.duplicate(f"{path}[{index}]", value)

    return check


def every(rule: Rule) -> Rule:
    """Return the rule of a list whose errors upstream reports at the path of the list."""

    def check(errors: FieldErrors, path: str, values: Any) -> None:
        for value in values:
            rule(errors, path, value)

    return check


# ------------------------------------------------------------------------------ formats


def _mixed_case(name: str) -> Iterable[str]:
    if details := ",".join(dns_1035_label(name.lower())):
        yield f"may have mixed case, but should otherwise match: {details}"


LABEL: Final = form(dns_label)
LABEL_1035: Final = form(dns_1035_label)
ONE_LABEL_1035: Final = joined(dns_1035_label)
MIXED_CASE_LABEL: Final = form(_mixed_case)
LABEL_VALUE: Final = form(label_value)
SUBDOMAIN: Final = form(dns_subdomain)
ONE_SUBDOMAIN: Final = joined(dns_subdomain)
QUALIFIED: Final = form(qualified_name)
SEGMENT: Final = form(path_segment)
PORT: Final = form(port_number)
PORT_NAME: Final = form(port_name)
ADDRESS: Final = form(ip_address)
NOT_NEGATIVE: Final = at_least(0)
TOKEN_SECONDS: Final = all_of(
    at_least(600, "may not specify a duration less than 10 minutes"),
    at_most(1 << 32, "may not specify a duration larger than 2^32 seconds"),
)
"""The lifetime of a token."""
