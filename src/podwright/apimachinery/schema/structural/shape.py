"""Whether a schema is structural: types are outside of the value validations, and complete.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,convert}.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/controller/apiapproval/apiapproval_controller.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from podwright.apimachinery import cel
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.kind_index import built_in
from podwright.apimachinery.schema.strict_structs import UNKNOWN_FIELD
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, printed
from podwright.apimachinery.schema.validation.metadata import validate_object_meta
from podwright.apimachinery.schema.validation.names import dns_1035_label

Level: TypeAlias = Literal["root", "item", "field"]

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_MISSING_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NESTED: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""What value validations may not have."""

_KEEPS: Final = "preserve-unknown-fields"
_UNSUPPORTED: Final = (
    ("id", "id"), ("$schema", "schema"), ("$ref", "$ref"),
    ("patternProperties", "patternProperties"), ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"), ("definitions", "definitions"),
)  # fmt: skip


def unsupported_field(schema: Schema) -> str:
    """Return why a schema cannot be made structural; "" if it can."""
    for name, shown in _UNSUPPORTED:
        if schema.get(name) not in (None, "", {}, []):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    items = schema.get("items")
    if items and isinstance(items, list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, map(unsupported_field, sub_schemas(schema))), "")


def sub_schemas(schema: Schema) -> Iterator[Schema]:
    """Yield the schemas directly inside a schema."""
    for name in ("items", "additionalProperties", "not"):
        part = schema.get(name)
        if isinstance(part, Mapping):
            yield part
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()
    yield from (schema.get("properties") or {}).values()


