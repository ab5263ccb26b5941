"""Headers of a request as they are sent, by name."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.request import wire_headers

GROUP = b"impersonate-group"


@pytest.mark.parametrize(
    ("pairs", "headers"),
    [
        ([], {}),
        ([(b"accept", b"a")], {"accept": "a"}),
        ([(b"accept", b"a"), (b"accept", b"b"), (b"accept", b"c")], {"accept": "a, b, c"}),
        ([(b"accept", b"a"), (b"host", b"h"), (b"accept", b"b")], {"accept": "a, b", "host": "h"}),
        ([(GROUP, b"a,b"), (GROUP, b"c"), (GROUP, b"")], {"impersonate-group": "a,b\nc\n"}),
        ([(b"impersonate-extra-x", b"1"), (b"impersonate-extra-x", b"2"), (b"x", b"3")],
         {"impersonate-extra-x": "1\n2", "x": "3"}),
        ([(b"impersonate-user", "ü".encode())], {"impersonate-user": "ü"}),
        ([(b"x", b"\xff")], {"x": "\ufffd"}),
        ([(b"\xe4", b"a")], {"\xe4": "a"}),
    ],
)  # fmt: skip
def test_headers_are_texts_and_repeated_ones_are_joined(pairs, headers):
    found = wire_headers(pairs)
    assert found == headers
    assert list(found) == list(headers)
