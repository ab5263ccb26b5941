"""Where bodies are split, and which of their values are plain."""

import pytest

from podwright.cluster.api.endpoints.forms import known
from podwright.cluster.api.endpoints.forms.bodies import (
    ROLES,
    joined_body,
    outline_of,
    shape_of,
    span_of,
    split_body,
)
from podwright.cluster.store import EVENT, POD

NAME = ("metadata", "name")
SPEC = {"containers": [{"name": "main", "image": "a:1"}]}


def role_of(kind, *place):
    role = ROLES[kind](place)
    assert role is not None, place
    return role


def test_a_body_is_split_at_its_values_and_joined_again():
    body = (
        b'{"metadata":{"name":"e","uid":""},"kind":"name","note":"a \\"b\\", \\\\","message":"c"}'
    )
    texts, values = split_body(body)
    # Another escape than that of a quote ends a value.
    assert values == (b"e", b"", b"name", b'a \\"b\\", ', b"c")
    assert joined_body(texts, values) == body
    assert split_body(body.replace(b'":"', b'": "')) == (texts, values)
    assert [body[slice(*span_of(body, index))] for index in range(5)] == [*values]


def test_the_outline_of_a_body_is_that_of_all_bodies_of_its_shape():
    body = b'{"kind":"Event","note":"image \\"a\\"","series":{"count":1}}'
    outline = outline_of(body)
    assert outline_of(body.replace(b'\\"a\\"', b"of the node")) == outline
    assert outline_of(body.replace(b"1", b"27")) == outline, "numbers are compared later"
    assert outline_of(body.replace(b"1", b'"1"')) != outline
    assert outline_of(body.replace(b"1", b"[1]")) != outline
    assert outline_of(body.replace(b'"count":1', b"")) != outline


def test_bodies_of_outlines_without_a_known_shape_are_not_split(server, monkeypatch):
    split = []

    def split_and_noted(body):
        split.append(body)
        return split_body(body)

    monkeypatch.setattr(known, "split_body", split_and_noted)
    for number in range(9):
        labels = {f"label-{each}": "x" for each in range(number)}
        body = {"metadata": {"name": f"a-{number}", "labels": labels}, "spec": SPEC}
        assert server.reply("POST", "/api/v1/namespaces/default/pods", body)[0] == 201
    assert not split


@pytest.mark.parametrize(
    ("note", "is_plain"),
    [
        pytest.param(b"bound to n1", True, id="a sentence"),
        pytest.param(b'image \\"a\\"', True, id="escaped quotes"),
        pytest.param(b"x" * 1023, True, id="the longest"),
        pytest.param(b"x" * 1024, False, id="too long"),
        pytest.param(b"", False, id="empty"),
        pytest.param(b" x", False, id="a space first"),
        pytest.param(b"a\\n", False, id="another escape"),
        pytest.param(b"a\n", False, id="a line break at the end"),
        pytest.param(b'a"b', False, id="a quote without escape"),
        pytest.param("ä".encode(), False, id="not ASCII"),
    ],
)
def test_plain_notes(note, is_plain):
    assert bool(role_of(EVENT, "note").is_plain(note)) is is_plain
    texts, values = split_body(b'{"metadata":{"name":"e"},"note":"a"}')
    shape = shape_of(EVENT, texts, values)
    assert shape is not None
    usual, other = shape.form_of((b"e", b"a")), shape.form_of((b"e", note))
    assert (usual == other) is is_plain


def test_values_that_are_not_plain_are_fixed():
    texts, values = split_body(b'{"metadata":{"name":"e"},"kind":"Event","note":"a"}')
    shape = shape_of(EVENT, texts, values)
    assert shape is not None
    assert shape.form_of(values) == shape.form_of((b"x-1", b"Event", b'a \\"b\\"'))
    assert shape.form_of(values) != shape.form_of((b"e", b"Other", b"a"))
    assert shape.form_of(values) != shape.form_of((b"E", b"Event", b"a"))
    # No value with a line break is taken for two.
    assert shape.form_of(values) != shape.form_of((b"e\na", b"Event", b"a"))
    assert [each.indices for each in shape.varying(values)] == [(2,), (0,)]
    assert [each.indices for each in shape.varying((b"e", b"Event", b""))] == [(0,)]


@pytest.mark.parametrize(
    ("kind", "place", "value", "is_plain"),
    [
        pytest.param(POD, NAME, b"x" * 63, True, id="the longest name of a pod"),
        pytest.param(POD, NAME, b"x" * 64, False, id="a longer name of a pod"),
        pytest.param(EVENT, NAME, b"x" * 253, True, id="the longest name"),
        pytest.param(EVENT, NAME, b"x" * 254, False, id="a longer name"),
        pytest.param(
            EVENT, ("regarding", "resourceVersion"), b"9" * 18, True, id="the longest version"
        ),
        pytest.param(
            EVENT, ("regarding", "resourceVersion"), b"9" * 19, False, id="a longer version"
        ),
        pytest.param(EVENT, ("reportingInstance",), b"x" * 128, True, id="the longest instance"),
        pytest.param(EVENT, ("reportingInstance",), b"x" * 129, False, id="a longer instance"),
    ],
)
def test_plain_values_are_not_too_long(kind, place, value, is_plain):
    assert bool(role_of(kind, *place).is_plain(value)) is is_plain


@pytest.mark.parametrize("kind", [POD, EVENT])
def test_examples_are_plain(kind):
    places: dict[tuple[str, str], list[tuple[str | int, ...]]] = {
        POD: [
            NAME,
            ("metadata", "labels", "app"),
            ("spec", "containers", 0, "image"),
            ("spec", "containers", 0, "env", 0, "name"),
            ("spec", "containers", 0, "env", 0, "value"),
            ("spec", "containers", 0, "resources", "requests", "cpu"),
            ("spec", "containers", 0, "resources", "limits", "memory"),
        ],
        EVENT: [
            NAME,
            ("note",),
            ("eventTime",),
            ("firstTimestamp",),
            ("regarding", "uid"),
            ("involvedObject", "resourceVersion"),
            ("reportingInstance",),
        ],
    }
    for place in places[kind]:
        role = role_of(kind, *place)
        for number in (0, 7, 399):
            assert role.is_plain(role.example.format(number).encode()), (place, number)
