"""The Scenario of kube-scheduler-simulator as a scenario of podwright.

Upstream: kube-scheduler-simulator keps/140-scenario-based-simulation/README.md
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec

from podwright.apimachinery.documents import (
    decode,
    invalid,
    not_supported,
    parse_document,
    required,
)
from podwright.apimachinery.objects import FieldError, api_group
from podwright.apimachinery.schema import built_in
from podwright.simulation.scenarios.document import API_VERSION, KIND, Object

KEP140_GROUP: Final = "simulation.kube-scheduler-simulator.x-k8s.io"
_SCHEDULER: Final = ("scheduler", "kube-scheduler")
_PATCH_TYPES: Final = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
}


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A struct of the document."""


class _Type(_Entry, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""


class _Create(_Entry, frozen=True, kw_only=True):
    object: Object | None = None
    create_options: Object | None = None


class _Patch(_Entry, frozen=True, kw_only=True):
    type_meta: _Type = _Type()
    object_meta: Object = {}
    patch: str = ""
    patch_type: str = ""
    patch_options: Object | None = None


class _Delete(_Entry, frozen=True, kw_only=True):
    type_meta: _Type = _Type()
    object_meta: Object = {}
    delete_options: Object | None = None


class _Operation(_Entry, frozen=True, kw_only=True):
    id: str = ""
    step: int = 0
    create_operation: _Create | None = None
    patch_operation: _Patch | None = None
    delete_operation: _Delete | None = None
    done_operation: Object | None = None


class _Controller(_Entry, frozen=True, kw_only=True):
    name: str = ""


class _ControllerSet(_Entry, frozen=True, kw_only=True):
    enabled: tuple[_Controller, ...] = ()
    disabled: tuple[_Controller, ...] = ()


class _Controllers(_Entry, frozen=True, kw_only=True):
    presimulation_controllers: _ControllerSet = msgspec.field(
        name="presimulationControllers", default=_ControllerSet()
    )
    simulation_controllers: _ControllerSet = _ControllerSet()


class _Spec(_Entry, frozen=True, kw_only=True):
    operations: tuple[_Operation, ...] = ()
    controllers: _Controllers = _Controllers()


class _Scenario(_Entry, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: Object = {}
    spec: _Spec = _Spec()
    status: Object | None = None


class Converted(NamedTuple):
    """A scenario in the form of podwright.

    Attributes
    ----------
    document : dict
    places : tuple of int
        The index of each operation in the original, where they need not be in order.
    warnings : tuple of str
        What has no effect, a sentence each.
    """

    document: Object
    places: tuple[int, ...]
    warnings: tuple[str, ...]


def converted(document: object, errors: list[FieldError]) -> Converted:
    """Return a scenario of kube-scheduler-simulator in the form of podwright.

    Parameters
    ----------
    errors : list of FieldError, written
    """
    read = decode(document, _Scenario, "", errors)
    ordered = sorted(
        enumerate(read.spec.operations),
        # What ends the scenario is the last of its step.
        key=lambda one: (one[1].step, one[1].done_operation is not None),
    )
    lines: list[Object] = []
    places: list[int] = []
    for index, entry in ordered:
        line = _line(entry, f"spec.operations[{index}]", errors)
        if line is not None:
            lines.append({"step": entry.step, **line})
            places.append(index)
    others = [
        each.name
        for each in read.spec.controllers.simulation_controllers.enabled
        if each.name not in _SCHEDULER
    ]
    warnings = tuple(
        f"spec.controllers.simulationControllers: {name} is not simulated as a controller of steps"
        for name in others
    )
    name = read.metadata.get("name")
    metadata = {"name": name} if isinstance(name, str) else {}
    spec = {"operations": lines}
    own = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}
    return Converted(own, tuple(places), warnings)


_FIELDS: Final = {
    "create": "createOperation.object",
    "patch": "patchOperation",
    "delete": "deleteOperation",
}
_FIELD: Final = re.compile(rf"(?<=\]\.)({'|'.join(_FIELDS)})(?![A-Za-z])")


def kep140_path(path: str) -> str:
    """Return the path of a field of an operation as kube-scheduler-simulator has it."""
    return _FIELD.sub(lambda found: _FIELDS[found[1]], path)


_ONE_OF: Final = "createOperation, patchOperation, deleteOperation, doneOperation"


def _line(entry: _Operation, path: str, errors: list[FieldError]) -> Object | None:
    created, patched, deleted = (
        entry.create_operation,
        entry.patch_operation,
        entry.delete_operation,
    )
    given = [each for each in (created, patched, deleted, entry.done_operation) if each is not None]
    if len(given) != 1:
        errors.append(required(path, f"one of {_ONE_OF} is expected"))
        return None
    match given[0]:
        case _Create(object=made):
            if made is None:
                errors.append(required(f"{path}.createOperation.object"))
                return None
            return {"create": made}
        case _Patch() as patch:
            return _patch_line(patch, f"{path}.patchOperation", errors)
        case _Delete() as deleted:
            found = _reference(deleted, f"{path}.deleteOperation", errors)
            options = deleted.delete_options or {}
            grace = {
                name: options[name]
                for name in ("gracePeriodSeconds",)
                if options.get(name) is not None
            }
            return None if found is None else {"delete": found[0], **found[1], **grace}
        case _:  # the scenario has succeeded when the step is finished
            return {"when": {"settled": True}, "done": True}


def _patch_line(patch: _Patch, path: str, errors: list[FieldError]) -> Object | None:
    found = _reference(patch, path, errors)
    patch_type = patch.patch_type or "application/strategic-merge-patch+json"
    if patch_type not in _PATCH_TYPES:
        errors.append(not_supported(f"{path}.patchType", patch_type, list(_PATCH_TYPES)))
        return None
    try:
        changes: Any = parse_document(patch.patch)
    except ValueError as error:
        errors.append(invalid(f"{path}.patch", patch.patch, str(error)))
        return None
    if found is None:
        return None
    return {"patch": found[0], **found[1], "with": changes, "type": _PATCH_TYPES[patch_type]}


def _reference(
    entry: _Patch | _Delete, path: str, errors: list[FieldError]
) -> tuple[str, Object] | None:
    kind, name = entry.type_meta.kind, entry.object_meta.get("name")
    found = built_in().of(api_group(entry.type_meta.api_version), kind)
    if found is None:
        text = f"{entry.type_meta.api_version} {kind}"
        errors.append(invalid(f"{path}.typeMeta", text, "is not a known kind"))
    if not isinstance(name, str) or not name:
        errors.append(required(f"{path}.objectMeta.name"))
        return None
    if found is None:
        return None
    namespace = entry.object_meta.get("namespace")
    beside = {"namespace": namespace} if found.row.namespaced and namespace else {}
    return f"{found.row.resource}/{name}", beside
