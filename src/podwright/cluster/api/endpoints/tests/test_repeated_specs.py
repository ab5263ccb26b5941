"""Bodies with a spec that occurred before mean what they would mean without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import Spec
from podwright.cluster.api.endpoints.tests.conftest import Server, pod

PODS = "/api/v1/namespaces/default/pods"
SPEC = json.dumps(pod("x")["spec"] | {"nodeSelector": {"disk": "ssd", "zone": "a"}})


def body(name: str, spec: str = SPEC, **metadata: Any) -> str:
    named = json.dumps({"name": name, **metadata})
    return f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {named}, "spec": {spec}}}'


def created(server: Server, text: str, query: str = "") -> tuple[int, Any]:
    return server.reply("POST", f"{PODS}{query}", text.encode())


def without_identity(found: Any) -> Any:
    document = json.loads(json.dumps(found))
    for name in ("name", "uid", "resourceVersion", "creationTimestamp"):
        document["metadata"].pop(name)
    for entry in document["metadata"]["managedFields"]:
        entry.pop("time")
    return document


def test_pods_of_a_template_are_alike_and_share_their_spec(server):
    found = [created(server, body(f"p{number}", labels={"a": "b"})) for number in range(4)]
    assert [status for status, _ in found] == [201] * 4
    assert len({json.dumps(without_identity(each)) for _, each in found}) == 1
    specs = {id(server.store.get(("", "Pod"), f"default/p{n}").raw["spec"]) for n in range(2, 4)}
    assert len(specs) == 1


def test_what_differs_is_read(server):
    for name in ("x", "y", "z"):
        created(server, body(name))
    _, labeled = created(server, body("c", labels={"x": "y"}))
    _, generated = created(server, body("", generateName="d-"))
    _, other = created(server, body("e", SPEC.replace("ssd", "hdd")))
    assert labeled["metadata"]["labels"] == {"x": "y"}
    assert generated["metadata"]["name"].startswith("d-")
    assert other["spec"]["nodeSelector"]["disk"] == "hdd"
    assert len({json.dumps(each["metadata"]["managedFields"]) for each in (labeled, other)}) == 2


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        pytest.param(body("b", SPEC)[:-1] + f', "spec": {SPEC}}}', 400, 'duplicate field "spec"',
                     id="the field twice"),
        pytest.param(body("b")[:-1] + ', "extra": 1}', 400, 'unknown field "extra"',
                     id="an unknown field beside it"),
        pytest.param(body("b", labels={"a": 1}), 400, "cannot unmarshal number",
                     id="a wrong type beside it"),
        pytest.param(body("b")[:-1], 400, "unexpected end of JSON input", id="a body that ends"),
        pytest.param(body("-b"), 422, "Invalid value", id="a wrong name"),
        pytest.param(body("b").replace('"name": "b"', '"name": 1'), 400, "cannot unmarshal number",
                     id="a name of a wrong type"),
    ],
)  # fmt: skip
def test_errors_beside_a_known_spec_are_found(server, text, code, message):
    for name in ("x", "y", "z"):
        assert created(server, body(name))[0] == 201
    version = server.store.resource_version
    status, found = created(server, text, "?fieldValidation=Strict")
    assert (status, message in found["message"]) == (code, True), found
    assert server.store.resource_version == version


def test_errors_in_a_spec_are_found_each_time(server):
    wrong = SPEC.replace('"nodeSelector"', '"nodeSelektor"')
    twice = SPEC[:-1] + ', "nodeSelector": {}}'
    for number in range(3):
        for spec, field in ((wrong, "spec.nodeSelektor"), (twice, "spec.nodeSelector")):
            status, found = created(server, body("a", spec), "?fieldValidation=Strict")
            assert status == 400, number
            assert field in found["message"]


def test_a_spec_that_occurs_once_is_not_kept(server):
    own = SPEC.replace("ssd", "occurs-once")  # tables of specs are those of kinds, not of servers
    for name in ("a", "b"):
        created(server, body(name, own))
    specs = [server.store.get(("", "Pod"), f"default/{name}").raw["spec"] for name in ("a", "b")]
    assert [type(spec) for spec in specs] == [dict, Spec]


def test_errors_of_a_template_are_those_of_its_first_pod(server):
    wrong = SPEC.replace("app:1", " app:1")
    found = [created(server, body("a", wrong, labels={})) for _ in range(4)]
    assert [status for status, _ in found] == [422] * 4
    assert len({each["message"] for _, each in found}) == 1
