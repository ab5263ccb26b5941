"""Commands whose options are the fields of a class."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from podwright.cli import usage
from podwright.cli.option_groups import OptionGroup
from podwright.cli.options import command_app, given_on


@dataclass(frozen=True, kw_only=True)
class Draws(OptionGroup):
    """Options of draws."""

    seed: Annotated[int, typer.Option("--seed", help="Seed of the draws.")] = 7
    is_fair: Annotated[bool, typer.Option("--fair/--unfair")] = True


@dataclass(frozen=True, kw_only=True)
class Tail(OptionGroup):
    """A group without a heading."""

    tail: Annotated[str, typer.Option("--tail")] = ""


app = command_app()


@app.command()
def draw(
    ctx: typer.Context,
    *,
    count: Annotated[int, typer.Option("--count")] = 1,
    draws: Draws,
    name: Annotated[str, typer.Option("--name")] = "",
) -> None:
    """Draw."""
    typer.echo(f"{count} {draws.seed} {draws.is_fair} {name!r} {sorted(given_on(ctx))}")


def test_the_options_of_a_group_stand_at_its_place():
    lines = CliRunner().invoke(app, ["--help"]).stdout.splitlines()
    options = [line.split()[0].rstrip(",") for line in lines if line.lstrip().startswith("--")]
    assert options == ["--count", "--seed", "--fair", "--name"]


def test_a_function_gets_the_options_of_a_group_as_one_value():
    shown = CliRunner().invoke(app, ["--seed", "3", "--unfair", "--name", "a"]).stdout
    assert shown == "1 3 False 'a' ['is_fair', 'name', 'seed']\n"


def test_options_of_a_group_have_defaults():
    assert CliRunner().invoke(app, []).stdout == "1 7 True '' []\n"


def test_a_wrong_value_of_an_option_of_a_group_is_named():
    failed = CliRunner().invoke(app, ["--seed", "x"])
    assert failed.exit_code == 2
    assert "'--seed'" in failed.stderr


def test_the_values_of_a_group_have_the_names_of_the_parameters():
    assert Draws(seed=1).values() == {"seed": 1, "is_fair": True}


def test_a_long_help_page_lists_groups_under_their_headings(monkeypatch):
    monkeypatch.setattr(Draws, "heading", "Draws")
    monkeypatch.setattr(usage, "MOST_OPTIONS_IN_ONE_LIST", 3)
    long = command_app()

    @long.command()
    def draw_long(
        *, count: Annotated[int, typer.Option("--count")] = 1, draws: Draws, tail: Tail
    ) -> None:
        """Draw."""

    lines = CliRunner().invoke(long, ["--help"]).stdout.splitlines()
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Options:", "Draws:"]
    start = lines.index("Draws:")
    assert lines[start + 1].split()[0] == "--seed"
    assert any("--tail" in line for line in lines[:start])
