"""Validation of the schemas of a CustomResourceDefinition.

A schema is checked in this order: what the root may have, whether it is structural, its defaults,
every schema in it, its validation rules. The rules of a schema are compiled only if the whole is
structural, and nothing else is wrong with this schema and those in it.

Upstream:
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types.go, types_jsonschema.go.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.cel import compile_rules
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.structural.defaulting import default_problems
from podwright.apimachinery.schema.structural.field_paths import FieldPathError, schema_at
from podwright.apimachinery.schema.structural.shape import (
    META_FIELDS,
    Schema,
    all_schemas,
    structural_problems,
    unsupported_field,
)
from podwright.apimachinery.schema.structural.values import add_rule_error
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_AT_ROOT: Final = (
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems",
    "multipleOf", "required", "items", "properties", "externalDocs", "example",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
)  # fmt: skip
_AT_ROOT_TEXT: Final = (
    "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum"
    " MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items"
    " Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at"
    " the root of the schema if the status subresource is enabled"
)
_FORBIDDEN: Final = (
    ("id", "id is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("$ref", "$ref is not supported"),
)
_POINTERS: Final = frozenset({"$ref", "additionalItems", "additionalProperties", "dependencies"})
_REASONS: Final = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired",
)  # fmt: skip
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("atomic", "granular")
_LINE_BREAK: Final = re.compile(r"[\n\r]")
_SET_TEXT: Final = "must be atomic as item of a list with x-kubernetes-list-type=set"


class SchemaOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked: a stored definition that violates a rule may continue to do so.

    Attributes
    ----------
    needs_known_types : bool
        Whether types must be those of OpenAPI.
    needs_structure : bool
        Whether the schema must be structural.
    needs_atomic_items : bool
        Whether the items of sets must be atomic.
    needs_map_keys : bool
        Whether the keys of lists of type map must be required or have a default.
    compiles_rules : bool
        Whether the rules are compiled; those of an unchanged schema are valid.
    """

    needs_known_types: bool = True
    needs_structure: bool = True
    needs_atomic_items: bool = True
    needs_map_keys: bool = True
    compiles_rules: bool = True


def options_after(old: Sequence[Schema]) -> SchemaOptions:
    """Return what is checked in an update of a definition with schemas."""
    known = [part for schema in old for part in all_schemas(schema)]
    return SchemaOptions(
        needs_known_types=all(part.get("type") in (*_TYPES, None, "") for part in known),
        needs_structure=not any(
            unsupported_field(schema) or structural_problems(schema, "") for schema in old
        ),
        needs_atomic_items=not any(_has_problem(_validate_set_items, part) for part in known),
        needs_map_keys=not any(_has_problem(_validate_map_keys, part) for part in known),
    )


def _has_problem(check: Any, schema: Schema) -> bool:
    errors = FieldErrors()
    check(errors, schema, "")
    return len(errors) > 0


def validate_schema(
    errors: FieldErrors, schema: Schema, path: str, options: SchemaOptions, *, has_status: bool
) -> None:
    """Check the schema of a version.

    Parameters
    ----------
    schema : mapping
        `openAPIV3Schema`.
    path : str
        Its field.
    has_status : bool
        Whether `status` is a subresource.
    """
    before = len(errors)
    if has_status:
        _validate_root(errors, schema, path)
    if schema.get("nullable"):
        errors.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    unsupported = unsupported_field(schema) if options.needs_structure else ""
    is_structural = False
    if options.needs_structure and not unsupported:
        problems = structural_problems(schema, path) or default_problems(schema, path)
        errors.problems += problems
        is_structural = not problems
    schemas = _Schemas(errors, options)
    schemas.validate(schema, path, _Place(is_root=True))
    if len(errors) == before and unsupported:
        errors.invalid(path, "", unsupported)
    if is_structural and options.compiles_rules:
        rules = compile_rules(schema)
        for error in rules.problems(path, schemas.wrong) if rules is not None else ():
            at = f"{path}.{error.path}" if error.path else path
            shown = printed_rule(error.value) if isinstance(error.value, dict) else error.value
            add_rule_error(errors, at, msgspec.structs.replace(error, value=shown))


