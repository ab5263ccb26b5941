"""Parts of the status of a ResourceClaim that need rights of their own, as kube-apiserver's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import ApiServer, User, bare_options
from podwright.cluster.api.endpoints.tests.conftest import Server

GROUP = "resource.k8s.io"
CLAIMS = f"/apis/{GROUP}/v1/namespaces/default/resourceclaims"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
NODE = "authentication.kubernetes.io/node-name"
DRIVER = User("system:serviceaccount:default:d", extra={NODE: ("n",)})
ELSEWHERE = User("system:serviceaccount:default:d", extra={NODE: ("other",)})
PERSON = User("u", extra={NODE: ("n",)})
BINDING = ("update", "resourceclaims/binding", ())


def allocation(**more: Any) -> dict[str, Any]:
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]} | more
    return {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [term]},
    }


ALLOCATED = {"allocation": allocation()}
WIDE = {
    "allocation": allocation(
        matchExpressions=[{"key": "a", "operator": "Exists"}],
    )
}


def devices(*names: str) -> dict[str, Any]:
    return {
        "devices": [{"driver": f"{each}.example.com", "pool": "p", "device": "x"} for each in names]
    }


def right(verb: str, driver: str = "d") -> tuple[str, str, tuple[str, ...]]:
    return f"{verb}:update", "resourceclaims/driver", (f"{driver}.example.com",)


def server_with(user: User, *rights: tuple[str, str, tuple[str, ...]]) -> Server:
    server = Server()
    rules = [("update", "resourceclaims/status", ()), ("patch", "resourceclaims/status", ())]
    role = {
        "metadata": {"name": "r"},
        "rules": [
            {"verbs": [verb], "apiGroups": [GROUP], "resources": [resource]}
            | ({"resourceNames": list(names)} if names else {})
            for verb, resource, names in (*rules, *rights)
        ],
    }
    assert server.reply("POST", f"{ROLES}/clusterroles", role)[0] == 201
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [{"kind": "User", "name": user.name, "apiGroup": "rbac.authorization.k8s.io"}],
    }
    assert server.reply("POST", f"{ROLES}/clusterrolebindings", binding)[0] == 201
    return server


def claim_with(server: Server, status: dict[str, Any]) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
    code, made = server.reply("POST", CLAIMS, claim)
    assert code == 201, made
    code, made = server.reply("PUT", f"{CLAIMS}/c/status", made | {"status": status})
    assert code == 200, made
    return dict(made)


@pytest.mark.parametrize(
    ("user", "rights", "before", "after", "fields"),
    [
        pytest.param(PERSON, [], {}, ALLOCATED, ["status.allocation"], id="an allocation"),
        pytest.param(PERSON, [BINDING], {}, ALLOCATED, [], id="an allocation with the right"),
        pytest.param(
            PERSON, [], ALLOCATED,
            ALLOCATED | {"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]},
            ["status.allocation"], id="a reservation",
        ),
        pytest.param(PERSON, [], ALLOCATED, ALLOCATED, [], id="nothing changes"),
        pytest.param(
            PERSON, [], ALLOCATED, ALLOCATED | devices("d"), ["status.devices"],
            id="what a driver says",
        ),
        pytest.param(
            PERSON, [right("associated-node")], ALLOCATED, ALLOCATED | devices("d"),
            ["status.devices"], id="only service accounts are on nodes",
        ),
        pytest.param(
            PERSON, [right("arbitrary-node")], ALLOCATED, ALLOCATED | devices("d"), [],
            id="a right on any node",
        ),
        pytest.param(
            PERSON, [right("arbitrary-node", "e")], ALLOCATED, ALLOCATED | devices("d"),
            ["status.devices"], id="the right of another driver",
        ),
        pytest.param(
            DRIVER, [right("associated-node")], ALLOCATED, ALLOCATED | devices("d"), [],
            id="a driver on the node of the allocation",
        ),
        pytest.param(
            DRIVER, [right("arbitrary-node")], ALLOCATED, ALLOCATED | devices("d"), [],
            id="either right is enough",
        ),
        pytest.param(
            DRIVER, [right("associated-node")], WIDE, WIDE | devices("d"), ["status.devices"],
            id="an allocation for several nodes",
        ),
        pytest.param(
            ELSEWHERE, [right("associated-node")], ALLOCATED, ALLOCATED | devices("d"),
            ["status.devices"], id="a driver on another node",
        ),
        pytest.param(
            PERSON, [], ALLOCATED | devices("d"), ALLOCATED, ["status.devices"],
            id="what a driver said is removed",
        ),
        pytest.param(
            PERSON, [right("arbitrary-node")], ALLOCATED | devices("d"),
            ALLOCATED | {"devices": [devices("d")["devices"][0] | {"data": {"a": 1}}]}, [],
            id="what a driver says changes",
        ),
        pytest.param(
            PERSON, [BINDING], ALLOCATED | devices("d"), {}, [],
            id="devices go with the allocation",
        ),
    ],
)  # fmt: skip
def test_parts_of_a_claims_status_need_rights(
    user: User,
    rights: list[tuple[str, str, tuple[str, ...]]],
    before: dict[str, Any],
    after: dict[str, Any],
    fields: list[str],
) -> None:
    server = server_with(user, *rights)
    made = claim_with(server, before)
    code, found = server.reply("PUT", f"{CLAIMS}/c/status", made | {"status": after}, user=user)
    assert code == (422 if fields else 200), found
    causes = found.get("details", {}).get("causes") or ()
    assert [each["field"] for each in causes] == fields


def test_the_errors_name_the_rights() -> None:
    server = server_with(DRIVER)
    made = claim_with(server, {})
    status = {"status": ALLOCATED | devices("d")}
    for method, verb, kind in (("PUT", "update", "json"), ("PATCH", "patch", "merge-patch+json")):
        body = made | status if method == "PUT" else status
        headers = {"content-type": f"application/{kind}"}
        _, found = server.reply(method, f"{CLAIMS}/c/status", body, user=DRIVER, headers=headers)
        who = 'is forbidden: User "system:serviceaccount:default:d" cannot'
        group = 'in API group "resource.k8s.io"'
        verbs = f"associated-node:{verb} arbitrary-node:{verb}"
        assert [each["message"] for each in found["details"]["causes"]] == [
            "Forbidden: changing status.allocation or status.reservedFor requires"
            f' resource="resourceclaims/binding", verb="{verb}" permission:'
            f' resourceclaims.resource.k8s.io {who} {verb} resource "resourceclaims/binding"'
            f" {group} at the cluster scope",
            'Forbidden: changing status.devices requires resource="resourceclaims/driver",'
            f' verb="[{verbs}]" permission: resourceclaims.resource.k8s.io "d.example.com" {who}'
            f' associated-node:{verb} resource "resourceclaims/driver" {group} in the namespace'
            ' "default"',
        ]


def test_the_errors_are_in_the_order_of_the_drivers() -> None:
    server = server_with(PERSON)
    made = claim_with(server, ALLOCATED)
    body = made | {"status": ALLOCATED | devices(*"fbdace")}
    _, found = server.reply("PUT", f"{CLAIMS}/c/status", body, user=PERSON)
    messages = [each["message"].partition("permission: ")[2] for each in found["details"]["causes"]]
    expected = [f'resourceclaims.resource.k8s.io "{each}.example.com" is' for each in "abcdef"]
    assert [text.partition(" forbidden")[0] for text in messages if text] == expected


def test_a_label_needs_no_rights_to_an_allocation_that_a_record_has_in_another_form() -> None:
    """An update writes the amounts of a record as kube-apiserver does."""
    server = server_with(PERSON, ("update", "resourceclaims", ()))
    recorded = {"allocation": allocation()}
    (result,) = recorded["allocation"]["devices"]["results"]
    result |= {"shareID": "a", "consumedCapacity": {"memory": "1024Mi"}}
    server.store.put(decode(claim_with(server, ALLOCATED) | {"status": recorded}))
    _, made = server.reply("GET", f"{CLAIMS}/c")
    made["metadata"]["labels"] = {"a": "b"}
    code, changed = server.reply("PUT", f"{CLAIMS}/c", made, user=PERSON)
    assert code == 200, changed
    (result,) = changed["status"]["allocation"]["devices"]["results"]
    assert result["consumedCapacity"] == {"memory": "1Gi"}


def test_without_the_gate_a_status_needs_no_further_rights() -> None:
    server = server_with(PERSON)
    made = claim_with(server, {})
    options = bare_options()
    off = options.disabled_gates | {"DRAResourceClaimGranularStatusAuthorization"}
    server.api = ApiServer(server.store, msgspec.structs.replace(options, disabled_gates=off))
    code, found = server.reply(
        "PUT", f"{CLAIMS}/c/status", made | {"status": ALLOCATED | devices("d")}, user=PERSON
    )
    assert code == 200, found
