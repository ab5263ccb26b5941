"""Expressions of admission: of policies, and of the conditions of webhooks.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/compile.go, composition.go,
activation.go; staging/src/k8s.io/apiserver/pkg/cel/mutation;
staging/src/k8s.io/apiserver/pkg/cel/library/jsonpatch.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.cel.environment import KUBERNETES_BASE, Environment
from podwright.apimachinery.cel.functions.authorizations import (
    Access,
    Authorize,
    authorizer,
    resource_authorizer,
)
from podwright.apimachinery.cel.program import Program
from podwright.apimachinery.cel.types import (
    BOOL,
    DYN,
    NULL,
    STRING,
    Type,
    library_of,
    list_of,
    map_of,
    parse_type,
    struct_of,
)
from podwright.apimachinery.cel.values import CompileError, ErrorValue, ProgramError, Value, native

CALL_COST_LIMIT: Final = 1_000_000
"""The cost at which the evaluation of one expression ends."""

POLICY_COST_BUDGET: Final = 10_000_000
"""The cost of the validations, or of a mutation, of one policy for one request."""

CONDITIONS_COST_BUDGET: Final = 2_500_000
"""The cost of the conditions of one policy or webhook for one request."""

OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)

VARIABLES_TYPE: Final = "kubernetes.variables"
_STRUCTS: Final = {
    "kubernetes.GroupVersionKind": "group, version, kind: string",
    "kubernetes.GroupVersionResource": "group, version, resource: string",
    "kubernetes.UserInfo": "username, uid: string; groups: list(string); "
    "extra: map(string, list(string))",
    "kubernetes.AdmissionRequest": "kind, requestKind: kubernetes.GroupVersionKind; "
    "resource, requestResource: kubernetes.GroupVersionResource; "
    "subResource, requestSubResource, name, namespace, operation: string; "
    "userInfo: kubernetes.UserInfo; dryRun: bool; options: dyn",
    "kubernetes.NamespaceSpec": "finalizers: list(string)",
    "kubernetes.NamespaceCondition": "status, type, message, reason: string; "
    "lastTransitionTime: timestamp",
    "kubernetes.NamespaceStatus": "conditions: list(kubernetes.NamespaceCondition); phase: string",
    # The name `UID` is upstream's, with which the value cannot be read.
    "kubernetes.NamespaceMetadata": "name, generateName, namespace, UID, resourceVersion: string; "
    "labels, annotations: map(string, string); finalizers: list(string); "
    "creationTimestamp, deletionTimestamp: timestamp; "
    "deletionGracePeriodSeconds, generation: int",
    "kubernetes.Namespace": "metadata: kubernetes.NamespaceMetadata; "
    "spec: kubernetes.NamespaceSpec; status: kubernetes.NamespaceStatus",
    "JSONPatch": "op, path, from: string; value: dyn",
}


def _fields(text: str) -> dict[str, Type]:
    fields: dict[str, Type] = {}
    for part in text.split("; "):
        names, _, type_ = part.partition(": ")
        fields.update(dict.fromkeys(names.split(", "), parse_type(type_)))
    return fields


_PATCH_LIBRARY: Final = library_of(
    {"jsonpatch.escapeKey": lambda text: text.replace("~", "~0").replace("/", "~1")},
    "string_jsonpatch_escapeKey_string: ::jsonpatch.escapeKey(string) -> string",
)
_NAMED = {name: _fields(text) for name, text in _STRUCTS.items()}
_PATCH_TYPE = {"JSONPatch": _NAMED.pop("JSONPatch")}
ADMISSION_ENVIRONMENT: Final = KUBERNETES_BASE.extended(
    variables={
        "object": DYN,
        "oldObject": DYN,
        "namespaceObject": struct_of("kubernetes.Namespace"),
        "request": struct_of("kubernetes.AdmissionRequest"),
    },
    structs=_NAMED,
)
_AUTHORIZERS: Final = {
    "authorizer": struct_of("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": struct_of("kubernetes.authorization.ResourceCheck"),
}
CONDITION_TYPES: Final = (BOOL,)
MESSAGE_TYPES: Final = (STRING,)
ANNOTATION_TYPES: Final = (STRING, NULL)
JSON_PATCH_TYPES: Final = (list_of(struct_of("JSONPatch")),)
APPLY_TYPES: Final = (struct_of("Object"),)


class PolicyExpression(msgspec.Struct, frozen=True):
    """A compiled expression.

    Attributes
    ----------
    error : str
        Why it does not compile; then there is no program.
    is_internal : bool
        Whether upstream calls the error an internal one.
    """

    source: str
    program: Program | None
    output_type: Type = DYN
    error: str = ""
    is_internal: bool = False


class AdmissionCompiler:
    """Compiles the expressions of one policy, which share variables.

    Attributes
    ----------
    variables : dict of str to PolicyExpression
        By name, in the order in which they were added.
    """

    def __init__(self, *, has_params: bool, has_variables: bool = True) -> None:
        self.variables: dict[str, PolicyExpression] = {}
        self._has_params = has_params
        self._has_variables = has_variables
        self._types: dict[str, Type] = {}

    def add_variable(self, name: str, source: str) -> PolicyExpression:
        """Compile a variable, which those after it may read."""
        expression = self.compile(source, None)
        self._types[name] = declared_variable(expression.output_type)
        self.variables[name] = expression
        return expression

    def compile(
        self,
        source: str,
        types: Sequence[Type] | None,
        *,
        has_authorizer: bool = True,
        has_patches: bool = False,
    ) -> PolicyExpression:
        """Compile an expression whose value must be of one of some types; None allows any."""
        environment = self._environment(has_authorizer=has_authorizer, has_patches=has_patches)
        try:
            compiled = environment.compile(source)
        except CompileError as error:
            return PolicyExpression(source, None, error=f"compilation failed: {error}")
        found = compiled.output_type
        if types is not None and found not in types:
            expected = (
                str(types[0])
                if len(types) == 1
                else f"one of [{' '.join(str(each) for each in types)}]"
            )
            return PolicyExpression(
                source, None, error=f"must evaluate to {expected} but got {found}"
            )
        try:
            return PolicyExpression(source, compiled.program(), found)
        except ProgramError as error:
            text = f"program instantiation failed: {error}"
            return PolicyExpression(source, None, error=text, is_internal=True)

    def _environment(self, *, has_authorizer: bool, has_patches: bool) -> Environment:
        variables: dict[str, Type] = {}
        structs: dict[str, Mapping[str, Type]] = {}
        if self._has_params:
            variables["params"] = DYN
        if self._has_variables:
            variables["variables"] = struct_of(VARIABLES_TYPE)
            structs[VARIABLES_TYPE] = self._types
        if has_authorizer:
            variables |= _AUTHORIZERS
        if not has_patches:
            return ADMISSION_ENVIRONMENT.extended(variables=variables, structs=structs)
        return ADMISSION_ENVIRONMENT.extended(
            libraries=(_PATCH_LIBRARY,),
            variables=variables,
            structs=structs | _PATCH_TYPE,
            open_struct="Object",
        )


def declared_variable(found: Type) -> Type:
    """Return the type of a variable: of other types than scalars, lists and maps nothing is known.

    Notes
    -----
    Upstream: composition.go, convertCelTypeToDeclType
    """
    match found.kind:
        case "list":
            return list_of(declared_variable(found.parameters[0]))
        case "map":
            return map_of(
                declared_variable(found.parameters[0]), declared_variable(found.parameters[1])
            )
        case "struct" | "opaque" | "type" | "param" | "error":
            return DYN
        case _:
            return found


# --------------------------------------------------------------------------- evaluation


class AdmissionInput(msgspec.Struct, frozen=True, kw_only=True):
    """What expressions read, as decoded JSON in the version that the policy matched.

    Attributes
    ----------
    request : mapping
        An AdmissionRequest; what is empty is left out of its value, as in JSON.
    params : mapping or None
        None also where a policy has parameters, but a binding names none.
    namespace : mapping or None
        The Namespace; None for requests without one.
    authorize : Authorize or None
        Answers what the user of the request, or a service account, may do.
    """

    object: Mapping[str, Any] | None
    old_object: Mapping[str, Any] | None
    request: Mapping[str, Any]
    params: Mapping[str, Any] | None = None
    namespace: Mapping[str, Any] | None = None
    authorize: Authorize | None = None


class Evaluation(msgspec.Struct, frozen=True):
    """The value of an expression, or the error of its evaluation."""

    value: Value
    error: str = ""


class BudgetError(Exception):
    """The expressions of a policy cost too much together."""

    def __init__(self) -> None:
        super().__init__(OUT_OF_BUDGET)


class _Variables(dict[str, Value]):
    """The variables of a policy: each is evaluated when it is first read."""

    def __init__(self, names: Mapping[str, PolicyExpression], read: Callable[[str], Value]) -> None:
        super().__init__(dict.fromkeys(names))
        self._read = read
        self._known: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]


class AdmissionEvaluation:
    """Evaluates expressions of one policy for one request, with one budget.

    Attributes
    ----------
    budget : int
        What is left of it.
    """

    def __init__(
        self,
        compiler: AdmissionCompiler,
        values: AdmissionInput,
        budget: int,
        *,
        has_authorizer: bool = True,
    ) -> None:
        self.budget = budget
        self._compiler = compiler
        self._variables_cost = 0
        self._values: dict[str, Value] = {
            "object": native(values.object),
            "oldObject": native(values.old_object),
            "params": native(values.params),
            "request": _request(values.request),
            "namespaceObject": _namespace(values.namespace),
            "variables": _Variables(compiler.variables, self._variable),
        }
        if values.authorize is not None and has_authorizer:
            self._values["authorizer"] = authorizer(values.authorize)
            access = _requested(values.request)
            self._values["authorizer.requestResource"] = resource_authorizer(
                values.authorize, access
            )

    def evaluate(self, expression: PolicyExpression) -> Evaluation:
        """Evaluate an expression.

        Raises
        ------
        BudgetError
            The budget does not last; nothing more of the policy is to be evaluated.
        """
        if expression.program is None:
            return Evaluation(None, f"compilation error: {expression.error}")
        value, cost = expression.program.run(self._values, CALL_COST_LIMIT)
        self._spend(self._variables_cost)
        self._variables_cost = 0
        self._spend(cost)
        if isinstance(value, ErrorValue):
            text = f"expression '{expression.source}' resulted in error: {value.message}"
            return Evaluation(None, text)
        return Evaluation(value)

    def _spend(self, cost: int) -> None:
        if cost > self.budget:
            raise BudgetError
        self.budget -= cost

    def _variable(self, name: str) -> Value:
        expression = self._compiler.variables[name]
        if expression.program is None:
            text = f'composited variable "{name}" fails to compile: {expression.error}'
            return ErrorValue(text)
        value, cost = expression.program.run(self._values, CALL_COST_LIMIT)
        self._variables_cost += cost
        if isinstance(value, ErrorValue):
            return ErrorValue(f'composited variable "{name}" fails to evaluate: {value.message}')
        return value


_PLAIN_REQUEST = ("uid", "kind", "resource", "operation", "userInfo", "options")
_NAMESPACE_METADATA = (
    "name", "generateName", "namespace", "labels", "annotations", "uid", "creationTimestamp",
    "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "resourceVersion",
    "finalizers",
)  # fmt: skip


def _request(request: Mapping[str, Any]) -> Value:
    value = {
        key: native(part)
        for key, part in request.items()
        if key in _PLAIN_REQUEST or part not in (None, "", {}, [])
    }
    user = value.get("userInfo") or {}
    value["userInfo"] = {key: part for key, part in user.items() if part}
    value.pop("object", None)
    value.pop("oldObject", None)
    return value


def _namespace(namespace: Mapping[str, Any] | None) -> Value:
    if namespace is None:
        return None
    metadata = namespace["metadata"]
    return {
        "metadata": {key: native(metadata[key]) for key in _NAMESPACE_METADATA if key in metadata},
        "spec": native(namespace.get("spec") or {}),
        "status": native(namespace.get("status") or {}),
    }


def _requested(request: Mapping[str, Any]) -> Access:
    resource = request.get("requestResource") or request.get("resource") or {}
    return Access(
        group=resource.get("group") or "",
        resource=resource.get("resource") or "",
        subresource=request.get("requestSubResource") or request.get("subResource") or "",
        namespace=request.get("namespace") or "",
        name=request.get("name") or "",
    )
