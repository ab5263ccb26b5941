"""The kind of CustomResourceDefinitions, whose schemas contain schemas of a separate form.

`items` is a schema or a list of schemas, `additionalProperties` a schema or a boolean. OpenAPI
describes neither, so that the table has them as values of any type.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from podwright.apimachinery.objects import Document, invalid
from podwright.apimachinery.schema.decoding import Problem, decoding_problems
from podwright.apimachinery.schema.kind import Kind
from podwright.apimachinery.schema.strict_structs import UNKNOWN_FIELD

DEFINITION_TYPE: Final = "apiextensions.v1.CustomResourceDefinition"
BOOLEAN_OR_SCHEMA: Final = "boolean or JSON schema expected"
"""The text of upstream's own decoder."""

_SCHEMA_TYPE: Final = "apiextensions.v1.JSONSchemaProps"
_SCHEMAS: Final = ("allOf", "anyOf", "oneOf")
_NAMED_SCHEMAS: Final = ("properties", "patternProperties", "definitions")
_OR_BOOLEAN: Final = ("additionalProperties", "additionalItems")


class DefinitionKind(Kind):
    """The kind of CustomResourceDefinitions."""

    def decoding_problems(self, document: Document) -> list[Problem]:
        """Return every unknown field and every value of a wrong type, in schemas as well."""
        problems = super().decoding_problems(document)
        if not all(message.startswith(UNKNOWN_FIELD) for _, message, _ in problems):
            return problems
        for index, version in enumerate(_versions(document)):
            status = (version.get("subresources") or {}).get("status") or {}
            path = f"spec.versions[{index}].subresources.status"
            if not isinstance(status, dict):
                problems.append((path, invalid(status, "an object is expected"), status))
                continue
            problems += ((f"{path}.{name}", UNKNOWN_FIELD, None) for name in status)
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            if schema is not None:
                path = f"spec.versions[{index}].schema.openAPIV3Schema"
                problems += self._nested_problems(schema, path)
        return problems

    def _nested_problems(self, schema: Document, path: str) -> Iterator[Problem]:
        """Yield the problems of the schemas in a schema whose own fields are right."""
        for name, part in _typed_parts(schema):
            yield from self._nested_problems(part, f"{path}.{name}")
        items = schema.get("items")
        loose = [("items", items)] if isinstance(items, dict) else []
        if isinstance(items, list):
            loose = [(f"items[{index}]", each or {}) for index, each in enumerate(items)]
        for name in _OR_BOOLEAN:
            value = schema.get(name)
            if isinstance(value, dict):
                loose.append((name, value))
            elif value is not None and not isinstance(value, bool):
                yield f"{path}.{name}", BOOLEAN_OR_SCHEMA, value
        loose += (
            (f"dependencies[{name}]", value)
            for name, value in (schema.get("dependencies") or {}).items()
            if isinstance(value, dict)
        )
        for name, value in loose:
            at = f"{path}.{name}"
            every = decoding_problems(value, self._type_of(_SCHEMA_TYPE), self._type_of, at)
            # Upstream's own decoders of these fields are not strict.
            found = [each for each in every if not each[1].startswith(UNKNOWN_FIELD)]
            yield from found or self._nested_problems(value, at)

    def go_form(self, document: Document) -> Document:
        """Return the document as upstream's structs write it; the types must be right."""
        made = super().go_form(document)
        versions = [
            _with_schema(_with_plain_status(each), self._formed) for each in _versions(made)
        ]
        if not versions:
            return made
        return made | {"spec": made["spec"] | {"versions": versions}}

    def _formed(self, schema: Document) -> Document:
        """Return a schema whose own fields are in Go's form with the schemas in it."""
        made = dict(schema)
        for name in _SCHEMAS:
            if name in made:
                made[name] = [self._formed(each or {}) for each in made[name]]
        for name in _NAMED_SCHEMAS:
            if name in made:
                made[name] = {key: self._formed(each or {}) for key, each in made[name].items()}
        if "not" in made:
            made["not"] = self._formed(made["not"])
        items = made.get("items")
        if isinstance(items, dict):
            made["items"] = self._loose(items)
        elif isinstance(items, list):
            made["items"] = [self._loose(each or {}) for each in items]
        else:
            made.pop("items", None)
        for name in _OR_BOOLEAN:
            if isinstance(made.get(name), dict):
                made[name] = self._loose(made[name])
        return made

    def _loose(self, schema: Document) -> Document:
        return self._formed(self._forms.convert(schema, _SCHEMA_TYPE))


def _versions(document: Document) -> list[Document]:
    # Go reads null as a version without fields.
    return [each or {} for each in (document.get("spec") or {}).get("versions") or ()]


def _with_schema(version: Document, form: Callable[[Document], Document]) -> Document:
    holder: Any = version.get("schema")
    if holder is None or holder.get("openAPIV3Schema") is None:
        return version
    return version | {
        "schema": holder | {"openAPIV3Schema": form(holder["openAPIV3Schema"])},
    }


def _with_plain_status(version: Document) -> Document:
    """Return a version whose subresource `status` has no fields, as it is in Go."""
    parts: Document = version.get("subresources") or {}
    return version | {"subresources": parts | {"status": {}}} if parts.get("status") else version


def _typed_parts(schema: Document) -> Iterator[tuple[str, Document]]:
    """Yield the schemas that the table describes, with their places."""
    for name in _SCHEMAS:
        for index, part in enumerate(schema.get(name) or ()):
            # Go reads null as a schema without fields.
            yield f"{name}[{index}]", part or {}
    for name in _NAMED_SCHEMAS:
        for key, part in (schema.get(name) or {}).items():
            if part is not None:
                yield f"{name}[{key}]", part
    if schema.get("not") is not None:
        yield "not", schema["not"]
