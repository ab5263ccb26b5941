"""Turns command-line arguments into objects, a configuration and a scheduler."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    CoschedulingPodGroup,
    DeviceClass,
    FieldError,
    InputError,
    Node,
    Pod,
    PodwrightError,
)
from podwright.apimachinery.schema import built_in
from podwright.cli.clusters.cluster_inputs import ImportedSource, read_named
from podwright.cli.console import print_message, print_warnings
from podwright.cli.file_reading import ErrorCollector, document_cache, read_text, reading_files
from podwright.cli.options import Setup
from podwright.cli.rule_options import with_rules
from podwright.cluster.api import USAGE_KINDS
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.assembly import (
    IDLE_GROUPS,
    Registry,
    Scheduler,
    UnknownPod,
    idle_choices,
    plugins_from,
    with_installed,
)
from podwright.scheduler.assembly.missing_resources import missing_resources
from podwright.scheduler.config import (
    DEFAULT_GATES,
    EFFECTS,
    Effect,
    Gates,
    KubeSchedulerConfiguration,
    PartialConfiguration,
    effective,
    has_more_documents,
    parse_gates,
    read_configuration,
)
from podwright.scheduler.framework import CallExtender, Plugin, TieRule
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import (
    LoadedObjects,
    PartialObjects,
    count_openb_gpus,
    disabled_fields,
    load_bytes,
    missing_classes,
    missing_nodes,
    requests_openb_gpus,
    with_generated_names,
)


def load_plugins(paths: Iterable[Path]) -> list[type[Plugin]]:
    """Execute plugin files and return the classes they define; raise all errors together."""
    found: list[type[Plugin]] = []
    collected = ErrorCollector()
    for path in paths:
        with collected:
            text = read_text(path)
            found += plugins_from(text, source=str(path), folder=str(path.parent.resolve()))
    collected.raise_all()
    idle = [plugin.name for plugin in found if _is_idle(plugin)]
    if idle:
        print_message(f"warning: no extension point is implemented by {', '.join(idle)}")
    return found


def _is_idle(plugin: type[Plugin]) -> bool:
    try:
        return not plugin.extension_points()
    except Exception:  # noqa: BLE001 - it is an error of the class when the plugin is made
        return False


if TYPE_CHECKING:
    from podwright.scheduler.classic import ParallelizeUntil


class Inputs(NamedTuple):
    """The contents of the files that the command line names.

    Parameters
    ----------
    loaded : LoadedObjects
    configuration : KubeSchedulerConfiguration, optional
        With the rules that the command line selects; None: the default one.
    plugins : list of type
    gates : Gates
    source : str
        The file of the configuration.
    packages : dict of str to str
        Package and version of each installed plugin, by plugin name.
    is_partial : bool
        Whether only some objects of a cluster were read, so that references may lead to others.
    """

    loaded: LoadedObjects
    configuration: KubeSchedulerConfiguration | None
    plugins: list[type[Plugin]]
    gates: Gates
    source: str
    packages: Mapping[str, str]
    is_partial: bool = False


def read_scenario_files(names: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
    """Read the files of a scenario, and the clusters among them."""
    return tuple(read_named(names, stdin=None, report=print_message, has_workloads=True))


def load_all(files: Sequence[str], setup: Setup) -> tuple[LoadedObjects, Scheduler]:
    """Read everything that the command line names, and create an empty scheduler.

    Raises
    ------
    InputError
        With the errors of all inputs.
    """
    inputs = read_inputs(files, setup)
    scheduler = scheduler_of(inputs, setup)
    warn_of_idle_groups(inputs, scheduler)
    return inputs.loaded, scheduler


def read_inputs(
    files: Sequence[str],
    setup: Setup,
    *,
    has_both: bool = False,
    is_served: bool = False,
    imported: ImportedSource | None = None,
) -> Inputs:
    """Read everything that the command line names.

    Parameters
    ----------
    has_both : bool
        Whether the modern (v1.36) rules are used besides the classic (v1.16) ones.
    is_served : bool
        Whether the objects are served: those of custom kinds are then not ignored.
    imported : ImportedSource, optional
        A cluster whose objects are added.

    Raises
    ------
    InputError
        With the errors of all inputs.
    """
    collected = ErrorCollector()
    loaded = LoadedObjects()
    is_partial = imported is not None and bool(imported.selection.first_given())
    missing: tuple[FieldError, ...] = ()
    with reading_files() as watch:
        is_complete = False
        with collected:
            stdin = sys.stdin.buffer if "-" in files else None
            try:
                loaded = load_bytes(
                    read_named(
                        files,
                        stdin=stdin,
                        report=print_message,
                        has_workloads=not is_served,
                        imported=imported,
                    ),
                    validate=setup.validate,
                    watch=watch,
                    cache=document_cache(),
                )
                require_objects(loaded, files)
                loaded = with_counted_gpus(loaded, setup)
                loaded = loaded if is_served else with_generated_names(loaded)
                is_complete = True
            except PartialObjects as error:
                loaded, is_complete = error.loaded, error.is_complete
                raise
        if is_complete and not is_partial:
            missing = tuple(missing_classes(loaded.sourced))
        if setup.validate == "strict":
            collected.errors += missing
        inputs = inputs_of(loaded, setup, collected)._replace(is_partial=is_partial)
        collected.raise_all()
        concerned: tuple[Effect, ...] = EFFECTS if is_served else ("configuration", "decisions")
        warn_of_idle(without_classic_rules(inputs) if has_both else inputs, *concerned)
    print_warnings(loaded.warnings)
    if setup.validate == "warn":
        print_warnings(map(str, missing))
    print_warnings(disabled_fields(loaded.sourced, inputs.gates))
    if not is_served:
        if not is_partial:
            print_warnings(missing_nodes(loaded.sourced))
        warn_of_kinds(loaded)
        warn_of_uncounted_gpus(inputs, setup)
    return inputs


def with_counted_gpus(loaded: LoadedObjects, setup: Setup) -> LoadedObjects:
    """Return the objects with GPUs of the openb trace as --openb-gpus counts them.

    Raises
    ------
    InputError
        If there are no pods that it applies to.
    """
    option = FieldError(source="options", path="--openb-gpus", message="")
    return count_openb_gpus(loaded, setup.openb_gpus, option)


def warn_of_uncounted_gpus(inputs: Inputs, setup: Setup) -> None:
    """Warn that nothing counts the GPUs of the openb trace: no option and no plugin."""
    is_counted = setup.openb_gpus is not None or bool(inputs.plugins)
    if not is_counted and requests_openb_gpus(inputs.loaded.sourced):
        print_message(
            "warning: the GPUs of the pods are annotations of the openb trace, which the scheduler"
            " does not count; --openb-gpus of schedule, simulate and convert makes them a resource"
        )


def without_classic_rules(inputs: Inputs) -> Inputs:
    """Return the inputs with the modern (v1.36) rules, whichever they select."""
    configuration = inputs.configuration or KubeSchedulerConfiguration()
    return inputs._replace(configuration=msgspec.structs.replace(configuration, rules=None))


def warn_of_idle(inputs: Inputs, *concerned: Effect) -> None:
    """Warn of feature gates and plugins that were set and have no effect."""
    own = {plugin.name for plugin in inputs.plugins}
    for warning in idle_choices(inputs.configuration, inputs.gates, *concerned, own=own):
        print_message(f"warning: {warning}")


def warn_of_idle_groups(inputs: Inputs, scheduler: Scheduler) -> None:
    """Warn of groups of pods that no plugin reads."""
    if inputs.plugins or not any(
        isinstance(entry.object, CoschedulingPodGroup) for entry in inputs.loaded.sourced
    ):
        return
    profiles = scheduler.profiles.values()
    if not any(each.name == "Coscheduling" for profile in profiles for each in profile.permit):
        print_message(f"warning: {IDLE_GROUPS}")


def require_objects(loaded: LoadedObjects, files: Sequence[str]) -> None:
    """Reject files without any object.

    Raises
    ------
    InputError
        Also if the files hold a configuration only: there is nothing to schedule.
    """
    if files and not loaded.sourced:
        message = "contains no objects"
        raise InputError([FieldError(source=name, path="", message=message) for name in files])


def warn_of_kinds(loaded: LoadedObjects, staged: Container[GroupKind] = ()) -> None:
    """Warn of custom kinds among the objects, which only custom plugins read.

    Parameters
    ----------
    staged : container of (group, kind)
        Kinds that KWOK Stages refer to, which are not ignored.
    """
    found = {
        f"{entry.object.kind} ({entry.object.api_version})": entry.source
        for entry in loaded.of_custom_kinds()
        if kind_of(entry.object) not in staged and kind_of(entry.object) not in OWN_KINDS
    }
    if found:
        *names, last = found
        named = f"{', '.join(names)} and {last} are not known kinds" if names else ""
        named = named or f"{last} is not a known kind"
        first = next(iter(found.values()))
        print_message(f"warning: {first}: {named}, which only custom plugins read")


def inputs_of(loaded: LoadedObjects, setup: Setup, collected: ErrorCollector) -> Inputs:
    """Read the inputs that the command line names besides the objects.

    Parameters
    ----------
    collected : ErrorCollector, written
        Receives the errors. An input that cannot be read is replaced by its default.
    """
    configuration: KubeSchedulerConfiguration | None = None
    gates: Gates = DEFAULT_GATES
    plugins: list[type[Plugin]] = []
    source = "configuration"
    decoding_errors: tuple[FieldError, ...] = ()
    with collected:
        try:
            if setup.config is not None:
                source = str(setup.config)
                configuration = read_config_file(setup.config)
            elif loaded.configuration is not None:
                source = loaded.configuration.source
                configuration = read_configuration(loaded.configuration.document, source=source)
        except PartialConfiguration as error:
            configuration, decoding_errors = error.configuration, error.errors
    with collected:
        configuration = with_rules(configuration, setup)
    with collected:
        gates = parse_gates(setup.feature_gates)
    with collected:
        plugins = load_plugins(setup.plugins)
    packages: dict[str, str] = {}
    with collected:
        configuration, installed = with_installed(configuration, plugins)
        plugins += [one.cls for one in installed]
        packages = {one.cls.name: one.package for one in installed}
    if decoding_errors:
        with collected:
            _raise_with(decoding_errors, configuration, gates, plugins, source)
    return Inputs(loaded, configuration, plugins, gates, source, packages)


def read_config_file(path: Path) -> KubeSchedulerConfiguration:
    """Read a file of `--config`; only its first document is read.

    Raises
    ------
    InputError
        With all errors; a `PartialConfiguration` if the rest can be used to find others.
    """
    text = read_text(path)
    if has_more_documents(text):
        print_message(f"warning: {path}: only the first document is read")
    return read_configuration(text, source=str(path))


def _raise_with(
    decoding_errors: Sequence[FieldError],
    configuration: KubeSchedulerConfiguration | None,
    gates: Gates,
    plugins: Sequence[type[Plugin]],
    source: str,
) -> None:
    """Raise the errors of decoding and those of the fields that were decoded, together."""
    registry = Registry(plugins)
    effective(
        registry.enable_own(configuration or KubeSchedulerConfiguration(), source=source),
        gates,
        implements=registry.points_of,
        source=source,
        earlier_errors=decoding_errors,
    )


def scheduler_of(inputs: Inputs, setup: Setup) -> Scheduler:
    """Create an empty scheduler.

    Raises
    ------
    InputError
        If the configuration is invalid.
    """
    return Scheduler(
        scheduler_options(inputs, setup),
        call_extender=extender_caller(inputs.configuration, inputs.source),
        parallelize_until=None if setup.workers == 1 else _threads(setup.workers),
    )


def scheduler_options(inputs: Inputs, setup: Setup) -> SchedulerOptions:
    """Return the options of the scheduler that the command line and its files give."""
    return SchedulerOptions(
        configuration=inputs.configuration,
        plugins=tuple(inputs.plugins),
        gates=inputs.gates,
        seed=setup.seed,
        tie_rule=TieRule(setup.tie_rule),
        draws_preemption_offset=setup.preemption_offset == "drawn",
        source=inputs.source,
    )


def _threads(count: int) -> ParallelizeUntil:
    from podwright.cli.worker_threads import ThreadedPieces

    return ThreadedPieces(count)


def extender_caller(
    configuration: KubeSchedulerConfiguration | None, source: str
) -> CallExtender | None:
    """Return the function that calls the configured extenders; None if there are none."""
    if configuration is None:
        return None
    if configuration.rules is not None:
        from podwright.scheduler.assembly import policy_extenders

        called = policy_extenders(configuration.rules)
        configuration = msgspec.structs.replace(
            configuration, extenders=(*configuration.extenders, *called)
        )
    if not configuration.extenders:
        return None
    from podwright.online.client import ExtenderClient

    return ExtenderClient(configuration, source=source).call


def warn_of_missing_resources(
    pods: Iterable[Pod], nodes: Iterable[Node], classes: Iterable[DeviceClass]
) -> None:
    """Warn of each resource that unscheduled pods request and no node has."""
    for missing in missing_resources(pods, nodes, classes):
        print_message(f"warning: {missing}")


OWN_KINDS: frozenset[GroupKind] = frozenset(
    {("kwok.x-k8s.io", "Stage"), ("podwright.dev", "DeviceCards"), *USAGE_KINDS}
)
"""The custom kinds that have an effect without a CustomResourceDefinition."""


def has_no_workload(loaded: LoadedObjects) -> bool:
    """Return whether the objects contain neither pods nor workloads."""
    workloads = built_in().pod_templates
    return not any(obj.kind == "Pod" or kind_of(obj) in workloads for obj in loaded.objects)


POD_NAMES: Final = ("pod", "pods", "po")
"""The names of pods on kubectl's command line."""


