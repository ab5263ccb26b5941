"""`podwright up`: the initial objects, and the operations that follow at their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import msgspec

from podwright._garbage import frozen_creations
from podwright.apimachinery.devices import is_cards
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    KubernetesObject,
    PodwrightError,
)
from podwright.apimachinery.schema.structural import CustomKind, CustomVersion
from podwright.cli.console import print_message, print_warnings
from podwright.cli.file_reading import read_text
from podwright.cli.inputs import OWN_KINDS, Inputs as ReadInputs
from podwright.cli.options import Setup
from podwright.cluster.kubelets import STAGE, ImageBehavior, Stage, read_image_behaviors
from podwright.cluster.store import ObjectStore, kind_of
from podwright.online.apiserver import (
    Cluster,
    device_cards_kind,
    generated_nodes,
    standard_storage_class,
)
from podwright.simulation.files import LoadedObjects, Sourced, numbered_lines, read_paths
from podwright.simulation.world import (
    ON_NODE,
    Drain,
    EventFile,
    FailNode,
    Inputs,
    OnNodes,
    Operation,
    RestoreNode,
    Stop,
    file_of_events,
)

DEMO = str(files("podwright.cli").joinpath("demo.yaml"))
"""The manifests of `--demo`."""

_STORAGE_CLASS = ("storage.k8s.io", "StorageClass")


def event_files(paths: Sequence[str]) -> list[EventFile]:
    """Read files of event lines.

    Raises
    ------
    InputError
        With the files that cannot be read.
    """
    return [
        file_of_events(name, partial(numbered_lines, data, source=name))
        for name, data in read_paths(paths)
    ]


@frozen_creations()
def inputs_of(
    read: ReadInputs,
    events: Sequence[EventFile],
    setup: Setup,
    *,
    nodes: int,
    has_storage_class: bool,
    has_drivers: bool,
    store: ObjectStore,
    start_ns: int,
) -> Inputs:
    """Return the inputs of a cluster; objects that its store has already are not among them.

    Parameters
    ----------
    read : Inputs
        The files.
    events : sequence of EventFile
    nodes : int
        How many equal nodes to create besides.
    has_storage_class : bool
        Whether to create a default StorageClass at the first start, unless the files have classes.
    has_drivers : bool
        Whether controllers and kubelets are simulated, and with them the drivers that publish
        DeviceCards. Where others take a part, only upstream's kinds are served, unless the files
        have cards: kubectl then prints what it prints on upstream's control plane.
    store : ObjectStore
        Of the cluster; empty at its first start.
    start_ns : int
        The time of the cluster.

    Raises
    ------
    InputError
        With the errors of all events.
    """
    loaded = read.loaded
    is_new = not store.kinds()
    has_classes = any(kind_of(obj) == _STORAGE_CLASS for obj in loaded.objects)
    classes = [standard_storage_class()] if has_storage_class and is_new and not has_classes else []
    has_cards = has_drivers or any(map(is_cards, loaded.objects))
    kinds = [device_cards_kind()] if has_cards else []
    sourced = [
        entry
        for entry in (
            *(Sourced("podwright up", each) for each in (*classes, *kinds)),
            *(Sourced("--nodes", node) for node in generated_nodes(nodes)),
            *loaded.sourced,
        )
        if is_new or store.get(kind_of(entry.object), entry.object.key) is None
    ]
    if setup.validate != "ignore":
        found = invalid_custom_objects(sourced, store)
        if setup.validate == "warn":
            print_warnings(map(str, found))
        elif found:
            raise InputError(found)
    return Inputs(
        msgspec.structs.replace(loaded, sourced=tuple(sourced)),
        events,
        start_ns=start_ns,
        validate=setup.validate,
        # Events and pods may refer to objects of the store, or to those that were not selected.
        is_complete=is_new and not read.is_partial,
    )


def stages_of(read: ReadInputs, inputs: Inputs, *, has_lifecycle: bool) -> tuple[Stage, ...] | None:
    """Return the stages of a cluster: None, for simulated kubelets, without Stages in the files."""
    if not any(kind_of(obj) == STAGE for obj in read.loaded.objects):
        return None
    if not has_lifecycle:
        print_message("warning: the Stages among the files have no effect with --no-lifecycle")
    return inputs.stages


def declared_images(paths: Sequence[Path]) -> tuple[ImageBehavior, ...]:
    """Return the entries of the files of --images, in order.

    Raises
    ------
    InputError
    """
    return tuple(chain(*(read_image_behaviors(read_text(each), str(each)) for each in paths)))


def check_parts(inputs: Inputs, *, has_controllers: bool, has_lifecycle: bool) -> None:
    """Reject lines that wait, the end of a run, and operations of components that are left out.

    Raises
    ------
    InputError
    """
    lacking = {
        "drain": (Drain, has_controllers, "--no-controllers"),
        "fail": (FailNode, has_lifecycle, "--no-lifecycle"),
        "restore": (RestoreNode, has_lifecycle, "--no-lifecycle"),
    }
    found = {
        ON_NODE[operation.operation] if isinstance(operation, OnNodes) else type(operation)
        for _, operation in inputs
    }
    errors = [
        FieldError(source="--events", path=name, message=f"has no effect with {option}")
        for name, (kind, is_there, option) in lacking.items()
        if kind in found and not is_there
    ]
    if Stop in found:
        message = "has no effect in a cluster that is served: it ends simulations"
        errors.append(FieldError(source="--events", path="done", message=message))
    for sequence in inputs.sequences():
        while sequence.next_due_ns(0) is not None:
            if sequence.step.wait is not None:
                message = "waits for a condition, as only simulations do; give a time, at or after"
                errors.append(FieldError(source=sequence.step.place, path="", message=message))
    if errors:
        raise InputError(errors)


@frozen_creations()
def add_inputs(cluster: Cluster, inputs: Inputs, start_ns: int) -> None:
    """Execute what is due at the start, and add what follows.

    Raises
    ------
    PodwrightError
        An initial object is rejected.
    """
    print_warnings(inputs.warnings)
    timed = iter(inputs)
    later: Iterator[tuple[int, Operation]] = iter(())
    with cluster.store.batch():
        for due_ns, operation in timed:
            if due_ns > start_ns:
                later = chain([(due_ns, operation)], timed)
                break
            cluster.do(operation)
    cluster.add_inputs(later, _report_rejected)


def _report_rejected(operation: Operation, error: PodwrightError) -> None:
    print_message(f"--events: {type(operation).__name__.lower()} was rejected: {error}")


# Custom objects among the files of `podwright up`, by their CustomResourceDefinitions.

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
