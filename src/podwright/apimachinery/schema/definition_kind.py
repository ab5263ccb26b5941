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
_DEPENDENCIES: Final = "dependencies"
_SELF_DECODING: Final = ("items", *_OR_BOOLEAN, _DEPENDENCIES)


class DefinitionKind(Kind):
    """The kind of CustomResourceDefinitions."""

    def decoding_problems(self, document: Document) -> list[Problem]:
        """Return every unknown field and every value of a wrong type, in schemas as well."""
        problems = super().decoding_problems(document)
        spec = document.get("spec")
        versions = spec.get("versions") if isinstance(spec, dict) else None
        for index, version in enumerate(versions if isinstance(versions, list) else ()):
            path = f"spec.versions[{index}]"
            problems += _status_problems(_member(version, "subresources"), path)
            schema = _member(_member(version, "schema"), "openAPIV3Schema")
            problems += self._nested_problems(schema, f"{path}.schema.openAPIV3Schema")
        return problems

    def _nested_problems(self, schema: Any, path: str) -> Iterator[Problem]:
        """Yield the problems of values in a schema that decode themselves.

        The first one is that of Go, whose decoding ends there. Values of a wrong type are skipped.
        """
        for name, value in schema.items() if isinstance(schema, dict) else ():
            at = f"{path}.{name}"
            if name in _OR_BOOLEAN and not isinstance(value, bool | dict | None):
                yield at, BOOLEAN_OR_SCHEMA, value
            parts = [(f"{at}{place}", part) for place, part in _parts(name, value)]
            for decoded in [[each] for each in parts] if name == _DEPENDENCIES else [parts]:
                for place, part in decoded:
                    yield from self._nested_problems(part, place)
                for place, part in decoded if name in _SELF_DECODING else ():
                    if name == _DEPENDENCIES and isinstance(part, list):
                        yield from _name_problems(part, place)
                    else:
                        yield from self._type_problems(part, place)

    def _rest(self, document: Document, removed: list[str]) -> Document:
        rest = super()._rest(document, removed)
        versions = _versions(rest)
        for index, version in enumerate(versions):
            path = f"spec.versions[{index}].schema"
            schema = _member(version.get("schema"), "openAPIV3Schema")
            if next(self._nested_problems(schema, path), None) is not None:
                versions[index] = {key: one for key, one in version.items() if key != "schema"}
                removed.append(f"{path}.openAPIV3Schema")
        return rest | {"spec": rest["spec"] | {"versions": versions}} if versions else rest

    def _type_problems(self, schema: Any, path: str) -> Iterator[Problem]:
        every = decoding_problems(schema, self._type_of(_SCHEMA_TYPE), self._type_of, path)
        # Upstream's own decoders of these schemas are not strict.
        return (each for each in every if not each[1].startswith(UNKNOWN_FIELD))

    def go_form(self, document: Document, like: Document | None = None) -> Document:
        """Return the document as upstream's structs write it; the types must be right."""
        made = super().go_form(document, like)
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
        return self._formed(self._forms.of(_SCHEMA_TYPE).convert(schema))


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


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _status_problems(subresources: Any, path: str) -> Iterator[Problem]:
    status = _member(subresources, "status") or {}
    path = f"{path}.subresources.status"
    if isinstance(status, dict):
        yield from ((f"{path}.{name}", UNKNOWN_FIELD, None) for name in status)
    else:
        yield path, invalid(status, "must be an object"), status


def _name_problems(names: list[Any], path: str) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if not isinstance(name, str | None):
            yield f"{path}[{index}]", invalid(name, "must be a string"), name


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the schemas in a field of a schema, with their places; null is none."""
    if name in _NAMED_SCHEMAS or name == _DEPENDENCIES:
        parts = value.items() if isinstance(value, dict) else ()
        # Upstream ignores other values of a dependency.
        types: Any = dict | list if name == _DEPENDENCIES else object
        yield from ((f"[{key}]", part) for key, part in parts if isinstance(part, types))
    elif name in (*_SCHEMAS, "items") and isinstance(value, list):
        yield from ((f"[{i}]", each) for i, each in enumerate(value) if each is not None)
    elif name in ("not", "items", *_OR_BOOLEAN) and isinstance(value, dict):
        yield "", value