def _validate_root(errors: FieldErrors, schema: Schema, path: str) -> None:
    if schema.get("type") and schema["type"] != "object":
        text = (
            'only "object" is allowed as the type at the root of the schema if the status'
            " subresource is enabled"
        )
        errors.invalid(f"{path}.type", schema["type"], text)
        return
    if any(name not in _AT_ROOT and _is_set(name, value) for name, value in schema.items()):
        errors.invalid(path, printed_schema(schema), _AT_ROOT_TEXT)


def _is_set(name: str, value: Any) -> bool:
    """Whether a field of a schema is set: those of pointers are, whatever they point to."""
    if value is None or name in _POINTERS:
        return value is not None
    return value is not False and value not in ("", [], {})


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a schema is.

    Attributes
    ----------
    is_root : bool
    is_in_metadata : bool
        Whether it describes the metadata of an object, or a part of it.
    no_default : str
        Why it may have no default; "" if it may.
    """

    is_root: bool = False
    is_in_metadata: bool = False
    no_default: str = ""


class _Schemas:
    """Checks each schema of a definition.

    Attributes
    ----------
    wrong : set of str
        The paths of the schemas with errors, in themselves or in schemas in them.
    """

    def __init__(self, errors: FieldErrors, options: SchemaOptions) -> None:
        self.wrong: set[str] = set()
        self._errors = errors
        self._options = options

    def validate(self, schema: Schema, path: str, place: _Place) -> None:
        """Check a schema and those in it."""
        before = len(self._errors)
        self._validate(schema, path, place)
        if len(self._errors) > before:
            self.wrong.add(path)

    def _validate(self, schema: Schema, path: str, place: _Place) -> None:
        errors = self._errors
        self._validate_fields(schema, path, place)
        if schema.get("uniqueItems"):
            text = (
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            )
            errors.forbidden(f"{path}.uniqueItems", text)
        self._validate_parts(schema, path, place)
        if schema.get("x-kubernetes-preserve-unknown-fields") is False:
            text = "must be true or undefined"
            errors.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", value=False, detail=text)
        _validate_map_type(errors, schema, path)
        _validate_list_type(errors, schema, path)
        type_ = schema.get("x-kubernetes-list-type")
        if self._options.needs_atomic_items and (type_ is None or schema.get("type") == "array"):
            _validate_set_items(errors, schema, path)
        if type_ is not None and type_ not in _LIST_TYPES:
            errors.unsupported(f"{path}.x-kubernetes-list-type", type_, _LIST_TYPES)
        _validate_keys(errors, schema, path)
        if self._options.needs_map_keys:
            _validate_map_keys(errors, schema, path)
        for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
            _validate_rule(errors, schema, rule, f"{path}.x-kubernetes-validations[{index}]")

    def _validate_fields(self, schema: Schema, path: str, place: _Place) -> None:
        errors = self._errors
        type_ = schema.get("type")
        if self._options.needs_known_types and type_ and type_ not in _TYPES:
            errors.unsupported(f"{path}.type", type_, _TYPES)
        if schema.get("default") is not None and place.no_default:
            errors.forbidden(f"{path}.default", f"must not be set {place.no_default}")
        for name, text in _FORBIDDEN:
            if _is_set(name, schema.get(name)):
                errors.forbidden(f"{path}.{name}", text)
        if type_ == "null":
            text = "type cannot be set to null, use nullable as an alternative"
            errors.forbidden(f"{path}.type", text)
        if schema.get("items") and isinstance(schema["items"], list):
            errors.forbidden(f"{path}.items", "items must be a schema object and not an array")
        if place.is_in_metadata and schema.get("x-kubernetes-embedded-resource"):
            text = "must not be used inside of resource meta"
            errors.forbidden(f"{path}.x-kubernetes-embedded-resource", text)

    def _validate_parts(self, schema: Schema, path: str, place: _Place) -> None:
        inner = _Place(is_in_metadata=place.is_in_metadata, no_default=place.no_default)
        values = schema.get("additionalProperties")
        properties: Mapping[str, Any] = schema.get("properties") or {}
        if values is not None:
            if properties and values is not True:
                text = "additionalProperties and properties are mutual exclusive"
                self._errors.forbidden(f"{path}.additionalProperties", text)
            if isinstance(values, Mapping):
                of_values = inner
                if place.is_in_metadata:
                    why = "inside additionalProperties applying to object metadata"
                    of_values = msgspec.structs.replace(inner, no_default=why)
                self.validate(values, f"{path}.additionalProperties", of_values)
        is_object = place.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
        for name in sorted(properties):
            of_field = inner
            if is_object and name in META_FIELDS:
                why = f"in top-level {name}" if place.is_root else inner.no_default
                of_field = _Place(is_in_metadata=True, no_default=why)
            self.validate(properties[name], f"{path}.properties[{name}]", of_field)
        for name, part in _other_parts(schema):
            self.validate(part, f"{path}.{name}", inner)


def _other_parts(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas in a schema that have no names of fields, with their places in it."""
    if isinstance(schema.get("not"), Mapping):
        yield "not", schema["not"]
    for name in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(schema.get(name) or ()):
            yield f"{name}[{index}]", part
    for name, part in sorted((schema.get("definitions") or {}).items()):
        yield f"definitions[{name}]", part
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield "items", items
    for index, part in enumerate(items if isinstance(items, list) else ()):
        yield f"items[{index}]", part
    for name, part in sorted((schema.get("dependencies") or {}).items()):
        if isinstance(part, Mapping):
            yield f"dependencies[{name}]", part


