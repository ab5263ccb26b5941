"""Validation of webhooks and admission policies with their bindings.

Expressions must be present; whoever evaluates them compiles them.

Upstream: pkg/apis/admissionregistration/validation/validation.go;
staging/src/k8s.io/apiserver/pkg/util/webhook/validation.go
"""

from __future__ import annotations

import re
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.names import (
    dns_1035_label,
    dns_subdomain,
    path_segment,
    port_number,
    qualified_name,
)

_FAILURE_POLICIES: Final = ("Fail", "Ignore")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_TYPES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_LONGEST_TIMEOUT_S: Final = 30
_MOST_CONDITIONS: Final = 64
_MOST_ANNOTATIONS: Final = 20
_ANNOTATION_MAX_BYTES: Final = 5 * 1024
_URL: Final = re.compile(
    r"(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?://(?:(?P<user>[^@/?#]*)@)?(?P<host>[^/?#]*))?"
    r"[^?#]*(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?"
)
_URL_FORM: Final = "; desired format: https://host[/path]"
_CEL_NAME: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_CEL_RESERVED: Final = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
    "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip

# ---------------------------------------------------------------------------- webhooks


def validate_webhooks(errors: FieldErrors, configuration: Document) -> None:
    """Check a new configuration of webhooks."""
    _validate_webhooks(errors, configuration, None)


def validate_webhooks_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed configuration of webhooks; what was invalid in all of them may stay."""
    _validate_webhooks(errors, new, old.get("webhooks") or [])


def _validate_webhooks(
    errors: FieldErrors, configuration: Document, before: list[Document] | None
) -> None:
    old = before or []
    old_names = [hook.get("name") for hook in old]
    has_unique_names = len({*old_names}) == len(old_names)
    had_no_effects = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in old)
    had_known_versions = all(
        {*_REVIEW_VERSIONS} & {*(hook.get("admissionReviewVersions") or _REVIEW_VERSIONS)}
        for hook in old
    )
    names: set[str] = set()
    for index, hook in enumerate(configuration.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name") or ""
        _validate_webhook(errors, path, hook, needs_no_effects=had_no_effects)
        _validate_review_versions(
            errors,
            f"{path}.admissionReviewVersions",
            hook.get("admissionReviewVersions") or [],
            needs_known=had_known_versions,
        )
        if has_unique_names and name:
            if name in names:
                errors.duplicate(f"{path}.name", name)
            names.add(name)


def _validate_webhook(
    errors: FieldErrors, path: str, hook: Document, *, needs_no_effects: bool
) -> None:
    _validate_full_name(errors, f"{path}.name", hook.get("name") or "")
    for index, rule in enumerate(hook.get("rules") or ()):
        _validate_rule(errors, f"{path}.rules[{index}]", rule)
    _validate_choice(errors, f"{path}.failurePolicy", hook.get("failurePolicy"), _FAILURE_POLICIES)
    _validate_choice(errors, f"{path}.matchPolicy", hook.get("matchPolicy"), _MATCH_POLICIES)
    allowed = _NO_SIDE_EFFECTS if needs_no_effects else _SIDE_EFFECTS
    effects = hook.get("sideEffects")
    if effects is None:
        errors.required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}")
    _validate_choice(errors, f"{path}.sideEffects", effects, allowed)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _LONGEST_TIMEOUT_S:
        text = "the timeout value must be between 1 and 30 seconds"
        errors.invalid(f"{path}.timeoutSeconds", seconds, text)
    for name in ("namespaceSelector", "objectSelector"):
        if (selector := hook.get(name)) is not None:
            validate_label_selector(errors, f"{path}.{name}", selector)
    policy = hook.get("reinvocationPolicy")
    _validate_choice(errors, f"{path}.reinvocationPolicy", policy, _REINVOCATION_POLICIES)
    validate_webhook_client(errors, f"{path}.clientConfig", hook.get("clientConfig") or {})
    _validate_conditions(errors, f"{path}.matchConditions", hook.get("matchConditions") or [])


def _validate_choice(
    errors: FieldErrors, path: str, value: str | None, choices: tuple[str, ...]
) -> None:
    if value is not None and value not in choices:
        errors.unsupported(path, value, choices)


def _validate_full_name(errors: FieldErrors, path: str, name: str) -> None:
    if not name:
        errors.required(path)
        return
    if problems := dns_subdomain(name):
        errors.invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        text = "should be a domain with at least three segments separated by dots"
        errors.invalid(path, name, text)


def _validate_review_versions(
    errors: FieldErrors, path: str, versions: list[str], *, needs_known: bool
) -> None:
    known = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        errors.required(path, f"must specify one of {known}")
        return
    for index, (version, is_repeated) in enumerate(zip(versions, repeats(versions), strict=True)):
        if is_repeated:
            errors.invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            errors.each(f"{path}[{index}]", version, dns_1035_label(version))
    if needs_known and not {*_REVIEW_VERSIONS} & {*versions}:
        errors.invalid(path, versions, f"must include at least one of {known}")


def validate_webhook_client(errors: FieldErrors, path: str, client: Document) -> None:
    """Check how a webhook is reached: by a URL or a Service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        errors.required(path, "exactly one of url or service is required")
    elif url is not None:
        _validate_url(errors, f"{path}.url", url)
    else:
        _validate_service(errors, f"{path}.service", service or {})


