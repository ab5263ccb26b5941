"""The devices of the cluster as they will be: claims, what is allocated, and what changed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.properties.effort import effort

from podwright.apimachinery.devices import EXTENDED_RESOURCE_CLAIM, Pool
from podwright.apimachinery.devices.index import DeviceIndex
from podwright.apimachinery.devices.tests.made import (
    allocated,
    allocation,
    claim,
    consuming,
    counters,
    device_class,
    exactly,
    index_of,
    of_model,
    published,
    result,
    taint_rule,
)
from podwright.apimachinery.objects import (
    AllocationResult,
    Object,
    Pod,
    ResourceClaim,
    ResourceSlice,
    decode_pod,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.testing import make_pod


def _version(of: ResourceClaim, version: int | str) -> ResourceClaim:
    return with_fields(of, "metadata", resource_version=str(version))


def _used(index: DeviceIndex) -> dict[str, int]:
    return {device.device: count for device, count in index.allocated.dedicated.items()}


# ---------------------------------------------------------------- what is allocated


def test_admins_allocate_nothing_and_shares_are_added_up() -> None:
    def share(device: str, amount: str) -> dict[str, Any]:
        return result(device, shareID="s", consumedCapacity={"memory": amount})

    one = allocated("one", "a", result("b", adminAccess=True), share("c", "2"), share("c", "1"))
    two = allocated("two", share("c", "4"), result("d", shareID="t"))
    index = index_of(one, two)
    known = {device.device: device for device in index.allocated.all_used()}
    assert sorted(known) == ["a", "c", "d"]
    assert _used(index) == {"a": 1}
    assert index.allocated.consumed == {known["c"]: {"memory": 7 * 10**9}}
    assert index.allocated.is_shared(known["d"])
    assert not index.allocated.is_shared(known["a"])
    index.delete(one)
    assert index.allocated.consumed == {known["c"]: {"memory": 4 * 10**9}}
    index.delete(two)
    assert index.allocated.consumed == {}
    assert not list(index.allocated.all_used())


def test_an_allocation_in_the_place_of_another_is_not_read() -> None:
    index = index_of(allocated("c", "a"))
    index.put(allocated("c", "b"))
    assert _used(index) == {"a": 1}
    index.put(claim("c", exactly()))
    assert _used(index) == {}
    index.put(allocated("c", "b"))
    assert _used(index) == {"b": 1}


def test_a_claim_of_another_uid_is_another_claim() -> None:
    index = index_of(allocated("c", "a"))
    index.assume(_version(allocated("c", "a"), 9))
    index.put(with_fields(allocated("c", "b"), "metadata", uid="another"))
    assert _used(index) == {"b": 1}
    assert index.assumptions() == ()


def test_pending_devices_are_counted_once_when_the_claim_is_seen() -> None:
    index = index_of(claim("c", exactly()))
    index.set_pending("uid-of-c", allocation("a"))
    assert index.pending("uid-of-c") == allocation("a")
    assert _used(index) == {"a": 1}
    index.put(allocated("c", "a"))
    assert _used(index) == {"a": 1}
    assert index.remove_pending("uid-of-c")
    assert _used(index) == {"a": 1}
    assert index.pending("uid-of-c") is None
    assert not index.remove_pending("uid-of-c")
    index.put(claim("c", exactly()))
    assert _used(index) == {}


def test_a_claim_that_was_allocated_elsewhere_has_both_until_pending_ends() -> None:
    index = index_of(claim("c", exactly()), claim("d", exactly()))
    index.set_pending("uid-of-c", allocation("a"))
    index.put(allocated("c", "b"))
    index.put(allocated("d", "a"))
    assert _used(index) == {"a": 2, "b": 1}
    index.remove_pending("uid-of-c")
    assert _used(index) == {"a": 1, "b": 1}


def test_a_deallocated_claim_keeps_what_is_pending() -> None:
    index = index_of(claim("c", exactly()), claim("d", exactly()))
    for name, device in (("c", "a"), ("d", "b")):
        index.set_pending(f"uid-of-{name}", allocation(device))
        index.put(allocated(name, device))
    index.put(claim("d", exactly()))
    assert _used(index) == {"a": 1, "b": 1}
    index.remove_pending("uid-of-d")
    index.remove_pending("uid-of-c")
    assert _used(index) == {"a": 1}


def test_a_written_claim_is_read_until_it_is_seen() -> None:
    seen = _version(claim("c", exactly()), 5)
    index = index_of(seen)
    index.assume(_version(allocated("c", "a"), 4))
    assert index.claim("default/c") is seen, "older than what was seen"
    written = _version(allocated("c", "a"), 7)
    index.assume(written)
    assert index.claim("default/c") is written
    assert index.claims["default/c"] is seen
    assert index.assumptions() == (written,)
    index.put(_version(claim("c", exactly()), 6))
    assert index.claim("default/c") is written, "what is seen is older"
    assert _used(index) == {"a": 1}
    index.restore("default/c")
    assert _used(index) == {}
    index.assume(written)
    same = _version(allocated("c", "a"), 7)
    index.put(same)
    assert index.claim("default/c") is same
    assert index.assumptions() == ()
    index.assume(_version(allocated("x", "b"), 1))
    assert index.claim("default/x") is None, "an unknown claim"
    assert _used(index) == {"a": 1}


def test_versions_without_numbers_always_replace() -> None:
    index = index_of(_version(claim("c", exactly()), "b"))
    written = _version(allocated("c", "a"), "a")
    index.assume(written)
    assert index.claim("default/c") is written
    index.put(_version(claim("c", exactly()), 3))
    assert index.assumptions() == ()


def _special(name: str, *, controller: bool = True, annotation: str = "true") -> ResourceClaim:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-of-p"}
    found = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"uid-of-{name}",
                "annotations": {EXTENDED_RESOURCE_CLAIM: annotation},
                "ownerReferences": [owner | {"controller": controller}],
            },
            "spec": {},
        }
    )
    assert isinstance(found, ResourceClaim)
    return found


def _pod(name: str = "p", uid: str = "uid-of-p") -> Pod:
    return decode_pod({"metadata": {"name": name, "namespace": "default", "uid": uid}, "spec": {}})


def test_the_claim_for_extended_resources_is_found_by_its_pod() -> None:
    index = index_of(
        _special("no", annotation="false"), _special("nor", controller=False), claim("c", exactly())
    )
    assert index.special_claim_of(_pod()) is None
    special = _special("x")
    index.put(special)
    assert index.special_claim_of(_pod()) is special
    assert index.special_claim_of(_pod(uid="another")) is None
    assert index.special_claim_of(_pod(name="q")) is None
    index.put(_special("y"))
    index.delete(special)
    found = index.special_claim_of(_pod())
    assert found is not None
    assert found.metadata.name == "y"
    index.delete(_special("y"))
    assert index.special_claim_of(_pod()) is None


@pytest.mark.parametrize(
    "owned",
    [
        pytest.param(_special("no", annotation="false"), id="for no extended resources"),
        pytest.param(_special("nor", controller=False), id="without a controller"),
        pytest.param(claim("c", exactly()), id="without an owner"),
    ],
)
@pytest.mark.parametrize("is_beside_another", [False, True])
def test_a_claim_that_is_not_special_can_be_deleted(
    owned: ResourceClaim, is_beside_another: bool
) -> None:
    special = _special("x")
    index = index_of(owned, *([special] if is_beside_another else []))
    index.delete(owned)
    assert index.claim(owned.key) is None
    assert index.special_claim_of(_pod()) is (special if is_beside_another else None)


def test_claims_with_equal_specs_share_a_number() -> None:
    index = index_of()
    one, two = claim("one", exactly()), claim("two", exactly())
    other = claim("three", exactly(count=2))
    assert index.spec_number(one) == index.spec_number(one) == index.spec_number(two)
    assert index.spec_number(other) != index.spec_number(one)
    reserved = with_fields(one, "status", reserved_for=())
    assert index.spec_number(reserved) == index.spec_number(one)
    made = type(one)(metadata=two.metadata, spec=two.spec)
    assert index.spec_number(made) == index.spec_number(one), "as written or not"


# ---------------------------------------------------------------- objects


@pytest.mark.parametrize(
    ("obj", "is_empty"),
    [
        (claim("c", exactly()), False),
        (device_class(), False),
        (published("a"), False),
        (make_pod("p"), True),
    ],
)
def test_it_is_empty_without_claims_classes_and_slices(
    obj: Object,
    is_empty: bool,
) -> None:
    index = DeviceIndex()
    found = []
    for change in (index.delete, index.put, index.delete):
        change(obj)
        found.append(index.is_empty)
    assert found == [True, is_empty, True]


def test_a_class_that_changes_concerns_every_node() -> None:
    index = index_of()
    counts = index.version, index.classes_version, index.change_count
    index.put(device_class())
    assert (index.version, index.classes_version, index.change_count) == counts, "it is the same"
    for number, change in enumerate(
        (lambda: index.put(device_class("gpu", "true")), lambda: index.delete(device_class())), 1
    ):
        before = index.change_count
        change()
        assert index.changes_since(before) is None
        assert index.classes_version == counts[1] + number
        assert index.version > counts[0]
    assert index.classes == {}
    before = index.change_count
    index.delete(device_class())
    assert index.change_count == before


def test_every_change_makes_a_version() -> None:
    index = index_of()
    found = [index.version]
    for obj in (claim("c", exactly()), allocated("c", "a"), published("a"), published("b")):
        index.put(obj)
        found.append(index.version)
    index.delete(published("b"))
    found.append(index.version)
    index.delete(allocated("c", "a"))
    assert sorted({*found, index.version}) == [*found, index.version]


def test_slices_are_in_the_order_in_which_they_arrived() -> None:
    index = index_of(published("a", name="y"), published("b", name="x", pool="q"))
    assert [each.metadata.name for each in index.slice_objects()] == ["y", "x"]
    index.put(published("c", name="y"))
    assert [each.metadata.name for each in index.slice_objects()] == ["x", "y"]
    index.delete(published("b", name="x", pool="q"))
    assert [each.metadata.name for each in index.slice_objects()] == ["y"]


def test_what_is_gone_leaves_nothing_behind() -> None:
    special = _special("x")
    objects = (
        claim("c", exactly()), allocated("d", "a", result("b", shareID="s")), special,
        published("a", name="here"), published("b", name="all", pool="q", allNodes=True),
        counters(1, pool="s", slices=3), published("e", name="there", pool="s", slices=3),
        device_class("other"), taint_rule("t", "k"),
    )  # fmt: skip
    index = index_of(*objects, reads_taint_rules=True)
    index.set_pending("uid-of-c", allocation("e"))
    index.put(allocated("c", "e"))
    index.assume(_version(allocated("d", "a"), 7))
    index.remove_pending("uid-of-c")
    for obj in (*objects, device_class()):
        index.delete(obj)
    left = {name: value for name, value in vars(index).items() if isinstance(value, dict) and value}
    # Versions only grow, and specs keep their numbers.
    assert sorted(left) == ["_local_versions"]
    assert vars(index.allocated) == {"dedicated": {}, "consumed": {}, "shared": {}}
    assert index.slice_objects() == ()
    assert list(index.devices_near("n")) == []


def test_changes_are_in_the_order_of_the_nodes() -> None:
    index = index_of(
        *(published(name, name=name, slices=3, nodeName=name) for name in ("z", "y", "x"))
    )
    before = index.change_count
    index.set_pending("u", allocation("z"))
    assert index.changes_since(before) == ["x", "y", "z"]
    before = index.change_count
    index.put(published("w", name="x", slices=3, nodeName="x"))
    assert index.changes_since(before) == ["x", "y", "z"] * 2


def test_devices_near_a_node_are_those_of_all_its_slices() -> None:
    index = index_of(
        published("a", name="old"),
        published("b", name="new", generation=2, slices=3),
        published("c", name="far", nodeName="m", pool="q"),
        published("d", name="all", allNodes=True, pool="r"),
        counters(1, pool="s"),
    )
    assert sorted(each.device.name for each in index.devices_near("n")) == ["a", "b", "d"]


# ---------------------------------------------------------------- what changed


def test_a_change_names_the_nodes_that_it_concerns() -> None:
    index = index_of(
        published("a", name="here"), published("b", name="far", pool="q", nodeName="m")
    )

    def changed_by(*objects: Any, is_deleted: bool = False) -> list[str] | None:
        before = index.change_count
        for obj in objects:
            if is_deleted:
                index.delete(obj)
            else:
                index.put(obj)
        found = index.changes_since(before)
        return None if found is None else sorted(set(found))

    assert changed_by() == []
    assert changed_by(published("a2", name="here")) == ["n"]
    assert changed_by(published("b", name="far", pool="q", nodeName="o")) == ["m", "o"]
    assert changed_by(allocated("c", result("b", pool="q"))) == ["o"]
    assert changed_by(allocated("c", result("b", pool="q")), is_deleted=True) == ["o"]
    assert changed_by(claim("d", exactly())) == []
    assert changed_by(allocated("e", result("x", pool="unknown"))) == []
    assert changed_by(published("d", name="all", pool="r", allNodes=True)) is None
    assert changed_by(allocated("f", result("d", pool="r"))) is None
    assert changed_by(published("a", name="here"), is_deleted=True) == ["n"]
    assert changed_by(counters(1, "card", pool="s", slices=3)) is None, "every node sees a problem"
    part = published("x", pool="s", name="part", slices=3)
    assert changed_by(part) is None
    assert changed_by(part, is_deleted=True) is None


@pytest.mark.parametrize("where", [{}, {"nodeName": "m"}, {"allNodes": True}])
def test_an_allocation_in_a_pool_with_counters_concerns_the_nodes_of_its_devices_only(
    where: dict[str, Any],
) -> None:
    index = index_of(counters(4, **where), published(consuming("a", 1), slices=2))
    before = index.change_count
    index.set_pending("u", allocation("a"))
    assert index.changes_since(before) == ["n"]


def test_old_changes_are_forgotten() -> None:
    index = index_of(published("a"))
    start = index.change_count

    def change() -> None:
        if not index.remove_pending("u"):
            index.set_pending("u", allocation("a"))

    while index.change_count < 65_536:
        change()
    assert index.changes_since(start) == ["n"] * (65_536 - start)
    change()
    assert index.change_count == 65_537
    assert index.changes_since(start) is None
    assert index.changes_since(32_767) is None
    assert index.changes_since(32_768) == ["n"] * 32_769
    assert index.changes_since(65_535) == ["n", "n"]


# ---------------------------------------------------------------- a machine

_NODES = {"n": {"zone": "a"}, "m": {"zone": "b"}}
_DEVICES = ("a", "b", "c")
_NAMES = ("x", "y", "z")
_IN_A = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    ]
}
_WHERE: tuple[dict[str, Any], ...] = (
    {"nodeName": "n"},
    {"nodeName": "n"},
    {"nodeName": "m"},
    {"allNodes": True},
    {"nodeSelector": _IN_A},
    {"perDeviceNodeSelection": True},
)


def _described(pools: tuple[Pool, ...]) -> list[Any]:
    """Return what tells the pools of two indexes apart."""
    return [
        (
            pool.id,
            pool.is_incomplete,
            pool.invalid_reason,
            [
                (each.id, each.content, [taint.key for taint in each.device.taints])
                for each in pool.devices
            ],
            [each.id for each in pool.other_devices],
            pool.counters,
        )
        for pool in pools
    ]


class Following(RuleBasedStateMachine):
    """An index that follows changes is like one that reads everything now."""

    def __init__(self) -> None:
        super().__init__()
        self.index = index_of(reads_taint_rules=True)
        self.slices: dict[str, ResourceSlice] = {}
        self.taint_rules: dict[str, Any] = {}
        self.seen: dict[str, ResourceClaim] = {}
        self.assumed: dict[str, ResourceClaim] = {}
        self.counted: dict[str, tuple[str, AllocationResult]] = {}
        self.pending: dict[str, AllocationResult] = {}
        self.version = 0
        self.before: dict[str, Any] = {}
        self.count = self.index.change_count

    # -------------------------------------------------------- slices and rules

    @rule(
        name=st.sampled_from(_NAMES),
        pool=st.sampled_from("pq"),
        where=st.sampled_from(_WHERE),
        devices=st.lists(st.sampled_from(_DEVICES), max_size=3),
        generation=st.sampled_from((1, 1, 2)),
        slices=st.sampled_from((1, 1, 2)),
        amount=st.sampled_from((0, 0, 1)),
    )
    def publish(
        self,
        name: str,
        pool: str,
        where: dict[str, Any],
        devices: list[str],
        generation: int,
        slices: int,
        amount: int,
    ) -> None:
        of_all = [consuming(each, 1) if amount else of_model(each, "m") for each in devices]
        if "perDeviceNodeSelection" in where:
            of_all = [each | {"nodeName": "m"} for each in of_all]
        made = published(
            *of_all, name=name, pool=pool, generation=generation, slices=slices, **where
        )
        self.slices.pop(name, None)
        self.slices[name] = made
        self.index.put(made)

    @rule(pool=st.sampled_from("pq"), slices=st.sampled_from((1, 2, 2)))
    def publish_counters(self, pool: str, slices: int) -> None:
        made = counters(2, f"counters-{pool}", pool=pool, slices=slices)
        self.slices.pop(made.metadata.name, None)
        self.slices[made.metadata.name] = made
        self.index.put(made)

    @precondition(lambda self: self.slices)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.slices)))
        self.index.delete(self.slices.pop(name))

    @rule(
        name=st.sampled_from(("r", "s")), device=st.sampled_from(_DEVICES), is_there=st.booleans()
    )
    def taint(self, name: str, device: str, is_there: bool) -> None:
        made = taint_rule(name, f"k-{name}", device=device)
        if is_there:
            self.taint_rules[name] = made
            self.index.put(made)
        else:
            self.taint_rules.pop(name, None)
            self.index.delete(made)

    # -------------------------------------------------------- claims

    def _follow(self, name: str) -> None:
        now = self.assumed.get(name) or self.seen.get(name)
        found = None if now is None else now.status.allocation
        if found is None:
            self.counted.pop(name, None)
        elif name not in self.counted:
            assert now is not None
            self.counted[name] = now.metadata.uid, found

    def _claim(self, name: str, uid: str, device: str | None) -> ResourceClaim:
        self.version += 1
        made = claim(name, exactly()) if device is None else allocated(name, device)
        return with_fields(made, "metadata", uid=uid, resource_version=str(self.version))

    @rule(
        name=st.sampled_from(_NAMES),
        device=st.sampled_from((None, *_DEVICES)),
        is_another=st.sampled_from((False, False, False, True)),
    )
    def see(self, name: str, device: str | None, is_another: bool) -> None:
        old = self.seen.get(name)
        uid = f"{name}-{self.version}" if old is None or is_another else old.metadata.uid
        made = self._claim(name, uid, device)
        if old is not None and old.metadata.uid != uid:
            self.assumed.pop(name, None)
            self.seen.pop(name)
            self._follow(name)
        self.seen[name] = made
        self.assumed.pop(name, None)
        self._follow(name)
        self.index.put(made)

    @precondition(lambda self: self.seen)
    @rule(data=st.data(), device=st.sampled_from((None, *_DEVICES)))
    def write(self, data: st.DataObject, device: str | None) -> None:
        name = data.draw(st.sampled_from(sorted(self.seen)))
        made = self._claim(name, self.seen[name].metadata.uid, device)
        self.assumed.pop(name, None)
        self.assumed[name] = made
        self._follow(name)
        self.index.assume(made)

    @precondition(lambda self: self.assumed)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.assumed)))
        del self.assumed[name]
        self._follow(name)
        self.index.restore(f"default/{name}")

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.seen)))
        gone = self.seen.pop(name)
        self.assumed.pop(name, None)
        self._follow(name)
        self.index.delete(gone)

    @rule(name=st.sampled_from(_NAMES), device=st.sampled_from(_DEVICES))
    def reserve(self, name: str, device: str) -> None:
        now = self.assumed.get(name) or self.seen.get(name)
        if now is None or now.metadata.uid in self.pending or name in self.counted:
            return
        self.pending[now.metadata.uid] = allocation(device)
        self.index.set_pending(now.metadata.uid, allocation(device))

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def unreserve(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pending)))
        del self.pending[uid]
        assert self.index.remove_pending(uid)

    # -------------------------------------------------------- what must hold

    @invariant()
    def devices_are_counted_once(self) -> None:
        several = [found.devices.results[0].device for _, found in self.counted.values()]
        several += [
            found.devices.results[0].device
            for uid, found in self.pending.items()
            if (uid, found) not in self.counted.values()
        ]
        assert Counter(_used(self.index)) == Counter(several)

    @invariant()
    def claims_are_read_as_they_will_be(self) -> None:
        for name in _NAMES:
            expected = self.assumed.get(name) or self.seen.get(name)
            assert self.index.claim(f"default/{name}") is expected

    @invariant()
    def pools_are_those_of_a_new_index(self) -> None:
        new = index_of(*self.taint_rules.values(), *self.slices.values(), reads_taint_rules=True)
        new.allocated = self.index.allocated
        found: dict[str, Any] = {}
        for name, labels in _NODES.items():
            pools, state = self.index.state_of(name, dict(labels))
            others, of_others = new.state_of(name, dict(labels))
            assert _described(pools) == _described(others)
            assert state.in_use == of_others.in_use
            found[name] = _described(pools), state
        changes = self.index.changes_since(self.count)
        for name, seen in self.before.items():
            if seen != found[name]:
                assert changes is None or name in changes
        self.before, self.count = found, self.index.change_count


TestFollowing = Following.TestCase
TestFollowing.settings = effort(40, stateful_step_count=25)
