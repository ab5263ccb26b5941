"""Laws of patches and of the managers of fields, for random histories of several managers."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.properties.effort import effort

from podwright.apimachinery.patching import (
    ApplyConflictError,
    PatchError,
    applied,
    custom_object_type,
    json_patched,
    merge_patched,
    object_type,
    strategic_merged,
    with_managed_fields,
)
from podwright.apimachinery.schema import built_in

pytestmark = pytest.mark.property

Document = dict[str, Any]

MANAGERS = st.sampled_from(("one", "two", "three"))
DATA = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"), max_size=4)


def type_of(api_version: str, kind: str) -> Any:
    """Return the type of a built-in kind."""
    found = built_in().find(api_version, kind)
    assert found is not None
    return object_type(found)


CONFIG_MAP = type_of("v1", "ConfigMap")
POD = type_of("v1", "Pod")


def time(step: int) -> str:
    """Return the time of a step."""
    return f"2026-01-01T{step // 3600:02d}:{step // 60 % 60:02d}:{step % 60:02d}Z"


class FlatHistory(RuleBasedStateMachine):
    """Writes of a ConfigMap beside a model that knows only keys and owners."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0
        self.live: Document = {}
        self.data: dict[str, str] = {}
        self.owners: dict[tuple[str, str], set[str]] = {}

    @initialize(data=DATA, manager=MANAGERS)
    def create(self, data: dict[str, str], manager: str) -> None:
        document = config_map({"z": "0", **data})
        self.live = with_managed_fields(CONFIG_MAP, None, document, manager, now=time(0))
        self.live["metadata"]["uid"] = "u"
        self.data = document["data"]
        self.owners = {(manager, "Update"): set(self.data)}

    @rule(data=DATA, manager=MANAGERS, force=st.booleans())
    def apply(self, data: dict[str, str], manager: str, force: bool) -> None:
        self.step += 1
        me = (manager, "Apply")
        others = {key: owned for key, owned in self.owners.items() if key != me}
        changed = {key for key in data if self.data.get(key) != data[key]}
        taken = {key for key in changed if any(key in owned for owned in others.values())}
        after: Document | None = None
        try:
            after = applied(
                CONFIG_MAP, self.live, config_map(data), manager, force=force, now=time(self.step)
            )
        except ApplyConflictError as conflicts:
            refused = {one.field for one in conflicts.conflicts}
        else:
            refused = set()
        expected = set() if force else {f".data.{key}" for key in taken}
        assert refused == expected
        if after is None:
            return
        given_up = self.owners.get(me, set()) - data.keys()
        gone = {key for key in given_up if not any(key in owned for owned in others.values())}
        self.data = {key: one for key, one in (self.data | data).items() if key not in gone}
        self.owners = {key: owned - taken for key, owned in others.items()} | {me: set(data)}
        self.live = after
        again = applied(CONFIG_MAP, after, config_map(data), manager, now=time(self.step + 9))
        assert again is after

    @rule(data=DATA, manager=MANAGERS)
    def update(self, data: dict[str, str], manager: str) -> None:
        self.step += 1
        new = {**self.live, "data": {"z": "0", **data}}
        self.live = with_managed_fields(CONFIG_MAP, self.live, new, manager, now=time(self.step))
        changed = {key for key, one in new["data"].items() if self.data.get(key) != one}
        left = {key: (owned - changed) & new["data"].keys() for key, owned in self.owners.items()}
        me = (manager, "Update")
        if self.is_tracked:
            left[me] = left.get(me, set()) | changed
        self.data, self.owners = new["data"], left

    @property
    def is_tracked(self) -> bool:
        return bool(self.live["metadata"].get("managedFields"))

    @invariant()
    def owners_are_those_of_the_model(self) -> None:
        if not self.live:
            return
        assert (self.live.get("data") or {}) == self.data
        found = {
            (one["manager"], one["operation"]): {
                key[2:] for key in one["fieldsV1"].get("f:data", {}) if key != "."
            }
            for one in self.live["metadata"].get("managedFields", [])
        }
        expected = {key: owned for key, owned in self.owners.items() if owned}
        assert {key: owned for key, owned in found.items() if owned} == expected


