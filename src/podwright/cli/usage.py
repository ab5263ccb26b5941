"""Formats usage texts and usage errors, and adds what every command accepts.

Typer includes Python types (`FILE <list[str]>`, `[[FILE]]`, `int range`) in them; the classes here
remove these.

As kubectl does, every command that reads files accepts them as `-f FILE` too, and every command
that prints JSON accepts `-o jsonpath=TEMPLATE` and `-o custom-columns=SPEC`.

Options of the v1.16 rules have their own help page, `--help-v1.16`; the help of a command has
a pointer to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, get_args

import typer
from typer.core import TyperCommand

_RANGE = r"(\S+) is not in the range (?:x>=(\S+)|(\S+)<=x<=(\S+)|x<=(\S+))\.$"


def _range_in_words(found: re.Match[str]) -> str:
    value, only_least, least, most, only_most = found.groups()
    least, most = only_least or least, only_most or most
    if least is not None and float(value) < float(least):
        return f"{value} must be greater than or equal to {least}."
    return f"{value} must be less than or equal to {most}."


_AS_WRITTEN: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"is not a valid int(?:eger)?(?: range)?\."), "is not an integer."),
    (re.compile(r"is not a valid float(?: range)?\."), "is not a number."),
    (re.compile(_RANGE), _range_in_words),
)
"""What Typer says in its own words, and in those of other messages."""

_CHOICES = re.compile(r"'(.*)' is not one of (.*)\.")

selected_fields: ContextVar[str] = ContextVar("selected_fields", default="")
"""`jsonpath=TEMPLATE` or `custom-columns=SPEC` of the command line; "" if neither was given."""

_FILENAME = re.compile(r"--filename(?:=(.*))?|-f=?(.*)", re.DOTALL)
_FIELDS = re.compile(r"(?:--output=|-o=?)?((?:jsonpath|custom-columns)=.*)", re.DOTALL)
_FILENAME_HELP = ("-f, --filename FILE", "The same as FILE, as for kubectl. Repeatable.")

V116_PANEL = "v1.16 rules"
"""The panel of options that only the v1.16 rules use."""

MOST_OPTIONS_IN_ONE_LIST = 30
"""A longer help page lists the options under the headings of their groups."""

_V116_HELP_OPTION = "--help-v1.16"
_V116_HELP = (_V116_HELP_OPTION, "Show the options of the v1.16 rules.")
_V116_TEXT = (
    "Options of the v1.16 rules, besides the other options of the command. A provider or a policy"
    " implies these rules; so does --rules classic, where the command has it."
)

_FIELDS_HELP = "Also jsonpath=TEMPLATE and custom-columns=HEAD:.path,..., as for kubectl."


class PlainCommand(TyperCommand):
    """A command whose usage text has argument names without types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the argument names: `FILE...` if repeatable, `[FILE]` if optional."""
        pieces = [
            _shown(param) if param.required else f"[{_shown(param)}]"
            for param in self.get_params(ctx)
            if param.param_type_name == "argument"
        ]
        return ["[OPTIONS]", *pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the arguments and the options."""
        arguments: list[tuple[str, str]] = []
        options: list[tuple[str, str]] = []
        sections = {"Arguments": arguments, "Options": options}
        is_long = len(self.params) > MOST_OPTIONS_IN_ONE_LIST
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                arguments.append((_shown(param), getattr(param, "help", None) or ""))
                continue
            record = param.get_help_record(ctx)
            if record is not None and not _is_v116(param):
                heading = getattr(param, "rich_help_panel", None) if is_long else None
                section = sections.setdefault(heading or "Options", [])
                section.append(self._with_fields(param, record))
        if self._v116_options:
            options.insert(len(options) - 1, _V116_HELP)
        if self._reads_files:
            options.insert(0, _FILENAME_HELP)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; rewrite Typer's error messages."""
        selected_fields.set("")
        if self._v116_options and _V116_HELP_OPTION in _before_dashes(args):
            typer.echo(self._v116_page(ctx))
            raise typer.Exit
        if "json" in self.output_formats:
            args = _without_fields(args)
        if self._reads_files:
            args = _without_filenames(args)
        try:
            self._reject_repeated(ctx, args)
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            for pattern, words in _AS_WRITTEN:
                error.message = pattern.sub(words, error.message)
            error.message += _suggestion(error.message)
            raise

    def _reject_repeated(self, ctx: Any, args: list[str]) -> None:
        """Reject options that are given more than once and have one value.

        A switch may be repeated, but not contradicted.
        """
        order: list[Any] = [*self.make_parser(ctx).parse_args(list(args))[2]]
        words = set(_before_dashes(args))
        for param in dict.fromkeys(order):
            if param.param_type_name != "option" or param.multiple or order.count(param) == 1:
                continue
            if not param.is_flag:
                message = f"is given {order.count(param)} times; give it once."
                raise typer.BadParameter(message, ctx=ctx, param=param)
            if words & {*param.opts} and words & {*param.secondary_opts}:
                hint = ", ".join(f"'{name}'" for name in (*param.opts, *param.secondary_opts))
                raise typer.BadParameter("contradict each other.", ctx=ctx, param_hint=hint)

    def _v116_page(self, ctx: Any) -> str:
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_V116_TEXT)
        records = [param.get_help_record(ctx) for param in self._v116_options]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        page: str = formatter.getvalue()
        return page.rstrip("\n")

    @property
    def _v116_options(self) -> list[Any]:
        return [param for param in self.params if _is_v116(param)]

    def _with_fields(self, param: Any, record: tuple[str, str]) -> tuple[str, str]:
        """Mention `jsonpath=` and `custom-columns=` in the help of `--output`."""
        if param.name != "output" or "json" not in self.output_formats:
            return record
        text, bracket, default = record[1].rpartition("  [")
        return record[0], f"{text} {_FIELDS_HELP}{bracket}{default}"

    @property
    def _reads_files(self) -> bool:
        return any(param.name == "files" for param in self.params)

    @property
    def output_formats(self) -> frozenset[str]:
        """The values of `--output`."""
        declared = getattr(self.callback, "__annotations__", {}).get("output")
        return frozenset(get_args(get_args(declared)[0]) if declared else ())


