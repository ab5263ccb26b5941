"""Options of commands, as the fields of classes, and those that several commands share.

A command is a function of one `Options`. The fields of its class that `option` or `argument`
declares are what the command line has, and the function gets their values as one object. A field
whose type is another `Options` stands for the options of that class.

Imports nothing of podwright but `usage`, so that a command's `--help` is quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from math import isnan
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    TypeAlias,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from podwright.cli.usage import V116_PANEL, PlainCommand

_READ = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".gz")
"""How the names of files of inputs end."""

_Command = TypeVar("_Command", bound=Callable[..., bool | None])


class CommandApp(typer.Typer):
    """A Typer app whose commands are `PlainCommand`s and take `Options`."""

    def command(
        self, name: str | None = None, *, examples: Sequence[str] = (), **settings: Any
    ) -> Callable[[_Command], _Command]:
        """Add a command, as `typer.Typer.command` does.

        Parameters
        ----------
        examples : sequence of str
            Command lines that `--help` shows, and the tests run.
        """
        # The backspace prevents Typer from re-wrapping the lines.
        lines = "\b\nExamples:\n" + "\n".join(f"  $ {line}" for line in examples)
        epilog = lines if examples else None
        add = super().command(name, cls=PlainCommand, epilog=epilog, **settings)

        def added(function: _Command) -> _Command:
            add(_with_options(function))
            return function

        return added


def command_app() -> CommandApp:
    """Create an app without commands."""
    return CommandApp(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def command(*, examples: Sequence[str]) -> Callable[[_Command], CommandApp]:
    """Declare a command: the function becomes the app that `podwright.cli` looks up by its name."""

    def declared(function: _Command) -> CommandApp:
        app = command_app()
        app.command(examples=examples)(function)
        return app

    return declared


def command_group(text: str) -> CommandApp:
    """Declare a command that has others, with its help."""
    app = command_app()
    app.callback(help=text)(lambda: None)
    return app


# ---------------------------------------------------------------- declaring


def option(text: str, metavar: str | None = None, *names: str, **settings: Any) -> Any:
    """Declare an option as a field of `Options`.

    Parameters
    ----------
    text : str
        Its help.
    metavar : str, optional
        What stands for its value; not for switches and choices.
    names : str
        Its names, if they are not that of the field; one of a single letter is added to that.
    settings : dict
        `default`, without which the option is required; `is_written` for a file that the command
        writes, which must not be one that it reads; others are those of `typer.Option`.
    """
    return _declared(typer.Option, text, metavar, names, settings)


def argument(text: str, metavar: str, **settings: Any) -> Any:
    """Declare an argument as a field of `Options`, as `option` does."""
    return _declared(typer.Argument, text, metavar, (), settings)


def _declared(
    kind: Callable[..., Any],
    text: str,
    metavar: str | None,
    names: tuple[str, ...],
    settings: dict[str, Any],
) -> Any:
    default = settings.pop("default", MISSING)
    metadata = {"kind": kind, "names": names, "help": text, "metavar": metavar, **settings}
    return field(default=default, metadata=metadata)


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a command, or a group of them that several commands have.

    Inherited fields stand after those of the class. A field of the type ``tuple[T, ...]`` can be
    given several times.

    Attributes
    ----------
    heading : str
        The heading of the options in long help pages; "" for none.
    given : frozenset of str
        The fields whose options are on the command line, also with their default value; in all
        groups of a command.
    others : tuple of str
        Arguments that the command does not know, if it accepts them.
    """

    heading: ClassVar[str] = ""

    given: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def group(cls, *names: str, **values: Any) -> Any:
        """Declare a field that stands for the options of this class.

        Parameters
        ----------
        names : str
            The fields whose options the command has; all without names. Others have their default.
        values : dict
            Fields that are no options.
        """
        return field(default_factory=cls, metadata={"names": names, "values": values})


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for Typer, with the options of the class that `function` takes.

    A negative result (False) is exit status 1, unless `exit_zero` is set.
    """
    groups = {name: cls for name, cls in get_type_hints(function).items() if name != "return"}
    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *(each for group in groups.values() for each in _parameters(group, ())),
    ]

    @wraps(function)
    def with_options(*, ctx: typer.Context, **values: Any) -> None:
        for each in ctx.command.params:
            # It is neither below nor above the limits of an option.
            if isinstance(value := ctx.params.get(each.name or ""), float) and isnan(value):
                raise typer.BadParameter("'nan' is not a number.", ctx=ctx, param=each)
        for group in groups.values():
            for name in _written(group, ()):
                _require_no_input(name, values)
        context = {"given": _given(ctx), "others": tuple(ctx.args)}
        made = {name: _made(group, (), values, context) for name, group in groups.items()}
        if function(**made) is False and not values.get("exit_zero"):
            raise typer.Exit(1)

    # What Typer reads: the signature, and the annotations once more.
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options


def _fields(group: type[Options], names: Sequence[str]) -> Iterator[tuple[Field[Any], Any]]:
    """Yield fields that are options or groups, and their types; inherited ones last."""
    hints = get_type_hints(group)
    by_name = {each.name: each for each in fields(group) if each.metadata}
    own_first = [name for cls in group.__mro__ for name in inspect.get_annotations(cls)]
    for name in names or dict.fromkeys(own_first):
        if name in by_name:
            yield by_name[name], hints[name]


def _parameters(group: type[Options], names: Sequence[str]) -> Iterator[inspect.Parameter]:
    for each, hint in _fields(group, names):
        settings = dict(each.metadata)
        kind = settings.pop("kind", None)
        if kind is None:
            yield from _parameters(hint, settings["names"])
            continue
        default, type_ = each.default, hint
        if get_origin(hint) is tuple:
            type_ = list[get_args(hint)[0]]  # type: ignore[misc]
            default = default if default is MISSING else None
            type_ = type_ if default is MISSING else type_ | None
        given = settings.pop("names")
        settings.pop("is_written", None)
        if kind is typer.Option:
            settings.setdefault("rich_help_panel", group.heading or None)
            if all(len(name) == 2 for name in given):
                given = (f"--{each.name.replace('_', '-')}", *given)
        settings.setdefault("show_default", default not in ("", None, MISSING))
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is MISSING else default,
            annotation=Annotated[type_, kind(*given, **settings)],
        )


def _made(
    group: type[Options],
    names: Sequence[str],
    values: Mapping[str, Any],
    context: Mapping[str, Any],
) -> Options:
    made: dict[str, Any] = {**context}
    for each, hint in _fields(group, names):
        if "kind" not in each.metadata:
            inner = each.metadata
            made[each.name] = _made(hint, inner["names"], values, {**context, **inner["values"]})
        else:
            value = values[each.name]
            made[each.name] = tuple(value or ()) if get_origin(hint) is tuple else value
    return group(**made)


def _written(group: type[Options], names: Sequence[str]) -> Iterator[str]:
    for each, hint in _fields(group, names):
        if "kind" not in each.metadata:
            yield from _written(hint, each.metadata["names"])
        elif each.metadata.get("is_written"):
            yield each.name


def _require_no_input(name: str, values: Mapping[str, Any]) -> None:
    """Reject a file to write that exists, and is an input or in a folder of inputs."""
    path = values[name]
    if path is None or not path.exists():
        return
    others = [value for other, value in values.items() if other != name]
    several = [each for value in others for each in (value if type(value) is list else [value])]
    for read in (Path(each) for each in several if isinstance(each, str | Path)):
        is_inside = path.suffix in _READ and read.resolve() in path.resolve().parents
        if is_inside or (read.exists() and read.samefile(path)):
            where = f"in {read}, which" if is_inside else "a file that"
            message = f"'{path}' is {where} the command reads; choose another file."
            raise typer.BadParameter(message, param_hint=f"'--{name}'")


def _given(ctx: typer.Context) -> frozenset[str]:
    """Return the parameters given on the command line, including those with their default value."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    return frozenset(
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    )


