"""The options that several commands share.

Imports nothing of podwright but `usage` and `option_groups`, so that a command's `--help` is quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn

import typer

from podwright.cli.option_groups import OptionGroup
from podwright.cli.usage import V116_PANEL, CommandApp


def command_app() -> typer.Typer:
    """Create the Typer app of one command."""
    return CommandApp(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def size_in_bytes(text: str) -> int:
    """Read a size in bytes, such as 100Mi."""
    from podwright.apimachinery.objects import quantity_value

    try:
        size = quantity_value(text)
    except ValueError:
        size = 0
    if size <= 0:
        raise typer.BadParameter(f'"{text}" is not a size, such as 100Mi.')
    return size


def examples(*lines: str) -> str:
    """Return the epilog of a command: its examples, which the tests run."""
    # The backspace prevents Typer from re-wrapping the lines.
    return "\b\nExamples:\n" + "\n".join(f"  $ {line}" for line in lines)


class TieRuleName(StrEnum):
    """How a node is chosen among nodes with the highest score."""

    drawn = "drawn"
    heap = "heap"
    first = "first"


class OffsetName(StrEnum):
    """Where the search for preemption candidates starts."""

    drawn = "drawn"
    zero = "zero"


class RuleName(StrEnum):
    """The scheduling rules: modern is v1.36, classic is v1.16."""

    modern = "modern"
    classic = "classic"


class ValidationName(StrEnum):
    """What is done about unknown fields and invalid values in manifests."""

    strict = "strict"
    warn = "warn"
    ignore = "ignore"


class HpaReplicas(StrEnum):
    """The replicas of workloads that are scaled automatically."""

    min = "min"
    max = "max"


class OpenbGpusName(StrEnum):
    """How the scheduler counts the GPUs of the openb trace."""

    thousandths = "milli"
    whole = "count"


class Format(StrEnum):
    """The output formats of a result."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Manifests, dumps, snapshots or openb tables; folders of them; - for stdin.",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="A KubeSchedulerConfiguration. Defaults to the one among the files, if any.",
    ),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="A Python file that defines custom plugins. The file is executed. Repeatable.",
        rich_help_panel="Decisions",
    ),
]
Validate = Annotated[
    ValidationName,
    typer.Option(
        "--validate",
        help="What to do about unknown fields and invalid values in manifests: reject, report or "
        "ignore them. Objects that come from an API server are not validated.",
    ),
]
OpenbGpus = Annotated[
    OpenbGpusName | None,
    typer.Option(
        "--openb-gpus",
        help="Make the GPUs of the openb trace a resource that the scheduler counts: in "
        "thousandths, which pods share, or as whole GPUs.",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="NUMBER", help="Seed of the draws among tied nodes."),
]
Ties = Annotated[
    TieRuleName,
    typer.Option(
        "--tie-rule",
        help="How to choose among tied nodes: by seeded draw, as the v1.36 heap does, or the "
        "first by name.",
    ),
]
Offset = Annotated[
    OffsetName,
    typer.Option(
        "--preemption-offset",
        help="Where the search for preemption candidates starts: at a node drawn by seed, or the "
        "first.",
    ),
]
Gates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        metavar="A=true,B=false",
        help="Feature gates, as for kube-scheduler.",
        show_default=False,
    ),
]
Hpa = Annotated[
    HpaReplicas,
    typer.Option(
        "--hpa",
        help="The replicas of workloads with a HorizontalPodAutoscaler. min: those without load, "
        "at least minReplicas; max: maxReplicas.",
    ),
]
ExitZero = Annotated[
    bool,
    typer.Option("--exit-zero", help="Exit with status 0 where it would be 1; others stay."),
]
Rules = Annotated[
    RuleName | None,
    typer.Option(
        "--rules",
        help="Scheduling rules: modern (Kubernetes v1.36) or classic (v1.16). Defaults to those "
        "of the configuration.",
        show_default=False,
    ),
]
Provider = Annotated[
    str,
    typer.Option(
        "--algorithm-provider",
        metavar="NAME",
        help="DefaultProvider spreads pods, ClusterAutoscalerProvider packs them.",
        rich_help_panel=V116_PANEL,
        show_default=False,
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A Policy file, instead of a provider.",
        rich_help_panel=V116_PANEL,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="NUMBER",
        min=1,
        help="Number of threads that filter and score nodes. Does not affect results. Requires the "
        "v1.16 rules, and does not imply them.",
        rich_help_panel=V116_PANEL,
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="The namespace of the pods.",
        show_default=False,
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="TIME",
        help="A time in the run: since its start, such as 1h30m, or absolute, such as "
        "2026-01-01T12:00:00Z.",
        show_default=False,
    ),
]


def output_option(names: str) -> Any:
    """Return the option `--output`.

    Parameters
    ----------
    names : str
        What the format `name` prints, one on each line.
    """
    return typer.Option("--output", "-o", help=f"Output format. name: {names}.")


def given_on(ctx: typer.Context) -> frozenset[str]:
    """Return the parameters given on the command line, including those with their default value."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    return frozenset(
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    )


def reject_idle(option: str, other: str, why: str) -> NoReturn:
    """Reject an option that has no effect with another option, or without it.

    Parameters
    ----------
    option : str
        The option, such as ``--no-tables``.
    other : str
        The condition, such as ``without --out``.

    Raises
    ------
    BadParameter
    """
    raise typer.BadParameter(f"has no effect {other}: {why}.", param_hint=f"'{option}'")


@dataclass(frozen=True, kw_only=True)
class RuleOptions(OptionGroup):
    """The options that choose the scheduling rules."""

    rules: Rules = None
    algorithm_provider: Provider = ""
    policy: PolicyFile = None


@dataclass(frozen=True, kw_only=True)
class DecisionOptions(OptionGroup):
    """The options that affect decisions, besides rules, configuration and plugins."""

    heading: ClassVar[str] = "Decisions"

    seed: Seed = 0
    tie_rule: Ties = TieRuleName.drawn
    preemption_offset: Offset = OffsetName.drawn
    feature_gates: Gates = ""
    validate: Validate = ValidationName.strict


@dataclass(frozen=True, kw_only=True)
class FileDecisionOptions(DecisionOptions):
    """The same, for commands that also read the openb trace."""

    openb_gpus: OpenbGpus = None


@dataclass(frozen=True, kw_only=True)
class Setup(FileDecisionOptions, RuleOptions):
    """The options that affect decisions, besides the objects.

    Parameters
    ----------
    given : frozenset of str
        The parameters given on the command line, including those with their default value.
    seeds_names : bool
        Whether the seed also affects other draws than the choice of nodes, such as pod names.
    hpa : HpaReplicas
        The replicas of workloads that are scaled automatically, for commands that expand workloads.
    """

    config: Path | None = None
    plugins: tuple[Path, ...] = ()
    workers: int = 1
    given: frozenset[str] = frozenset()
    seeds_names: bool = False
    hpa: HpaReplicas = HpaReplicas.min

    def arguments(self) -> list[str]:
        """Return the options as they were given, to repeat them in another command."""
        words: list[str] = []
        for name in ("config", "plugins", *_REPEATED):
            if {"plugins": "plugin"}.get(name, name) not in self.given:
                continue
            value = getattr(self, name)
            option = f"--{'plugin' if name == 'plugins' else name.replace('_', '-')}"
            for each in value if isinstance(value, tuple) else (value,):
                words += [option, str(getattr(each, "value", each))]
        return words


_REPEATED = (
    "seed", "tie_rule", "preemption_offset", "feature_gates", "rules", "algorithm_provider",
    "policy", "openb_gpus", "hpa",
)  # fmt: skip
