"""Warnings that no recorded request can show, or only those of one value."""

from __future__ import annotations

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.warnings.configuration import cidr_warnings, ip_warnings


@pytest.mark.parametrize(
    ("text", "better"),
    [("010.002.003.004", "10.2.3.4"), ("::ffff:1.2.3.4", "1.2.3.4")],
)
def test_an_address_that_readers_take_for_another_is_named(text: str, better: str) -> None:
    expected = f'a: non-standard IP address "{text}" is invalid: use "{better}"'
    assert ip_warnings("a", text) == [expected]


@pytest.mark.parametrize("text", ["1.2.3.4", "::1", "no address"])
def test_a_standard_address_has_no_warning(text: str) -> None:
    assert ip_warnings("a", text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.0/8", []),
        ("no network", []),
        (
            "10.1.2.3/8",
            [
                'a: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or'
                ' "10.1.2.3/32"?)'
            ],
        ),
        ("010.0.0.0/8", ['a: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"']),
        ("10.0.0.0/08", ['a: non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"']),
    ],
)
def test_a_network_in_another_form_is_named(text: str, expected: list[str]) -> None:
    assert cidr_warnings("a", text) == expected


def test_pods_of_one_spec_differ_in_their_own_warnings() -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    spec = {"containers": [{"name": "c"}], "terminationGracePeriodSeconds": -1}
    negative = "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and"

    def warned(name: str, **annotations: str) -> list[str]:
        metadata = {"name": name, "annotations": annotations}
        return kind.write_warnings({"metadata": metadata, "spec": spec}, None)

    assert [text.startswith(negative) for text in warned("a")] == [True]
    assert warned("b") == warned("a")
    assert [text[:13] for text in warned("a.b")] == ["metadata.name", negative[:13]]
    key = "scheduler.alpha.kubernetes.io/critical-pod"
    assert len(warned("a", **{key: ""})) == 2
    assert len(warned("a")) == 1


def test_a_kind_without_warnings_has_none() -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    assert kind.write_warnings({"metadata": {"name": "a.b"}}, None) == []
    assert kind.write_warnings({"metadata": {"name": "a.b"}}, None, subresource="status") == []
