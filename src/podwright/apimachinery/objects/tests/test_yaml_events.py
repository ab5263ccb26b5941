"""YAML is read as kubectl reads it, with lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects.texts import yaml_events
from podwright.apimachinery.objects.texts.yaml_events import YamlError, read_yaml


def values(text: str) -> list[Any]:
    return [document.value for document in read_yaml(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("{a: {<<: {b: 1, c: 2}, c: 3}}", {"a": {"b": 1, "c": 3}}, id="own keys win"),
        pytest.param("{c: 3, <<: {b: 1, c: 2}}", {"c": 3, "b": 1}, id="in any order"),
        pytest.param(
            "x: &x {a: 1}\ny: &y {a: 2, b: 2}\nz:\n  <<: [*x, *y]\n",
            {"x": {"a": 1}, "y": {"a": 2, "b": 2}, "z": {"a": 1, "b": 2}},
            id="the first of a list wins",
        ),
        pytest.param(
            "z:\n  <<:\n  - {a: 1}\n  - {b: 2}\n", {"z": {"a": 1, "b": 2}}, id="a list in lines"
        ),
        pytest.param(
            "z: {<<: {a: {<<: {b: 1}}}}", {"z": {"a": {"b": 1}}}, id="a merge in a merge"
        ),
        pytest.param("{1: a, true: b, null: c, 0x10: d}",
                     {"1": "a", "true": "b", "null": "c", "16": "d"}, id="keys are text"),
        pytest.param("[[1, [2]], {a: []}, 3]", [[1, [2]], {"a": []}, 3], id="collections"),
        pytest.param("[1e3, 1.5E-1, .5, 2., -1., ., e1, 1e]",
                     [1000.0, 0.15, 0.5, 2.0, -1.0, ".", "e1", "1e"], id="fractions"),
        pytest.param("[0B1, 0XfF, -0O17, 0o, 0b, 0x, 0b2, ._5, 1._5]",
                     [1, 255, -15, "0o", "0b", "0x", "0b2", "._5", 1.5], id="prefixes of integers"),
        pytest.param(
            f"[{2**64}, 0x{2**64 - 1:x}, 0x{2**64:x}, -0x{2**63:x}, -0x{2**63 + 1:x}]",
            [2**64, 2**64 - 1, f"0x{2**64:x}", -(2**63), f"-0x{2**63 + 1:x}"],
            id="integers that do not fit in 64 bits",
        ),
        pytest.param("a: 1.0e+400", {"a": "1.0e+400"}, id="too large for a float"),
        pytest.param(f"a: {'9' * 5000}", {"a": "9" * 5000}, id="an integer of too many digits"),
        pytest.param(f"[{'9' * 308}, -{'9' * 309}]", [int("9" * 308), "-" + "9" * 309],
                     id="integers that a float can have, or not"),
        pytest.param("a: &n 5\nb: *n\n", {"a": 5, "b": 5}, id="an alias of a scalar"),
    ],
)  # fmt: skip
def test_a_document_has_its_value(text: str, value: Any) -> None:
    assert values(text) == [value]


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        pytest.param("a: 1\nb: {<<: 5}", "<< takes a mapping", 2, id="a merged scalar"),
        pytest.param("b:\n  <<:\n  - {a: 1}\n  - 5\n", "<< takes a mapping", 3, id="in a list"),
        pytest.param("a: 1\n[b]: 2\n", "a key must be a string", 2, id="a list as a key"),
        pytest.param("? {b: c}\n: 2\n", "a key must be a string", 1, id="a mapping as a key"),
        pytest.param("a: *b", 'unknown alias "b"', 1, id="an alias without an anchor"),
        pytest.param("- a\n--- \n- *b", 'unknown alias "b"', 3, id="of another document"),
        pytest.param("a: 1\nb: 2\na: 3\n", 'duplicate key "a"', 3, id="a duplicate key"),
        pytest.param(
            "a: 1\na: 2\nb: 3\nb: 4\n", 'duplicate key "a"', 2, id="the first of two of them"
        ),
        pytest.param("a: !!int x\n", "cannot be read as", 1, id="a tag that does not fit"),
        pytest.param("a: 1\nb: -.Inf\n", r"JSON has no number -\.Inf", 2, id="infinity"),
        pytest.param("a: !!float .nan\n", r"JSON has no number \.nan", 1, id="no number"),
        pytest.param("a: [1,\n", "not YAML", 2, id="an open list"),
        pytest.param("\n\n\u00e9: \0", r"U\+0000 is not allowed", 3, id="a NUL character"),
        pytest.param("a: b\nc: \7", r"U\+0007 is not allowed", 2, id="another control character"),
        pytest.param("a: b\n\n\ufffe", r"U\+FFFE is not allowed", 3, id="no character"),
        pytest.param("a:\n  b: &x\n    c: *x\n", 'anchor "x" contains itself', 3, id="a cycle"),
        pytest.param("a: &x\n  <<: *x\n", 'anchor "x" contains itself', 2, id="a merged cycle"),
        pytest.param(BOMB, "excessive aliasing", 4, id="aliases of aliases"),
        pytest.param(f"a: {'y' * 100_000}\n{BOMB}", "excessive aliasing", 5,
                     id="whatever is before them"),
        pytest.param(f"a: &x {'y' * 1_000_000}\nb: [{', '.join(['*x'] * 50)}]", "excessive", 2,
                     id="aliases of a long text"),
        pytest.param("a: " + "[" * 20_000, "nested too deeply", 1, id="open lists"),
        pytest.param("a: 1\nb: " + "[" * 20_000, "nested too deeply", 2, id="on another line"),
        pytest.param(f"a: &x {'[' * 990}{']' * 990}\nb: *x", "nested too deeply", 2,
                     id="an alias of nested lists"),
    ],
)  # fmt: skip
def test_an_error_has_its_line(text: str, message: str, line: int) -> None:
    with pytest.raises(YamlError, match=message) as refused:
        values(text)
    assert refused.value.line == line


def test_the_message_of_the_api_server_names_the_line_of_the_problem() -> None:
    with pytest.raises(YamlError) as refused:
        values("metadata:\n  name: y\n2\n   b}\n")
    assert refused.value.go_message == "line 5: could not find expected ':'"


@pytest.mark.parametrize(
    ("text", "line", "go_message"),
    [
        ("a: [1,\n2\nb: 3\n", 3, "line 2: did not find expected ',' or ']'"),
        ("a: {x: 1\n\nb\nc: 2", 4, "line 3: did not find expected ',' or '}'"),
        ("- a\nb: c\n", 2, "line 1: did not find expected '-' indicator"),
        ('a: "x\ny\n', 3, "line 3: found unexpected end of stream"),
        ("a: 1\n b: 2\n", 2, "line 2: mapping values are not allowed in this context"),
        ("k: v\nk2: [\n1\n]]\n", 4, "line 3: did not find expected key"),
        ("a:\n\t- b\n", 2, "line 2: found character that cannot start any token"),
        ("a: !<x\nb", 1, "did not find the expected '>'"),
        ("? a\n? b: [\n", 3, "line 2: did not find expected node content"),
    ],
)
def test_a_syntax_error_is_where_its_problem_is(text: str, line: int, go_message: str) -> None:
    """Upstream: go.yaml.in/yaml/v2 decode.go, fail, which counts the lines of parsers from 0."""
    with pytest.raises(YamlError) as refused:
        values(text)
    assert (refused.value.line, refused.value.go_message) == (line, go_message)


@pytest.mark.parametrize(
    ("plain", "aliases", "is_excessive"),
    [
        pytest.param(0, 98, False, id="few nodes come from aliases"),
        pytest.param(2_000, 2_000, False, id="some of a small document"),
        pytest.param(0, 300_000, False, id="half of them, a third beyond the lower limit"),
        pytest.param(0, 1_300_000, True, id="half of very many"),
        pytest.param(1_600_000, 300_000, False, id="few of very many"),
    ],
)
def test_the_share_of_aliases_is_bounded_by_the_number_of_nodes(plain, aliases, is_excessive):
    text = f"a: &x y\nb: [{'z,' * plain}{'*x,' * aliases}]\n"
    if is_excessive:
        with pytest.raises(YamlError, match="excessive aliasing"):
            values(text)
    else:
        assert len(values(text)[0]["b"]) == plain + aliases


@pytest.mark.parametrize(("aliases", "is_excessive"), [(198, False), (199, True)])
def test_all_but_a_hundredth_may_come_from_aliases(aliases: int, is_excessive: bool) -> None:
    """A list of 202 nodes, 198 times: 39,996 of 40,400 nodes."""
    text = f"a: &x [{'z,' * 201}]\nb: [{'*x,' * aliases}]\n"
    if is_excessive:
        with pytest.raises(YamlError, match="excessive aliasing"):
            values(text)
    else:
        assert len(values(text)[0]["b"]) == aliases


@pytest.mark.parametrize(
    ("anchored", "aliases", "is_excessive"),
    [
        pytest.param("&x [{}]", 16, False, id="a list, exactly as much"),
        pytest.param("&x [{}, z]", 16, True, id="a list with sixteen characters more"),
        pytest.param("&x {{k: [{}]}}", 15, False, id="a mapping with its key"),
        pytest.param("&x {{k: [{}]}}", 16, True, id="a mapping whose keys are too much"),
        pytest.param("&x {}", 16, False, id="a text, exactly as much"),
        pytest.param("&x {}z", 16, True, id="a longer text"),
    ],
)
def test_aliases_stand_for_sixteen_mebibytes_of_text(anchored, aliases, is_excessive) -> None:
    text = f"before: [some, text]\na: {anchored.format('y' * 2**20)}\nb: [{'*x,' * aliases}]\n"
    if is_excessive:
        with pytest.raises(YamlError, match="excessive aliasing"):
            values(text)
    else:
        assert len(values(text)[0]["b"]) == aliases


def test_an_alias_has_the_text_of_its_anchor_and_not_what_is_before_it() -> None:
    (found,) = values(f"a: {'y' * 1_000_000}\nb: &x [z]\nc: [{'*x,' * 50}]\n")
    assert found["c"] == [["z"]] * 50


def test_items_have_their_lines() -> None:
    text = (
        "kind: List\nitems:\n- a: 1\n- [b]\n- text\n-\n  c: {items: [{d: 1}]}\nother:\n- {e: 1}\n"
        "---\n- items: [{f: 1}]\n---\nitems: [{g: 1}]\n"
    )
    documents = list(read_yaml(text))
    assert [document.line for document in documents] == [1, 11, 13]
    assert [document.item_lines for document in documents] == [(3, 4, 7), (), (13,)]


def test_each_document_has_its_line_and_says_whether_it_has_aliases() -> None:
    documents = list(read_yaml("# none\na: &x 1\n---\ntext\n---\n\n- [1, &y 2, *y]\n---\n\n&z 3\n"))
    assert [(document.value, document.line, document.has_aliases) for document in documents] == [
        ({"a": 1}, 2, False),
        ("text", 4, False),
        ([[1, 2, 2]], 7, True),
        (3, 10, False),
    ]


def test_every_duplicate_key_is_reported_with_its_line() -> None:
    (document,) = read_yaml("a: 1\na: 2\nb:\n  c: 1\n  1: 2\n  '1': 3\n", allow_duplicates=True)
    assert document.duplicates == ((2, "a"), (6, "1"))
    assert document.value == {"a": 2, "b": {"c": 1, "1": 3}}


@pytest.mark.parametrize(("length", "kept"), [(1_024, 1), (1_025, 0)])
def test_results_of_long_texts_are_not_kept(length: int, kept: int) -> None:
    yaml_events._plain.cache_clear()
    text = "z" * length
    assert values(f"- {text}\n- !<tag:yaml.org,2002:str> x\n- ! {text}\n") == [[text, "x", text]]
    assert yaml_events._plain.cache_info().currsize == kept


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    (found,) = values("[1.0, 1e3, 2., -5e0, 1e21, 0.5]")
    assert found == [1, 1000, 2, -5, 1e21, 0.5]
    assert [type(each) for each in found] == [int, int, int, int, float, float]
