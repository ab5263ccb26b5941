"""JSON lists share equal specs, and no key of them is lost silently."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.simulation.files import json_documents
from podwright.simulation.files.json_documents import (
    _ITEM_DECODER,
    _is_from_server,
    duplicate_keys,
    json_error,
    json_values,
    line_at,
    read_json_list,
)

SPEC = {"containers": [{"name": "main", "image": "registry.example/application:1.2.3"}]}
OTHER = {"containers": [{"name": "main", "image": "registry.example/application:1.2.4"}]}


def pod(name: str, spec: Any = SPEC, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def listed(*items: Any, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items), **fields}


@pytest.mark.parametrize("indent", [None, 2], ids=["in one line", "in lines"])
@pytest.mark.parametrize(
    "items",
    [
        pytest.param([pod("a"), pod("b"), pod("c", OTHER)], id="specs"),
        pytest.param([pod("a"), {**pod("b"), "status": {"phase": "x"}}, pod("c")], id="layouts"),
        pytest.param([pod("a", {}), pod("b", None), {"kind": "Pod"}], id="short or no specs"),
        pytest.param([pod("a"), 5, "spec", []], id="other items"),
        pytest.param([pod("a", spec=SPEC, extra={"spec": SPEC}), pod("b")], id="a spec elsewhere"),
        pytest.param(
            [{"spec": SPEC, "metadata": {"spec": SPEC}}, pod("b")], id="the same spec twice"
        ),
        pytest.param([pod("a", text='"spec": {"'), pod("b", text="\\ é \u2028")], id="texts"),
    ],
)
def test_a_list_has_the_items_of_its_text(items: list[Any], indent: int | None) -> None:
    text = json.dumps(listed(*items, metadata={"resourceVersion": ""}), indent=indent).encode()
    read = read_json_list(text)
    assert read is not None
    assert read.document == json.loads(text)
    assert read.duplicates == []


class Counted:
    """A decoder that counts what it decodes."""

    def __init__(self) -> None:
        self.count = 0

    def decode(self, text: bytes) -> Any:
        self.count += 1
        return _ITEM_DECODER.decode(text)


def test_equal_specs_are_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Counted()
    monkeypatch.setattr(json_documents, "_ITEM_DECODER", decoder)
    text = json.dumps(listed(pod("a"), pod("b"), pod("c", OTHER), pod("d")), indent=4).encode()
    read = read_json_list(text)
    assert read is not None
    first, second, third, fourth = (item["spec"] for item in read.document["items"])
    assert first is second
    assert first is fourth
    assert third == OTHER
    assert decoder.count == 2, "a spec that is known is not parsed again"
    assert [json.loads(text[start:end]) for start, end in read.spans] == read.document["items"]


TWICE = """{
  "apiVersion": "v1",
  "kind": "List",
  "items": [
    {
      "kind": "Pod",
      "metadata": {"name": "a", "labels": {"a": "b",
        "a": "c"}},
      "spec": {"containers": [{"name": "main", "image": "registry.example/application",
        "image": "registry.example/application"}]}
    },
    {
      "kind": "Pod",
      "spec": {"containers": [{"name": "main", "image": "registry.example/application"}]},
      "spec": {"containers": [{"name": "main", "image": "registry.example/application"}]},
      "metadata": {"name": "b"}
    }
  ],
  "kind": "List"
}
"""


def test_every_key_that_is_there_twice_is_found_with_its_line() -> None:
    read = read_json_list(TWICE.encode())
    assert read is not None
    assert sorted(read.duplicates) == [(8, "a"), (10, "image"), (15, "spec"), (19, "kind")]
    one_line = json.dumps(listed(pod("a"), pod("b"))).replace('"name": "b"', '"name": "b", "name"')
    read = read_json_list(one_line.replace('"name",', '"name": "c",').encode())
    assert read is None  # not JSON
    read = read_json_list(one_line.replace('"name"}', '"name": "c"}').encode())
    assert read is not None
    assert read.duplicates == [(0, "name")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(pod("a")), id="one object"),
        pytest.param(json.dumps([pod("a")]), id="a plain list"),
        pytest.param(json.dumps(listed()), id="no items"),
        pytest.param(json.dumps(listed(pod("a"), kind="Pods")), id="another kind with items"),
        pytest.param(json.dumps(listed(pod("a"), more=1)), id="unknown fields"),
        pytest.param(json.dumps(listed(pod("a", uid="u", resourceVersion="5"))), id="of a server"),
        pytest.param(json.dumps(listed(pod("a")))[:-1], id="not JSON"),
        pytest.param('{"kind": "List", "items": [{"kind": "a"}], "items": [{"kind": "b"},'
                     ' {"kind": "c"}], "items": [{"kind": "b"}  , {"kind": "d"}]}',
                     id="items twice, which begin with the same one"),
    ],
)  # fmt: skip
def test_other_texts_are_no_list_of_manifests(text: str) -> None:
    assert read_json_list(text.encode()) is None


def test_a_list_that_is_not_utf_8_is_not_read() -> None:
    text = json.dumps(listed(pod("a"))).encode().replace(b"main", b"\xff")
    assert read_json_list(text) is None
    assert json_values(text) is None


MANY_KEYS = {f"k{number}": 1 for number in range(50_000)}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        pytest.param('{"a": 1, "b": {"c": [1, 2.50, 1e3]}}', [], id="numbers in other forms"),
        pytest.param(r'{"a\u0062": "\u003c\/"}', [], id="escapes that are not necessary"),
        pytest.param('{"a": 1, "a": 1}', [(0, "a")], id="in one line"),
        pytest.param(r'{"a": 1, "a": "\u0022\u0022"}', [(0, "a")], id="as many quotes as before"),
        pytest.param('{"a": 1, "a": 1}\n', [(0, "a")], id="in one line with its end"),
        pytest.param('{"a": 1,\n "b": {"c": 1,\n "c": 2}}', [(3, "c")], id="in lines"),
        pytest.param('{"a": 1} {"b": 1, "b": 2}', [(0, "b")], id="in the second of two values"),
        pytest.param(
            json.dumps(MANY_KEYS)[:-1] + ', "k0": 1}', [(0, "k0")], id="in a map of many keys"
        ),
    ],
)
def test_duplicate_keys(text: str, keys: list[tuple[int, str]]) -> None:
    values = json_values(text.encode())
    assert values is not None
    assert duplicate_keys(text.encode(), *values) == keys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}\n[2] "x"', [{"a": 1}, [2], "x"]),
        ("  ", []),
        ('{"a": 1} {', None),
        ("[1] NaN", None),
        ("[1] Infinity", None),
        ("[1] 1e999 -1e999", [[1], "1e999", "-1e999"]),
        ("[1] 1.5", [[1], 1.5]),
        (
            r'[1] {"\ud83d": ["\ud83d\ude00", "x\ude00"]}',
            [[1], {"\ufffd": ["\U0001f600", "x\ufffd"]}],
        ),
    ],
)
def test_values_may_stand_one_after_the_other(text: str, expected: list[Any] | None) -> None:
    assert json_values(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}\n{"b": 2}', None),
        ('{"a": "x', (1, "not JSON: unterminated string (column 7)")),
        ('{"a": 1,\n}', (2, "not JSON: ")),
        ('{"a"\n 1}', (2, "not JSON: expecting ':' delimiter (column 2)")),
        ('{"a": "\\x"}', (1, "not JSON: invalid \\escape (column 8)")),
    ],
)
def test_the_first_error_of_a_text_has_its_line(
    text: str, expected: tuple[int, str] | None
) -> None:
    found = json_error(text.encode())
    if expected is None or found is None:
        assert found == expected
    else:
        assert found[0] == expected[0]
        assert found[1].startswith(expected[1])


@pytest.mark.parametrize(
    ("text", "position", "line"),
    [
        ("{\n\n}", 0, 1),
        ("{\n\n}", 2, 2),
        ("{\n\n}", 3, 3),
        ("{}\n", 2, 0),
        ("\n{}", 1, 0),
        ("\n{\n}", 1, 2),
    ],
)
def test_a_position_in_a_text_of_several_lines_has_a_line(
    text: str, position: int, line: int
) -> None:
    assert line_at(text.encode(), position) == line


@pytest.mark.parametrize(
    ("item", "is_from_server"),
    [
        (pod("a", uid="u", resourceVersion="5"), True),
        (pod("a", uid="u"), False),
        (pod("a", resourceVersion="5"), False),
        (pod("a", uid="", resourceVersion="5"), False),
        ({"metadata": 5}, False),
        (5, False),
    ],
)
def test_the_first_item_of_a_list_says_whether_a_server_wrote_it(
    item: Any, is_from_server: bool
) -> None:
    assert _is_from_server(json.dumps(listed(item, pod("b"))).encode()) is is_from_server
    assert not _is_from_server(json.dumps(listed()).encode())


def test_a_number_of_too_many_digits_is_no_error_of_json() -> None:
    assert json_error(b'{"a": ' + b"1" * 5_000 + b"}") is None
