"""Validation of APIServices: upstream's paths and texts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

LOCAL = {"group": "x.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
SERVICE = {"name": "a", "namespace": "b"}
PRIORITIES = [
    "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
    "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
]


def problems(spec: dict[str, Any], name: str = "v1.x.io") -> list[str]:
    kind = built_in().find("apiregistration.k8s.io/v1", "APIService")
    assert kind is not None
    document = kind.with_defaults({"metadata": {"name": name}, "spec": LOCAL | spec})
    return [f"{path}: {message}" for path, message, _ in kind.validation_problems(document)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="an API of this server"),
        pytest.param({"service": SERVICE}, [], id="an API of another server"),
        pytest.param({"groupPriorityMinimum": 20000, "versionPriority": 1000}, [], id="the most"),
        pytest.param({"groupPriorityMinimum": 0, "versionPriority": 1001}, PRIORITIES,
            id="priorities out of range"),
        pytest.param({"caBundle": "YQ==", "insecureSkipTLSVerify": True}, [
            'spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle',
            "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have"
            " insecureSkipTLSVerify"], id="trust in this server"),
        pytest.param({"service": {}}, [
            "spec.service.namespace: Required value", "spec.service.name: Required value"],
            id="a service without a name"),
        pytest.param({"service": SERVICE | {"port": 65536}}, ["spec.service.port: Invalid value:"
            " 65536: port is not valid: must be between 1 and 65535, inclusive"], id="a port"),
        pytest.param({"service": SERVICE, "caBundle": "YQ==", "insecureSkipTLSVerify": True}, [
            "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is"
            " present"], id="trust with and without certificates"),
    ],
)  # fmt: skip
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    assert problems(spec) == expected


def test_the_name_is_that_of_the_version() -> None:
    text = 'must be `spec.version+"."+spec.group`: "v1.x.io"'
    assert problems({}, "v2.x.io") == [f'metadata.name: Invalid value: "v2.x.io": {text}']


def test_only_the_first_api_has_no_group() -> None:
    assert problems({"group": ""}, "v1.") == []
    text = "only v1 may have an empty group and it better be legacy kube"
    assert problems({"group": "", "version": "v2"}, "v2.") == [
        f"spec.group: Required value: {text}"
    ]