def reject_idle(name: str, other: str, why: str) -> NoReturn:
    """Reject an option that has no effect with another option, or without it.

    Parameters
    ----------
    name : str
        The option, such as ``--no-tables``.
    other : str
        The condition, such as ``without --out``.

    Raises
    ------
    BadParameter
    """
    raise typer.BadParameter(f"has no effect {other}: {why}.", param_hint=f"'{name}'")


# ---------------------------------------------------------------- what several commands have

Format: TypeAlias = Literal["table", "wide", "json", "yaml", "name"]
"""The output formats of a result."""


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


def output_option(names: str) -> Any:
    """Declare the option `--output`.

    Parameters
    ----------
    names : str
        What the format `name` prints, one on each line.
    """
    return option(f"Output format. name: {names}.", None, "-o", default="table")


def files_argument(
    what: str = "Manifests, dumps, snapshots or openb tables", **settings: Any
) -> Any:
    """Declare the argument FILE."""
    return argument(f"{what}; folders of them; - for stdin.", "FILE", **settings)


def at_option() -> Any:
    """Declare the option `--at`."""
    text = (
        "A time in the run: since its start, such as 1h30m, or absolute, such as "
        "2026-01-01T12:00:00Z."
    )
    return option(text, "TIME", default="")


def namespace_option(text: str = "The namespace of the pods.") -> Any:
    """Declare the option `--namespace`."""
    return option(text, "NAMESPACE", "-n", default="")


