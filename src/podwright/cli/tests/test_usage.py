"""What every command accepts on its command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.main import get_command

from podwright.cli import app, usage


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


SEVERAL_THINGS = {
    "--out": "a file or a folder, whichever the command writes",
    "--to": "a destination, or the second side of a comparison",
    "--plugin": "a file; for `debug failures` the name of a plugin in a running cluster",
    "--resume": "the run of `simulate`; for `record` a switch, since --out names the file",
    "--shadow": "a folder of `up`; for `sync` the policies for such a destination",
}
"""Names of options that stand for more than one thing, and why."""


def test_one_name_is_one_thing():
    metavars: dict[str, set[str]] = {}
    short: dict[str, set[str]] = {}
    for _, command in commands():
        for param in command.params:
            if param.param_type_name == "option":
                name, *others = sorted(param.opts, key=len, reverse=True)
                metavars.setdefault(name, set()).add(param.metavar or "")
                assert all(len(other) == 2 for other in others), f"{param.opts} are two names"
                for other in others:
                    short.setdefault(other, set()).add(name)
    assert {name for name, found in metavars.items() if len(found) > 1} == set(SEVERAL_THINGS)
    assert all(len(names) == 1 for names in short.values()), short


def test_a_status_of_1_can_be_switched_off_where_it_is_the_answer():
    names = {
        name.removeprefix("podwright ")
        for name, command in commands()
        if any("--exit-zero" in param.opts for param in command.params)
    }
    comparing = {"diff", "compare-rules", "shadow", "parity"}
    assert names == {
        "schedule",
        "explain",
        "simulate",
        "check",
        "autoscale",
        "capacity",
        "drain-plan",
        *comparing,
    }


def test_options_of_a_long_help_page_have_headings():
    for name, command in commands():
        if len(command.params) > usage.MOST_OPTIONS_IN_ONE_LIST:
            without = [
                param.opts[0]
                for param in command.params
                if param.param_type_name == "option" and not param.rich_help_panel
            ]
            assert not without, name


def test_a_switch_is_not_contradicted():
    found = dict(commands())
    with pytest.raises(typer.BadParameter, match="contradict each other") as error:
        found["podwright up"].make_context("up", ["--no-ui", "--ui"])
    assert "'--ui', '--no-ui'" in error.value.format_message()
    # What is only said again is no contradiction.
    assert found["podwright up"].make_context("up", ["--no-ui", "--no-ui"])
    # After two dashes it is the name of a file.
    assert found["podwright up"].make_context("up", ["--ui", "--ui", "--", "--no-ui"])
