"""The Scenario of kube-scheduler-simulator as a scenario of podwright.

Upstream: kube-scheduler-simulator keps/140-scenario-based-simulation/README.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec

from podwright.apimachinery.documents import (
    checked,
    decode,
    given_fields,
    invalid,
    needed,
    parse_document,
    required,
)
from podwright.apimachinery.objects import FieldError, api_group
from podwright.apimachinery.schema import Kind, built_in
from podwright.simulation.scenarios.document import API_VERSION, KIND, Object

KEP140_GROUP: Final = "simulation.kube-scheduler-simulator.x-k8s.io"
_SCHEDULER: Final = ("scheduler", "kube-scheduler")
PatchType: TypeAlias = Literal[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
]
_LIST: Final = "spec.operations"
_ONE_OF: Final = "createOperation, patchOperation, deleteOperation, doneOperation"


def _patch_problems(text: str, path: str) -> Iterator[FieldError]:
    try:
        parse_document(text)
    except ValueError as error:
        yield invalid(path, text, str(error))


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    """A struct of the document."""


class _Type(_Entry, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""

    @property
    def known(self) -> Kind | None:
        return built_in().of(api_group(self.api_version), self.kind)


class _Create(_Entry, frozen=True, kw_only=True):
    object: Annotated[Object | None, needed()] = None
    create_options: Object | None = None

    def line(self) -> Object:
        return {"create": self.object}


class _OfObject(_Entry, frozen=True, kw_only=True):
    type_meta: _Type = _Type()
    object_meta: Object = {}

    def problems(self, path: str) -> Iterator[FieldError]:
        if self.type_meta.known is None:
            text = f"{self.type_meta.api_version} {self.type_meta.kind}"
            yield invalid(f"{path}.typeMeta", text, "is not a known kind")
        if not self.object_meta.get("name"):
            yield required(f"{path}.objectMeta.name")

    def named(self, name: str) -> Object:
        known, meta = self.type_meta.known, self.object_meta
        assert known is not None, "checked"
        namespace = meta.get("namespace") if known.row.namespaced else None
        beside = {"namespace": namespace} if namespace else {}
        return {name: f"{known.row.resource}/{meta['name']}", **beside}


class _Patch(_OfObject, frozen=True, kw_only=True):
    patch: Annotated[str, checked(_patch_problems)] = ""
    patch_type: PatchType = "application/strategic-merge-patch+json"
    patch_options: Object | None = None

    def line(self) -> Object:
        changes = parse_document(self.patch)
        return {
            **self.named("patch"),
            "with": changes,
            "type": self.patch_type.rpartition("/")[2].split("-")[0],
        }


class _Delete(_OfObject, frozen=True, kw_only=True):
    delete_options: Object | None = None

    def line(self) -> Object:
        grace = (self.delete_options or {}).get("gracePeriodSeconds")
        beside = {} if grace is None else {"gracePeriodSeconds": grace}
        return {**self.named("delete"), **beside}


class _Operation(_Entry, frozen=True, kw_only=True):
    id: str = ""
    step: int = 0
    create_operation: _Create | None = None
    patch_operation: _Patch | None = None
    delete_operation: _Delete | None = None
    done_operation: Object | None = None

    def problems(self, path: str) -> Iterator[FieldError]:
        if len(given_fields(self).keys() - {"id", "step"}) != 1:
            yield required(path, f"specify one of {_ONE_OF}")

    def line(self) -> Object:
        found = self.create_operation or self.patch_operation or self.delete_operation
        # Done is a scenario when its last step is finished.
        what = {"when": {"settled": True}, "done": True} if found is None else found.line()
        return {"step": self.step, **what}


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
    wrong = [error.path for error in errors]
    sound = [
        (index, entry)
        for index, entry in ordered
        if not any(path.startswith(f"{_LIST}[{index}]") for path in wrong)
    ]
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
    spec = {"operations": [entry.line() for _, entry in sound]}
    own = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}
    return Converted(own, tuple(index for index, _ in sound), warnings)


_FIELDS: Final = {
    "create": "createOperation.object",
    "patch": "patchOperation",
    "delete": "deleteOperation",
}
_FIELD: Final = re.compile(rf"(?<=\]\.)({'|'.join(_FIELDS)})(?![A-Za-z])")


def kep140_path(path: str) -> str:
    """Return the path of a field of an operation as kube-scheduler-simulator has it."""
    return _FIELD.sub(lambda found: _FIELDS[found[1]], path)
