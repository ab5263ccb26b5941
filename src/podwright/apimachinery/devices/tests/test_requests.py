"""Claims of pods, what they request, and constraints over attributes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import (
    EXTENDED_RESOURCE_CLAIM,
    MissingClaimError,
    claim_without_users,
    claims_of_pod,
    generated_claims,
    is_reserved_for,
    preference_score,
    requests_of,
)
from podwright.apimachinery.devices.requests import (
    Constraint,
    DistinctAttribute,
    MatchAttribute,
    attribute_of,
)
from podwright.apimachinery.devices.slices import DeviceSlice, SliceDevice
from podwright.apimachinery.devices.tests.made import (
    DRIVER,
    allocated,
    claim,
    exactly,
    first_available,
    of_model,
    published,
    result,
)
from podwright.apimachinery.objects import Pod, ResourceClaim, decode_pod, with_fields
from podwright.apimachinery.schema import decode


def _pod(*entries: dict[str, Any], statuses: list[dict[str, Any]] | None = None) -> Pod:
    return decode_pod(
        {
            "metadata": {"name": "p", "namespace": "default", "uid": "uid-of-p"},
            "spec": {"containers": [{"name": "c"}], "resourceClaims": list(entries)},
            "status": {"resourceClaimStatuses": statuses},
        }
    )


def _claim(name: str, **metadata: Any) -> ResourceClaim:
    of = {"name": name, "namespace": "default", "uid": f"uid-of-{name}"} | metadata
    found = decode(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": of, "spec": {}}
    )
    assert isinstance(found, ResourceClaim)
    return found


def _owner(uid: str, *, controller: bool = True) -> list[dict[str, Any]]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    return [owner | ({"controller": True} if controller else {})]


_NAMED = {"name": "e", "resourceClaimName": "x"}
_GENERATED = {"name": "e", "resourceClaimTemplateName": "t"}
_STATUS = {"name": "e", "resourceClaimName": "x"}


def test_the_claims_of_a_pod_are_in_the_order_of_its_entries() -> None:
    claims = [_claim("z"), _claim("x", ownerReferences=_owner("uid-of-p")), _claim("a")]
    pod = _pod(
        {"name": "1", "resourceClaimName": "z"},
        {"name": "2", "resourceClaimTemplateName": "t"},
        {"name": "3", "resourceClaimTemplateName": "t"},
        {"name": "4", "resourceClaimName": "a"},
        statuses=[{"name": "3", "resourceClaimName": "x"}, {"name": "2"}],
    )
    by_key = {each.key: each for each in claims}
    assert claims_of_pod(pod, by_key.get) == claims, "the second entry needs none"
    assert generated_claims(pod) == {"2": None, "3": "x"}
    assert generated_claims(_pod()) == {}


@pytest.mark.parametrize(
    ("entry", "statuses", "metadata", "text"),
    [
        pytest.param(
            {"name": "e"},
            None,
            {},
            'pod "default/p", spec.resourceClaim "e": none of the supported fields are set',
            id="neither name nor template",
        ),
        pytest.param(
            _GENERATED,
            [{"name": "other", "resourceClaimName": "x"}],
            {},
            'pod "default/p": ResourceClaim not created yet',
            id="not generated yet",
        ),
        pytest.param(
            {"name": "e", "resourceClaimName": "y"},
            None,
            {},
            'could not find ResourceClaim "default/y"',
            id="unknown",
        ),
        pytest.param(
            _NAMED,
            None,
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            'resourceclaim "x" is being deleted',
            id="being deleted",
        ),
        pytest.param(
            _GENERATED,
            [_STATUS],
            {},
            "ResourceClaim default/x was not created for Pod default/p (Pod is not owner)",
            id="without owner",
        ),
        pytest.param(
            _GENERATED,
            [_STATUS],
            {"ownerReferences": _owner("uid-of-another")},
            "ResourceClaim default/x was not created for Pod default/p (Pod is not owner)",
            id="of a pod of the same name",
        ),
        pytest.param(
            _GENERATED,
            [_STATUS],
            {"ownerReferences": _owner("uid-of-p", controller=False)},
            "ResourceClaim default/x was not created for Pod default/p (Pod is not owner)",
            id="not its controller",
        ),
    ],
)
def test_the_first_problem_ends_the_walk(
    entry: dict[str, Any],
    statuses: list[dict[str, Any]] | None,
    metadata: dict[str, Any],
    text: str,
) -> None:
    found = _claim("x", **metadata)
    pod = _pod(entry, {"name": "missing", "resourceClaimName": "missing"}, statuses=statuses)
    with pytest.raises(MissingClaimError) as raised:
        claims_of_pod(pod, {found.key: found}.get)
    assert str(raised.value) == text


def test_a_named_claim_may_have_any_owner() -> None:
    found = _claim("x", ownerReferences=_owner("uid-of-another"))
    assert claims_of_pod(_pod(_NAMED), {found.key: found}.get) == [found]


# ---------------------------------------------------------------- users


def _used(*uids: str, **metadata: Any) -> ResourceClaim:
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in uids]
    status = {
        "allocation": {"devices": {"results": [result("d")]}},
        "reservedFor": users,
        "devices": [{"driver": DRIVER, "pool": "p", "device": "d"}],
    }
    of = {"name": "c", "namespace": "default", "uid": "uid-of-c"} | metadata
    found = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": of,
            "spec": {},
            "status": status,
        }
    )
    assert isinstance(found, ResourceClaim)
    return found


def test_the_last_user_gives_the_devices_back() -> None:
    claim = _used("a", "b")
    one = claim_without_users(claim, {"b", "z"})
    assert one is not None
    assert [user.uid for user in one.status.reserved_for] == ["a"]
    assert one.status.allocation == claim.status.allocation
    assert one.status.devices == claim.status.devices
    last = claim_without_users(claim, {"a", "b"})
    assert last is not None
    assert (last.status.reserved_for, last.status.allocation, last.status.devices) == ((), None, ())
    assert claim_without_users(claim, {"z"}) is claim


def test_a_claim_for_extended_resources_goes_with_its_pod() -> None:
    special = {"annotations": {EXTENDED_RESOURCE_CLAIM: "true"}, "ownerReferences": _owner("a")}
    assert claim_without_users(_used("a", **special), {"a"}) is None
    assert claim_without_users(_used("a", **special), {"b"}) is not None
    ordinary = _used("a", ownerReferences=_owner("a"))
    assert claim_without_users(ordinary, {"a"}) is not None
    without_owner = _used("a", annotations={EXTENDED_RESOURCE_CLAIM: "true"})
    assert claim_without_users(without_owner, {"a"}) is not None
    otherwise = _used("a", annotations={EXTENDED_RESOURCE_CLAIM: "no"}, ownerReferences=_owner("a"))
    assert claim_without_users(otherwise, {"a"}) is not None


def test_a_claim_is_reserved_for_a_pod_by_uid() -> None:
    assert is_reserved_for(_used("x", "uid-of-p"), _pod())
    assert not is_reserved_for(_used("x", "p"), _pod())
    assert not is_reserved_for(_used(), _pod())


# ---------------------------------------------------------------- requests


def test_requests_are_read_in_order_with_their_alternatives() -> None:
    read = claim(
        "c", exactly("b", 3, adminAccess=True), first_available("a", exactly("y"), exactly("x"))
    )
    plain, either = requests_of(read.spec)
    assert (plain.name, plain.has_alternatives) == ("b", False)
    (choice,) = plain.choices
    assert (choice.own_name, choice.full_name, choice.count) == ("b", "b", 3)
    assert (choice.is_admin, choice.has_admin_field) == (True, True)
    assert (either.name, either.has_alternatives) == ("a", True)
    assert [each.full_name for each in either.choices] == ["a/y", "a/x"]
    assert [each.own_name for each in either.choices] == ["y", "x"]
    assert not any(each.has_admin_field for each in either.choices)
    assert [each.is_admin for each in either.choices] == [False, False]
    assert requests_of(read.spec) is requests_of(read.spec), "read once"
    (denied,) = requests_of(claim("c", exactly(adminAccess=False)).spec)
    assert (denied.choices[0].is_admin, denied.choices[0].has_admin_field) == (False, True)
    (unknown,) = requests_of(claim("c", {"name": "u"}).spec)
    assert (unknown.name, unknown.choices, unknown.has_alternatives) == ("u", (), False)


def test_the_score_is_that_of_the_allocated_alternatives() -> None:
    requests = [
        first_available("a", *(exactly(name) for name in "xyz")),
        exactly("b"),
        first_available("c", exactly("x"), exactly("y")),
    ]
    asked = claim("c", *requests)
    assert preference_score(asked) == 0
    names = "a/z", "a/z", "b", "c/x"
    results = [result(f"d{number}", request=name) for number, name in enumerate(names)]
    status = allocated("c", *results).status.allocation
    assert preference_score(with_fields(asked, "status", allocation=status)) == 6 + 8


# ---------------------------------------------------------------- attributes


def _device(attributes: dict[str, Any]) -> SliceDevice:
    return DeviceSlice(published({"name": "d", "attributes": attributes})).devices[0]


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({f"{DRIVER}/a": {"string": "x"}}, ("string", "x")),
        ({f"{DRIVER}/a": {"string": ""}}, ("string", "")),
        ({"a": {"int": 0}}, ("int", 0)),
        ({"a": {"bool": False}}, ("bool", False)),
        ({"a": {"version": "1.0.0"}}, ("version", "1.0.0")),
        ({"a": {}}, ("", None)),
        ({f"{DRIVER}/a": {"int": 1}, "a": {"int": 2}}, ("int", 1)),
        ({"b": {"int": 2}}, None),
        ({"other.example.com/a": {"int": 1}}, None),
    ],
)
def test_an_attribute_is_found_by_its_full_or_its_bare_name(
    attributes: dict[str, Any], value: tuple[str, Any] | None
) -> None:
    assert attribute_of(_device(attributes), f"{DRIVER}/a") == value


def test_a_bare_name_is_that_of_the_drivers_domain() -> None:
    device = _device({"a": {"int": 1}})
    assert attribute_of(device, "other.example.com/a") is None
    assert attribute_of(device, "a") == ("int", 1)
    assert attribute_of(device, DRIVER) is None


def _accepted(constraint: Constraint, *values: dict[str, Any]) -> list[bool]:
    return [
        constraint.add(f"r{number}", "", _device({"a": value}))
        for number, value in enumerate(values)
    ]


def test_a_match_is_of_type_and_value() -> None:
    def match() -> Constraint:
        return MatchAttribute(f"{DRIVER}/a", ())

    assert _accepted(match(), {"int": 1}, {"int": 1}, {"int": 2}) == [True, True, False]
    assert _accepted(match(), {"int": 1}, {"bool": True}) == [True, False]
    assert _accepted(match(), {"string": "1.0.0"}, {"version": "1.0.0"}) == [True, False]
    for least in ({"int": 0}, {"bool": False}, {"string": ""}):
        assert _accepted(match(), least, least, {"int": 2}) == [True, True, False], least
        assert _accepted(match(), {}, least) == [True, False], least
    assert _accepted(match(), {"int": 0}, {"bool": False}) == [True, False]
    assert _accepted(match(), {}, {}) == [True, False], "values of unknown types equal nothing"


def test_distinct_values_differ_in_type_or_value() -> None:
    def distinct() -> Constraint:
        return DistinctAttribute(f"{DRIVER}/a", ())

    assert _accepted(distinct(), {"int": 1}, {"int": 2}, {"int": 1}) == [True, True, False]
    assert _accepted(distinct(), {"int": 1}, {"bool": True}) == [True, True]
    for least in ({"int": 0}, {"bool": False}, {"string": ""}):
        assert _accepted(distinct(), {"int": 2}, least, least) == [True, True, False], least
        assert _accepted(distinct(), {}, least) == [True, True], least
        assert _accepted(distinct(), least, {}) == [True, False], least
    assert _accepted(distinct(), {}, {}) == [True, False]
    assert _accepted(distinct(), {"int": 1}, {}) == [True, False]


def test_a_constraint_forgets_the_devices_that_are_removed() -> None:
    match = MatchAttribute(f"{DRIVER}/a", ("r", "s/x"))
    one, two = _device({"a": {"int": 1}}), _device({"a": {"int": 2}})
    assert match.add("other", "", two), "it does not concern other requests"
    assert match.add("r", "", one)
    assert match.add("s", "x", one)
    assert match.add("s", "y", two)
    assert not match.add("s", "x", two)
    match.remove("s", "x")
    match.remove("other", "")
    assert not match.add("r", "", two), "the first device is still there"
    match.remove("r", "")
    assert match.add("r", "", two)
    distinct = DistinctAttribute(f"{DRIVER}/a", ())
    assert distinct.add("r", "", one)
    assert distinct.add("s", "", two)
    distinct.remove("s", "")
    assert distinct.add("s", "", two)
    assert not distinct.add("t", "", one)


def test_of_one_request_only_the_last_value_is_remembered() -> None:
    # As upstream: two devices of one request have the same value if another was between them.
    distinct = DistinctAttribute(f"{DRIVER}/a", ())
    one, two = _device({"a": {"int": 1}}), _device({"a": {"int": 2}})
    assert [distinct.add("r", "", each) for each in (one, one, two, one)] == [
        True,
        False,
        True,
        True,
    ]


def test_a_constraint_needs_the_attribute() -> None:
    for kind in (MatchAttribute, DistinctAttribute):
        assert not kind(f"{DRIVER}/other", ()).add(
            "r", "", DeviceSlice(published(of_model("d", "x"))).devices[0]
        )
