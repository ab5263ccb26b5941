"""How command lines are rewritten before they are parsed, and what the first command prints."""

from __future__ import annotations

import msgspec
import pytest
import typer

from podwright._version import __version__
from podwright.cli import COMMANDS, usage
from podwright.cli.tests.served import command


@pytest.mark.parametrize(("line", "rewritten"), [
    ("pod -f a.yaml -o json", "pod -o json a.yaml"),
    ("-f a --filename b c", "c a b"),
    ("-fa --filename=b c", "c a b"),
    ("-f - c", "c -"),
    ("a b", "a b"),
    ("a -- -f b", "a -- -f b"),
    ("-f a -- b", "-- b a"),
])  # fmt: skip
def test_files_of_f_stand_at_the_end(line, rewritten):
    assert usage._without_filenames(line.split()) == rewritten.split()


@pytest.mark.parametrize("line", ["-f", "a --filename", "--filename="])
def test_f_requires_a_file(line):
    with pytest.raises(typer.BadParameter) as caught:
        usage._without_filenames(line.split())
    assert caught.value.message == "requires a file."
    assert caught.value.param_hint == f"'{line.split()[-1]}'"


@pytest.mark.parametrize(("line", "rewritten", "fields"), [
    ("-o jsonpath={.a} x", "-o json x", "jsonpath={.a}"),
    ("--output custom-columns=A:.a", "--output json", "custom-columns=A:.a"),
    ("-ojsonpath={.a}", "--output=json", "jsonpath={.a}"),
    ("--output=jsonpath={.a}", "--output=json", "jsonpath={.a}"),
    ("-o json", "-o json", ""),
    ("jsonpath={.a}", "jsonpath={.a}", ""),
    ("-c jsonpath={.a}", "-c jsonpath={.a}", ""),
])  # fmt: skip
def test_selected_fields_are_a_form_of_json(line, rewritten, fields):
    usage.selected_fields.set("")
    try:
        assert usage._without_fields(line.split()) == rewritten.split()
        assert usage.selected_fields.get() == fields
    finally:
        usage.selected_fields.set("")


@pytest.mark.parametrize(("line", "before"), [
    (["a", "--", "b"], ["a"]), (["a"], ["a"]), (["--", "b", "--"], [])
])  # fmt: skip
def test_what_follows_two_dashes_are_arguments(line, before):
    assert usage._before_dashes(line) == before


@pytest.mark.parametrize(("choice", "hint"), [
    ("jsn", " Did you mean 'json'?"), ("tables", " Did you mean 'table'?"), ("zzzzzz", "")
])  # fmt: skip
def test_a_choice_that_is_misspelt_has_a_suggestion(choice, hint):
    errors = command(f"version -o {choice}")[1]
    assert errors.endswith(
        f"error: Invalid value for '--output' / '-o': '{choice}' is not one of 'table', 'wide',"
        f" 'json', 'yaml', 'name'.{hint}\n"
    )


def test_the_versions_are_those_of_podwright_kubernetes_and_python():
    names = ["podwright", "kube-scheduler", "python", "numba", "numpy", "msgspec"]
    assert command("version -o name") == ("".join(f"{name}\n" for name in names), "", 0)
    document = msgspec.json.decode(command("version -o json")[0])
    assert [*document] == names
    assert document["podwright"] == __version__
    assert document["kube-scheduler"] == "1.36"
    assert all(text[0].isdecimal() for text in document.values())
    width = len("kube-scheduler")
    lines = [f"{name.ljust(width)}  {document[name]}\n" for name in names]
    head = "COMPONENT       VERSION\n"
    assert command("version") == (head + "".join(lines[:3]), "", 0)
    assert command("version -o wide") == (head + "".join(lines), "", 0)
    assert command("--version") == (f"podwright {__version__}\n", "", 0)


def test_an_unknown_command_is_answered_and_none_shows_the_help():
    out, errors, status = command("schedul")
    assert (out, status) == ("", 2)
    assert "error: No such command 'schedul'." in errors
    out, errors, status = command("")
    assert status == 2
    listed = [line.split()[0] for line in (out or errors).splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in COMMANDS] == list(COMMANDS)


V116 = """\
Usage: podwright schedule [OPTIONS] FILE...
"""


def test_the_options_of_the_old_rules_have_a_page_of_their_own():
    out, errors, status = command("schedule --help-v1.16")
    assert (errors, status) == ("", 0)
    assert out.startswith(V116)
    options = [line.split()[0] for line in out.splitlines() if line.startswith("  --")]
    assert options == ["--algorithm-provider", "--policy", "--workers"]
    assert command("schedule x.yaml -- --help-v1.16")[2] == 2


def test_only_commands_that_read_files_have_f():
    errors = command("version -f x.yaml")[1]
    assert errors.endswith("error: No such option: -f\n")
    for option in ("-f none.yaml", "--filename none.yaml", "none.yaml"):
        errors = command(f"schedule {option}")[1]
        assert errors == "error: none.yaml: cannot be read: No such file or directory\n"


def test_a_switch_may_be_repeated():
    assert command("schedule none.yaml --exit-zero --exit-zero")[1].startswith("error: none.yaml")
    assert "is given 2 times; give it once." in command("schedule x --seed 1 --seed 2")[1]