def all_schemas(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and all schemas in it."""
    yield schema
    for part in sub_schemas(schema):
        yield from all_schemas(part)


def own_schemas(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and those of its parts; value validations are left out."""
    yield schema
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for part in (schema.get("items"), schema.get("additionalProperties"), *properties.values()):
        if isinstance(part, Mapping):
            yield from own_schemas(part)


def structural_problems(schema: Schema, path: str) -> list[Problem]:
    """Return why a schema is not structural, sorted by their texts as upstream does."""
    errors = FieldErrors()
    _validate(errors, schema, "root", path)
    _validate_completeness(errors, schema, schema, path, path)
    return sorted(errors.problems, key=lambda each: f"{each[0]}: {each[1]}")


# ------------------------------------------------------------------- the structure


def _validate(errors: FieldErrors, schema: Schema, level: Level, path: str) -> None:
    type_ = schema.get("type") or ""
    items, values = schema.get("items"), schema.get("additionalProperties")
    properties: Mapping[str, Any] = schema.get("properties") or {}
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    keeps = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if type_ == "array" and not isinstance(items, Mapping):
        errors.required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        _validate(errors, items, "item", f"{path}.items")
    for name, part in properties.items():
        _validate(errors, part, "field", f"{path}.properties[{name}]")
    if values is not None:
        if level == "root":
            errors.forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(values, Mapping):
            _validate(errors, values, "field", f"{path}.additionalProperties")
    _validate_extensions(errors, schema, path)
    all_of: Sequence[Schema] = schema.get("allOf") or ()
    skips_first = bool(all_of) and all_of[0].get("anyOf") == _INT_OR_STRING
    _validate_values(
        errors,
        schema,
        path,
        skips_any_of=schema.get("anyOf") == _INT_OR_STRING,
        skips_first=skips_first,
    )
    _validate_type(errors, schema, level, path)
    _validate_meta_fields(
        errors, properties, path, is_object=level == "root" or is_embedded, level=level
    )
    if is_embedded and not keeps and not properties:
        errors.required(
            f"{path}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without"
            " x-kubernetes-preserve-unknown-fields",
        )


def _validate_extensions(errors: FieldErrors, schema: Schema, path: str) -> None:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    text = "must be false if x-kubernetes-int-or-string is true"
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            errors.invalid(f"{path}.{name}", value=True, detail=text)


def _validate_type(errors: FieldErrors, schema: Schema, level: Level, path: str) -> None:
    type_ = schema.get("type") or ""
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    is_free = any(schema.get(f"x-kubernetes-{name}") for name in ("int-or-string", _KEEPS))
    if is_embedded and type_ != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        if type_:
            errors.invalid(f"{path}.type", type_, text)
        else:
            errors.required(f"{path}.type", text)
    elif not type_ and not is_free:
        errors.required(f"{path}.type", _MISSING_TYPE[level])
    if is_embedded and schema.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errors.forbidden(f"{path}.additionalProperties", text)
    if level == "root" and type_ and type_ != "object":
        errors.invalid(f"{path}.type", type_, "must be object at the root")


def _validate_meta_fields(
    errors: FieldErrors, properties: Mapping[str, Any], path: str, *, is_object: bool, level: Level
) -> None:
    for name in ("kind", "apiVersion"):
        found = properties.get(name)
        if is_object and found is not None and found.get("type") != "string":
            at = f"{path}.properties[{name}].type"
            errors.invalid(at, found.get("type") or "", "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    at = f"{path}.properties[metadata]"
    if is_object and metadata.get("type") != "object":
        errors.invalid(f"{at}.type", metadata.get("type") or "", "must be object")
    # The object's own metadata is implicit; some tools restrict its name.
    nested: Mapping[str, Any] = metadata.get("properties") or {}
    rest = {
        name: part
        for name, part in metadata.items()
        if name not in ("type", "default", "properties")
        and part is not False
        and part not in (None, "", {}, [])
    }
    if level == "root" and (rest or nested.keys() - {"name", "generateName"}):
        text = (
            "must not specify anything other than name and generateName, but metadata is"
            " implicitly specified"
        )
        errors.forbidden(at, text)


# -------------------------------------------------------------- the value validations


def _validate_values(
    errors: FieldErrors,
    schema: Schema,
    path: str,
    *,
    skips_any_of: bool = False,
    skips_first: bool = False,
) -> None:
    if not skips_any_of:
        for index, each in enumerate(schema.get("anyOf") or ()):
            _validate_nested(errors, each, f"{path}.anyOf[{index}]")
    for index, each in enumerate(schema.get("allOf") or ()):
        skips = skips_first and index == 0
        _validate_nested(errors, each, f"{path}.allOf[{index}]", skips_any_of=skips)
    for index, each in enumerate(schema.get("oneOf") or ()):
        _validate_nested(errors, each, f"{path}.oneOf[{index}]")
    if isinstance(schema.get("not"), Mapping):
        _validate_nested(errors, schema["not"], f"{path}.not")
    if pattern := schema.get("pattern"):
        try:
            cel.compile_pattern(pattern)
        except cel.PatternError as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            errors.invalid(f"{path}.pattern", pattern, text)


def _validate_nested(
    errors: FieldErrors, schema: Schema, path: str, *, skips_any_of: bool = False
) -> None:
    _validate_values(errors, schema, path, skips_any_of=skips_any_of)
    if isinstance(schema.get("items"), Mapping):
        _validate_nested(errors, schema["items"], f"{path}.items")
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for name, part in properties.items():
        _validate_nested(errors, part, f"{path}.properties[{name}]")
    for name, text in _NESTED:
        if schema.get(name) not in (None, "", [], False):
            errors.forbidden(f"{path}.{name}", text)
    if "metadata" in properties:
        text = "must not be specified in a nested context"
        errors.forbidden(f"{path}.properties[metadata]", text)


def _validate_completeness(
    errors: FieldErrors, nested: Schema, schema: Schema | None, path: str, nested_path: str
) -> None:
    """Check that what value validations name is in the structure."""
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(nested.get(name) or ()):
            _validate_named(errors, each, schema, path, f"{nested_path}.{name}[{index}]")
    if isinstance(nested.get("not"), Mapping):
        _validate_named(errors, nested["not"], schema, path, f"{nested_path}.not")


def _validate_named(
    errors: FieldErrors, nested: Schema, schema: Schema | None, path: str, nested_path: str
) -> None:
    if schema is None:
        errors.required(path, f"because it is defined in {nested_path}")
        return
    _validate_completeness(errors, nested, schema, path, nested_path)
    if isinstance(nested.get("items"), Mapping):
        at, nested_at = f"{path}.items", f"{nested_path}.items"
        _validate_named(errors, nested["items"], schema.get("items"), at, nested_at)
    properties: Mapping[str, Any] = schema.get("properties") or {}
    named: Mapping[str, Any] = nested.get("properties") or {}
    for name in named:
        at, nested_at = f"{path}.properties[{name}]", f"{nested_path}.properties[{name}]"
        if name in properties:
            _validate_named(errors, named[name], properties[name], at, nested_at)
        else:
            errors.required(at, f"because it is defined in {nested_at}")


# The approval that definitions in the groups of Kubernetes need.

ANNOTATION: Final = "api-approved.kubernetes.io"
_DOMAINS: Final = ("k8s.io", "kubernetes.io")
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def approval_of(definition: Document) -> tuple[str, str, str] | None:
    """Return status, reason and message of the condition about the approval of a definition.

    Returns
    -------
    tuple of str or None
        None for a group that needs no approval.
    """
    group = str((definition.get("spec") or {}).get("group") or "")
    if not any(group == domain or group.endswith(f".{domain}") for domain in _DOMAINS):
        return None
    value = str(((definition.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION, ""))
    needed = f'protected groups must have approval annotation "{ANNOTATION}"'
    if not value:
        return "False", "MissingAnnotation", f"{needed}, {_SEE}"
    if value.startswith("unapproved"):
        return "False", "UnapprovedAnnotation", f'not approved: "{value}"'
    if _is_url(value):
        return "True", "ApprovedAnnotation", f"approved in {value}"
    text = f'{needed} with either a URL or a reason starting with "unapproved", {_SEE}'
    return "False", "InvalidAnnotation", text


def _is_url(text: str) -> bool:
    try:
        found = cel.parse_url(text.partition("#")[0])
    except cel.AddressError:
        return False
    return bool(found.host and found.scheme)


# Metadata in custom resources: of the object itself, and of whole objects embedded in it.

_STRUCT: Final = "meta.v1.ObjectMeta"


def metadata_problems(document: Document, path: str = "metadata") -> list[Problem]:
    """Return every unknown field and wrong type in the metadata of an object."""
    metadata = document.get("metadata")
    if metadata is None:
        return []
    return built_in().struct_problems(_STRUCT, metadata, path)


def with_go_metadata(document: Document) -> Document:
    """Return an object with its metadata as Go writes it."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    return document | {"metadata": built_in().struct_form(_STRUCT, metadata)}


# ------------------------------------------------------------------- embedded objects


def has_embedded(schema: Schema) -> bool:
    """Whether a schema or one below it is of an embedded object."""
    return any(each.get("x-kubernetes-embedded-resource") for each in own_schemas(schema))


def embedded_problems(value: Any, schema: Schema, path: str = "") -> Iterator[Problem]:
    """Yield what keeps the embedded objects of a value from being decoded."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                text = f"Invalid value: {printed(value[name])}: must be a string"
                yield f"{path}.{name}", text, value[name]
        at = f"{path}.metadata"
        for problem in metadata_problems(value, at):
            if problem[1].startswith(UNKNOWN_FIELD):
                yield problem
            else:
                # Go's decoder reports the whole metadata, and what it could not decode.
                text = f"Invalid value: {printed(value['metadata'])}: json: {problem[1]}"
                yield at, text, value["metadata"]
    for part, inner, at in _parts(value, schema, path):
        yield from embedded_problems(part, inner, at)


def with_embedded_metadata(value: Any, schema: Schema) -> Any:
    """Return a value whose embedded objects have their metadata as Go writes it."""
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return value
        return _shared(value, [with_embedded_metadata(each, items) for each in value])
    if not isinstance(value, dict):
        return value
    made = value
    if schema.get("x-kubernetes-embedded-resource"):
        made = with_go_metadata(value)
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    for name, part in value.items():
        inner = properties.get(name, values)
        if isinstance(inner, Mapping) and isinstance(part, dict | list):
            changed = with_embedded_metadata(part, inner)
            if changed is not part:
                made = made | {name: changed}
    return made


def validate_embedded(errors: FieldErrors, value: Any, schema: Schema, path: str = "") -> None:
    """Check `apiVersion`, `kind` and `metadata` of the embedded objects of a value."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        _validate_object(errors, value, path)
    for part, inner, at in _parts(value, schema, path):
        validate_embedded(errors, part, inner, at)


def _validate_object(errors: FieldErrors, value: Document, path: str) -> None:
    prefix = f"{path}." if path else ""
    for name in ("apiVersion", "kind"):
        if name not in value:
            errors.required(f"{prefix}{name}")
    version, kind = value.get("apiVersion"), value.get("kind")
    if "apiVersion" in value:
        at = f"{prefix}apiVersion"
        if not isinstance(version, str):
            errors.invalid(at, version, "must be a string")
        elif not version:
            errors.invalid(at, version, "must not be empty")
        elif version.count("/") > 1:
            errors.invalid(at, version, f"unexpected GroupVersion string: {version}")
    if "kind" in value:
        at = f"{prefix}kind"
        if not isinstance(kind, str):
            errors.invalid(at, kind, "must be a string")
        elif not kind:
            errors.invalid(at, kind, "must not be empty")
        elif problems := dns_1035_label(kind.lower()):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            errors.invalid(at, kind, text)
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and not any(metadata_problems(value)):
        # An embedded object may have no name yet.
        named = metadata if metadata.get("name") else metadata | {"name": "fakename"}
        errors.problems += validate_object_meta(
            named,
            name_rule="path",
            is_namespaced=bool(metadata.get("namespace")),
            path=f"{prefix}metadata",
            qualifies_finalizers=False,
        )


def _parts(value: Any, schema: Schema, path: str) -> Iterator[tuple[Any, Schema, str]]:
    """Yield the parts of a value that have schemas, with their paths."""
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, each in enumerate(value):
                yield each, items, f"{path}[{index}]"
    elif isinstance(value, dict):
        properties: Mapping[str, Any] = schema.get("properties") or {}
        values = schema.get("additionalProperties")
        for name, part in value.items():
            if name in properties:
                yield part, properties[name], f"{path}.{name}" if path else name
            elif isinstance(values, Mapping):
                yield part, values, f"{path}[{name}]"


# Removal of the fields that a structural schema does not specify.

Schema: TypeAlias = Mapping[str, Any]
"""A structural schema, decoded from JSON."""

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""The fields of a whole object that no schema needs to specify."""


def pruned(value: Any, schema: Schema | None, *, is_root: bool = False) -> tuple[Any, list[str]]:
    """Return a value without unknown fields, and their paths in order.

    Parameters
    ----------
    value : Any
        Decoded JSON.
    schema : mapping or None
        Without a schema every field is unknown.
    is_root : bool
        Whether the value is a whole object with `apiVersion`, `kind` and `metadata`.
    """
    unknown: list[str] = []
    found = _pruned(value, schema, "", unknown, is_object=is_root)
    return found, sorted(unknown)


def _pruned(
    value: Any, schema: Schema | None, path: str, unknown: list[str], *, is_object: bool = False
) -> Any:
    if not isinstance(value, dict | list):
        return value
    keeps = schema is not None and bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(value, list):
        items: Any = None if schema is None else schema.get("items")
        if keeps and items is None:
            return value
        # The items of a list that keeps unknown fields keep them too.
        if keeps:
            items = {**items, "x-kubernetes-preserve-unknown-fields": True}
        made = [
            _pruned(each, items, f"{path}[{index}]", unknown) for index, each in enumerate(value)
        ]
        return _shared(value, made)
    return _pruned_fields(value, schema, path, unknown, keeps=keeps, is_object=is_object)


def _pruned_fields(
    value: Document,
    schema: Schema | None,
    path: str,
    unknown: list[str],
    *,
    keeps: bool,
    is_object: bool,
) -> Document:
    prefix = f"{path}." if path else ""
    if schema is None:
        unknown += [f"{prefix}{name}" for name in value]
        return {} if value else value
    is_object = is_object or bool(schema.get("x-kubernetes-embedded-resource"))
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    made: Document = {}
    for name, part in value.items():
        if is_object and name in META_FIELDS:
            made[name] = part
        elif name in properties:
            made[name] = _pruned(part, properties[name], f"{prefix}{name}", unknown)
        elif values is not None:
            inner = values if isinstance(values, Mapping) else None
            made[name] = _pruned(part, inner, f"{prefix}{name}", unknown)
        elif keeps:
            made[name] = part
        else:
            unknown.append(f"{prefix}{name}")
    is_same = len(made) == len(value) and all(made[name] is value[name] for name in made)
    return value if is_same else made


def _shared(value: list[Any], made: list[Any]) -> list[Any]:
    """Return the list itself if none of its items changed."""
    return value if all(one is other for one, other in zip(value, made, strict=True)) else made
