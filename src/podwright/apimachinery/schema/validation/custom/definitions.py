"""Validation of CustomResourceDefinitions.

Upstream validates its internal form, in which what all versions have in common is at the top of the
spec: errors of a definition whose versions have equal schemas are at `spec.validation`.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.structural.field_paths import FieldPathError, schema_at
from podwright.apimachinery.schema.structural.shape import (
    ANNOTATION,
    approval_of,
    unsupported_field,
)
from podwright.apimachinery.schema.validation.admission import validate_webhook_client
from podwright.apimachinery.schema.validation.custom.definition_schemas import (
    SchemaOptions,
    options_after,
    printed_version,
    validate_schema,
)
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats, same
from podwright.apimachinery.schema.validation.names import dns_1035_label, dns_subdomain

SELECTABLE_FIELDS_MAX: Final = 8

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_WARNING_MAX: Final = 256


def validate_definition(errors: FieldErrors, definition: Document) -> None:
    """Check a new CustomResourceDefinition."""
    _validate_name(errors, definition)
    _validate_spec(errors, definition.get("spec") or {}, SchemaOptions(), [])
    _validate_rest(errors, definition, None)


def validate_definition_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed CustomResourceDefinition."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    schemas = [schema for each in before.get("versions") or () if (schema := _schema(each))]
    _validate_spec(errors, spec, options_after(schemas), before.get("versions") or [])
    names, names_before = spec.get("names") or {}, before.get("names") or {}
    conditions = (old.get("status") or {}).get("conditions") or ()
    if any(
        (each.get("type"), each.get("status")) == ("Established", "True") for each in conditions
    ):
        errors.immutable("spec.scope", spec.get("scope"), before.get("scope"))
        errors.immutable("spec.names.kind", names.get("kind"), names_before.get("kind"))
    errors.immutable("spec.group", spec.get("group"), before.get("group"))
    errors.immutable("spec.names.plural", names.get("plural"), names_before.get("plural"))
    _validate_rest(errors, new, old)


def validate_definition_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the changed status of a CustomResourceDefinition."""
    del old
    accepted = (new.get("status") or {}).get("acceptedNames") or {}
    _validate_names(errors, accepted, "status.acceptedNames")


def _schema(version: Document) -> Document | None:
    found: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def _validate_name(errors: FieldErrors, definition: Document) -> None:
    metadata, spec = definition.get("metadata") or {}, definition.get("spec") or {}
    needed = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    for field in ("generateName", "name"):
        name = metadata.get(field)
        if name and name != needed:
            text = 'must be spec.names.plural+"."+spec.group'
            errors.invalid(f"metadata.{field}", name, text)


def _validate_rest(errors: FieldErrors, definition: Document, old: Document | None) -> None:
    spec = definition.get("spec") or {}
    status = definition.get("status")
    if status is not None:  # a manifest has none
        _validate_names(errors, status.get("acceptedNames") or {}, "status.acceptedNames")
        _validate_stored(errors, status.get("storedVersions"), spec.get("versions") or ())
    _validate_approval(errors, definition, old)
    if spec.get("preserveUnknownFields") and not ((old or {}).get("spec") or {}).get(
        "preserveUnknownFields"
    ):
        text = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
            " spec.versions[*].schema instead"
        )
        errors.invalid("spec.preserveUnknownFields", value=True, detail=text)


def _validate_stored(
    errors: FieldErrors, stored: list[str] | None, versions: Sequence[Document]
) -> None:
    path = "status.storedVersions"
    if not stored:
        errors.invalid(path, stored, "must have at least one stored version")
        return
    left: dict[Any, int] = {name: index for index, name in enumerate(stored)}
    for each in versions:
        # A version that is listed twice is found once.
        if left.pop(each.get("name"), None) is None and each.get("storage"):
            errors.invalid(path, stored, f"must have the storage version {each.get('name')}")
    for name, index in left.items():
        text = (
            f"missing from spec.versions; {name} was previously a storage version, and must"
            " remain in spec.versions until a storage migration ensures no data remains"
            f" persisted in {name} and removes {name} from status.storedVersions"
        )
        errors.invalid(f"{path}[{index}]", name, text)


