"""Validation of CustomResourceDefinitions.

Upstream validates its internal form, in which what all versions have in common is at the top of the
spec: errors of a definition whose versions have equal schemas are at `spec.validation`.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.structural.field_paths import FieldPathError, schema_at
from podwright.apimachinery.schema.structural.shape import (
    ANNOTATION,
    approval_of,
    unsupported_field,
)
from podwright.apimachinery.schema.validation import rules as r
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


def validate_definition_status(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check the changed status of a CustomResourceDefinition."""
    accepted = (new.get("status") or {}).get("acceptedNames") or {}
    _NAMES(errors, "status.acceptedNames", accepted)


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
        _NAMES(errors, "status.acceptedNames", status.get("acceptedNames") or {})
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
        version = each.get("name") or ""
        # A version that is listed twice is found once.
        if left.pop(version, None) is None and each.get("storage"):
            errors.invalid(path, stored, f"must have the storage version {version}")
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
    _GROUP_AND_SCOPE(errors, "spec", spec)
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
        _VERSION(errors, path, each)
        _validate_deprecation(errors, each, f"{path}.deprecationWarning")
        parts.validate_own(each, path)
    shown = [printed_version(each, parts.shared) for each in versions]
    _validate_versions(errors, versions, shown)
    _GIVEN_NAMES(errors, "spec", spec)
    parts.validate_shared()
    conversion = spec.get("conversion")
    if conversion is not None:
        if conversion.get("strategy") != "None" and spec.get("preserveUnknownFields"):
            text = "must be None if spec.preserveUnknownFields is true"
            errors.invalid("spec.conversion.strategy", conversion.get("strategy"), text)
        _validate_conversion(errors, conversion, "spec.conversion")


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


def _group_problems(group: str) -> Iterator[str]:
    if problems := dns_subdomain(group):
        yield ",".join(problems)
    elif "." not in group:
        yield "should be a domain with at least one dot"


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
        self.shared = {
            field
            for field in _SHARED_FIELDS
            if versions and all(same(each.get(field), versions[0].get(field)) for each in versions)
        }

    def validate_own(self, version: Document, path: str) -> None:
        """Check the parts that a version does not share with all others."""
        has_status = _has_status(version)
        for field in _SHARED_FIELDS:
            if field not in self.shared:
                self._validate(version, field, f"{path}.{field}", has_status=has_status)

    def validate_shared(self) -> None:
        """Check the parts that all versions have in common."""
        has_status = any(map(_has_status, self._versions))
        for field in _SHARED_FIELDS:
            if field in self.shared:
                name = "validation" if field == "schema" else field
                self._validate(self._versions[0], field, f"spec.{name}", has_status=has_status)

    def _validate(self, version: Document, field: str, path: str, *, has_status: bool) -> None:
        if field == "schema":
            self._validate_schema(version, path, has_status=has_status)
        elif field == "selectableFields":
            # Upstream looks for the schema where the fields are.
            is_beside = ("schema" in self.shared) is (field in self.shared)
            _validate_selectable(self._errors, version, path, has_schema=is_beside)
        elif (value := version.get(field)) is not None:
            _PARTS[field](self._errors, path, value)

    def _validate_schema(self, version: Document, path: str, *, has_status: bool) -> None:
        schema = _schema(version)
        if schema is None:
            return
        options = self._options
        if same(schema, self._old.get(version.get("name"))):
            options = msgspec.structs.replace(options, compiles_rules=False)
        at = f"{path}.openAPIV3Schema"
        validate_schema(self._errors, schema, at, options, has_status=has_status)


def _has_status(version: Document) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _validate_list_kind(errors: FieldErrors, path: str, names: Document) -> None:
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        text = "kind and listKind may not be the same"
        errors.invalid(f"{path}.listKind", names["listKind"], text)


def _path_below(*starts: str, shown: str) -> r.Rule:
    """Return the rule of a JSON path below some fields."""

    def problems(path: str) -> Iterator[str]:
        if not path.startswith("."):
            yield _SIMPLE_PATH
        elif not path.startswith(starts):
            yield f"should be a json path under {shown}"

    return r.form(problems)


def _listed(values: tuple[str, ...]) -> r.Rule:
    return r.valid(lambda value: value in values, _one_of(values))


def _one_of(values: tuple[str, ...]) -> str:
    return f"must be one of {','.join(values)}"


def _validate_column_path(errors: FieldErrors, path: str, column: Document) -> None:
    # Upstream writes the field's name so.
    _COLUMN_PATH(errors, f"{path}.JSONPath", column.get("jsonPath"))


_SIMPLE_PATH: Final = "must be a simple json path starting with ."
_COLUMN_PATH: Final = r.nonempty(r.valid(lambda path: path.startswith("."), _SIMPLE_PATH))
_SHARED_FIELDS: Final = (
    "schema", "subresources", "additionalPrinterColumns", "selectableFields",
)  # fmt: skip
_PARTS: Final = {
    "subresources": r.struct(
        scale=r.struct(
            specReplicasPath=r.required(_path_below(".spec.", shown=".spec")),
            statusReplicasPath=r.required(_path_below(".status.", shown=".status")),
            labelSelectorPath=r.optional(
                _path_below(".spec.", ".status.", shown="either .spec or .status")
            ),
        )
    ),
    "additionalPrinterColumns": r.each(
        r.all_of(
            r.struct(
                name=r.required(),
                type=r.required(_listed(_COLUMN_TYPES), detail=_one_of(_COLUMN_TYPES)),
                format=r.optional(_listed(_COLUMN_FORMATS)),
            ),
            _validate_column_path,
        )
    ),
}
_GROUP_AND_SCOPE: Final = r.struct(
    group=r.required(r.form(_group_problems)), scope=r.required(r.one_of("Cluster", "Namespaced"))
)
_VERSION: Final = r.struct(name=r.always(r.ONE_LABEL_1035, ""))
_NAME: Final = r.optional(r.ONE_LABEL_1035)
_KIND_NAME: Final = r.optional(r.MIXED_CASE_LABEL)
_NAMES: Final = r.all_of(
    r.struct(
        plural=_NAME,
        singular=_NAME,
        kind=_KIND_NAME,
        listKind=_KIND_NAME,
        shortNames=r.each(r.ONE_LABEL_1035),
    ),
    _validate_list_kind,
    r.struct(categories=r.each(r.ONE_LABEL_1035)),
)
_GIVEN_NAMES: Final = r.struct(
    names=r.always(
        r.all_of(
            r.struct(
                plural=r.required(), singular=r.required(), kind=r.required(), listKind=r.required()
            ),
            _NAMES,
        ),
        {},
    )
)
_STRATEGY: Final = r.struct(strategy=r.required(r.one_of("None", "Webhook")))


def _validate_selectable(
    errors: FieldErrors, version: Document, path: str, *, has_schema: bool
) -> None:
    fields = version.get("selectableFields") or []
    schema = _schema(version)
    if not fields:
        return
    if not has_schema or schema is None or unsupported_field(schema):
        needed = "validations.schema is included"
        if path != "spec.selectableFields":
            needed = "`version.schema.openAPIV3Schema` is not included"
        errors.invalid(path, "", f"may only be set when {needed}")
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
    webhook: Document = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    _STRATEGY(errors, path, conversion)
    at = f"{path}.webhookClientConfig"
    if conversion.get("strategy") != "Webhook":
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