def _validate_map_type(errors: FieldErrors, schema: Schema, path: str) -> None:
    type_, map_type = schema.get("type"), schema.get("x-kubernetes-map-type")
    if map_type is None:
        return
    if type_ != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        if type_:
            errors.invalid(f"{path}.type", type_, text)
        else:
            errors.required(f"{path}.type", text)
    if map_type not in _MAP_TYPES:
        errors.unsupported(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES)


def _validate_list_type(errors: FieldErrors, schema: Schema, path: str) -> None:
    type_ = schema.get("type")
    if schema.get("x-kubernetes-list-type") is None or type_ == "array":
        return
    text = "must be array if x-kubernetes-list-type is specified"
    if type_:
        errors.invalid(f"{path}.type", type_, text)
    else:
        errors.required(f"{path}.type", text)


def _validate_set_items(errors: FieldErrors, schema: Schema, path: str) -> None:
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, Mapping):
        return
    list_type, map_type = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        errors.invalid(f"{path}.items.x-kubernetes-list-type", list_type, _SET_TEXT)
    if items.get("type") == "object" and map_type != "atomic":
        errors.invalid(f"{path}.items.x-kubernetes-map-type", list_type, _SET_TEXT)


def _validate_keys(errors: FieldErrors, schema: Schema, path: str) -> None:
    keys = schema.get("x-kubernetes-list-map-keys") or []
    type_, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if keys and type_ != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        if type_ is None:
            errors.required(f"{path}.x-kubernetes-list-type", text)
        else:
            errors.invalid(f"{path}.x-kubernetes-list-type", type_, text)
    if type_ != "map":
        return
    at = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        errors.required(at, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        text = "must have a schema if x-kubernetes-list-type is map"
        errors.required(f"{path}.items", text)
        return
    if not isinstance(items, Mapping):
        text = "must only have a single schema if x-kubernetes-list-type is map"
        errors.invalid(f"{path}.items", items, text)
        return
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        errors.invalid(f"{path}.items.type", items.get("type") or "", text)
        return
    properties: Mapping[str, Any] = items.get("properties") or {}
    for key, is_repeated in zip(keys, repeats(keys), strict=True):
        if key not in properties:
            errors.invalid(at, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.invalid(f"{path}.items.properties[{key}].type", items["type"], text)
        if is_repeated:
            errors.invalid(at, keys, "must not contain duplicate entries")


def _validate_map_keys(errors: FieldErrors, schema: Schema, path: str) -> None:
    type_, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if type_ not in ("set", "map") or not isinstance(items, Mapping):
        return
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {type_}"
        errors.forbidden(f"{path}.items.nullable", text)
    if type_ != "map":
        return
    properties: Mapping[str, Any] = items.get("properties") or {}
    start = "this property is in x-kubernetes-list-map-keys, so it"
    for key in schema.get("x-kubernetes-list-map-keys") or ():
        field = properties.get(key)
        if field is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and field.get("default") is None:
            errors.required(
                f"{at}.default", f"{start} must have a default or be a required property"
            )
        if field.get("nullable"):
            errors.forbidden(f"{at}.nullable", f"{start} cannot be nullable")


def _validate_rule(errors: FieldErrors, schema: Schema, rule: Mapping[str, Any], path: str) -> None:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    expression = rule.get("messageExpression") or ""
    if not text.strip():
        errors.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        errors.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        errors.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(text.strip()) and not message.strip():
        detail = "message must be specified if rule contains line breaks"
        errors.required(f"{path}.message", detail)
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        errors.required(f"{path}.messageExpression", detail)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.unsupported(f"{path}.reason", reason, _REASONS)
    where = str(rule.get("fieldPath") or "")
    if where and not where.strip():
        errors.invalid(f"{path}.fieldPath", where, "must be non-empty if specified")
    if _LINE_BREAK.search(where):
        errors.invalid(f"{path}.fieldPath", where, "must not contain line breaks")
    if where and not unsupported_field(schema):
        try:
            schema_at(where, schema)
        except FieldPathError:
            errors.invalid(f"{path}.fieldPath", where, "must be a valid path")


# Schemas and versions of definitions as upstream prints them: with its internal Go fields.

_SCHEMA_FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "ID": ("id", ""), "Schema": ("$schema", ""), "Ref": ("$ref", None),
    "Description": ("description", ""), "Type": ("type", ""), "Nullable": ("nullable", False),
    "Format": ("format", ""), "Title": ("title", ""), "Default": ("default", None),
    "Maximum": ("maximum", None), "ExclusiveMaximum": ("exclusiveMaximum", False),
    "Minimum": ("minimum", None), "ExclusiveMinimum": ("exclusiveMinimum", False),
    "MaxLength": ("maxLength", None), "MinLength": ("minLength", None), "Pattern": ("pattern", ""),
    "MaxItems": ("maxItems", None), "MinItems": ("minItems", None),
    "UniqueItems": ("uniqueItems", False), "MultipleOf": ("multipleOf", None),
    "Enum": ("enum", None), "MaxProperties": ("maxProperties", None),
    "MinProperties": ("minProperties", None), "Required": ("required", None),
    "Items": ("items", None), "AllOf": ("allOf", None), "OneOf": ("oneOf", None),
    "AnyOf": ("anyOf", None), "Not": ("not", None), "Properties": ("properties", None),
    "AdditionalProperties": ("additionalProperties", None),
    "PatternProperties": ("patternProperties", None), "Dependencies": ("dependencies", None),
    "AdditionalItems": ("additionalItems", None), "Definitions": ("definitions", None),
    "ExternalDocs": ("externalDocs", None), "Example": ("example", None),
    "XPreserveUnknownFields": ("x-kubernetes-preserve-unknown-fields", None),
    "XEmbeddedResource": ("x-kubernetes-embedded-resource", False),
    "XIntOrString": ("x-kubernetes-int-or-string", False),
    "XListMapKeys": ("x-kubernetes-list-map-keys", None),
    "XListType": ("x-kubernetes-list-type", None), "XMapType": ("x-kubernetes-map-type", None),
    "XValidations": ("x-kubernetes-validations", None),
}  # fmt: skip
"""The fields of upstream's struct in order, with those of the document and the zero values."""

_LISTS: Final = frozenset({"AllOf", "OneOf", "AnyOf"})
_MAPS: Final = frozenset({"Properties", "PatternProperties", "Definitions"})
_RULE_FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "Rule": ("rule", ""), "Message": ("message", ""),
    "MessageExpression": ("messageExpression", ""), "Reason": ("reason", None),
    "FieldPath": ("fieldPath", ""), "OptionalOldSelf": ("optionalOldSelf", None),
}  # fmt: skip
_COLUMN_FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "Name": ("name", ""), "Type": ("type", ""), "Format": ("format", ""),
    "Description": ("description", ""), "Priority": ("priority", 0), "JSONPath": ("jsonPath", ""),
}  # fmt: skip