def _validate_approval(errors: FieldErrors, definition: Document, old: Document | None) -> None:
    found = approval_of(definition)
    before = None if old is None else approval_of(old)
    if found is None or (before is not None and before[1] == found[1]):
        return
    _, reason, message = found
    path = f"metadata.annotations[{ANNOTATION}]"
    if reason == "MissingAnnotation":
        errors.required(path, message)
    elif reason == "InvalidAnnotation":
        value = definition["metadata"]["annotations"][ANNOTATION]
        errors.invalid(path, value, message)


# -------------------------------------------------------------------------------- spec


def _validate_spec(
    errors: FieldErrors, spec: Document, options: SchemaOptions, old: list[Document]
) -> None:
    _validate_group(errors, spec.get("group") or "")
    _validate_scope(errors, spec.get("scope") or "")
    versions: list[Document] = spec.get("versions") or []
    is_shared = bool(versions) and all(
        same(each.get("schema"), versions[0].get("schema")) for each in versions
    )
    if not (is_shared and _schema(versions[0])):
        for index, each in enumerate(versions):
            if _schema(each) is None:
                errors.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") and any(_has_default(_schema(each)) for each in versions):
        text = "must be false in order to use defaults in the schema"
        errors.invalid("spec.preserveUnknownFields", value=True, detail=text)
    parts = _Parts(errors, options, old, versions)
    for index, each in enumerate(versions):
        path = f"spec.versions[{index}]"
        errors_of_name = dns_1035_label(each.get("name") or "")
        if errors_of_name:
            errors.invalid(f"{path}.name", each.get("name") or "", ",".join(errors_of_name))
        _validate_deprecation(errors, each, f"{path}.deprecationWarning")
        parts.validate_own(each, path)
    shown = [printed_version(each, parts.shared) for each in versions]
    _validate_versions(errors, versions, shown)
    given: Document = spec.get("names") or {}
    for field in ("plural", "singular", "kind", "listKind"):
        if not given.get(field):
            errors.required(f"spec.names.{field}")
    _validate_names(errors, given, "spec.names")
    parts.validate_shared()
    conversion = spec.get("conversion")
    if conversion is not None:
        if conversion.get("strategy") != "None" and spec.get("preserveUnknownFields"):
            text = "must be None if spec.preserveUnknownFields is true"
            errors.invalid("spec.conversion.strategy", conversion.get("strategy"), text)
        _validate_conversion(errors, conversion, "spec.conversion")


def _validate_scope(errors: FieldErrors, scope: str) -> None:
    if not scope:
        errors.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        errors.unsupported("spec.scope", scope, ("Cluster", "Namespaced"))


def _validate_versions(
    errors: FieldErrors, versions: list[Document], shown: list[Document]
) -> None:
    names = [each.get("name") for each in versions]
    if len({*names}) != len(names):
        errors.invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        text = "must have exactly one version marked as storage version"
        errors.invalid("spec.versions", shown or None, text)
    first = versions[0].get("name") if versions else ""
    if first and (problems := dns_1035_label(first)):
        errors.invalid("spec.version", first, ",".join(problems))


