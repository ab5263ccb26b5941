"""The schema of DeviceCards: what a server with the kind accepts, rejects and describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.devices import read_cards
from podwright.apimachinery.devices.cards import CardSpec
from podwright.apimachinery.objects import encode
from podwright.cluster.api.endpoints.tests.conftest import Server
from podwright.online.apiserver import device_cards_kind

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CARDS = "/apis/podwright.dev/v1/devicecards"
_SPEC: dict[str, Any] = {"driver": "gpu.example.com", "count": 8}
_MOST = 64
_HALVES = [{"name": "half", "parts": 4, "count": 2, "capacity": {"memory": {"value": "40Gi"}}}]


@pytest.fixture(scope="module")
def server() -> Server:
    """Return a server that serves the kind."""
    server = Server()
    status, body = server.reply("POST", _DEFINITIONS, encode(device_cards_kind()))
    assert status == 201, body
    return server


def _many(value: dict[str, Any], count: int = _MOST + 1) -> dict[str, Any]:
    return {f"name-{number}": value for number in range(count)}


def _document(changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "podwright.dev/v1",
        "kind": "DeviceCards",
        "metadata": {"name": "cards"},
        "spec": _SPEC | changes,
    }


def _created(server: Server, changes: dict[str, Any]) -> tuple[int, Any]:
    return server.reply("POST", f"{_CARDS}?fieldValidation=Strict&dryRun=All", _document(changes))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="the required fields"),
        pytest.param(
            {
                "nodeSelector": {"gpu": "yes"},
                "name": "card",
                "attributes": {"model": {"string": "h100"}, "numa": {"int": 1}},
                "capacity": {
                    "memory": {"value": "80Gi"},
                    "cores": {
                        "value": 100,
                        "requestPolicy": {"default": 10, "validRange": {"min": 10, "step": 5}},
                    },
                },
                "taints": [{"key": "broken", "effect": "NoExecute"}],
                "allowMultipleAllocations": True,
                "links": {"attribute": "nvlink", "size": 4},
                "prepare": {"delay": "1m30s"},
            },
            id="the others",
        ),
        pytest.param(
            {
                "attributes": {
                    "model": {"string": "h100"},
                    "models": {"strings": ["h100", "h200"]},
                    "numa": {"int": 1},
                    "ranks": {"ints": [1, 2]},
                    "linked": {"bool": True},
                    "lanes": {"bools": [True, False]},
                    "driver": {"version": "1.2.3"},
                    "firmwares": {"versions": ["1.0.0", "2.0.0"]},
                }
            },
            id="each type of attribute",
        ),
        pytest.param({"parts": 8, "partitions": _HALVES}, id="partitions"),
        pytest.param({"parts": 0, "partitions": []}, id="no partitions"),
        pytest.param(
            {"attributes": _many({"int": 1}, _MOST), "capacity": _many({"value": 1}, _MOST)},
            id="as many attributes and capacities as a schema may have",
        ),
        pytest.param({"bindingConditions": ["Ready"], "binding": {"delay": "0.5s"}}, id="a delay"),
        pytest.param(
            {
                "bindingConditions": ["Ready"],
                "bindingFailureConditions": ["Failed"],
                "binding": {"failure": "no power"},
            },
            id="a failure",
        ),
    ],
)
def test_what_files_may_have_is_accepted(server: Server, changes: dict[str, Any]) -> None:
    status, body = _created(server, changes)
    assert status == 201, body
    assert body["spec"] == _SPEC | changes
    assert read_cards(_document(changes))[1] == []


@pytest.mark.parametrize(
    ("changes", "status", "part"),
    [
        ({"conut": 8}, 400, 'unknown field "spec.conut"'),
        ({"count": "8"}, 422, "spec.count: Invalid value"),
        ({"count": 0}, 422, "spec.count: Invalid value: 0"),
        ({"count": None}, 422, "spec.count: Required value"),
        ({"parts": 4}, 422, "partitions is required with parts"),
        ({"partitions": _HALVES}, 422, "parts is required with partitions"),
        ({"parts": 3, "partitions": _HALVES}, 422, "must be between 1 and the parts of a card"),
        ({"parts": 8, "partitions": [*_HALVES, *_HALVES]}, 422, "spec.partitions[1]: Duplicate"),
        (
            {"parts": 4, "partitions": [{"name": "half", "part": 2, "parts": 2, "count": 2}]},
            400,
            'unknown field "spec.partitions[0].part"',
        ),
        ({"links": {"attribute": "nvlink", "size": 0}}, 422, "spec.links.size: Invalid value: 0"),
        ({"prepare": {"delay": "5"}}, 422, "spec.prepare.delay: Invalid value"),
        ({"prepare": {"delay": "-5s"}}, 422, "spec.prepare.delay: Invalid value"),
        ({"binding": {"delay": "5s"}}, 422, "binding has no effect without bindingConditions"),
        (
            {"bindingConditions": ["Ready"], "binding": {}},
            422,
            "binding needs a delay or a failure",
        ),
        (
            {"bindingConditions": ["Ready"], "binding": {"failure": "no power"}},
            422,
            "binding.failure has no effect without bindingFailureConditions",
        ),
        (
            {
                "bindingConditions": ["Ready"],
                "bindingFailureConditions": ["Failed"],
                "binding": {"failure": "no power", "delay": "5s"},
            },
            422,
            "binding needs a delay or a failure",
        ),
    ],
)
def test_what_files_may_not_have_is_rejected(
    server: Server, changes: dict[str, Any], status: int, part: str
) -> None:
    found, body = _created(server, changes)
    assert found == status
    assert part in body["message"]
    assert read_cards(_document(changes))[1] != []


def test_a_wrong_attribute_is_rejected(server: Server) -> None:
    found, body = _created(server, {"attributes": {"model": {"int": "h100"}}})
    assert found == 422
    assert "spec.attributes.model.int: Invalid value" in body["message"]
    found, body = _created(server, {"capacity": {"memory": {"amount": "80Gi"}}})
    assert found == 400
    assert 'unknown field "spec.capacity.memory.amount"' in body["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("attributes", {"int": 1}, id="attributes"),
        pytest.param("capacity", {"value": 1}, id="capacities"),
    ],
)
def test_the_number_of_entries_is_limited(
    server: Server, field: str, value: dict[str, Any]
) -> None:
    found, body = _created(server, {field: _many(value)})
    assert found == 422
    assert (
        f"spec.{field}: Too many: {_MOST + 1}: must have at most {_MOST} items" in (body["message"])
    )


def test_every_field_has_a_description() -> None:
    (version,) = encode(device_cards_kind())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["description"]
    found = dict(_properties(schema, ""))
    assert [path for path, each in found.items() if not each.get("description")] == []
    fields = {field.encode_name for field in msgspec.structs.fields(CardSpec)}
    assert fields == schema["properties"]["spec"]["properties"].keys()


def _properties(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, each in schema.get("properties", {}).items():
        yield f"{path}.{name}", each
        yield from _properties(each, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from _properties(schema[name], f"{path}[*]")