def find_key(
    text: str,
    keys: Iterable[str],
    *,
    namespace: str = "",
    where: str = "in these files",
    what: str = "pod",
) -> str:
    """Return the `namespace/name` that `name`, `ns/name` or `pod/name` refers to.

    A name alone is looked up in `namespace` if one is given, else in all namespaces; if several
    namespaces have it, `default` is used, as in kubectl.

    Raises
    ------
    UnknownPod
        If there is no such pod, or the name is ambiguous; with suggestions.
    """
    known = dict.fromkeys(keys)
    head, slash, name = text.rpartition("/")
    if head in POD_NAMES:
        head, slash = "", ""
    if slash and namespace and head != namespace:
        raise UnknownPod(f'"{text}" is not in namespace "{namespace}"')
    requested = head or namespace
    found = f"{requested or 'default'}/{name}"
    if not requested:
        matches = [key for key in known if key.rpartition("/")[2] == name]
        if len(matches) > 1 and found not in matches:
            raise UnknownPod(f'"{name}" is in several namespaces: {", ".join(matches)}')
        found = matches[0] if len(matches) == 1 else found
    if found not in known:
        inside = f'in namespace "{namespace}" ' if namespace and not head else ""
        raise UnknownPod(f'no {what} "{text}" {inside}{where}{_near(text, name, known)}')
    return found


def find_node(text: str, names: Iterable[str], *, where: str = "in these files") -> str:
    """Return the node that `name` or `node/name` refers to.

    Raises
    ------
    UnknownNode
        If there is no such node; with suggestions.
    """
    known = list(names)
    name = text.removeprefix("node/").removeprefix("nodes/")
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownNode(f'no node "{text}" {where}{hint}')


class UnknownNode(PodwrightError):  # noqa: N818 - named for what it is
    """No node has the given name."""


def _near(text: str, name: str, keys: Iterable[str]) -> str:
    by_name: dict[str, list[str]] = {}
    all_keys = list(keys)
    for key in all_keys:
        by_name.setdefault(key.rpartition("/")[2], []).append(key)
    close = difflib.get_close_matches(name, by_name, n=3, cutoff=0.6)
    near = [key for match in close for key in by_name[match]][:3]
    if not near and "/" in text:
        near = difflib.get_close_matches(text, all_keys, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""
