"""Admission policies: their expressions compiled, and what they say about a request.

Which policies and bindings match a request, and what follows from a decision, is decided in `api`.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/plugin.go,
validator.go; staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go,
patch; staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go;
pkg/apis/admissionregistration/validation/validation.go;
staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from podwright.apimachinery.cel.environment import Environment
from podwright.apimachinery.cel.functions.formats import format_duration, format_timestamp
from podwright.apimachinery.cel.types import DYN, Type, struct_of
from podwright.apimachinery.cel.uses.admission_expressions import (
    ADMISSION_ENVIRONMENT,
    ANNOTATION_TYPES,
    APPLY_TYPES,
    CONDITION_TYPES,
    CONDITIONS_COST_BUDGET,
    JSON_PATCH_TYPES,
    MESSAGE_TYPES,
    POLICY_COST_BUDGET,
    VARIABLES_TYPE,
    AdmissionCompiler,
    AdmissionEvaluation,
    AdmissionInput,
    BudgetError,
    Evaluation,
    PolicyExpression,
    declared_variable,
)
from podwright.apimachinery.cel.uses.schema_types import (
    DeclaredType,
    Schema,
    declared_type,
    structs_of,
)
from podwright.apimachinery.cel.values import (
    CompileError,
    Duration,
    Struct,
    Timestamp,
    Uint,
    Value,
    type_name,
)
from podwright.apimachinery.objects import aggregated

MAX_MESSAGE_LENGTH: Final = 5 * 1024
"""The most bytes of a message that an expression gives."""

_LARGEST_EXACT = 2**53 - 1


class ExpressionProblem(msgspec.Struct, frozen=True):
    """An expression that the API server refuses.

    Attributes
    ----------
    path : str
        The field, such as `spec.validations[0].expression`.
    value : str
        The expression.
    is_internal : bool
        Whether upstream reports an internal error instead of an invalid value.
    """

    path: str
    value: str
    detail: str
    is_internal: bool = False


class PolicyDecision(msgspec.Struct, frozen=True):
    """What a validation, or a policy that could not be evaluated, says.

    Attributes
    ----------
    is_error : bool
        Whether the evaluation failed; then the failure policy decides whether it denies.
    reason : str
        Of a denial; `Invalid` if the validation names none, empty after an error.
    """

    is_denied: bool
    is_error: bool = False
    message: str = ""
    reason: str = ""


class AuditAnnotation(msgspec.Struct, frozen=True):
    """The outcome of an annotation: published with a value, left out, or an error."""

    key: str
    outcome: Literal["publish", "exclude", "error"]
    value: str = ""
    error: str = ""


class PolicyResult(msgspec.Struct, frozen=True):
    """What a policy says about a request; nothing if its conditions do not match."""

    decisions: tuple[PolicyDecision, ...] = ()
    annotations: tuple[AuditAnnotation, ...] = ()


class PolicyError(ValueError):
    """A condition or mutation could not be evaluated."""


# --------------------------------------------------------------------------- conditions


class MatchConditions:
    """The conditions of a policy or webhook."""

    def __init__(
        self, conditions: Sequence[Mapping[str, Any]], compiler: AdmissionCompiler
    ) -> None:
        self._compiler = compiler
        self._expressions = [
            compiler.compile(str(each.get("expression") or ""), CONDITION_TYPES)
            for each in conditions
        ]

    def match(self, values: AdmissionInput, *, ignores_failures: bool) -> bool:
        """Return whether all conditions hold; one that is false outweighs failures.

        As upstream, they read no namespace, and the resource as it was requested.

        Raises
        ------
        PolicyError
            One failed, and failures are not ignored.
        """
        request = dict(values.request, resource=values.request["requestResource"])
        seen = msgspec.structs.replace(values, namespace=None, request=request)
        evaluation = AdmissionEvaluation(self._compiler, seen, CONDITIONS_COST_BUDGET)
        try:
            results = [evaluation.evaluate(each) for each in self._expressions]
        except BudgetError as error:
            if ignores_failures:
                return False
            raise PolicyError(str(error)) from None
        if any(result.value is False for result in results):
            return False
        errors = [result.error for result in results if result.error]
        if not errors:
            return True
        if ignores_failures:
            return False
        raise PolicyError(aggregated(errors))


def match_condition_problems(
    conditions: Sequence[Mapping[str, Any]], path: str, *, has_params: bool = False
) -> list[ExpressionProblem]:
    """Return the conditions that are refused; variables of a policy are unknown in them."""
    compiler = AdmissionCompiler(has_params=has_params, has_variables=False)
    found: list[ExpressionProblem] = []
    for index, condition in enumerate(conditions):
        if source := str(condition.get("expression") or "").strip():
            expression = compiler.compile(source, CONDITION_TYPES)
            found += _problem(f"{path}[{index}].expression", expression)
    return found


def _problem(path: str, expression: PolicyExpression) -> Iterator[ExpressionProblem]:
    if expression.error:
        yield ExpressionProblem(path, expression.source, expression.error, expression.is_internal)


class _Policy:
    """What validating and mutating policies have in common."""

    def __init__(self, policy: Mapping[str, Any]) -> None:
        self.spec: Mapping[str, Any] = policy.get("spec") or {}
        self.ignores_failures = self.spec.get("failurePolicy") == "Ignore"
        self.has_params = self.spec.get("paramKind") is not None
        variables = self.spec.get("variables") or ()
        has_variables = len(variables) > 0
        self.compiler = AdmissionCompiler(has_params=self.has_params, has_variables=has_variables)
        self._variables = []
        for index, variable in enumerate(variables):
            name, source = str(variable.get("name") or ""), str(variable.get("expression") or "")
            if source.strip():
                path = f"spec.variables[{index}].expression"
                self._variables.append((path, self.compiler.add_variable(name, source)))
        conditions = self.spec.get("matchConditions") or ()
        self.conditions = MatchConditions(conditions, self.compiler) if conditions else None

    def common_problems(self) -> Iterator[ExpressionProblem]:
        """Yield the problems of conditions and variables; missing expressions have none."""
        conditions = self.spec.get("matchConditions") or ()
        yield from match_condition_problems(
            conditions, "spec.matchConditions", has_params=self.has_params
        )
        for path, expression in self._variables:
            yield from _problem(path, expression)


# --------------------------------------------------------------------------- validation


class ValidatingPolicy:
    """The expressions of a ValidatingAdmissionPolicy."""

    def __init__(self, policy: Mapping[str, Any]) -> None:
        self._policy = _Policy(policy)
        spec, compiler = self._policy.spec, self._policy.compiler
        self._sources: list[Mapping[str, Any]] = list(spec.get("validations") or ())
        self._validations = [
            compiler.compile(str(each.get("expression") or ""), CONDITION_TYPES)
            for each in self._sources
        ]
        self._messages = [
            compiler.compile(each["messageExpression"], MESSAGE_TYPES, has_authorizer=False)
            if each.get("messageExpression")
            else None
            for each in self._sources
        ]
        self._annotations = [
            (
                str(each.get("key") or ""),
                compiler.compile(str(each.get("valueExpression") or ""), ANNOTATION_TYPES),
            )
            for each in spec.get("auditAnnotations") or ()
        ]

    def problems(self) -> list[ExpressionProblem]:
        """Return the expressions that are refused when the policy is written."""
        found = list(self._policy.common_problems())
        for index, expression in enumerate(self._validations):
            path = f"spec.validations[{index}]"
            if expression.source.strip():
                found += _problem(f"{path}.expression", expression)
            message = self._messages[index]
            if message is not None and message.source.strip():
                found += _problem(f"{path}.messageExpression", message)
        for index, (_, expression) in enumerate(self._annotations):
            if expression.source.strip():
                path = f"spec.auditAnnotations[{index}].valueExpression"
                found += _problem(path, expression)
        return found

    def validate(self, values: AdmissionInput) -> PolicyResult:
        """Return what the policy says about a request."""
        ignores = self._policy.ignores_failures
        conditions = self._policy.conditions
        try:
            if conditions and not conditions.match(values, ignores_failures=ignores):
                return PolicyResult()
            evaluation = AdmissionEvaluation(self._policy.compiler, values, POLICY_COST_BUDGET)
            results = [evaluation.evaluate(each) for each in self._validations]
        except (PolicyError, BudgetError) as error:
            return PolicyResult((self._failure(str(error)),))
        messages, failure = self._evaluate_messages(values, evaluation.budget)
        decisions = tuple(
            self._decide(source, result, message, failure)
            for source, result, message in zip(self._sources, results, messages, strict=True)
        )
        try:
            return PolicyResult(decisions, self._annotate(values))
        except BudgetError as error:
            return PolicyResult((self._failure(str(error)),))

    def _failure(self, message: str) -> PolicyDecision:
        denies = not self._policy.ignores_failures
        return PolicyDecision(denies, is_error=True, message=message)

    def _evaluate_messages(
        self, values: AdmissionInput, budget: int
    ) -> tuple[list[Evaluation | None], str]:
        evaluation = AdmissionEvaluation(
            self._policy.compiler, values, budget, has_authorizer=False
        )
        try:
            return [
                None if each is None else evaluation.evaluate(each) for each in self._messages
            ], ""
        except BudgetError as error:
            return [None] * len(self._messages), str(error)

    def _decide(
        self,
        source: Mapping[str, Any],
        result: Evaluation,
        message: Evaluation | None,
        failure: str,
    ) -> PolicyDecision:
        if result.error:
            return self._failure(result.error)
        if failure:
            return self._failure(f"failed messageExpression: {failure}")
        if result.value is True:
            return PolicyDecision(is_denied=False)
        text = ""
        if message is not None and isinstance(message.value, str):
            text = message.value.strip()
            if "\n" in text or len(text.encode()) > MAX_MESSAGE_LENGTH:
                text = ""
        text = text or str(source.get("message") or "").strip()
        text = text or f"failed expression: {str(source.get('expression') or '').strip()}"
        reason = str(source.get("reason") or "Invalid")
        return PolicyDecision(is_denied=True, message=text, reason=reason)

    def _annotate(self, values: AdmissionInput) -> tuple[AuditAnnotation, ...]:
        evaluation = AdmissionEvaluation(
            self._policy.compiler, values, POLICY_COST_BUDGET, has_authorizer=False
        )
        found = []
        for key, expression in self._annotations:
            result = evaluation.evaluate(expression)
            text = result.value.strip() if isinstance(result.value, str) else ""
            if result.error:
                excludes = self._policy.ignores_failures
                outcome: Literal["exclude", "error"] = "exclude" if excludes else "error"
                found.append(AuditAnnotation(key, outcome, error=result.error))
            elif text:
                found.append(AuditAnnotation(key, "publish", value=text))
            else:
                found.append(AuditAnnotation(key, "exclude"))
        return tuple(found)


# --------------------------------------------------------------------------- mutation


class MutatingPolicy:
    """The expressions of a MutatingAdmissionPolicy."""

    def __init__(self, policy: Mapping[str, Any]) -> None:
        self._policy = _Policy(policy)
        self._mutations: list[tuple[str, str, PolicyExpression]] = []
        for index, mutation in enumerate(self._policy.spec.get("mutations") or ()):
            kind = str(mutation.get("patchType") or "")
            field = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}.get(kind)
            source = mutation.get(field) if field else None
            if source is None:
                continue
            expression = self._policy.compiler.compile(
                str(source.get("expression") or ""),
                JSON_PATCH_TYPES if kind == "JSONPatch" else APPLY_TYPES,
                has_patches=True,
            )
            self._mutations.append((f"spec.mutations[{index}].{field}", kind, expression))

    @property
    def mutations(self) -> tuple[str, ...]:
        """The kind of each mutation: `JSONPatch` or `ApplyConfiguration`."""
        return tuple(kind for _, kind, _ in self._mutations)

    @property
    def ignores_failures(self) -> bool:
        """Whether a mutation that fails is left out instead of refusing the request."""
        return self._policy.ignores_failures

    def problems(self) -> list[ExpressionProblem]:
        """Return the expressions that are refused when the policy is written."""
        found = list(self._policy.common_problems())
        for path, _, expression in self._mutations:
            if expression.source.strip():
                found += _problem(f"{path}.expression", expression)
        return found

    def matches(self, values: AdmissionInput) -> bool:
        """Return whether the conditions hold.

        Raises
        ------
        PolicyError
            One failed, and failures are not ignored.
        """
        conditions = self._policy.conditions
        return conditions is None or conditions.match(
            values, ignores_failures=self._policy.ignores_failures
        )

    def patch(self, index: int, values: AdmissionInput) -> Any:
        """Return the operations of a JSON patch, or the document of an apply configuration.

        `values` has the object as the mutations before left it.

        Raises
        ------
        PolicyError
            The expression does not compile, or fails.
        """
        _, kind, expression = self._mutations[index]
        if expression.error:
            raise PolicyError(expression.error)
        evaluation = AdmissionEvaluation(self._policy.compiler, values, POLICY_COST_BUDGET)
        try:
            result = evaluation.evaluate(expression)
        except BudgetError as error:
            raise PolicyError(str(error)) from None
        if result.error:
            raise PolicyError(result.error)
        if kind == "JSONPatch":
            return [_operation(each) for each in result.value]
        _check_names(result.value)
        return _plain(result.value)


def _operation(value: Value) -> dict[str, Any]:
    operation: dict[str, Any] = {}
    for name in ("op", "path", "from"):
        text = value.get(name, "")
        if not isinstance(text, str):
            raise PolicyError(f"unexpected type {type_name(text)} for JSONPatchType '{name}' field")
        if text or name != "from":
            operation[name] = text
    if "value" in value:
        if isinstance(value["value"], Struct):
            _check_names(value["value"])
        operation["value"] = _plain(value["value"])
    return operation


def _check_names(value: Struct) -> None:
    """Check that the types of nested objects are named as the fields that hold them."""
    problems = list(_misnamed(value, value.type_name))
    if problems:
        raise PolicyError("type mismatch: " + "\n".join(problems))


def _misnamed(value: Value, path: str) -> Iterator[str]:
    if isinstance(value, Struct):
        if value.type_name != path:
            yield (
                f'unexpected type name "{value.type_name}", expected "{path}", which matches '
                "field name path from root Object type"
            )
        for key, part in value.items():
            yield from _misnamed(part, f"{path}.{key}")
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _misnamed(part, path)


def _plain(value: Value) -> Any:
    """Return the decoded JSON of a value."""
    match value:
        case bool() | None | str():
            return value
        case Uint() | int():
            return int(value) if abs(value) <= _LARGEST_EXACT else str(int(value))
        case float():
            return int(value) if value.is_integer() else value
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [_plain(part) for part in value]
        case dict():
            return {str(key): _plain(part) for key, part in value.items()}
        case Timestamp():
            return format_timestamp(Timestamp(value.ns))
        case Duration():
            return format_duration(value)
        case _:
            pass
    raise PolicyError(
        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
        f"{type_name(value)}"
    )


# Warnings about the types in expressions of a ValidatingAdmissionPolicy.
#
# The expressions of a policy are compiled when it is written with objects of unknown type. Here
# they are compiled once more for each kind that the policy matches, with the fields of its schema.
# What is wrong then is a warning in the status of the policy: it does not change what the policy
# does.


class MatchedKind(msgspec.Struct, frozen=True):
    """A kind with the schema of its objects, without references.

    Attributes
    ----------
    schema : mapping or None
        None if the kind has none; its objects are of unknown type then.
    """

    group: str
    version: str
    kind: str
    schema: Schema | None

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


def type_warnings(
    spec: Mapping[str, Any], kinds: Sequence[MatchedKind], params: MatchedKind | None
) -> list[dict[str, str]]:
    """Return the `expressionWarnings` of a policy.

    Parameters
    ----------
    spec : mapping
        The `spec` of the policy.
    kinds : sequence of MatchedKind
        What the policy matches, in the order of the warnings.
    params : MatchedKind or None
        The kind of its parameters; None if it has none.

    Returns
    -------
    list of dict
        Each with `fieldRef` and `warning`.
    """
    environments = [
        (kind, _environment(spec, declared, params))
        for kind in kinds
        if (declared := _declared(kind)) is not None
    ]
    warnings: list[dict[str, str]] = []
    for index, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            source = validation.get(name) or ""
            if not source and name == "messageExpression":
                continue
            found = [
                f"{kind}: {problem}\n"
                for kind, environment in environments
                if (problem := _problem_policy_types(environment, source))
            ]
            if found:
                path = f"spec.validations[{index}].{name}"
                warnings.append({"fieldRef": path, "warning": "\n".join(found)})
    return warnings


def _declared(kind: MatchedKind) -> DeclaredType | None:
    return None if kind.schema is None else declared_type(kind.schema, kind.kind, is_root=True)


def _environment(
    spec: Mapping[str, Any], declared: DeclaredType, params: MatchedKind | None
) -> Environment:
    variables: dict[str, Type] = {
        "object": declared.type,
        "oldObject": declared.type,
        # As upstream, without `authorizer.requestResource`.
        "authorizer": struct_of("kubernetes.authorization.Authorizer"),
        "variables": struct_of(VARIABLES_TYPE),
    }
    structs: dict[str, Mapping[str, Type]] = dict(structs_of(declared))
    if params is not None:
        found = _declared(params)
        variables["params"] = DYN if found is None else found.type
        if found is not None:
            structs |= structs_of(found)
    own: dict[str, Type] = {}
    environment = ADMISSION_ENVIRONMENT.extended(
        variables=variables, structs=structs | {VARIABLES_TYPE: own}
    )
    for variable in spec.get("variables") or ():
        try:
            compiled = environment.compile(variable["expression"])
        except CompileError:
            # As upstream: the warning is that of the expressions that the type makes wrong.
            own[variable["name"]] = DYN
        else:
            own[variable["name"]] = declared_variable(compiled.output_type)
    return environment


def _problem_policy_types(environment: Environment, source: str) -> str:
    try:
        environment.compile(source)
    except CompileError as error:
        return str(error)
    return ""
