"""Formats usage texts and usage errors.

Typer includes Python types (`FILE <list[str]>`, `[[FILE]]`) and the names of its checks
(`Value error, ...`) in them; the classes here remove both.
"""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand

_AS_CHECKED = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Input should be a valid integer\b.*"), "must be an integer."),
    (re.compile(r"^Input should be "), "must be "),
)


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
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                arguments.append((_shown(param), getattr(param, "help", None) or ""))
                continue
            record = param.get_help_record(ctx)
            if record is not None:
                options.append(record)
        for heading, records in (("Arguments", arguments), ("Options", options)):
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; rewrite Typer's error messages."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            for pattern, words in _AS_CHECKED:
                error.message = pattern.sub(words, error.message)
            raise


class CommandApp(typer.Typer):
    """A Typer app whose commands are `PlainCommand`s."""

    def command(self, name: str | None = None, **settings: Any) -> Any:
        """Add a command, as `typer.Typer.command` does."""
        return super().command(name, **{"cls": PlainCommand} | settings)


def _shown(param: Any) -> str:
    name = param.metavar or str(param.name).upper()
    return name if param.nargs == 1 else f"{name}..."
