"""Validation of Secrets with the credentials of registries: upstream's paths and texts."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

UNREADABLE = 'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
WRONG = (
    f"{UNREADABLE}json: cannot unmarshal {{}} into Go value of type map[string]interface {{{{}}}}"
)


def problems(secret: dict[str, Any]) -> list[str]:
    kind = built_in().find("v1", "Secret")
    assert kind is not None
    found = kind.validation_problems({"metadata": {"name": "x", "namespace": "default"}} | secret)
    return [f"{path}: {message}" for path, message, _ in found]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"{}", [], id="an object"),
        pytest.param(b"null", [], id="nothing"),
        pytest.param(b'{"auths": {"\xff": {}}}', [], id="not UTF-8, which Go replaces"),
        pytest.param(b"[]", [WRONG.format("array")], id="a list"),
        pytest.param(b'"a"', [WRONG.format("string")], id="a text"),
        pytest.param(b"1", [WRONG.format("number")], id="a number"),
        pytest.param(b"true", [WRONG.format("bool")], id="a truth value"),
        pytest.param(b"", [f"{UNREADABLE}unexpected end of JSON input"], id="empty"),
        pytest.param(
            b'{"auths":}',
            [f"{UNREADABLE}invalid character '}}' looking for beginning of value"],
            id="not JSON",
        ),
        pytest.param(
            b"\xb5\xec",
            [f"{UNREADABLE}invalid character '\u00b5' looking for beginning of value"],
            id="not UTF-8 outside of texts, where Go names the byte",
        ),
    ],
)
def test_credentials_are_a_json_object(content: bytes, expected: list[str]) -> None:
    data = {".dockerconfigjson": b64encode(content).decode()}
    assert problems({"type": "kubernetes.io/dockerconfigjson", "data": data}) == expected


def test_credentials_as_text_replace_those_in_base64() -> None:
    data = {".dockercfg": b64encode(b"x").decode()}
    texts = {".dockercfg": "{}"}
    secret = {"type": "kubernetes.io/dockercfg", "data": data}
    assert problems(secret | {"stringData": texts}) == []
    (problem,) = problems(secret)
    assert problem.startswith("data[.dockercfg]: Invalid value: ")


@pytest.mark.parametrize(
    ("kind", "data", "key"),
    [
        ("kubernetes.io/dockercfg", {}, ".dockercfg"),
        ("kubernetes.io/dockerconfigjson", {}, ".dockerconfigjson"),
        ("kubernetes.io/ssh-auth", {}, "ssh-privatekey"),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, "ssh-privatekey"),
    ],
)
def test_a_key_is_required(kind: str, data: dict[str, str], key: str) -> None:
    assert problems({"type": kind, "data": data}) == [f"data[{key}]: Required value"]