def _suggestion(message: str) -> str:
    """Return the choice that an invalid one probably means, as the rest of the message."""
    match = _CHOICES.fullmatch(message)
    if match is None:
        return ""
    from podwright.apimachinery.objects import nearest

    near = nearest(match[1], re.findall("'([^']*)'", match[2]))
    return f" Did you mean '{near}'?" if near else ""


def _is_v116(param: Any) -> bool:
    return getattr(param, "rich_help_panel", None) == V116_PANEL


def _before_dashes(args: list[str]) -> list[str]:
    return args[: args.index("--")] if "--" in args else args


def _without_fields(args: list[str]) -> list[str]:
    """Replace `jsonpath=` and `custom-columns=` by `json`, and keep them for the output."""
    replaced = []
    for before, arg in zip(["", *args], args, strict=False):
        match = _FIELDS.fullmatch(arg)
        is_value = before in {"-o", "--output"}
        if match is None or not (is_value or arg.startswith("-")):
            replaced.append(arg)
            continue
        selected_fields.set(match[1])
        replaced.append("json" if is_value else "--output=json")
    return replaced


def _without_filenames(args: list[str]) -> list[str]:
    """Move the files of `-f` and `--filename` to the end, where FILE arguments stand."""
    kept: list[str] = []
    files: list[str] = []
    left = iter(args)
    for arg in left:
        match = None if "--" in kept else _FILENAME.fullmatch(arg)
        if match is None:
            kept.append(arg)
            continue
        file = match[1] or match[2] or next(left, "")
        if not file:
            raise typer.BadParameter("requires a file.", param_hint=f"'{arg}'")
        files.append(file)
    return [*kept, *files]


def _shown(param: Any) -> str:
    name: str = param.metavar
    return name if param.nargs == 1 else f"{name}..."
