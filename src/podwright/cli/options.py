"""The options that several commands have, spelled and explained once.

Imports nothing of podwright but how usage looks, so that a command's `--help` is quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from podwright.cli.usage import CommandApp


def command_app() -> typer.Typer:
    """Make the Typer app of one command, set up as all of them are."""
    return CommandApp(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def examples(*lines: str) -> str:
    """Return the epilog of a command: example lines, which the tests run."""
    # The backspace keeps Typer from filling the lines into a paragraph.
    return "\b\nExamples:\n" + "\n".join(f"  $ {line}" for line in lines)


class TieRuleName(StrEnum):
    """How a node is chosen among equals."""

    drawn = "drawn"
    heap = "heap"
    first = "first"


class OffsetName(StrEnum):
    """Where a search for preemption's candidates begins."""

    drawn = "drawn"
    zero = "zero"


class RuleName(StrEnum):
    """Whose rules decide."""

    modern = "modern"
    classic = "classic"


class Format(StrEnum):
    """How a result is printed."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"


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
        help="A KubeSchedulerConfiguration. Without it, the one among the files, or the default.",
    ),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="A Python file with plugins of your own; it is run. Repeatable.",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="NUMBER", help="Of the draws among equally good nodes."),
]
Ties = Annotated[
    TieRuleName,
    typer.Option(
        "--tie-rule",
        help="Which of equally good nodes: drawn by seed, as 1.36's heap does, or the first name.",
    ),
]
Offset = Annotated[
    OffsetName,
    typer.Option(
        "--preemption-offset",
        help="Where the search for nodes to preempt on begins: at one drawn by seed, or the first.",
    ),
]
Gates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        metavar="A=true,B=false",
        help="As for kube-scheduler.",
        show_default=False,
    ),
]
Rules = Annotated[
    RuleName | None,
    typer.Option(
        "--rules",
        help="Whose rules: modern is Kubernetes 1.36, classic is 1.16. Without it, those of the "
        "configuration.",
        show_default=False,
    ),
]
Provider = Annotated[
    str,
    typer.Option(
        "--algorithm-provider",
        metavar="NAME",
        help="Classic rules: DefaultProvider spreads pods, ClusterAutoscalerProvider packs them.",
        show_default=False,
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", help="Classic rules: a Policy, instead of a provider."
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="NUMBER",
        min=1,
        help="Classic rules: how many threads judge and score nodes; the results are the same.",
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Where pods are looked for.",
        show_default=False,
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="TIME",
        help="A moment of the run: how long after its beginning, such as 1h30m, or a time, such as "
        "2026-01-01T12:00:00Z.",
        show_default=False,
    ),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to print it.")]


def given_on(ctx: typer.Context) -> frozenset[str]:
    """Return the parameters that stand on the command line, defaults or not."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    return frozenset(
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    )


def refuse_idle(option: str, other: str, why: str) -> NoReturn:
    """Refuse an option that has no effect beside another, or without it.

    Parameters
    ----------
    option : str
        The option, such as ``--no-tables``.
    other : str
        What keeps it from having one, such as ``without --run``.

    Raises
    ------
    BadParameter
    """
    raise typer.BadParameter(f"it has no effect {other}: {why}.", param_hint=f"'{option}'")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What decides besides the objects.

    Parameters
    ----------
    given : frozenset of str
        The parameters that stand on the command line, defaults or not.
    seeds_names : bool
        Whether more is drawn by the seed than nodes, such as the names of pods.
    """

    config: Path | None = None
    plugins: tuple[Path, ...] = ()
    seed: int = 0
    tie_rule: TieRuleName = TieRuleName.drawn
    preemption_offset: OffsetName = OffsetName.drawn
    feature_gates: str = ""
    rules: RuleName | None = None
    algorithm_provider: str = ""
    policy: Path | None = None
    workers: int = 1
    given: frozenset[str] = frozenset()
    seeds_names: bool = False
