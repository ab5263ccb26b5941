"""Plugins from the text of a file."""

import linecache
import sys
import textwrap

import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly.user_plugins import place_in, plugins_from, source_of
from podwright.scheduler.plugins.node_name import NodeName


def load(text: str, **options):
    return plugins_from(textwrap.dedent(text), source="dir/mine.py", **options)


def test_every_named_plugin_of_the_file_is_found_and_imported_ones_are_not():
    found = load("""
        import msgspec
        import podwright as pw
        from podwright.scheduler.plugins.node_name import NodeName

        class First(pw.Plugin):
            name = "First"

        class Base(pw.Plugin):
            pass

        class Second(Base):
            name = "Second"
    """)
    assert [plugin.name for plugin in found] == ["First", "Second"]


def test_a_struct_of_arguments_can_be_resolved():
    (plugin,) = load("""
        from __future__ import annotations
        import msgspec
        import podwright as pw

        class Args(msgspec.Struct):
            zones: tuple[str, ...] = ()

        class Mine(pw.Plugin):
            name = "Mine"
            Args = Args

            def __init__(self, args: Args) -> None:
                self.args = args
    """)
    import msgspec

    assert plugin.Args is not None
    assert msgspec.convert({"zones": ["a"]}, plugin.Args).zones == ("a",)


def test_a_file_may_import_its_neighbors(tmp_path):
    (tmp_path / "neighbor_of_mine.py").write_text("NAME = 'Named'\n")
    text = """
        import podwright as pw
        from neighbor_of_mine import NAME

        class Mine(pw.Plugin):
            name = NAME
    """
    path = list(sys.path)
    assert load(text, folder=str(tmp_path))[0].name == "Named"
    assert sys.path == path


@pytest.mark.parametrize("folder", ["", "somewhere"])
def test_a_file_is_run_with_its_folder_before_the_path(folder):
    (plugin,) = load(
        """
        import sys
        import podwright as pw

        class Mine(pw.Plugin):
            name = "Mine"
            path = list(sys.path)
        """,
        folder=folder,
    )
    assert vars(plugin)["path"] == [*filter(None, [folder]), *sys.path]


PLUGIN = """
import podwright as pw

class Mine(pw.Plugin):
    name = "Mine"

    def fail(self):
        raise ValueError(1)
"""


@pytest.mark.parametrize(
    "source", ["mine.py", "dir/mine.py", "C:\\dir\\mine.py"], ids=["plain", "posix", "windows"]
)
def test_a_plugin_keeps_its_file_and_the_text_that_was_executed(source):
    (plugin,) = plugins_from(PLUGIN, source=source)
    assert source_of(plugin) == ("mine.py", PLUGIN)
    assert plugin.__module__ == "podwright_user_plugins.mine"
    assert linecache.getline(source, 4) == "class Mine(pw.Plugin):\n"
    assert source_of(NodeName) is None


def test_an_error_of_a_plugin_is_placed_at_its_last_line_in_the_file():
    (plugin,) = load(PLUGIN)
    with pytest.raises(ValueError, match="1") as raised:
        plugin().fail()
    assert place_in(plugin, raised.value) == "dir/mine.py: line 8"
    assert place_in(plugin, ValueError()) == ""
    assert place_in(NodeName, raised.value) == ""


def test_errors_that_name_their_place_and_interrupts_are_raised_as_they_are():
    with pytest.raises(KeyboardInterrupt):
        load("raise KeyboardInterrupt")
    with pytest.raises(InputError) as caught:
        load("""
            from podwright.apimachinery.objects import FieldError, InputError
            raise InputError([FieldError(source="nodes.csv", path="a", message="not a number")])
        """)
    assert str(caught.value) == "nodes.csv: a: not a number"


def test_a_syntax_error_of_a_neighbor_names_the_neighbor(tmp_path):
    (tmp_path / "broken_neighbor.py").write_text("x = 1\ny = (\n")
    with pytest.raises(InputError) as caught:
        load("import broken_neighbor", folder=str(tmp_path))
    assert str(caught.value) == f"{tmp_path}/broken_neighbor.py: line 2: '(' was never closed"


BASES = """
import podwright as pw

class One(pw.Plugin):
    name = "One"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (\n", "dir/mine.py: line 1: '(' was never closed"),
        ("\n\nraise ValueError('no')", "dir/mine.py: line 3: ValueError: no"),
        ("raise SyntaxError('odd')", "dir/mine.py: odd"),
        ("x = 1", "dir/mine.py: no plugin in this file: it defines no subclass of Plugin"),
        ("raise SystemExit(3)", "dir/mine.py: line 1: SystemExit: 3"),
        ("raise ValueError('a\\n b')", "dir/mine.py: line 1: ValueError: a b"),
        ("def f():\n    1 / 0\nf()", "dir/mine.py: line 2: ZeroDivisionError: division by zero"),
        (
            "from podwright.scheduler.plugins.node_name import NodeName\n"
            "class A(NodeName): name = ''\nclass B(A): pass",
            "dir/mine.py: no plugin in this file: A, B has no `name`",
        ),
        (
            f"{BASES}\nclass Two(One): pass",
            'dir/mine.py: One and Two are both named "One"; give one of them another `name`, or'
            " move it to another file",
        ),
        (
            f"{BASES}\nclass Two(One): name = 2",
            "dir/mine.py: Two: `name` must be a string, not 2",
        ),
        (
            f"{BASES}\nclass Two(One): name = dict",
            "dir/mine.py: Two: `name` must be a string, not something of type type",
        ),
        (
            f"{BASES}\n    Args = dict",
            "dir/mine.py: One: `Args` must be a subclass of msgspec.Struct, not something of type"
            " type",
        ),
        (
            f"{BASES}\n    Args = 3",
            "dir/mine.py: One: `Args` must be a subclass of msgspec.Struct, not 3",
        ),
        (
            f"{BASES}\n    filter_reads = 'PODS'",
            "dir/mine.py: One: `filter_reads` must be a Reads, not 'PODS'",
        ),
        (
            f"{BASES}\n    key_varies = 1",
            "dir/mine.py: One: `key_varies` must be True or False, not 1",
        ),
        (
            f"{BASES}\n    def fillter(self, cycle, node): pass\n    def scor(self, c, n): pass",
            'dir/mine.py: One: fillter is not a method that plugins have; did you mean "filter"?'
            " (a method of your own can be named _fillter); scor is not a method that plugins"
            ' have; did you mean "score"? (a method of your own can be named _scor)',
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_and_line(text, message):
    with pytest.raises(InputError) as caught:
        load(text)
    assert str(caught.value) == message


def test_one_class_under_two_names_is_one_plugin():
    assert [plugin.name for plugin in load(f"{BASES}\nAlias = One")] == ["One"]