class Judged(Options):
    """The options of a command whose exit status is its result."""

    exit_zero: bool = option("Exit with status 0 instead of 1.", default=False)


DECISIONS = ("seed", "tie_rule", "preemption_offset", "feature_gates", "validate")
RULES = ("rules", "algorithm_provider", "policy")


class Setup(Options):
    """The options that affect decisions, besides the objects.

    Attributes
    ----------
    seeds_names : bool
        Whether the seed also affects other draws than the choice of nodes, such as pod names.
    """

    heading = "Decisions"

    config: Path | None = option(
        "A KubeSchedulerConfiguration. Defaults to the one among the files, if any.",
        "FILE",
        "-c",
        default=None,
        rich_help_panel=None,
    )
    plugins: tuple[Path, ...] = option(
        "A Python file that defines custom plugins. The file is executed. Repeatable.",
        "FILE",
        "--plugin",
        default=(),
    )
    hpa: Literal["min", "max"] = option(
        "The replicas of workloads with a HorizontalPodAutoscaler. min: those without load, at "
        "least minReplicas; max: maxReplicas.",
        default="min",
        rich_help_panel=None,
    )
    rules: Literal["modern", "classic"] | None = option(
        "Scheduling rules: modern (Kubernetes v1.36) or classic (v1.16). Defaults to those of the "
        "configuration.",
        default=None,
        rich_help_panel=None,
    )
    algorithm_provider: str = option(
        "DefaultProvider spreads pods, ClusterAutoscalerProvider packs them.",
        "NAME",
        default="",
        rich_help_panel=V116_PANEL,
    )
    policy: Path | None = option(
        "A Policy file, instead of a provider.", "FILE", default=None, rich_help_panel=V116_PANEL
    )
    workers: int = option(
        "Number of threads that filter and score nodes. Does not affect results. Requires the "
        "v1.16 rules, and does not imply them.",
        "NUMBER",
        default=1,
        min=1,
        rich_help_panel=V116_PANEL,
    )
    seed: int = option("Seed of the draws among tied nodes.", "NUMBER", default=0)
    tie_rule: Literal["drawn", "heap", "first"] = option(
        "How to choose among tied nodes: by seeded draw, as the v1.36 heap does, or the first by "
        "name.",
        default="drawn",
    )
    preemption_offset: Literal["drawn", "zero"] = option(
        "Where the search for preemption candidates starts: at a node drawn by seed, or the first.",
        default="drawn",
    )
    feature_gates: str = option(
        "Feature gates, as for kube-scheduler.", "A=true,B=false", default=""
    )
    validate: Literal["strict", "warn", "ignore"] = option(
        "What to do about unknown fields and invalid values in manifests: reject, report or ignore "
        "them. Objects that come from an API server are not validated; a simulated API server "
        "rejects invalid values in any case.",
        default="strict",
    )
    openb_gpus: Literal["milli", "count"] | None = option(
        "Make the GPUs of the openb trace a resource that the scheduler counts: in thousandths, "
        "which pods share, or as whole GPUs.",
        default=None,
    )
    seeds_names: bool = False

    def arguments(self) -> list[str]:
        """Return the options as they were given, to repeat them in another command."""
        words: list[str] = []
        for name in ("config", "plugins", *_REPEATED):
            if name in self.given:
                value = getattr(self, name)
                written = f"--{'plugin' if name == 'plugins' else name.replace('_', '-')}"
                for each in value if isinstance(value, tuple) else (value,):
                    words += [written, str(each)]
        return words


_REPEATED = (
    "seed", "tie_rule", "preemption_offset", "feature_gates", *RULES, "openb_gpus", "hpa",
)  # fmt: skip


class RecordedOptions(Options):
    """The options of a command that reads a recorded run."""

    run: Path = argument("A folder written by podwright simulate, or a decision log.", "RUN")
    setup: Setup = Setup.group("plugins")
