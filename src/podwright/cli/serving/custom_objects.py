"""Custom objects among the files of `podwright up`, by their CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from podwright.apimachinery.objects import FieldError, KubernetesObject
from podwright.apimachinery.schema.structural import CustomKind, CustomVersion
from podwright.cli.inputs import OWN_KINDS
from podwright.cluster.store import ObjectStore, kind_of
from podwright.simulation.files import LoadedObjects, Sourced

GroupVersionKind: TypeAlias = tuple[str, str]
"""`apiVersion` and `kind` of an object."""

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
    versions = _versions((*of_files, *store.list(_DEFINITION).objects))
    kinds: dict[GroupVersionKind, CustomKind] = {}
    found: list[FieldError] = []
    for entry in entries:
        version = entry.object.api_version, entry.object.kind
        if version in versions and not entry.object.uid:
            if version not in kinds:
                kinds[version] = CustomKind(versions[version])
            found += _errors(entry, kinds[version])
    return found


def undefined_kinds(loaded: LoadedObjects, store: ObjectStore) -> Iterator[str]:
    """Yield a warning of each custom kind in the files that no definition of the store defines.

    Its objects are stored, and served when a definition follows.
    """
    defined = _versions(store.list(_DEFINITION).objects)
    for entry in loaded.of_custom_kinds():
        obj = entry.object
        if kind_of(obj) not in OWN_KINDS and (obj.api_version, obj.kind) not in defined:
            yield (
                f"{entry.source}: {obj.kind} ({obj.api_version}) is not served, because"
                " no CustomResourceDefinition defines it"
            )


def _versions(definitions: Iterable[KubernetesObject]) -> dict[GroupVersionKind, CustomVersion]:
    """Return the versions of definitions by the `apiVersion` and the `kind` of their objects."""
    return {
        (f"{spec['group']}/{version['name']}", spec["names"]["kind"]): CustomVersion.of(
            spec, version, spec["names"]
        )
        for spec in (definition.raw["spec"] for definition in definitions)
        for version in spec["versions"]
    }


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