def config_map(data: dict[str, str]) -> Document:
    """Return a ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": dict(data),
    }


FlatHistory.TestCase.settings = effort(40, stateful_step_count=12)
TestFlatHistory = FlatHistory.TestCase


# ------------------------------------------------------------------------------- objects

NAMES = st.sampled_from("abc")
SMALL = st.sampled_from(("x", "y"))


def items(value: st.SearchStrategy[Document], key: str) -> st.SearchStrategy[list[Document]]:
    """Return lists of objects with different keys."""
    return st.lists(value, max_size=3, unique_by=lambda one: one[key])


ENV = st.fixed_dictionaries({"name": NAMES}, optional={"value": SMALL})
PORTS = st.fixed_dictionaries(
    {"containerPort": st.sampled_from((80, 443))}, optional={"name": SMALL}
)
CONTAINERS = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "image": SMALL,
        "args": st.lists(SMALL, max_size=2),
        "env": items(ENV, "name"),
        "ports": items(PORTS, "containerPort"),
        "resources": st.fixed_dictionaries(
            {}, optional={"requests": st.dictionaries(SMALL, SMALL, max_size=2)}
        ),
    },
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "containers": items(CONTAINERS, "name"),
        "hostname": SMALL,
        "nodeSelector": st.dictionaries(NAMES, SMALL, max_size=2),
        "overhead": st.dictionaries(NAMES, SMALL, max_size=2),
        "tolerations": st.lists(st.fixed_dictionaries({"key": SMALL}), max_size=2),
    },
)
METADATA = st.fixed_dictionaries(
    {"name": st.just("p")},
    optional={
        "labels": st.dictionaries(NAMES, SMALL, max_size=2),
        "finalizers": st.lists(NAMES, max_size=3, unique=True),
    },
)


@st.composite
def pods(draw: st.DrawFn) -> Document:
    """Return parts of a pod."""
    document: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": draw(METADATA)}
    if draw(st.booleans()):
        document["spec"] = draw(SPECS)
    return document


FREE = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | SMALL,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
THING = custom_object_type("example.com/v1", "Thing", None)
THINGS = st.dictionaries(NAMES, FREE, max_size=3).map(
    lambda spec: {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": spec,
    }
)
WRITES = st.one_of(
    st.tuples(st.just("apply"), MANAGERS, st.just(POD), pods(), st.booleans()),
    st.tuples(st.just("update"), MANAGERS, st.just(POD), pods(), st.booleans()),
)
FREE_WRITES = st.one_of(
    st.tuples(st.just("apply"), MANAGERS, st.just(THING), THINGS, st.booleans()),
    st.tuples(st.just("update"), MANAGERS, st.just(THING), THINGS, st.booleans()),
)


def written(live: Document | None, write: Any, now: str) -> Document:
    """Return an object after a write."""
    verb, manager, of, document, force = write
    if verb == "apply":
        return applied(of, live, document, manager, force=force, now=now)
    metadata = dict(document["metadata"])
    if live is not None:
        metadata["managedFields"] = live["metadata"].get("managedFields")
    new = {**document, "metadata": metadata}
    return with_managed_fields(of, live, new, manager, now=now)


def is_in(part: Any, whole: Any) -> bool:
    """Whether an object has what another one says; items of lists that are merged have keys."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(is_in(one, whole.get(key)) for key, one in part.items() if one)
    if isinstance(part, list) and isinstance(whole, list):
        keys = [name for name in ("containerPort", "name") if part and name in part[0]]
        if keys and isinstance(part[0], dict):
            by_key = {one.get(keys[0]): one for one in whole}
            return all(is_in(one, by_key.get(one[keys[0]])) for one in part)
        return all(one in whole for one in part)
    return bool(part == whole)


