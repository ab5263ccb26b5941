"""Which rights a change of the status of a ResourceClaim needs, by what an authorizer decides."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.authorization import Access
from podwright.cluster.api.authorization.access import Decision
from podwright.cluster.api.stages.kinds.claim_statuses import claim_status_problems
from podwright.cluster.api.stages.tests.writes import sent_write
from podwright.cluster.api.users import User

NODE = "authentication.kubernetes.io/node-name"
ACCOUNT = "system:serviceaccount:default:d"
ON_NODE = User(ACCOUNT, extra={NODE: ("n",)})


class Asked:
    """An authorizer that allows some verbs, and remembers what it was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.accesses: list[Access] = []

    def authorize(self, access: Access) -> Decision:
        self.accesses.append(access)
        return Decision(is_allowed=access.verb in self.allowed or None, reason="why")


def field(**change: Any) -> Document:
    return {"key": "metadata.name", "operator": "In", "values": ["n"]} | change


def allocation(*terms: Document) -> Document:
    return {"nodeSelector": {"nodeSelectorTerms": [*terms]}}


def device(driver: str, **more: Any) -> Document:
    return {"driver": driver, "pool": "p", "device": "x", **more}


def on(*drivers: str, **more: Any) -> Document:
    status = {"allocation": allocation({"matchFields": [field()]})}
    return status | {"devices": [device(each) for each in drivers]} | more


def problems(
    asked: Asked,
    new: Document,
    old: Document,
    *,
    user: User = ON_NODE,
    kind: str = "resource.k8s.io/v1 ResourceClaim",
) -> list[tuple[str, str]]:
    """Return path and message of the errors."""
    head = {"metadata": {"name": "c", "namespace": "default"}}
    before = head | ({"status": old} if old else {})
    write = sent_write(kind, head, old=before, user=user, verb="patch")
    authorizer: Any = asked
    found = claim_status_problems(
        authorizer, write, head | ({"status": new} if new else {}), before
    )
    return [(path, message) for path, message, _ in found]


@pytest.mark.parametrize(
    ("new", "old", "is_asked"),
    [
        pytest.param(on(), on(), False, id="nothing changes"),
        pytest.param({}, {}, False, id="no status"),
        pytest.param(on(), {}, True, id="an allocation comes"),
        pytest.param({}, on(), True, id="an allocation goes"),
        pytest.param(on(reservedFor=[{"uid": "1"}]), on(), True, id="a reservation comes"),
        pytest.param(on(), on(reservedFor=[{"uid": "1"}]), True, id="a reservation goes"),
        pytest.param(
            on(allocation=allocation({"matchFields": [field(values=["m"])]})), on(), True,
            id="another node",
        ),
    ],
)  # fmt: skip
def test_an_allocation_and_reservations_need_the_right_to_bind(new, old, is_asked):
    for allowed in ((), ("patch",)):
        asked = Asked(*allowed)
        found = problems(asked, new, old)
        assert [path for path, _ in found] == (
            ["status.allocation"] if is_asked and not allowed else []
        )
        expected = Access(
            user=ON_NODE, verb="patch", group="resource.k8s.io", version="v1",
            resource="resourceclaims", subresource="binding",
        )  # fmt: skip
        assert asked.accesses == [expected] * is_asked
    assert problems(Asked(), new, old, kind="v1 ConfigMap") == []


@pytest.mark.parametrize(
    ("new", "old", "drivers"),
    [
        pytest.param(on("d"), on("d"), [], id="nothing changes"),
        pytest.param(on("d"), on(), ["d"], id="one is new"),
        pytest.param(on(), on("d"), ["d"], id="one is gone"),
        pytest.param(on("b", "a"), on(), ["a", "b"], id="by name"),
        pytest.param(on("a", "b"), on("a"), ["b"], id="one of two"),
        pytest.param(
            on(devices=[device("a", data={"x": 1}), device("b")]), on("b", "a"), ["a"],
            id="what one says",
        ),
        pytest.param(
            on(devices=[device("a"), device("a", device="y")]), on("a"), ["a"],
            id="another device of a driver",
        ),
        pytest.param({"devices": [device("d")]}, {}, [], id="without an allocation"),
    ],
)  # fmt: skip
def test_what_drivers_say_about_devices_needs_the_right_of_each_driver(new, old, drivers):
    asked = Asked()
    found = problems(asked, new, old)
    assert [path for path, _ in found] == ["status.devices"] * len(drivers)
    accesses = [each for each in asked.accesses if each.subresource == "driver"]
    assert [(each.name, each.verb) for each in accesses] == [
        (driver, verb)
        for driver in drivers
        for verb in ("associated-node:patch", "arbitrary-node:patch")
    ]
    for each in accesses:
        assert (each.user, each.namespace, each.group) == (ON_NODE, "default", "resource.k8s.io")
        assert (each.version, each.resource) == ("v1", "resourceclaims")
    for (_, message), driver in zip(found, drivers, strict=True):
        assert message == (
            'Forbidden: changing status.devices requires resource="resourceclaims/driver",'
            ' verb="[associated-node:patch arbitrary-node:patch]" permission:'
            f' resourceclaims.resource.k8s.io "{driver}" is forbidden: User "{ACCOUNT}" cannot'
            ' associated-node:patch resource "resourceclaims/driver" in API group'
            ' "resource.k8s.io" in the namespace "default": why'
        )
    for verb in ("associated-node:patch", "arbitrary-node:patch"):
        assert problems(Asked(verb), new, old) == []


@pytest.mark.parametrize(
    ("user", "term", "is_on_node"),
    [
        pytest.param(ON_NODE, {"matchFields": [field()]}, True, id="on the node"),
        pytest.param(User("u", extra={NODE: ("n",)}), {"matchFields": [field()]}, False,
                     id="no service account"),
        pytest.param(User(ACCOUNT), {"matchFields": [field()]}, False, id="on no node"),
        pytest.param(User(ACCOUNT, extra={NODE: ("m",)}), {"matchFields": [field()]}, False,
                     id="on another node"),
        pytest.param(User(ACCOUNT, extra={NODE: ("n", "m")}), {"matchFields": [field()]}, False,
                     id="on two nodes"),
        pytest.param(ON_NODE, {"matchFields": [field(values=["n", "m"])]}, False, id="two names"),
        pytest.param(ON_NODE, {"matchFields": [field(operator="NotIn")]}, False, id="another one"),
        pytest.param(ON_NODE, {"matchFields": [field(key="x")]}, False, id="another field"),
        pytest.param(ON_NODE, {"matchFields": [field(), field()]}, False, id="two fields"),
        pytest.param(ON_NODE, {"matchFields": [field()], "matchExpressions": [{"key": "a"}]}, False,
                     id="labels too"),
        pytest.param(ON_NODE, {}, False, id="no fields"),
    ],
)  # fmt: skip
def test_a_driver_on_the_only_node_needs_the_right_for_that_node(user, term, is_on_node):
    for terms in ([term], [term, term]):
        chosen = {"allocation": allocation(*terms)}
        asked = Asked()
        problems(asked, on("d", **chosen), on(**chosen), user=user)
        verbs = [each.verb for each in asked.accesses]
        associated = ["associated-node:patch"] if is_on_node and len(terms) == 1 else []
        assert verbs == [*associated, "arbitrary-node:patch"]
