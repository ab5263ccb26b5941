"""What every command accepts on its command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from podwright.cli import app


def commands(command: Any = None, name: str = "podwright") -> Iterator[tuple[str, Any]]:
    """Yield all commands that run, with their names."""
    command = command or get_command(app)
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    context = typer.Context(command)
    for each in command.list_commands(context):
        yield from commands(command.get_command(context, each), f"{name} {each}")


OPTIONS = [
    pytest.param(command, param, id=f"{name} {param.opts[0]}")
    for name, command in commands()
    for param in command.params
    if param.param_type_name == "option" and not param.multiple and not param.is_flag
]


def test_there_are_options():
    assert len(OPTIONS) > 200


@pytest.mark.parametrize(("command", "param"), OPTIONS)
def test_an_option_with_one_value_is_given_once(command, param):
    args = [word for option in (param.opts[0], param.opts[-1]) for word in (option, "1")]
    with pytest.raises(typer.BadParameter, match="is given 2 times") as error:
        command.make_context("podwright", args)
    assert f"'{param.opts[0]}'" in error.value.format_message()


def test_a_switch_is_not_contradicted():
    found = dict(commands())
    with pytest.raises(typer.BadParameter, match="contradict each other") as error:
        found["podwright up"].make_context("up", ["--no-ui", "--ui"])
    assert "'--ui', '--no-ui'" in error.value.format_message()
    # What is only said again is no contradiction.
    assert found["podwright up"].make_context("up", ["--no-ui", "--no-ui"])
