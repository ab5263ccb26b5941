"""What an allocation writes into claims, and whether its devices are ready."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import (
    UnsupportedSelectorError,
    allocation_results,
    has_binding_conditions,
    has_timed_out,
    readiness,
)
from podwright.apimachinery.devices.tests.made import (
    DRIVER,
    claim,
    device_class,
    exactly,
    first_available,
    index_of,
    published,
    result,
    search,
)
from podwright.apimachinery.objects import (
    AllocationResult,
    Object,
    ResourceClaim,
    encode,
    with_fields,
)
from podwright.apimachinery.schema import decode

_WAITING: dict[str, Any] = {
    "bindingConditions": ["Ready", "Linked"],
    "bindingFailureConditions": ["Failed"],
}


def _results(*of: Object, node: str = "n", labels: dict[str, str] | None = None) -> Any:
    claims = [each for each in of if isinstance(each, ResourceClaim)]
    index = index_of(*(each for each in of if not isinstance(each, ResourceClaim)))
    solution = search(index, *claims, node=node, labels=labels).run()
    assert solution is not None
    return allocation_results(solution, claims, index.classes, node)


def _document(of: AllocationResult) -> Any:
    """Return an allocation as its claim has it."""
    found = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {},
        }
    )
    assert isinstance(found, ResourceClaim)
    return encode(with_fields(found, "status", allocation=of))["status"]["allocation"]


# ---------------------------------------------------------------- devices


def test_each_result_has_what_was_asked_and_what_was_found() -> None:
    tolerations = [{"key": "k", "operator": "Exists"}]
    (found,) = _results(
        published({"name": "a"} | _WAITING, "b"),
        claim(
            "c",
            exactly("plain", adminAccess=True, tolerations=tolerations),
            first_available("r", exactly("x")),
        ),
    )
    assert _document(found)["devices"]["results"] == [
        {
            "request": "plain",
            "driver": DRIVER,
            "pool": "p",
            "device": "a",
            "adminAccess": True,
            "tolerations": tolerations,
        }
        | _WAITING,
        {"request": "r/x", "driver": DRIVER, "pool": "p", "device": "b"},
    ]


def test_a_share_has_an_id_and_all_capacities() -> None:
    shared = {
        "name": "a",
        "allowMultipleAllocations": True,
        "capacity": {
            "memory": {"value": "4Gi"},
            "cores": {"value": "8", "requestPolicy": {"default": "2", "validValues": ["2", "8"]}},
        },
    }
    asked = exactly("r", 1, capacity={"requests": {"memory": "1Gi"}})
    two = claim("c", asked, asked | {"name": "s"})
    (found,) = _results(published(shared), two)
    one, other = found.devices.results
    assert one.consumed_capacity == {"memory": "1Gi", "cores": "2"} == other.consumed_capacity
    assert one.share_id != other.share_id
    parts = [len(part) for part in one.share_id.split("-")]
    assert parts == [8, 4, 4, 4, 12]
    assert one.share_id[14] == "4"
    assert one.share_id[19] == "a"
    assert int(one.share_id.replace("-", ""), 16)
    (again,) = _results(published(shared), two)
    assert again == found, "a run can be repeated"
    (elsewhere,) = _results(published(shared), claim("d", asked))
    assert elsewhere.devices.results[0].share_id != one.share_id
    (plain,) = _results(published("a"), claim("c", exactly()))
    assert plain.devices.results[0].share_id is None


@pytest.mark.parametrize(
    ("requested", "consumed"),
    [
        pytest.param("4500M", "5G", id="a multiple of thousands"),
        pytest.param("9500M", "9765625Ki", id="also of 1024"),
        pytest.param("1G", "1G", id="the least, which is not rounded"),
    ],
)
def test_an_amount_in_steps_has_the_form_that_servers_store(requested: str, consumed: str) -> None:
    bandwidth = {
        "value": "100G",
        "requestPolicy": {"default": "1G", "validRange": {"min": "1G", "step": "1G"}},
    }
    nic = {"name": "a", "allowMultipleAllocations": True, "capacity": {"bandwidth": bandwidth}}
    asked = exactly("r", 1, capacity={"requests": {"bandwidth": requested}})
    (found,) = _results(published(nic), claim("c", asked))
    assert found.devices.results[0].consumed_capacity == {"bandwidth": consumed}


# ---------------------------------------------------------------- configurations


def _opaque(text: str) -> dict[str, Any]:
    return {"opaque": {"driver": DRIVER, "parameters": {"text": text}}}


def _configurations(*of: Object) -> list[tuple[str, list[str], str]]:
    (found,) = _results(published("a", "b", "c"), *of)
    return [
        (each["source"], each.get("requests", []), each["opaque"]["parameters"]["text"])
        for each in _document(found)["devices"].get("config", [])
    ]


def test_configurations_of_classes_come_before_those_of_the_claim() -> None:
    classes = [
        device_class("gpu", config=[_opaque("gpu-1"), _opaque("gpu-2")]),
        device_class("nic", config=[_opaque("nic")]),
        device_class("unused", config=[_opaque("unused")]),
    ]
    either = first_available(
        "either", exactly("no", 9, deviceClassName="unused"), exactly("yes", deviceClassName="gpu")
    )
    asked = claim(
        "c",
        exactly("first"),
        exactly("second", deviceClassName="nic"),
        either,
        config=[
            _opaque("all"),
            _opaque("two") | {"requests": ["second", "either/yes"]},
            _opaque("parent") | {"requests": ["either"]},
            _opaque("not chosen") | {"requests": ["either/no"]},
        ],
    )
    assert _configurations(*classes, asked) == [
        ("FromClass", ["first", "either/yes"], "gpu-1"),
        ("FromClass", ["first", "either/yes"], "gpu-2"),
        ("FromClass", ["second"], "nic"),
        ("FromClaim", [], "all"),
        ("FromClaim", ["second", "either/yes"], "two"),
        ("FromClaim", ["second", "either/yes"], "two"),
        ("FromClaim", ["either"], "parent"),
    ]


def test_there_are_no_configurations_without_any() -> None:
    assert _configurations(claim("c", exactly())) == []
    of_class = device_class("gpu", config=[_opaque("gpu")])
    assert _configurations(of_class, claim("c", exactly())) == [("FromClass", ["r"], "gpu")]
    of_claim = claim("c", exactly(), config=[_opaque("own")])
    assert _configurations(of_claim) == [("FromClaim", [], "own")]
    of_two = claim("c", exactly("one", deviceClassName="plain"), exactly("two"))
    assert _configurations(of_class, device_class("plain"), of_two) == [
        ("FromClass", ["two"], "gpu")
    ]


# ---------------------------------------------------------------- nodes


def _term(key: str, *values: str, field: bool = False) -> dict[str, Any]:
    operator = {"operator": "In", "values": list(values)} if values else {"operator": "Exists"}
    kind = "matchFields" if field else "matchExpressions"
    return {kind: [{"key": key} | operator]}


def _selecting(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeSelector": {"nodeSelectorTerms": list(terms)}}


_BOTH = {
    "matchExpressions": [
        *_term("zone", "y", "z")["matchExpressions"],
        *_term("rack")["matchExpressions"],
    ]
}
_LABELS = {"zone": "z", "rack": "r"}
_ONLY = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]


@pytest.mark.parametrize(
    ("slices", "count", "terms"),
    [
        pytest.param([published("a", allNodes=True)], 1, None, id="all nodes"),
        pytest.param([published("a", allNodes=True, **_selecting())], 1, None, id="no terms"),
        pytest.param([published("a")], 1, _ONLY, id="one node"),
        pytest.param(
            [published("a", allNodes=True), published("b", name="t", pool="q")],
            2,
            _ONLY,
            id="one node of one device",
        ),
        pytest.param(
            [published({"name": "a", "bindsToNode": True}, allNodes=True)],
            1,
            _ONLY,
            id="bound to the node",
        ),
        pytest.param(
            [published("a", **_selecting(_term("zone", "z")))],
            1,
            [_term("zone", "z")],
            id="a selector",
        ),
        pytest.param(
            [
                published("a", **_selecting(_term("zone", "z", "y"))),
                published("b", name="t", pool="q", **_selecting(_BOTH)),
                published("c", name="u", pool="r", **_selecting(_term("zone", "z"))),
            ],
            3,
            [
                {
                    "matchExpressions": [
                        *_term("zone", "z", "y")["matchExpressions"],
                        *_term("rack")["matchExpressions"],
                        *_term("zone", "z")["matchExpressions"],
                    ]
                }
            ],
            id="what is new of several",
        ),
        pytest.param(
            [published("a", **_selecting(_term("metadata.name", "n", field=True)))],
            1,
            _ONLY,
            id="a field",
        ),
        pytest.param(
            [published({"name": "a"} | _selecting(_term("zone")), perDeviceNodeSelection=True)],
            1,
            [_term("zone")],
            id="the device's own",
        ),
        pytest.param(
            [published({"name": "a", "nodeName": "n"}, perDeviceNodeSelection=True)],
            1,
            _ONLY,
            id="the device's own node",
        ),
    ],
)
def test_the_selector_has_the_nodes_that_reach_all_devices(
    slices: list[Object], count: int, terms: list[dict[str, Any]] | None
) -> None:
    (found,) = _results(*slices, claim("c", exactly(count=count)), labels=_LABELS)
    selector = _document(found).get("nodeSelector")
    assert (None if selector is None else selector["nodeSelectorTerms"]) == terms


_IN_ZONE = {"key": "zone", "operator": "In", "values": ["z", "y"]}
_NOT_0 = {"key": "row", "operator": "NotIn", "values": ["0"]}


@pytest.mark.parametrize(
    ("first", "other", "is_new"),
    [
        (_IN_ZONE, {"key": "zone", "operator": "In", "values": ["y", "z"]}, False),
        (_IN_ZONE, {"key": "zone", "operator": "In", "values": ["z"]}, True),
        (_IN_ZONE, {"key": "zone", "operator": "Exists"}, True),
        (_IN_ZONE, {"key": "rack", "operator": "In", "values": ["z", "y"]}, True),
        ({"key": "row", "operator": "Gt", "values": ["0"]}, _NOT_0, True),
    ],
)
def test_a_requirement_is_new_by_key_operator_or_values(
    first: dict[str, Any],
    other: dict[str, Any],
    is_new: bool,
) -> None:
    second = published("b", name="t", pool="q", **_selecting({"matchExpressions": [other]}))
    slices = published("a", **_selecting({"matchExpressions": [first]})), second
    labels = {"zone": "z", "rack": "y", "row": "1"}
    (found,) = _results(*slices, claim("c", exactly(count=2)), labels=labels)
    (term,) = _document(found)["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == ([first, other] if is_new else [first])


def test_each_claim_has_its_own_nodes() -> None:
    slices = published("a", allNodes=True), published("b", name="t", pool="q")
    one, two = _results(*slices, claim("c", exactly()), claim("d", exactly()))
    assert one.node_selector is None
    assert two.node_selector is not None


def test_a_selector_with_several_terms_is_an_error() -> None:
    several = published("a", **_selecting(_term("zone"), _term("rack")))
    with pytest.raises(UnsupportedSelectorError) as raised:
        _results(several, claim("c", exactly()), labels=_LABELS)
    assert str(raised.value) == "unsupported ResourceSlice.NodeSelector with 2 terms"


# ---------------------------------------------------------------- binding conditions


def _claimed(
    *results: dict[str, Any], at: str | None = None, **conditions: dict[str, str]
) -> ResourceClaim:
    """Return a claim; `conditions` are those of each device with a status."""
    devices = [
        {
            "driver": DRIVER,
            "pool": "p",
            "device": device,
            "conditions": [
                {"type": name, "status": status, "reason": "Because", "message": 'so "it" is'}
                for name, status in of.items()
            ],
        }
        for device, of in conditions.items()
    ]
    allocation: dict[str, Any] = {"devices": {"results": list(results)}}
    if at is not None:
        allocation["allocationTimestamp"] = at
    found = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {},
            "status": {"allocation": allocation, "devices": devices},
        }
    )
    assert isinstance(found, ResourceClaim)
    return found


_READY = {"Ready": "True", "Linked": "True"}
_A, _B = result("a", **_WAITING), result("b", **_WAITING)


@pytest.mark.parametrize(
    ("claim", "is_ready"),
    [
        pytest.param(_claimed(_A, a=_READY), True, id="all true"),
        pytest.param(_claimed(_A, a={"Ready": "True"}), False, id="one missing"),
        pytest.param(_claimed(_A, a=_READY | {"Linked": "False"}), False, id="one false"),
        pytest.param(_claimed(_A, a=_READY | {"Linked": "Unknown"}), False, id="one unknown"),
        pytest.param(_claimed(_A), False, id="no status"),
        pytest.param(_claimed(_A, b=_READY), False, id="the status of another device"),
        pytest.param(_claimed(result("a", pool="q", **_WAITING), a=_READY), False, id="of a pool"),
        pytest.param(_claimed(_A, _B, a=_READY), False, id="one device of two"),
        pytest.param(_claimed(_A, _B, a=_READY, b=_READY), True, id="both devices"),
        pytest.param(_claimed(result("b"), _A, a=_READY), True, id="one without conditions"),
        pytest.param(_claimed(result("b"), _A), False, id="the one after it has none"),
        pytest.param(_claimed(_A, a=_READY | {"Failed": "False"}), True, id="did not fail"),
        pytest.param(claim("c", exactly()), False, id="not allocated"),
    ],
)
def test_a_claim_is_ready_if_all_conditions_of_its_devices_are_true(
    claim: ResourceClaim,
    is_ready: bool,
) -> None:
    assert readiness(claim) == (is_ready, "")


def test_a_failure_has_its_reason_and_message() -> None:
    text = 'device binding failed: claim=c, reason=Because, message="so \\"it\\" is"'
    assert readiness(_claimed(_A, a=_READY | {"Failed": "True"})) == (False, text)
    assert readiness(_claimed(_B, _A, a={"Failed": "True"}, b=_READY)) == (False, text)
    assert readiness(_claimed(_B, _A, a={"Failed": "True"})) == (False, ""), "b is before it"


def test_devices_time_out_after_the_timeout() -> None:
    second = 10**9
    at = "2026-01-01T00:00:10Z"
    since_ns = 1_767_225_610 * second
    waiting = _claimed(_A, at=at)
    assert has_binding_conditions(waiting)
    assert not has_timed_out(waiting, 5 * second, since_ns + 5 * second)
    assert has_timed_out(waiting, 5 * second, since_ns + 5 * second + 1)
    plain = _claimed(result("a"), at=at)
    assert not has_binding_conditions(plain)
    assert not has_timed_out(plain, 0, since_ns + second)
    assert not has_timed_out(_claimed(_A), 0, since_ns + second)
    assert not has_binding_conditions(claim("c", exactly()))
    assert not has_timed_out(claim("c", exactly()), 0, since_ns + second)
