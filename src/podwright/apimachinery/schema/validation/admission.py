"""Validation of webhooks and admission policies with their bindings.

Expressions must be present; whoever evaluates them compiles them.

Upstream: pkg/apis/admissionregistration/validation/validation.go;
staging/src/k8s.io/apiserver/pkg/util/webhook/validation.go;
staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go;
pkg/apis/storagemigration/validation/validation.go.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
)
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.names import (
    dns_1035_label,
    dns_subdomain,
    port_number,
)
from podwright.apimachinery.schema.validation.statuses import validate_conditions

_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_PATCH_TYPES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
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
    validate_webhooks_update(errors, configuration, {})


def validate_webhooks_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed configuration of webhooks; what was invalid in all of them may stay."""
    former = old.get("webhooks") or []
    old_names = [hook.get("name") for hook in former]
    has_unique_names = len({*old_names}) == len(old_names)
    had_no_effects = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in former)
    had_known_versions = all(
        {*_REVIEW_VERSIONS} & {*(hook.get("admissionReviewVersions") or _REVIEW_VERSIONS)}
        for hook in former
    )
    names: set[str] = set()
    for index, hook in enumerate(new.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name")
        _WEBHOOK[had_no_effects](errors, path, hook)
        at, versions = f"{path}.admissionReviewVersions", hook.get("admissionReviewVersions") or []
        if not versions:
            errors.required(at, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")
        validate_review_versions(errors, at, versions, needs_known=had_known_versions)
        if has_unique_names and name:
            if name in names:
                errors.duplicate(f"{path}.name", name)
            names.add(name)


def _validate_full_name(errors: FieldErrors, path: str, name: str) -> None:
    if problems := dns_subdomain(name):
        errors.invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        text = "should be a domain with at least three segments separated by dots"
        errors.invalid(path, name, text)


def validate_review_versions(
    errors: FieldErrors, path: str, versions: list[str], *, needs_known: bool = True
) -> None:
    """Check the versions of reviews that a webhook reads."""
    for index, (version, is_repeated) in enumerate(zip(versions, repeats(versions), strict=True)):
        if is_repeated:
            errors.invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            r.LABEL_1035(errors, f"{path}[{index}]", version)
    if versions and needs_known and not {*_REVIEW_VERSIONS} & {*versions}:
        text = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        errors.invalid(path, versions, text)


def validate_webhook_client(errors: FieldErrors, path: str, client: Document) -> None:
    """Check how a webhook is reached: by a URL or a Service."""
    url: str | None = client.get("url")
    service: Any = client.get("service")
    if (url is None) == (service is None):
        errors.required(path, "exactly one of url or service is required")
    elif url is not None:
        _validate_url(errors, f"{path}.url", url)
    else:
        # Upstream's callers swap the name and the namespace.
        swapped = {"name": service.get("namespace"), "namespace": service.get("name")}
        _SERVICE(errors, f"{path}.service", service | swapped)


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


def _validate_service_path(errors: FieldErrors, path: str, where: str) -> None:
    if where == "/":
        return
    if not where.startswith("/"):
        errors.invalid(path, where, "must start with a '/'")
    for index, step in enumerate(where[1:].removesuffix("/").split("/")):
        if not step:
            errors.invalid(path, where, f"segment[{index}] may not be empty")
        errors.each(path, where, [f"segment[{index}]: {one}" for one in dns_subdomain(step or "a")])


_SERVICE: Final = r.struct(
    name=r.required(),
    namespace=r.required(),
    port=r.always(
        r.valid(lambda port: 0 < port < 65536, f"port is not valid: {port_number(0)[0]}"), 0
    ),
    path=r.optional(_validate_service_path),
)


# ------------------------------------------------------------------------------- rules


def _wildcard(what: str, *rules: r.Rule) -> r.Rule:
    """Return the rule of a list in which `*` must be the only item."""

    def check(errors: FieldErrors, path: str, values: list[str]) -> None:
        if len(values) > 1 and "*" in values:
            errors.invalid(path, values, f"if '*' is present, must not specify other {what}")

    return r.required(check, *rules)


def _validate_resources(errors: FieldErrors, path: str, resources: list[str]) -> None:
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


_OPERATION: Final = r.one_of("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_RULE: Final = r.struct(
    operations=_wildcard("operations", r.each(_OPERATION)),
    apiGroups=_wildcard("API groups"),
    apiVersions=_wildcard("API versions", r.each(r.nonempty())),
    resources=r.required(_validate_resources),
    scope=r.one_of("*", "Cluster", "Namespaced"),
)


_CONDITIONS: Final = r.always(
    r.each(
        r.struct(expression=r.not_blank(), name=r.required(r.QUALIFIED)),
        most=64,
        key="name",
        checks_too_many=True,
    ),
    (),
)
_FAILURE_POLICY: Final = r.one_of("Fail", "Ignore")
_MATCH_POLICY: Final = r.one_of("Equivalent", "Exact")
_REINVOCATION_POLICY: Final = r.one_of("IfNeeded", "Never")
_TIMEOUT: Final = "the timeout value must be between 1 and 30 seconds"
_WEBHOOK: Final = {
    needs_no_effects: r.struct(
        name=r.required(_validate_full_name),
        rules=r.each(_RULE),
        failurePolicy=_FAILURE_POLICY,
        matchPolicy=_MATCH_POLICY,
        sideEffects=r.not_null(
            r.one_of(*effects), detail=f"must specify one of {', '.join(effects)}"
        ),
        timeoutSeconds=r.valid(lambda seconds: 1 <= seconds <= 30, _TIMEOUT),
        namespaceSelector=validate_label_selector,
        objectSelector=validate_label_selector,
        reinvocationPolicy=_REINVOCATION_POLICY,
        clientConfig=r.always(validate_webhook_client, {}),
        matchConditions=_CONDITIONS,
    )
    for needs_no_effects, effects in ((True, _NO_SIDE_EFFECTS), (False, _SIDE_EFFECTS))
}


# ---------------------------------------------------------------------------- policies


def _validate_audits(errors: FieldErrors, policy: Document) -> None:
    spec = policy.get("spec") or {}
    annotations = spec.get("auditAnnotations") or []
    if len(annotations) > _MOST_ANNOTATIONS:
        text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        shown = internal_form(annotations, "[AuditAnnotation]")
        errors.invalid("spec.auditAnnotations", shown, text)
    name = (policy.get("metadata") or {}).get("name") or ""
    keys: set[str] = set()
    for index, each in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", each.get("key") or ""
        if name:
            r.QUALIFIED(errors, f"{path}.key", f"{name}/{key}")
        else:
            errors.invalid(f"{path}.key", key, "requires metadata.name be non-empty")
        _AUDITED(errors, path, each)
        if key in keys:
            errors.duplicate(f"{path}.key", key)
        keys.add(key)


def _validate_effects(errors: FieldErrors, path: str, spec: Document) -> None:
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        for name in ("validations", "auditAnnotations"):
            text = "validations or auditAnnotations must contain at least one item"
            errors.required(f"{path}.{name}", text)


def _validate_version(errors: FieldErrors, path: str, api_version: str) -> None:
    group, separator, version = api_version.partition("/")
    if not separator:
        group, version = "", api_version
    if "/" in version:
        errors.invalid(path, api_version, f"unexpected GroupVersion string: {api_version}")
        return
    if group:
        r.ONE_SUBDOMAIN(errors, path, group)
    if not version:
        errors.invalid(path, api_version, "version must be specified")
    else:
        r.ONE_LABEL_1035(errors, path, version)


def _validate_message(errors: FieldErrors, path: str, message: str) -> None:
    if not message.strip():
        errors.invalid(path, message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.invalid(path, message, "must not contain line breaks")


def _validate_mutation(errors: FieldErrors, path: str, mutation: Document) -> None:
    patch_type = mutation.get("patchType") or ""
    if field := _PATCH_TYPES.get(patch_type):
        text = f"must be specified when patchType is {patch_type}"
        patch = r.struct(expression=r.not_blank(""))
        r.struct(**{field: r.not_null(patch, detail=text)})(errors, path, mutation)
        for other in {*_PATCH_TYPES.values()} - {field}:
            if mutation.get(other) is not None:
                text = f"must not be specified when patchType is {patch_type}"
                errors.invalid(f"{path}.{other}", f"{{{other}}}", text)


def _validate_variable_name(errors: FieldErrors, path: str, name: str) -> None:
    if not name.strip():
        errors.required(path, "name is not specified")
    elif not _CEL_NAME.fullmatch(name) or name in _CEL_RESERVED:
        errors.invalid(path, name, "must be a valid CEL identifier")


def _validate_value_expression(errors: FieldErrors, path: str, text: str) -> None:
    if not text.strip():
        errors.required(path, "valueExpression is not specified")
    elif len(text.strip().encode()) > _ANNOTATION_MAX_BYTES:
        errors.required(path, f"must not exceed {_ANNOTATION_MAX_BYTES} bytes in length")


_AUDITED: Final = r.struct(valueExpression=r.always(_validate_value_expression, ""))
_RULES: Final = r.each(r.all_of(r.struct(resourceNames=r.distinct(r.SEGMENT)), _RULE))
_MATCH: Final = r.struct(
    matchPolicy=r.not_null(_MATCH_POLICY),
    namespaceSelector=r.not_null(validate_label_selector),
    objectSelector=r.not_null(validate_label_selector),
    resourceRules=_RULES,
    excludeResourceRules=_RULES,
)


def _policy(of_match: r.Rule) -> r.Rule:
    return r.struct(
        failurePolicy=r.not_null(_FAILURE_POLICY),
        paramKind=r.struct(
            apiVersion=r.required(_validate_version),
            kind=r.required(r.MIXED_CASE_LABEL),
        ),
        matchConstraints=r.not_null(_MATCH, r.struct(resourceRules=r.required()), of_match),
        matchConditions=_CONDITIONS,
        variables=r.each(
            r.struct(
                name=r.always(_validate_variable_name, ""),
                expression=r.not_blank("expression is not specified"),
            )
        ),
    )


def _validate_mutated_operations(errors: FieldErrors, path: str, rules: list[Document]) -> None:
    for rule in rules:
        for operation in rule.get("operations") or ():
            _MUTATED(errors, f"{path}.operations", operation)


_MUTATED: Final = r.one_of("*", "CONNECT", "CREATE", "UPDATE")
_VALIDATION: Final = r.struct(
    expression=r.not_blank("expression is not specified"),
    messageExpression=r.optional(r.valid(str.strip, "must be non-empty if specified")),
    message=r.optional(_validate_message),
    reason=r.one_of("Forbidden", "Invalid", "RequestEntityTooLarge"),
)
_validate_validating_spec: Final = r.of_spec(
    _policy(r.all_of()), _validate_effects, r.struct(validations=r.each(_VALIDATION))
)


def validate_validating_policy(errors: FieldErrors, policy: Document) -> None:
    """Check a new ValidatingAdmissionPolicy."""
    _validate_validating_spec(errors, policy)
    _validate_audits(errors, policy)


validate_mutating_policy: Final = r.of_spec(
    _policy(r.struct(resourceRules=_validate_mutated_operations)),
    r.struct(
        mutations=r.required(
            r.each(
                r.all_of(
                    r.struct(patchType=r.required(r.one_of(*_PATCH_TYPES))),
                    _validate_mutation,
                )
            ),
            detail="mutations must contain at least one item",
        ),
        reinvocationPolicy=r.required(_REINVOCATION_POLICY),
    ),
)


# ---------------------------------------------------------------------------- bindings


def _validate_bound_match(errors: FieldErrors, path: str, spec: Document) -> None:
    if (match := spec.get("matchResources")) is not None:
        # The path is misspelled upstream.
        _MATCH(errors, f"{path}.matchResources", match)


def _validate_parameters(errors: FieldErrors, path: str, reference: Document) -> None:
    name, selector = reference.get("name"), reference.get("selector")
    text = "name and selector are mutually exclusive"
    if name:
        r.SEGMENT(errors, f"{path}.name", name)
        if selector is not None:
            errors.forbidden(f"{path}.name", text)
    validate_label_selector(errors, f"{path}.selector", selector)
    if name and selector is not None:
        errors.forbidden(f"{path}.selector", text)
    if not name and selector is None:
        errors.required(path, "one of name or selector must be specified")


def _validate_actions(errors: FieldErrors, path: str, actions: list[str]) -> None:
    _ACTIONS(errors, path, actions)
    if {"Deny", "Warn"} <= {*actions}:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information"
            " in the API response and headers serves no purpose)"
        )
        errors.invalid(path, actions, text)


_ACTIONS: Final = r.distinct(r.one_of("Audit", "Deny", "Warn"))
_BINDING: Final = r.all_of(
    r.struct(
        policyName=r.required(r.SUBDOMAIN),
        paramRef=r.all_of(
            _validate_parameters,
            r.struct(parameterNotFoundAction=r.required(r.one_of("Deny", "Allow"))),
        ),
    ),
    _validate_bound_match,
)
_NO_ACTION: Final = "at least one validation action is required"
validate_validating_binding: Final = r.of_spec(
    _BINDING, r.struct(validationActions=r.required(_validate_actions, detail=_NO_ACTION))
)
validate_mutating_binding: Final = r.of_spec(_BINDING)


# Validation of APIServices and StorageVersionMigrations, which are about the API server itself.

_PRIORITIES_MAX: Final = {"groupPriorityMinimum": 20_000, "versionPriority": 1_000}


def validate_api_service(errors: FieldErrors, api_service: Document) -> None:
    """Check a new APIService, whose name is that of its version of an API."""
    metadata, spec = api_service.get("metadata") or {}, api_service.get("spec") or {}
    name, group, version = metadata.get("name"), spec.get("group") or "", spec.get("version") or ""
    if name and name != (needed := f"{version}.{group}"):
        errors.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{needed}"')
    if group:
        errors.each("spec.group", group, dns_subdomain(group))
    elif version != "v1":
        text = "only v1 may have an empty group and it better be legacy kube"
        errors.required("spec.group", text)
    errors.each("spec.version", version, dns_1035_label(version))
    for field, most in _PRIORITIES_MAX.items():
        priority = spec.get(field) or 0
        if not 0 < priority <= most:
            errors.invalid(f"spec.{field}", priority, f"must be positive and less than {most}")
    if spec.get("service") is None:
        _validate_local(errors, spec)
    else:
        _validate_remote(errors, spec)


def _validate_local(errors: FieldErrors, spec: Document) -> None:
    if bundle := spec.get("caBundle"):
        text = "local APIServices may not have a caBundle"
        errors.invalid("spec.caBundle", f"{len(b64decode(bundle))} bytes", text)
    if spec.get("insecureSkipTLSVerify"):
        text = "local APIServices may not have insecureSkipTLSVerify"
        errors.invalid("spec.insecureSkipTLSVerify", spec["insecureSkipTLSVerify"], text)


def _validate_remote(errors: FieldErrors, spec: Document) -> None:
    service = spec["service"]
    for field in ("namespace", "name"):
        if not service.get(field):
            errors.required(f"spec.service.{field}")
    port = service.get("port") or 0
    if problems := port_number(port):
        text = f"port is not valid: {', '.join(problems)}"
        errors.invalid("spec.service.port", port, text)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        text = "may not be true if caBundle is present"
        errors.invalid("spec.insecureSkipTLSVerify", spec["insecureSkipTLSVerify"], text)


# Validation of storage version migrations.

_VERSION: Final = re.compile("[1-9][0-9]*")


def validate_migration(errors: FieldErrors, migration: Document) -> None:
    """Check a new StorageVersionMigration."""
    of = (migration.get("spec") or {}).get("resource") or {}
    resource, group = of.get("resource") or "", of.get("group") or ""
    path = "spec.resource"
    if not resource:
        errors.required(f"{path}.resource", "resource is required to be set")
    elif details := list(dns_1035_label(resource)):
        errors.invalid(f"{path}.resource", resource, ",".join(details))
    if group and (details := list(dns_subdomain(group))):
        errors.invalid(f"{path}.group", group, ",".join(details))


def validate_migration_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed status: the version stays, and the end of a migration is final."""
    path = "status.resourceVersion"
    status, before = new.get("status") or {}, old.get("status") or {}
    version, former = status.get("resourceVersion") or "", before.get("resourceVersion") or ""
    if version and not _VERSION.fullmatch(version):
        errors.invalid(path, version, f"resource version is not well formed: {version}")
    conditions = status.get("conditions") or []
    validate_conditions(errors, "status.conditions", conditions)
    if former and version != former:
        errors.invalid(path, version, "field is immutable")
    true, was_true = _true_types(status), _true_types(before)
    shown = internal_form(conditions, "[Condition]")
    if {"Succeeded", "Failed"} <= true:
        text = "Both success and failed conditions cannot be true at the same time"
        errors.invalid("status.conditions", shown, text)
    for name, title in (("Succeeded", "Success"), ("Failed", "Failed")):
        if name in was_true - true:
            text = f"{title} condition cannot be set to false once it is true"
            errors.invalid("status.conditions", shown, text)


def _true_types(status: Document) -> set[str]:
    """Return the types of the conditions that are true; the first of each type counts."""
    first: dict[str, str] = {}
    for condition in status.get("conditions") or ():
        first.setdefault(condition.get("type") or "", condition.get("status") or "")
    return {name for name, status in first.items() if status == "True"}
