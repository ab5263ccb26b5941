"""Commands whose options are the fields of a class."""

from pathlib import Path
from typing import Literal

import pytest
import typer
from typer.testing import CliRunner

from podwright.cli import usage
from podwright.cli.decisions.options import DiffOptions
from podwright.cli.options import Judged, Options, Setup, argument, command_app, option


class Draws(Options):
    """Options of draws."""

    seed: int = option("Seed of the draws.", "NUMBER", default=7)
    is_fair: bool = option("Fair.", None, "--fair/--unfair", default=True)
    hidden: str = option("Not everywhere.", "TEXT", default="as ever")
    counts_twice: bool = False


class Tail(Options):
    """A group without a heading."""

    tail: str = option("The tail.", "TEXT", default="")


class DrawOptions(Judged):
    """The options of the command."""

    files: tuple[Path, ...] = argument("Files.", "FILE", default=())
    count: int = option("How many.", "NUMBER", default=1)
    draws: Draws = Draws.group("seed", "is_fair", counts_twice=True)
    names: tuple[str, ...] = option("Names.", "NAME", "--name", "-n", default=())
    output: Literal["table", "json"] = option("Format.", None, "-o", default="table")
    report: Path | None = option("A file.", "FILE", default=None, is_written=True)


app = command_app()
found: list[DrawOptions] = []


@app.command(examples=["draw --count 2"])
def draw(options: DrawOptions) -> bool:
    """Draw."""
    found.append(options)
    return options.draws.seed != 0


def called(*args: str, status: int = 0) -> DrawOptions:
    """Return the options of a call."""
    result = CliRunner().invoke(app, list(args))
    assert result.exit_code == status, result.output
    return found.pop()


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({}, ((Path("a.py"),), 7, "A=true", [Path("one")])),
        ({"to_plugin": (Path("b.py"),)}, ((Path("b.py"),), 7, "A=true", [Path("one")])),
        ({"to_seed": 0}, ((Path("a.py"),), 0, "A=true", [Path("one")])),
        ({"to_feature_gates": ""}, ((Path("a.py"),), 7, "", [Path("one")])),
        ({"to_config": (Path("x"), Path("y"))},
         ((Path("a.py"),), 7, "A=true", [Path("x"), Path("y")])),
    ],
)  # fmt: skip
def test_the_second_side_of_a_diff_is_the_first_one_with_what_is_given(given, after):
    first = Setup(config=Path("one"), plugins=(Path("a.py"),), seed=7, feature_gates="A=true")
    before, sides = DiffOptions(setup=first, **given).setups()
    assert before == first
    assert {(each.plugins, each.seed, each.feature_gates) for each in sides} == {after[:3]}
    assert [each.config for each in sides] == after[3]


def test_the_options_of_a_group_stand_at_its_place_and_inherited_ones_last():
    lines = CliRunner().invoke(app, ["--help"]).stdout.splitlines()
    options = [line.split()[0].rstrip(",") for line in lines if line.lstrip().startswith("-")]
    assert options == [
        "-f", "--count", "--seed", "--fair", "-n", "-o", "--report", "--exit-zero", "-h",
    ]  # fmt: skip
    assert "$ draw --count 2" in (line.strip() for line in lines)


def test_a_function_gets_its_options_as_one_value():
    options = called("--seed", "3", "--unfair", "--name", "a", "-n", "b", "x", "y")
    assert options.files == (Path("x"), Path("y"))
    assert (options.draws.seed, options.draws.is_fair, options.names) == (3, False, ("a", "b"))
    assert options.given == options.draws.given == {"seed", "is_fair", "names", "files"}


def test_options_have_defaults_also_those_that_a_command_does_not_have():
    options = called()
    assert (options.count, options.names, options.output) == (1, (), "table")
    assert options.draws == Draws(counts_twice=True)
    assert CliRunner().invoke(app, ["--hidden", "x"]).exit_code == 2


def test_a_negative_result_is_status_1_unless_it_is_switched_off():
    called("--seed", "0", status=1)
    called("--seed", "0", "--exit-zero")


@pytest.mark.parametrize(
    ("report", "files", "error"),
    [
        ("in.yaml", ["in.yaml"], "'in.yaml' is a file that the command reads"),
        ("in.yaml", ["a.yaml", "inputs/../in.yaml"], "is a file that the command reads"),
        ("inputs/a.yaml", ["inputs"], "'inputs/a.yaml' is in inputs, which the command reads"),
        ("in.yaml", ["."], "is in ., which the command reads"),
        ("inputs/old.html", ["inputs"], ""),
        ("inputs/new.yaml", ["inputs"], ""),
        ("in.yaml", ["inputs", "-", "absent.yaml"], ""),
    ],
)
def test_a_file_that_is_read_is_not_written(report, files, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inputs").mkdir()
    for name in ("in.yaml", "inputs/a.yaml", "inputs/old.html"):
        (tmp_path / name).touch()
    result = CliRunner().invoke(app, [*files, "--report", report])
    assert result.exit_code == (2 if error else 0)
    assert error in " ".join(result.stderr.split())


def test_a_wrong_value_of_an_option_of_a_group_is_named():
    failed = CliRunner().invoke(app, ["--seed", "x"])
    assert failed.exit_code == 2
    assert "'--seed'" in failed.stderr


@pytest.mark.parametrize(("most", "is_long"), [(3, True), (4, False)])
def test_a_long_help_page_lists_groups_under_their_headings(most, is_long, monkeypatch):
    monkeypatch.setattr(Draws, "heading", "Draws")
    monkeypatch.setattr(usage, "MOST_OPTIONS_IN_ONE_LIST", most)

    class LongOptions(Options):
        draws: Draws = Draws.group("seed", "is_fair")
        tail: Tail = Tail.group()
        count: int = option("How many.", "NUMBER", default=1)

    globals()["LongOptions"] = LongOptions
    long = command_app()

    @long.command()
    def draw_long(options: LongOptions) -> None:
        """Draw."""

    lines = CliRunner().invoke(long, ["--help"]).stdout.splitlines()
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Options:", "Draws:"][: 1 + is_long]
    assert "Examples:" not in (line.strip() for line in lines)
    if not is_long:
        return
    start = lines.index("Draws:")
    assert lines[start + 1].split()[0] == "--seed"
    assert any("--tail" in line for line in lines[:start])


def test_a_missing_argument_is_named():
    class NameOptions(Options):
        name: str = argument("A name.", "NAME")

    globals()["NameOptions"] = NameOptions
    other = command_app()

    @other.command()
    def show(options: NameOptions) -> None:
        typer.echo(options.name)

    assert "NAME" in CliRunner().invoke(other, []).stderr
    assert CliRunner().invoke(other, ["web"]).stdout == "web\n"
