"""Plugins from the text of a file."""

import textwrap

import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly.user_plugins import plugins_from


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
    assert load(text, folder=str(tmp_path))[0].name == "Named"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (\n", "dir/mine.py: line 1: '(' was never closed"),
        ("\n\nraise ValueError('no')", "dir/mine.py: line 3: ValueError: no"),
        ("x = 1", "dir/mine.py: no plugin in this file: it defines no subclass of Plugin"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_and_line(text, message):
    with pytest.raises(InputError) as caught:
        load(text)
    assert str(caught.value) == message
