"""Custom objects among the files of `podwright up`, by their CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podwright.cli.inputs import OWN_KINDS
from podwright.files import LoadedObjects, Sourced
from podwright.objects import Document, FieldError
from podwright.schema.structural import CustomKind, CustomVersion
from podwright.store import ObjectStore, kind_of

_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


def invalid_custom_objects(sourced: Iterable[Sourced], store: ObjectStore) -> list[FieldError]:
    """Return what is wrong with new custom objects: what a request to create them reports.

    Objects of a dump, which have uids, are taken as they are.

    Parameters
    ----------
    sourced : iterable of Sourced
        All objects of the files.
    store : ObjectStore
        May have further definitions.
    """
    entries = list(sourced)
    of_files = (each.object for each in entries if kind_of(each.object) == _DEFINITION)
    kinds = _kinds(each.raw for each in (*of_files, *store.list(_DEFINITION).objects))
    found: list[FieldError] = []
    for entry in entries:
        kind = kinds.get((entry.object.api_version, entry.object.kind))
        if kind is not None and not entry.object.uid:
            found += _errors(entry, kind)
    return found


def undefined_kinds(loaded: LoadedObjects, store: ObjectStore) -> Iterator[str]:
    """Yield a warning of each custom kind in the files that no definition of the store defines.

    Its objects are stored, and served when a definition follows.
    """
    defined = _kinds(each.raw for each in store.list(_DEFINITION).objects)
    for entry in loaded.of_custom_kinds():
        obj = entry.object
        if kind_of(obj) not in OWN_KINDS and (obj.api_version, obj.kind) not in defined:
            yield (
                f"{entry.source}: {obj.kind} ({obj.api_version}) is not served, because"
                " no CustomResourceDefinition defines it"
            )


def _kinds(definitions: Iterable[Document]) -> dict[tuple[str, str], CustomKind]:
    """Return the kinds of definitions by `apiVersion` and `kind`."""
    kinds = (
        CustomKind(CustomVersion.of(spec, version, spec["names"]))
        for spec in (definition["spec"] for definition in definitions)
        for version in spec["versions"]
    )
    return {(kind.api_version, kind.row.kind): kind for kind in kinds}


def _errors(entry: Sourced, kind: CustomKind) -> Iterator[FieldError]:
    document = entry.object.raw
    stored = kind.go_form(kind.with_defaults(kind.go_form(document)))
    problems = kind.decoding_problems(document) + kind.validation_problems(stored)
    for path, message, value in problems:
        # Upstream's path of a problem that is about no field.
        is_whole = path == "<nil>"
        yield FieldError(
            source=entry.source,
            path="" if is_whole else path,
            message=message.removeprefix("Invalid value: null: ") if is_whole else message,
            value=value,
        )
