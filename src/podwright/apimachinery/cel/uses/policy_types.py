"""Warnings about the types in expressions of a ValidatingAdmissionPolicy.

The expressions of a policy are compiled when it is written with objects of unknown type. Here they
are compiled once more for each kind that the policy matches, with the fields of its schema. What is
wrong then is a warning in the status of the policy: it does not change what the policy does.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.cel.environment import Environment
from podwright.apimachinery.cel.errors import CompileError
from podwright.apimachinery.cel.types import DYN, Type, struct_of
from podwright.apimachinery.cel.uses.admission_expressions import (
    ADMISSION_ENVIRONMENT,
    VARIABLES_TYPE,
    declared_variable,
)
from podwright.apimachinery.cel.uses.schema_types import (
    DeclaredType,
    Schema,
    declared_type,
    structs_of,
)


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
                if (problem := _problem(environment, source))
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


def _problem(environment: Environment, source: str) -> str:
    try:
        environment.compile(source)
    except CompileError as error:
        return str(error)
    return ""