def printed_schema(schema: Mapping[str, Any]) -> Document:
    """Return a schema as errors print it."""
    return {
        name: _schema_value(name, schema.get(field, zero))
        for name, (field, zero) in _SCHEMA_FIELDS.items()
    }


def _schema_value(name: str, value: Any) -> Any:
    if name in ("AdditionalProperties", "AdditionalItems") and value is not None:
        schema = printed_schema(value) if isinstance(value, Mapping) else None
        return {"Allows": value is not False, "Schema": schema}
    if name in ("Not", "Items") and isinstance(value, Mapping):
        schema = printed_schema(value)
        return schema if name == "Not" else {"Schema": schema, "JSONSchemas": None}
    if not value:
        return value if value not in (None, [], {}) else None
    if name in _LISTS:
        return [printed_schema(each) for each in value]
    if name in _MAPS:
        return {key: printed_schema(value[key]) for key in sorted(value)}
    if name == "Items":
        return {"Schema": None, "JSONSchemas": [printed_schema(each) for each in value]}
    return [printed_rule(each) for each in value] if name == "XValidations" else value


def printed_rule(rule: Mapping[str, Any]) -> Document:
    """Return a validation rule as errors print it."""
    return _struct(rule, _RULE_FIELDS)


def _struct(value: Mapping[str, Any], fields: Mapping[str, tuple[str, Any]]) -> Document:
    return {name: value.get(field, zero) for name, (field, zero) in fields.items()}


