"""What `podwright config` does, once it is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from podwright.assembly.build import build_profiles
from podwright.assembly.registry import Registry
from podwright.cli.collecting import Collected, read_text
from podwright.cli.console import (
    hint_at_plugins,
    print_document,
    print_table,
    say,
    warn_of_gates,
    write,
)
from podwright.cli.inputs import load_plugins
from podwright.config import (
    DEFAULT_GATES,
    EffectiveConfiguration,
    Gates,
    KubeSchedulerConfiguration,
    args_to_document,
    effective,
    parse_gates,
    read_configuration,
    to_document,
    without_effect,
)
from podwright.objects import InputError


def show_configuration(
    file: Path | None, *, plugins: Sequence[Path], feature_gates: str, output: str
) -> None:
    """Print a configuration with every default."""
    registry, gates = _surroundings(plugins, feature_gates)
    source = "the default configuration" if file is None else str(file)
    text = None if file is None else read_text(file)
    configuration = _effective(text, registry, gates, source)
    if output in ("yaml", "json"):
        print_document(to_document(configuration.configuration), output)
    elif output == "table":
        print_table(
            ("PROFILE", "POINT", "PLUGIN", "WEIGHT"),
            [row[:4] for row in _rows(configuration)],
        )
    else:
        print_table(("PROFILE", "POINT", "PLUGIN", "WEIGHT", "ARGS"), _rows(configuration))


def check_configurations(
    files: Sequence[Path], *, plugins: Sequence[Path], feature_gates: str
) -> bool:
    """Say what is wrong with each configuration; tell whether all are right."""
    registry, gates = _surroundings(plugins, feature_gates)
    texts: list[tuple[Path, str]] = []
    collected = Collected()
    for file in files:
        with collected:
            texts.append((file, read_text(file)))
    collected.raise_all()
    is_right = True
    for file, text in texts:
        try:
            configuration = _effective(text, registry, gates, str(file))
        except InputError as error:
            is_right = False
            for problem in error.errors:
                write(str(problem))
            count = len(error.errors)
            say(f"{file}: {count} problem{'s' * (count != 1)}")
            hint_at_plugins(error.errors)
        else:
            names = ", ".join(profile.scheduler_name for profile in configuration.profiles)
            count = len(configuration.profiles)
            write(f"{file}: valid ({count} profile{'s' * (count != 1)}: {names})")
    return is_right


def _surroundings(plugins: Sequence[Path], feature_gates: str) -> tuple[Registry, Gates]:
    collected = Collected()
    registry, gates = Registry(), DEFAULT_GATES
    with collected:
        gates = parse_gates(feature_gates)
    with collected:
        registry = Registry(load_plugins(plugins))
    collected.raise_all()
    warn_of_gates(without_effect(gates, "configuration", "decisions", "machine"))
    return registry, gates


def _effective(
    text: str | None, registry: Registry, gates: Gates, source: str
) -> EffectiveConfiguration:
    """Read, default, validate and expand; plugins are made, so that their arguments count."""
    if text is None:
        configuration = KubeSchedulerConfiguration()
    else:
        configuration = read_configuration(text, source=source)
    made = effective(
        registry.enable_own(configuration), gates, implements=registry.points_of, source=source
    )
    build_profiles(made, registry, source=source)
    return made


def _rows(configuration: EffectiveConfiguration) -> Iterator[tuple[str, str, str, str, str]]:
    for profile in configuration.profiles:
        for point, entries in profile.plugins.items():
            for name, weight in entries:
                args = profile.args.get(name)
                shown = "" if args is None else msgspec.json.encode(args_to_document(args)).decode()
                yield profile.scheduler_name, point, name, str(weight) if weight else "", shown
