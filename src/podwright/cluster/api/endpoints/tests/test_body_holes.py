"""Where the bodies of Events are split, and which values are plain."""

import pytest

from podwright.cluster.api.endpoints.decoding.body_holes import (
    HOLES,
    POD_NAME,
    SPLITS,
    BodyPattern,
    joined,
)

NOTE = HOLES["", "Event"]["note",]


def test_a_body_is_split_at_its_values_and_joined_again():
    body = (
        b'{"metadata":{"name":"e","uid":""},"kind":"name","note":"a \\"b\\", \\\\","message":"c"}'
    )
    texts, values = SPLITS["events"](body)
    # A value with another escape than that of a quote is part of the template.
    assert values == (b"e", b"", b"c")
    assert joined(texts, values) == body
    quoted = body.replace(b", \\\\", b"")
    assert SPLITS["events"](quoted)[1] == (b"e", b"", b'a \\"b\\"', b"c")


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
    bodies = BodyPattern((b'{"note":"', b'"}'), [NOTE])
    body = b'{"note":"' + note + b'"}'
    assert bodies.values_of(body) == ((note,) if is_plain else None)


def test_a_pattern_matches_the_bodies_of_its_texts():
    bodies = BodyPattern((b'{"a.b":"', b'","note":"', b'"}'), [POD_NAME, NOTE])
    assert bodies.values_of(b'{"a.b":"x-1","note":"a \\"b\\""}') == (b"x-1", b'a \\"b\\"')
    assert bodies.values_of(b'{"axb":"x-1","note":"a"}') is None
    assert bodies.values_of(b'{"a.b":"x-1","note":"a"} ') is None
    assert bodies.values_of(b'{"a.b":"%s","note":"a"}' % (b"x" * 63)) is not None
    assert bodies.values_of(b'{"a.b":"%s","note":"a"}' % (b"x" * 64)) is None


@pytest.mark.parametrize(
    ("field", "value", "is_plain"),
    [
        pytest.param(("metadata", "name"), b"x" * 253, True, id="the longest name"),
        pytest.param(("metadata", "name"), b"x" * 254, False, id="a longer name"),
        pytest.param(("note",), b"x" * 1_023, True, id="the longest note"),
        pytest.param(("note",), b"x" * 1_024, False, id="a longer note"),
        pytest.param(("regarding", "resourceVersion"), b"9" * 18, True, id="the longest version"),
        pytest.param(("regarding", "resourceVersion"), b"9" * 19, False, id="a longer version"),
        pytest.param(("reportingInstance",), b"x" * 128, True, id="the longest instance"),
        pytest.param(("reportingInstance",), b"x" * 129, False, id="a longer instance"),
    ],
)
def test_plain_values_are_not_too_long(field, value, is_plain):
    holes = HOLES["", "Event"]
    bodies = BodyPattern((b"<", b"|", b">"), [holes[field], holes["note",]])
    assert bodies.are_plain((value, b"a note")) is is_plain
    assert bodies.values_of(b"<" + value + b"|a note>") == (
        (value, b"a note") if is_plain else None
    )