def check_history(writes: list[Any]) -> None:
    """Make writes one after the other, with the laws after each."""
    live: Document | None = None
    for step, write in enumerate(writes):
        before = copy.deepcopy((live, write[3]))
        try:
            after = written(live, write, time(step))
        except ApplyConflictError:
            assert live is not None
            assert write[0] == "apply"
            assert not write[4]
            forced = written(live, (*write[:4], True), time(step))
            after = forced
        assert (live, write[3]) == before, "an argument was changed"
        live = {**after, "metadata": {**after["metadata"], "uid": "u"}}
        if write[0] == "apply" and "managedFields" in live["metadata"]:
            assert applied(write[2], live, write[3], write[1], now=time(step + 9)) is live
        check_entries(live)


def check_entries(document: Document) -> None:
    """Check that entries are sorted, different, and not empty."""
    entries = document["metadata"].get("managedFields", [])
    keys = [(one["manager"], one["operation"]) for one in entries]
    assert len(set(keys)) == len(keys)
    operations = [one["operation"] for one in entries]
    assert operations == sorted(operations)
    assert all(one["fieldsV1"] for one in entries)


@effort(80)
@given(st.lists(WRITES, min_size=1, max_size=6))
def test_histories_of_pods(writes: list[Any]) -> None:
    check_history(writes)


@effort(80)
@given(st.lists(FREE_WRITES, min_size=1, max_size=6))
def test_histories_of_objects_without_a_schema(writes: list[Any]) -> None:
    check_history(writes)


@effort(80)
@given(pods(), pods())
def test_a_forced_apply_gives_what_it_says_and_keeps_the_rest(one: Document, two: Document) -> None:
    live = {**applied(POD, None, one, "one", now=time(0))}
    after = applied(POD, live, two, "two", force=True, now=time(1))
    for name in ("spec", "metadata"):
        assert is_in(two.get(name) or {}, after.get(name) or {})
    # Taking back all of it leaves at least the fields that the first manager kept.
    back = applied(POD, after, {**two, "metadata": {"name": "p"}, "spec": {}}, "two", now=time(2))
    again = applied(POD, back, one, "one", force=True, now=time(3))
    assert is_in(one.get("spec") or {}, again.get("spec") or {})


# ------------------------------------------------------------------------------- patches


def rfc_7386(target: Any, patch: Any) -> Any:
    """Return what the pseudo code of RFC 7386 gives, with upstream's reading of lists.

    Objects in a list lose their nulls, unless the list takes the place of an object.
    """
    if isinstance(patch, list) and not isinstance(target, dict):
        return [rfc_7386(None, each) for each in patch]
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = rfc_7386(result.get(name), value)
    return result


OBJECTS = st.dictionaries(NAMES, FREE, max_size=3)


@effort(150)
@given(OBJECTS, OBJECTS)
def test_merge_patches_follow_the_rfc(document: Document, patch: Document) -> None:
    before = copy.deepcopy((document, patch))
    patched = merge_patched(document, patch)
    assert patched == rfc_7386(document, patch)
    assert merge_patched(patched, patch) == rfc_7386(patched, patch)
    assert (document, patch) == before


@effort(80)
@given(pods(), pods())
def test_a_strategic_merge_patch_twice_is_one(document: Document, patch: Document) -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    before = copy.deepcopy((document, patch))
    once = strategic_merged(kind, document, patch)
    assert strategic_merged(kind, once, patch) == once
    assert is_in(patch, once)
    assert (document, patch) == before


POINTERS = st.lists(st.sampled_from(("a", "b", "c", "0", "1", "-")), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
OPERATIONS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(("add", "remove", "replace", "move", "copy", "test")),
        "path": POINTERS,
    },
    optional={"value": FREE, "from": POINTERS},
)


@pytest.mark.parametrize("size", [1, 3])
def test_json_patches_never_change_their_arguments(size: int) -> None:
    @effort(100)
    @given(OBJECTS, st.lists(OPERATIONS, min_size=size, max_size=size))
    def check(document: Document, patch: list[Document]) -> None:
        before = copy.deepcopy((document, patch))
        with contextlib.suppress(PatchError):
            assert isinstance(json_patched(document, patch), dict)
        assert (document, patch) == before

    check()
