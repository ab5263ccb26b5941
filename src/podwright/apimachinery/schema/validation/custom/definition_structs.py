"""Schemas and versions of definitions as upstream prints them: with its internal Go fields.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types.go,
types_jsonschema.go
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from podwright.apimachinery.objects import Document

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
    if not value:
        return value if value not in (None, [], {}) else None
    if name in _LISTS:
        return [printed_schema(each) for each in value]
    if name in _MAPS:
        return {key: printed_schema(value[key]) for key in sorted(value)}
    if name == "Not":
        return printed_schema(value)
    if name == "Items" and isinstance(value, Mapping):
        return {"Schema": printed_schema(value), "JSONSchemas": None}
    if name in ("AdditionalProperties", "AdditionalItems"):
        schema = printed_schema(value) if isinstance(value, Mapping) else None
        return {"Allows": True, "Schema": schema}
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