def _validate_url(errors: FieldErrors, path: str, url: str) -> None:
    match = _URL.fullmatch(url)
    assert match, url
    scheme, host = (match["scheme"] or "").lower(), match["host"] or ""
    if scheme != "https":
        text = f"'https' is the only allowed URL scheme{_URL_FORM}"
        errors.invalid(path, scheme, text)
    if not host:
        errors.invalid(path, host, f"host must be specified{_URL_FORM}")
    if match["user"] is not None:
        errors.invalid(path, match["user"], "user information is not permitted in the URL")
    if match["fragment"]:
        errors.invalid(path, match["fragment"], "fragments are not permitted in the URL")
    if match["query"]:
        errors.invalid(path, match["query"], "query parameters are not permitted in the URL")


def _validate_service(errors: FieldErrors, path: str, service: Document) -> None:
    for name in ("name", "namespace"):
        if not service.get(name):
            errors.required(f"{path}.{name}", f"service {name} is required")
    port, where = service.get("port") or 0, service.get("path") or "/"
    if problems := port_number(port):
        errors.invalid(f"{path}.port", port, f"port is not valid: {','.join(problems)}")
    if where == "/":
        return
    if where == "//":
        errors.invalid(f"{path}.path", where, "segment[0] may not be empty")
        return
    if not where.startswith("/"):
        errors.invalid(f"{path}.path", where, "must start with a '/'")
    for index, step in enumerate(where[1:].removesuffix("/").split("/")):
        if not step:
            errors.invalid(f"{path}.path", where, f"segment[{index}] may not be empty")
        else:
            problems = [f"segment[{index}]: {each}" for each in dns_subdomain(step)]
            errors.each(f"{path}.path", where, problems)


# ------------------------------------------------------------------------------- rules


def _validate_rule(errors: FieldErrors, path: str, rule: Document) -> None:
    operations = rule.get("operations") or []
    _validate_wildcard(errors, f"{path}.operations", operations, "operations")
    for index, operation in enumerate(operations):
        _validate_choice(errors, f"{path}.operations[{index}]", operation, _OPERATIONS)
    _validate_wildcard(errors, f"{path}.apiGroups", rule.get("apiGroups") or [], "API groups")
    versions = rule.get("apiVersions") or []
    _validate_wildcard(errors, f"{path}.apiVersions", versions, "API versions")
    for index, version in enumerate(versions):
        if not version:
            errors.required(f"{path}.apiVersions[{index}]")
    _validate_resources(errors, f"{path}.resources", rule.get("resources") or [])
    _validate_choice(errors, f"{path}.scope", rule.get("scope"), _SCOPES)


def _validate_wildcard(errors: FieldErrors, path: str, values: list[str], what: str) -> None:
    if not values:
        errors.required(path)
    elif len(values) > 1 and "*" in values:
        errors.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _validate_resources(errors: FieldErrors, path: str, resources: list[str]) -> None:
    if not resources:
        errors.required(path)
    all_of: set[str] = set()
    in_all: set[str] = set()
    for index, each in enumerate(resources):
        at = f"{path}[{index}]"
        if not each:
            errors.required(at)
            continue
        resource, separator, part = each.partition("/")
        if not separator:
            continue
        if resource in all_of:
            text = f"if '{resource}/*' is present, must not specify {each}"
            errors.invalid(at, each, text)
        if part in in_all:
            errors.invalid(at, each, f"if '*/{part}' is present, must not specify {each}")
        if part == "*":
            all_of.add(resource)
        if resource == "*":
            in_all.add(part)
    if len(resources) > 1 and "*/*" in resources:
        text = "if '*/*' is present, must not specify other resources"
        errors.invalid(path, resources, text)
    plain = [each for each in resources if each and "/" not in each]
    # Upstream remembers the last plain resource only.
    if "*" in plain and plain[-1] != "*":
        text = "if '*' is present, must not specify other resources without subresources"
        errors.invalid(path, resources, text)


def _validate_conditions(errors: FieldErrors, path: str, conditions: list[Document]) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        errors.too_many(path, len(conditions), _MOST_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name") or ""
        if not (condition.get("expression") or "").strip():
            errors.required(f"{at}.expression")
        if name:
            errors.each(f"{at}.name", name, qualified_name(name))
            if name in names:
                errors.duplicate(f"{at}.name", name)
            names.add(name)
        else:
            errors.required(f"{at}.name")


# ---------------------------------------------------------------------------- policies


def validate_validating_policy(errors: FieldErrors, policy: Document) -> None:
    """Check a new ValidatingAdmissionPolicy."""
    spec = policy.get("spec") or {}
    _validate_policy(errors, spec)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        text = "validations or auditAnnotations must contain at least one item"
        errors.required("spec.validations", text)
        errors.required("spec.auditAnnotations", text)
    for index, each in enumerate(validations):
        _validate_validation(errors, f"spec.validations[{index}]", each)
    if len(annotations) > _MOST_ANNOTATIONS:
        text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        shown = internal_form(annotations, "[AuditAnnotation]")
        errors.invalid("spec.auditAnnotations", shown, text)
    name = (policy.get("metadata") or {}).get("name") or ""
    keys: set[str] = set()
    for index, each in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", each.get("key") or ""
        _validate_annotation(errors, path, key, each, name)
        if key in keys:
            errors.duplicate(f"{path}.key", key)
        keys.add(key)


def validate_validating_policy_update(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check a changed ValidatingAdmissionPolicy."""
    validate_validating_policy(errors, new)


def validate_mutating_policy(errors: FieldErrors, policy: Document) -> None:
    """Check a new MutatingAdmissionPolicy."""
    spec = policy.get("spec") or {}
    _validate_policy(errors, spec)
    mutations = spec.get("mutations") or []
    if not mutations:
        errors.required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(mutations):
        _validate_mutation(errors, f"spec.mutations[{index}]", mutation)
    path, reinvocation = "spec.reinvocationPolicy", spec.get("reinvocationPolicy")
    if not reinvocation:
        errors.required(path)
    else:
        _validate_choice(errors, path, reinvocation, _REINVOCATION_POLICIES)


def validate_mutating_policy_update(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check a changed MutatingAdmissionPolicy."""
    validate_mutating_policy(errors, new)


def _validate_policy(errors: FieldErrors, spec: Document) -> None:
    policy = spec.get("failurePolicy")
    if policy is None:
        errors.required("spec.failurePolicy")
    _validate_choice(errors, "spec.failurePolicy", policy, _FAILURE_POLICIES)
    if (kind := spec.get("paramKind")) is not None:
        _validate_parameter_kind(errors, kind)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.required("spec.matchConstraints")
    else:
        _validate_match(errors, "spec.matchConstraints", constraints)
        if not constraints.get("resourceRules"):
            errors.required("spec.matchConstraints.resourceRules")
    _validate_conditions(errors, "spec.matchConditions", spec.get("matchConditions") or [])
    for index, variable in enumerate(spec.get("variables") or ()):
        _validate_variable(errors, f"spec.variables[{index}]", variable)


def _validate_parameter_kind(errors: FieldErrors, kind: Document) -> None:
    path, api_version = "spec.paramKind.apiVersion", kind.get("apiVersion") or ""
    group, separator, version = api_version.partition("/")
    if not separator:
        group, version = "", api_version
    if not api_version:
        errors.required(path)
    elif "/" in version:
        text = f"unexpected GroupVersion string: {api_version}"
        errors.invalid(path, api_version, text)
    else:
        if group and (problems := dns_subdomain(group)):
            errors.invalid(path, group, ",".join(problems))
        if not version:
            errors.invalid(path, api_version, "version must be specified")
        elif problems := dns_1035_label(version):
            errors.invalid(path, version, ",".join(problems))
    path, name = "spec.paramKind.kind", kind.get("kind") or ""
    if not name:
        errors.required(path)
    elif problems := dns_1035_label(name.lower()):
        text = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        errors.invalid(path, name, text)


def _validate_match(errors: FieldErrors, path: str, match: Document) -> None:
    policy = match.get("matchPolicy")
    if policy is None:
        errors.required(f"{path}.matchPolicy")
    _validate_choice(errors, f"{path}.matchPolicy", policy, _MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        if (selector := match.get(name)) is None:
            errors.required(f"{path}.{name}")
        else:
            validate_label_selector(errors, f"{path}.{name}", selector)
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            at = f"{path}.{name}[{index}]"
            _validate_resource_names(errors, f"{at}.resourceNames", rule.get("resourceNames") or [])
            _validate_rule(errors, at, rule)


def _validate_resource_names(errors: FieldErrors, path: str, names: list[str]) -> None:
    for index, (name, is_repeated) in enumerate(zip(names, repeats(names), strict=True)):
        errors.each(f"{path}[{index}]", name, path_segment(name))
        if is_repeated:
            errors.duplicate(f"{path}[{index}]", name)


def _validate_variable(errors: FieldErrors, path: str, variable: Document) -> None:
    name = variable.get("name") or ""
    if not name.strip():
        errors.required(f"{path}.name", "name is not specified")
    elif not _CEL_NAME.fullmatch(name) or name in _CEL_RESERVED:
        errors.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not (variable.get("expression") or "").strip():
        errors.required(f"{path}.expression", "expression is not specified")


def _validate_validation(errors: FieldErrors, path: str, validation: Document) -> None:
    if not (validation.get("expression") or "").strip():
        errors.required(f"{path}.expression", "expression is not specified")
    if (text := validation.get("messageExpression")) and not text.strip():
        errors.invalid(f"{path}.messageExpression", text, "must be non-empty if specified")
    if message := validation.get("message"):
        if not message.strip():
            text = "message must be non-empty if specified"
            errors.invalid(f"{path}.message", message, text)
        elif "\n" in message.strip() or "\r" in message.strip():
            errors.invalid(f"{path}.message", message, "must not contain line breaks")
    _validate_choice(errors, f"{path}.reason", validation.get("reason"), _REASONS)


def _validate_annotation(
    errors: FieldErrors, path: str, key: str, annotation: Document, policy: str
) -> None:
    if policy:
        full = f"{policy}/{key}"
        errors.each(f"{path}.key", full, qualified_name(full))
    else:
        errors.invalid(f"{path}.key", key, "requires metadata.name be non-empty")
    expression = (annotation.get("valueExpression") or "").strip()
    if not expression:
        errors.required(f"{path}.valueExpression", "valueExpression is not specified")
    elif len(expression.encode()) > _ANNOTATION_MAX_BYTES:
        text = f"must not exceed {_ANNOTATION_MAX_BYTES} bytes in length"
        errors.required(f"{path}.valueExpression", text)


def _validate_mutation(errors: FieldErrors, path: str, mutation: Document) -> None:
    patch_type = mutation.get("patchType") or ""
    if not patch_type:
        errors.required(f"{path}.patchType")
    elif patch_type not in _PATCH_TYPES:
        errors.unsupported(f"{path}.patchType", patch_type, tuple(_PATCH_TYPES))
    else:
        field = _PATCH_TYPES[patch_type]
        patch = mutation.get(field)
        if patch is None:
            text = f"must be specified when patchType is {patch_type}"
            errors.required(f"{path}.{field}", text)
        elif not (patch.get("expression") or "").strip():
            errors.required(f"{path}.{field}.expression", "expression is not specified")


# ---------------------------------------------------------------------------- bindings


def validate_validating_binding(errors: FieldErrors, binding: Document) -> None:
    """Check a new ValidatingAdmissionPolicyBinding."""
    spec = binding.get("spec") or {}
    _validate_binding(errors, spec)
    _validate_actions(errors, "spec.validationActions", spec.get("validationActions") or [])


def validate_validating_binding_update(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check a changed ValidatingAdmissionPolicyBinding."""
    validate_validating_binding(errors, new)


def validate_mutating_binding(errors: FieldErrors, binding: Document) -> None:
    """Check a new MutatingAdmissionPolicyBinding."""
    _validate_binding(errors, binding.get("spec") or {})


def validate_mutating_binding_update(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check a changed MutatingAdmissionPolicyBinding."""
    validate_mutating_binding(errors, new)


def _validate_binding(errors: FieldErrors, spec: Document) -> None:
    if name := spec.get("policyName"):
        errors.each("spec.policyName", name, dns_subdomain(name))
    else:
        errors.required("spec.policyName")
    if (reference := spec.get("paramRef")) is not None:
        _validate_parameters(errors, "spec.paramRef", reference)
    if (match := spec.get("matchResources")) is not None:
        # The path is misspelled upstream.
        _validate_match(errors, "spec.matchResouces", match)


def _validate_parameters(errors: FieldErrors, path: str, reference: Document) -> None:
    name, selector = reference.get("name"), reference.get("selector")
    text = "name and selector are mutually exclusive"
    if name:
        errors.each(f"{path}.name", name, path_segment(name))
        if selector is not None:
            errors.forbidden(f"{path}.name", text)
    if selector is not None:
        validate_label_selector(errors, f"{path}.selector", selector)
        if name:
            errors.forbidden(f"{path}.selector", text)
    if not name and selector is None:
        errors.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        errors.required(f"{path}.parameterNotFoundAction")
    else:
        _validate_choice(errors, f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"))


def _validate_actions(errors: FieldErrors, path: str, actions: list[str]) -> None:
    for index, (action, is_repeated) in enumerate(zip(actions, repeats(actions), strict=True)):
        _validate_choice(errors, f"{path}[{index}]", action, _ACTIONS)
        if is_repeated:
            errors.duplicate(f"{path}[{index}]", action)
    if {"Deny", "Warn"} <= {*actions}:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information"
            " in the API response and headers serves no purpose)"
        )
        errors.invalid(path, actions, text)
    if not actions:
        errors.required(path, "at least one validation action is required")
