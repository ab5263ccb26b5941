"""`podwright config`: prints or validates scheduler configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.console import (
    hint_at_plugins,
    print_document,
    print_message,
    print_table,
    print_warnings,
    write,
)
from podwright.cli.file_reading import ErrorCollector, read_text
from podwright.cli.inputs import load_plugins
from podwright.cli.options import Setup
from podwright.cli.rule_options import with_rules
from podwright.scheduler import assembly, classic
from podwright.scheduler.assembly import (
    BrokenPlugin,
    Registry,
    assemble,
    idle_choices,
    with_installed,
)
from podwright.scheduler.config import (
    DEFAULT_GATES,
    EFFECTS,
    EffectiveConfiguration,
    Gates,
    KubeSchedulerConfiguration,
    PartialConfiguration,
    args_to_document,
    effective,
    effective_document,
    has_more_documents,
    parse_document,
    parse_gates,
    read_configuration,
    tls_errors,
)
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions


def show_configuration(setup: Setup, *, output: str) -> None:
    """Print a configuration with all defaults."""
    file = setup.config
    own, gates = _surroundings(setup.plugins, setup.feature_gates)
    source = "the default configuration" if file is None else str(file)
    text = None if file is None else read_text(file)
    configuration = _effective(text, own, gates, source, setup, set())
    if output in ("yaml", "json"):
        print_document(effective_document(configuration), output)
    elif output == "name":
        for name in dict.fromkeys(row[2] for row in _rows(configuration)):
            write(name)
    elif output == "table":
        print_table(
            ("PROFILE", "POINT", "PLUGIN", "WEIGHT"),
            [row[:4] for row in _rows(configuration)],
        )
    else:
        print_table(("PROFILE", "POINT", "PLUGIN", "WEIGHT", "ARGS"), _rows(configuration))


def check_configurations(files: Sequence[Path], setup: Setup) -> bool:
    """Print the errors of each configuration or policy; return whether all are valid."""
    own, gates = _surroundings(setup.plugins, setup.feature_gates)
    texts: list[tuple[Path, str]] = []
    collected = ErrorCollector()
    for file in files:
        with collected:
            texts.append((file, read_text(file)))
    collected.raise_all()
    if all(_is_policy(text) for _, text in texts):
        _reject_options_beside_policies(setup, files)
    is_right = True
    printed: set[str] = set()
    for file, text in texts:
        try:
            summary = _checked_policy(text, str(file))
            if not summary:
                summary = _summary(_effective(text, own, gates, str(file), setup, printed))
        except BrokenPlugin:
            # The error is in the plugin's file, not in the configuration.
            raise
        except InputError as error:
            is_right = False
            for problem in error.errors:
                write(f"error: {problem}")
            count = len(error.errors)
            print_message(f"{file}: {count} error{'s' * (count != 1)}")
            hint_at_plugins(error.errors)
        else:
            write(f"{file}: valid ({summary})")
    return is_right


def _summary(configuration: EffectiveConfiguration) -> str:
    names = ", ".join(profile.scheduler_name for profile in configuration.profiles)
    count = len(configuration.profiles)
    rules = _PRINTING_OF[configuration.rules_name].prefix
    return f"{rules}{count} profile{'s' * (count != 1)}: {names}"


_NOT_FOR_POLICIES = {
    "plugins": "--plugin",
    "rules": "--rules",
    "algorithm_provider": "--algorithm-provider",
    "policy": "--policy",
    "feature_gates": "--feature-gates",
}


def _is_policy(text: str) -> bool:
    try:
        document = parse_document(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("kind") == "Policy"


def _reject_options_beside_policies(setup: Setup, files: Sequence[Path]) -> None:
    """Reject options of configurations if all files are Policies.

    Raises
    ------
    InputError
    """
    where = ", ".join(map(str, files))
    message = f"has no effect with {where}: a Policy is validated separately"
    errors = [
        FieldError(source="options", path=written, message=message)
        for name, written in _NOT_FOR_POLICIES.items()
        if name in setup.given
    ]
    if errors:
        raise InputError(errors)


def _checked_policy(text: str, source: str) -> str:
    """Validate a Policy of the v1.16 rules; return its summary, "" if the text is not a Policy.

    Raises
    ------
    InputError
        If the Policy is invalid.
    """
    if not _is_policy(text):
        return ""
    document: Any = parse_document(text)
    algorithm = classic.algorithm_from_policy(classic.read_policy(document, source=source))
    print_warnings(classic.ignored_fields(document, source=source))
    counts = len(algorithm.predicates), len(algorithm.priorities), len(algorithm.extenders)
    words = ("predicate", "predicates"), ("priority", "priorities"), ("extender", "extenders")
    parts = [f"{n} {word[n != 1]}" for n, word in zip(counts, words, strict=True)]
    return f"v1.16 Policy, {', '.join(parts)}"


def _surroundings(plugins: Sequence[Path], feature_gates: str) -> tuple[list[type[Plugin]], Gates]:
    collected = ErrorCollector()
    own: list[type[Plugin]] = []
    gates = DEFAULT_GATES
    with collected:
        gates = parse_gates(feature_gates)
    with collected:
        own = load_plugins(plugins)
    collected.raise_all()
    return own, gates


def _warn_of_idle(
    configuration: KubeSchedulerConfiguration | None,
    gates: Gates,
    own: Sequence[type[Plugin]],
    printed: set[str],
) -> None:
    """Warn of settings without effect, once for all configurations."""
    names = {plugin.name for plugin in own}
    for warning in idle_choices(configuration, gates, *EFFECTS, own=names):
        if warning not in printed:
            printed.add(warning)
            print_message(f"warning: {warning}")


def _effective(
    text: str | None,
    own: Sequence[type[Plugin]],
    gates: Gates,
    source: str,
    setup: Setup,
    printed: set[str],
) -> EffectiveConfiguration:
    """Read, default, validate and expand; plugins are built to validate their arguments.

    Raises
    ------
    InputError
        If the configuration is invalid; with the errors of all stages.
    """
    configuration = KubeSchedulerConfiguration()
    errors: tuple[FieldError, ...] = ()
    if text is not None:
        if has_more_documents(text):
            print_message(f"warning: {source}: only the first document is read")
        try:
            configuration = read_configuration(text, source=source)
        except PartialConfiguration as error:
            configuration, errors = error.configuration, error.errors
    configuration = with_rules(configuration, setup) or configuration
    with_plugins, installed = with_installed(configuration, own)
    configuration = with_plugins or configuration
    registry = Registry((*own, *(one.cls for one in installed)))
    _warn_of_idle(configuration, gates, own, printed)
    made = effective(
        registry.enable_own(configuration, source=source),
        gates,
        implements=registry.points_of,
        source=source,
        earlier_errors=(*errors, *tls_errors(configuration.extenders, _read_file)),
    )
    # Plugins and v1.16 rules validate their arguments when they are built.
    assemble(made, registry, SchedulerOptions(source=source))
    return made


def _read_file(name: str) -> bytes:
    return Path(name).read_bytes()


_Rows: TypeAlias = Iterator[tuple[str, str, str, str, str]]


def _rows(configuration: EffectiveConfiguration) -> _Rows:
    return _PRINTING_OF[configuration.rules_name].rows(configuration)


def _rows_of_v116(configuration: EffectiveConfiguration) -> _Rows:
    algorithm = assembly.classic_setup(configuration).algorithm
    for profile in configuration.profiles:
        name = profile.scheduler_name
        for predicate in algorithm.predicates:
            yield name, "predicate", predicate.name, "", ""
        for entry in algorithm.priorities:
            yield name, "priority", entry.priority.name, str(entry.weight), ""


def _rows_of_v136(configuration: EffectiveConfiguration) -> _Rows:
    for profile in configuration.profiles:
        for point, entries in profile.plugins.items():
            for name, weight in entries:
                args = profile.args.get(name)
                shown = "" if args is None else msgspec.json.encode(args_to_document(args)).decode()
                yield profile.scheduler_name, point, name, str(weight) if weight else "", shown


class _Printing(NamedTuple):
    """How the configuration of a set of rules is printed.

    Attributes
    ----------
    prefix : str
        Before the summary of a valid configuration.
    rows : callable
        Yields the rows of the table.
    """

    prefix: str
    rows: Callable[[EffectiveConfiguration], _Rows]


_PRINTING_OF: Final[Mapping[str, _Printing]] = {
    "modern": _Printing("", _rows_of_v136),
    "classic": _Printing("v1.16 rules, ", _rows_of_v116),
}
"""By the name of the rules in a configuration."""