def _has_default(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("default") is not None or any(map(_has_default, schema.values()))
    return isinstance(schema, list) and any(map(_has_default, schema))


def _validate_group(errors: FieldErrors, group: str) -> None:
    if not group:
        errors.required("spec.group")
    elif problems := dns_subdomain(group):
        errors.invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        errors.invalid("spec.group", group, "should be a domain with at least one dot")


def _validate_deprecation(errors: FieldErrors, version: Document, path: str) -> None:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        errors.invalid(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _WARNING_MAX:
        errors.invalid(path, warning, f"must be <= {_WARNING_MAX} characters long")
    if not warning:
        errors.invalid(path, warning, "must not be an empty string")
    at = next((i for i, letter in enumerate(warning) if not letter.isprintable()), None)
    if at is not None:
        index = len(warning[:at].encode())
        text = (
            "must only contain printable UTF-8 characters; non-printable character found at index"
            f" {index}"
        )
        errors.invalid(path, warning, text)


class _Parts:
    """The parts of versions that are at the top of the spec if all versions have the same."""

    def __init__(
        self,
        errors: FieldErrors,
        options: SchemaOptions,
        old: list[Document],
        versions: list[Document],
    ) -> None:
        self._errors = errors
        self._options = options
        self._old = {each.get("name"): _schema(each) for each in old}
        self._versions = versions
        fields = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
        self.shared = {
            field
            for field in fields
            if versions and all(same(each.get(field), versions[0].get(field)) for each in versions)
        }

    def validate_own(self, version: Document, path: str) -> None:
        """Check the parts that a version does not share with all others."""
        if "schema" not in self.shared:
            has_status = (version.get("subresources") or {}).get("status") is not None
            self._validate_schema(version, f"{path}.schema", has_status=has_status)
        if "subresources" not in self.shared:
            _validate_subresources(
                self._errors, version.get("subresources"), f"{path}.subresources"
            )
        if "additionalPrinterColumns" not in self.shared:
            _validate_columns(
                self._errors,
                version.get("additionalPrinterColumns") or [],
                f"{path}.additionalPrinterColumns",
            )
        if "selectableFields" not in self.shared:
            _validate_selectable(self._errors, version, f"{path}.selectableFields")

    def validate_shared(self) -> None:
        """Check the parts that all versions have in common."""
        if not self._versions:
            return
        first = self._versions[0]
        if "schema" in self.shared:
            has_status = any(
                (each.get("subresources") or {}).get("status") is not None
                for each in self._versions
            )
            self._validate_schema(first, "spec.validation", has_status=has_status)
        if "subresources" in self.shared:
            _validate_subresources(self._errors, first.get("subresources"), "spec.subresources")
        if "additionalPrinterColumns" in self.shared:
            columns = first.get("additionalPrinterColumns") or []
            _validate_columns(self._errors, columns, "spec.additionalPrinterColumns")
        if "selectableFields" in self.shared:
            _validate_selectable(self._errors, first, "spec.selectableFields")

    def _validate_schema(self, version: Document, path: str, *, has_status: bool) -> None:
        schema = _schema(version)
        if schema is None:
            return
        options = self._options
        if same(schema, self._old.get(version.get("name"))):
            options = msgspec.structs.replace(options, compiles_rules=False)
        at = f"{path}.openAPIV3Schema"
        validate_schema(self._errors, schema, at, options, has_status=has_status)


def _validate_names(errors: FieldErrors, names: Document, path: str) -> None:
    for field in ("plural", "singular"):
        name = names.get(field) or ""
        if name and (problems := dns_1035_label(name)):
            errors.invalid(f"{path}.{field}", name, ",".join(problems))
    for field in ("kind", "listKind"):
        name = names.get(field) or ""
        if name and (problems := dns_1035_label(name.lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            errors.invalid(f"{path}.{field}", name, text)
    for index, name in enumerate(names.get("shortNames") or ()):
        if problems := dns_1035_label(name):
            errors.invalid(f"{path}.shortNames[{index}]", name, ",".join(problems))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        text = "kind and listKind may not be the same"
        errors.invalid(f"{path}.listKind", names["listKind"], text)
    for index, name in enumerate(names.get("categories") or ()):
        if problems := dns_1035_label(name):
            errors.invalid(f"{path}.categories[{index}]", name, ",".join(problems))


def _validate_subresources(errors: FieldErrors, parts: Document | None, path: str) -> None:
    scale = (parts or {}).get("scale")
    if scale is None:
        return
    for field, start in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        value, at = scale.get(field) or "", f"{path}.scale.{field}"
        if not value:
            errors.required(at)
        elif not value.startswith("."):
            errors.invalid(at, value, "must be a simple json path starting with .")
        elif not value.startswith(start):
            errors.invalid(at, value, f"should be a json path under {start.rstrip('.')}")
    value, at = scale.get("labelSelectorPath") or "", f"{path}.scale.labelSelectorPath"
    if value and not value.startswith("."):
        errors.invalid(at, value, "must be a simple json path starting with .")
    elif value and not value.startswith((".spec.", ".status.")):
        errors.invalid(at, value, "should be a json path under either .spec or .status")


def _validate_columns(errors: FieldErrors, columns: list[Document], path: str) -> None:
    for index, column in enumerate(columns):
        at = f"{path}[{index}]"
        if not column.get("name"):
            errors.required(f"{at}.name")
        type_, form = column.get("type") or "", column.get("format") or ""
        text = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not type_:
            errors.required(f"{at}.type", text)
        elif type_ not in _COLUMN_TYPES:
            errors.invalid(f"{at}.type", type_, text)
        if form and form not in _COLUMN_FORMATS:
            text = f"must be one of {','.join(_COLUMN_FORMATS)}"
            errors.invalid(f"{at}.format", form, text)
        json_path = column.get("jsonPath") or ""
        if not json_path:
            errors.required(f"{at}.JSONPath")
        elif not json_path.startswith("."):
            text = "must be a simple json path starting with ."
            errors.invalid(f"{at}.JSONPath", json_path, text)


def _validate_selectable(errors: FieldErrors, version: Document, path: str) -> None:
    fields = version.get("selectableFields") or []
    schema = _schema(version)
    if not fields:
        return
    if schema is None or unsupported_field(schema):
        errors.invalid(path, "", "may only be set when validations.schema is included")
        return
    seen: set[str] = set()
    for index, field in enumerate(fields):
        at, value = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not value:
            errors.required(at)
            continue
        try:
            shown, found = schema_at(value, schema, allows_brackets=False)
        except FieldPathError as error:
            errors.invalid(at, value, f"is an invalid path: {error}")
            continue
        if shown.split(".")[0] == "metadata":
            errors.invalid(at, value, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            text = (
                "must point to a field of type string, boolean or integer. Enum string fields and"
                " strings with formats are allowed."
            )
            errors.invalid(at, value, text)
        if shown in seen:
            errors.duplicate(at, value)
        seen.add(shown)
    if len(seen) > SELECTABLE_FIELDS_MAX:
        errors.too_many(path, len(seen), SELECTABLE_FIELDS_MAX)


def _validate_conversion(errors: FieldErrors, conversion: Document, path: str) -> None:
    strategy = conversion.get("strategy") or ""
    webhook: Document = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if not strategy:
        errors.required(f"{path}.strategy")
    elif strategy not in ("None", "Webhook"):
        errors.unsupported(f"{path}.strategy", strategy, ("None", "Webhook"))
    at = f"{path}.webhookClientConfig"
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.forbidden(at, text)
        if versions:
            errors.forbidden(f"{path}.conversionReviewVersions", text)
        return
    if client is None:
        errors.required(at, "required when strategy is set to Webhook")
    else:
        validate_webhook_client(errors, at, client)
    at = f"{path}.conversionReviewVersions"
    if not versions:
        errors.required(at)
        return
    for index, (version, is_repeated) in enumerate(zip(versions, repeats(versions), strict=True)):
        if is_repeated:
            errors.invalid(f"{at}[{index}]", version, "duplicate version")
        else:
            errors.each(f"{at}[{index}]", version, dns_1035_label(version))
    if not {*_REVIEW_VERSIONS} & {*versions}:
        text = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        errors.invalid(at, versions, text)