def printed_version(version: Mapping[str, Any], shared: Collection[str]) -> Document:
    """Return a version as errors print it.

    Parameters
    ----------
    shared : collection of str
        The fields that all versions have in common, which are not in the versions then.
    """
    own = {name: part for name, part in version.items() if name not in shared}
    schema = (own.get("schema") or {}).get("openAPIV3Schema")
    columns = own.get("additionalPrinterColumns")
    fields = own.get("selectableFields")
    return {
        "Name": own.get("name", ""),
        "Served": bool(own.get("served")),
        "Storage": bool(own.get("storage")),
        "Deprecated": bool(own.get("deprecated")),
        "DeprecationWarning": own.get("deprecationWarning"),
        "Schema": None if schema is None else {"OpenAPIV3Schema": printed_schema(schema)},
        "Subresources": _subresources(own.get("subresources")),
        "AdditionalPrinterColumns": None
        if columns is None
        else [_struct(each, _COLUMN_FIELDS) for each in columns],
        "SelectableFields": None
        if fields is None
        else [{"JSONPath": each.get("jsonPath", "")} for each in fields],
    }


def _subresources(parts: Document | None) -> Document | None:
    if parts is None:
        return None
    scale = parts.get("scale")
    return {
        "Status": parts.get("status"),
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }
