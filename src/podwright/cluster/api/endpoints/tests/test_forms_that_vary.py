"""Which pods that vary are executed from a template; that they give the same is a property."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.forms import LEARNED_AT
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, START_NS, Server

PODS = "/api/v1/namespaces/default/pods"
_LEARNING = 2 * LEARNED_AT + 2


def body(
    number: int,
    *,
    label: str = "",
    image: str = "",
    env: tuple[tuple[str, Any], ...] | None = None,
    requests: Any = None,
    limits: Any = None,
    **fields: Any,
) -> bytes:
    """Return a pod whose values are its own."""
    amounts = {"cpu": f"{100 + number}m", "memory": f"{500 + number}Mi"}
    env = env or (("NUMBER", str(number)), (f"ONLY_{number}", "1"))
    container = {
        "name": "main",
        "image": image or f"app:1.{number}",
        "ports": [{"containerPort": 80}],
        "env": [{"name": name, "value": value} for name, value in env],
        "resources": {"requests": requests or amounts, "limits": limits or requests or amounts},
    }
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "labels": {"app": label or f"app-{number}"}},
        "spec": {"containers": [container], **fields},
    }
    return json.dumps(document).encode()


def send(server: Server, data: bytes) -> tuple[int, dict[str, Any]]:
    found = server.api.handle(HttpRequest("POST", PODS, "", {}, data), ADMIN, START_NS)
    assert isinstance(found, HttpReply), found
    return found.status, json.loads(found.body)


def is_prepared(server: Server, data: bytes) -> bool:
    before = server.api._forms.executed_count
    status, made = send(server, data)
    assert status == 201, made
    return server.api._forms.executed_count > before


def learn(server: Server, **fields: Any) -> None:
    """Create pods that vary until what they have in common is known."""
    found = [is_prepared(server, body(number, **fields)) for number in range(_LEARNING)]
    assert found[-1], "the last one is executed from the template"


def test_pods_with_other_values_are_prepared(server):
    learn(server)
    assert is_prepared(server, body(77))
    stored = server.store.get(("", "Pod"), "default/pod-77")
    assert stored.metadata.labels == {"app": "app-77"}
    (container,) = stored.raw["spec"]["containers"]
    assert container["image"] == "app:1.77"
    assert container["resources"]["limits"] == {"cpu": "177m", "memory": "577Mi"}
    assert [each["name"] for each in container["env"]] == ["NUMBER", "ONLY_77"]
    (entry,) = stored.raw["metadata"]["managedFields"]
    owned = entry["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"main"}']["f:env"]
    assert [*owned] == [".", 'k:{"name":"NUMBER"}', 'k:{"name":"ONLY_77"}']
    assert stored.spec.containers[0].image == "app:1.77"


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"image": "app"}, id="an image without tag, which is always pulled"),
        pytest.param({"image": "app:latest"}, id="an image that is always pulled"),
        pytest.param({"image": "host:5000/app"}, id="a port that is no tag"),
        pytest.param({"requests": {"cpu": "1000m", "memory": "1Mi"}}, id="whole cores"),
        pytest.param({"requests": {"cpu": "1", "memory": "1024Mi"}}, id="whole gibibytes"),
        pytest.param({"requests": {"cpu": "1", "memory": "0"}}, id="nothing"),
        pytest.param({"requests": {"cpu": 1, "memory": "1Mi"}}, id="a number"),
        pytest.param(
            {"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "2", "memory": "1Mi"}},
            id="a limit above the request, which is another class of quality of service",
        ),
        pytest.param({"env": (("Z", "1"), ("A", "1"))}, id="variables in another order"),
        pytest.param({"env": (("A", "1"), ("A", "2"))}, id="a variable that is there twice"),
        pytest.param({"env": (("A-B", "1"), ("C", "2"))}, id="another name of a variable"),
        pytest.param({"env": (("A", ""), ("C", "2"))}, id="an empty value"),
        pytest.param({"hostname": "web"}, id="another field"),
        pytest.param({"restartPolicy": "Never"}, id="another value of a fixed field"),
    ],
)
def test_other_differences_are_not_prepared(server, changed):
    learn(server, restartPolicy="Always") if "restartPolicy" in changed else learn(server)
    assert not is_prepared(server, body(77, **changed))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"label": "-x"}, id="a label"),
        pytest.param({"image": " "}, id="an image"),
        pytest.param({"requests": {"cpu": "-1", "memory": "1Mi"}}, id="an amount"),
        pytest.param({"env": (("A=", "1"), ("C", "2"))}, id="a name of a variable"),
        pytest.param(
            {"requests": {"cpu": "2", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Mi"}},
            id="a limit below the request",
        ),
    ],
)
def test_invalid_values_are_rejected_in_full(server, changed):
    learn(server)
    status, _ = send(server, body(77, **changed))
    assert status == 422


def _selecting(value: str) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": value}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    constraint = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {
        "affinity": {"podAntiAffinity": required},
        "topologySpreadConstraints": [constraint],
    }


def test_pods_that_select_other_labels_are_prepared(server):
    for number in range(_LEARNING):
        send(server, body(number, **_selecting(f"app-{number}")))
    assert is_prepared(server, body(77, **_selecting("app-77")))
    stored = server.store.get(("", "Pod"), "default/pod-77")
    (constraint,) = stored.spec.topology_spread_constraints
    assert constraint.label_selector.match_labels == {"app": "app-77"}
    (term,) = stored.raw["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["labelSelector"] == {"matchLabels": {"app": "app-77"}}
    status, _ = send(server, body(78, **_selecting("-x")))
    assert status == 422


def test_a_request_beside_a_limit_that_is_a_number_is_fixed(server):
    for number in range(_LEARNING):
        amounts = {"cpu": f"{100 + number}m"}
        assert not is_prepared(server, body(number, requests=amounts, limits={"cpu": 1}))
    status, _ = send(server, body(77, requests={"cpu": "1100m"}, limits={"cpu": 1}))
    assert status == 422


def test_names_of_variables_are_fixed_beside_one_with_escapes(server):
    for number in range(_LEARNING):
        data = body(number, env=(("B", "1"), ("C", "2"))).replace(b'"B"', rb'"\u0042"')
        status, made = send(server, data)
        assert status == 201
        assert [each["name"] for each in made["spec"]["containers"][0]["env"]] == ["B", "C"]
    # The order of the variables is another one.
    other = body(77, env=(("B", "1"), ("A", "2"))).replace(b'"B"', rb'"\u0042"')
    assert not is_prepared(server, other)


def test_requests_are_fixed_beside_those_of_the_pod(server):
    of_pod = {"limits": {"cpu": "1", "memory": "1Gi"}}
    for number in range(_LEARNING):
        assert not is_prepared(server, body(number, resources=of_pod))
    requests = {"cpu": "1500m", "memory": "700Mi"}
    status, _ = send(server, body(77, requests=requests, resources=of_pod))
    assert status == 422


def test_a_limit_range_bounds_every_pod(server):
    learn(server)
    document = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "bounds"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "200m"}}]},
    }
    server.reply("POST", "/api/v1/namespaces/default/limitranges", document)
    for number in range(30, 50):
        assert not is_prepared(server, body(number))
    assert send(server, body(101))[0] == 403


def _ports(pod: Any) -> Any:
    return pod.raw["spec"]["containers"][0]["ports"]


def test_pods_share_what_does_not_vary(server):
    learn(server)
    found = []
    for number in (77, 78):
        assert is_prepared(server, body(number))
        found.append(server.store.get(("", "Pod"), f"default/pod-{number}"))
    one, two = found
    assert one.raw["spec"]["tolerations"] is two.raw["spec"]["tolerations"]
    assert one.raw["status"] is two.raw["status"]
    assert _ports(one) is _ports(two)
    entry, other = (each.raw["metadata"]["managedFields"][0]["fieldsV1"] for each in found)
    assert entry["f:metadata"] is other["f:metadata"]
    assert one.status is two.status
    assert one.raw["spec"]["containers"] != two.raw["spec"]["containers"]


def test_pods_that_differ_in_their_name_only_share_their_spec(server):
    learn(server)
    usual = body(77)
    found = []
    for number in range(3):
        assert is_prepared(server, usual.replace(b'"pod-77"', b'"same-%d"' % number))
        found.append(server.store.get(("", "Pod"), f"default/same-{number}"))
    assert found[0].spec is found[1].spec is found[2].spec
    assert found[0].raw["spec"] is found[2].raw["spec"]


def test_a_name_in_use_is_rejected(server):
    learn(server)
    assert send(server, body(0))[0] == 409
