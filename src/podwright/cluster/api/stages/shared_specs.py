"""Specs that many objects share: completed, validated and decoded once.

Objects of a template have equal specs. A spec is identified by its JSON, together with the parts of
the metadata on which defaults and validation of its kind depend. Two tables are kept for each kind:
from the spec of a body to the completed one, and from the spec of an object that is stored to its
errors and its struct. All parts are immutable by convention, so they can be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, SharedSpecs as TypedSpecs
from podwright.apimachinery.schema import Kind, Problem, decode
from podwright.cluster.api.versions.resources import Resource

_SPECS_MAX: Final = 4_096


class StoredSpec(msgspec.Struct, frozen=True):
    """A spec as it is stored.

    Attributes
    ----------
    document : dict
        In Go's form.
    problems : list of Problem
        What is wrong with it.
    """

    document: Document
    problems: list[Problem]


class SharedSpecs:
    """The specs of the objects of all kinds."""

    def __init__(self) -> None:
        self._completed: dict[Hashable, Document] = {}
        self._stored: dict[Hashable, StoredSpec] = {}
        self._typed = TypedSpecs()

    def completed(
        self,
        resource: Resource,
        document: Document,
        complete: Callable[[Document], Document],
    ) -> Document:
        """Return a document of right types in Go's form and with defaults.

        Parameters
        ----------
        complete : callable
            Returns the completed document if its spec is not known.
        """
        key = _key(resource, document)
        if key is None:
            return complete(document)
        known = self._completed.get(key)
        if known is None:
            made = complete(document)
            _add(self._completed, key, made.get("spec") or {})
            return made
        return _with_spec(resource.kind.go_form(_without_spec(document)), known)

    def stored(
        self, resource: Resource, document: Document, *, has_metadata_in_form: bool = False
    ) -> tuple[Document, list[Problem]]:
        """Return a prepared object in Go's form, and what is wrong with it but for its metadata.

        Parameters
        ----------
        has_metadata_in_form : bool
            Whether the metadata is in Go's form but for its order.
        """
        kind = resource.kind
        key = _key(resource, document)
        if key is None:
            made = kind.go_form(document)
            return made, kind.validation_problems(made)
        known = self._stored.get(key)
        if known is None:
            made = kind.go_form(document)
            problems = kind.validation_problems(made)
            spec: Document = made.get("spec") or {}
            _add(self._stored, key, StoredSpec(spec, problems))
            return made, problems
        rest = _without_spec(document)
        if has_metadata_in_form and isinstance(kind, Kind):
            metadata = kind.ordered_metadata(rest.pop("metadata"))
            made = kind.go_form(rest) | {"metadata": metadata}
        else:
            made = kind.go_form(rest)
        return _with_spec(made, known.document), known.problems

    def decoded(self, document: Document) -> KubernetesObject:
        """Return an object of the stored version; objects with one spec share its struct.

        Raises
        ------
        InvalidObject
            The document violates a rule of the typed objects.
        """
        return decode(document, shared=self._typed)


def _key(resource: Resource, document: Document) -> Hashable | None:
    kind = resource.kind
    if not isinstance(kind, Kind) or not kind.row.is_spec_only:
        return None
    spec = document.get("spec")
    if not isinstance(spec, dict):
        return None
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return None
    found = kind.spec_key(document)
    return None if found is None else (resource.name, found)


def _without_spec(document: Document) -> Document:
    return {name: part for name, part in document.items() if name != "spec"}


def _with_spec(document: Document, spec: Document) -> Document:
    """Return a document with a spec after its metadata, where Go writes it."""
    made: Document = {}
    for name in ("kind", "apiVersion", "metadata"):
        if name in document:
            made[name] = document[name]
    made["spec"] = spec
    return made | {name: part for name, part in document.items() if name != "spec"}


def _add(table: dict[Hashable, Any], key: Hashable, value: Any) -> None:
    if len(table) >= _SPECS_MAX:
        table.clear()
    table[key] = value
