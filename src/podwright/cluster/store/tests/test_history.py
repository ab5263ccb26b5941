"""The window of changes and the names of objects, compared with plain lists of all of them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.properties.effort import effort

from podwright.cluster.store import Expired, GroupKind, Names, at_version, change_of
from podwright.cluster.store.history import History
from podwright.cluster.store.tests.documents import CONFIG_MAP, EVENT, a_config_map

pytestmark = pytest.mark.property

POD = ("", "Pod")
FIRST = 1
THE_MAP = a_config_map()

kinds = st.sampled_from([POD, CONFIG_MAP, EVENT])
limits = st.sampled_from([None, 1, 2, 3, 5])
steps = st.integers(-2, 9)


class Histories(RuleBasedStateMachine):
    """A history and the list of all changes that there ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History(FIRST)
        self.kinds: list[GroupKind] = []  # of version FIRST + 1, and so on
        self.sizes: list[int] = []
        self.oldest = self.durable = self.rested = FIRST

    @property
    def current(self) -> int:
        return FIRST + len(self.kinds)

    def expected(self, version, kind, horizon):
        until = min(horizon, self.current)
        return [
            each
            for each in range(version + 1, until + 1)
            if kind in (None, self.kinds[each - FIRST - 1])
        ]

    @rule(added=st.lists(st.tuples(kinds, st.integers(0, 9)), min_size=1, max_size=6))
    def append(self, added):
        for kind, size_bytes in added:
            version = self.current + 1
            new = at_version(THE_MAP, version)
            self.history.append(change_of(version, kind, new.key, None, new), size_bytes)
            self.kinds.append(kind)
            self.sizes.append(size_bytes)

    @rule()
    def end_a_batch(self):
        self.history.durable = self.durable = self.current

    @precondition(lambda self: self.durable > self.oldest)
    @rule(step=st.integers(0, 3))
    def discard(self, step):
        version = min(self.oldest + step, self.durable)
        self.history.discard_before(version)
        self.history.discard_before(version - 1)  # nothing is left to discard
        self.oldest = version

    @rule(step=steps, ahead=steps, kind=st.none() | kinds, limit=limits)
    def read(self, step, ahead, kind, limit):
        version, horizon = self.oldest + step, self.oldest + ahead
        for call, until in (
            (lambda: self.history.after(version, kind, horizon, limit), horizon),
            (lambda: self.history.since(version, kind, limit), self.current),
        ):
            if version < self.oldest:
                with pytest.raises(Expired):
                    call()
                continue
            expected = self.expected(version, kind, until)
            assert [each.version for each in call()] == expected[:limit]
        if self.oldest <= version and horizon <= self.current:
            has_after = self.history.has_after(version, kind, horizon)
            assert has_after is bool(self.expected(version, kind, horizon))

    @rule(kind=st.none() | kinds, step=steps)
    def summarize(self, kind, step):
        left = self.expected(self.oldest, kind, self.current)
        assert self.history.last_of(kind) == (left[-1] if left else self.oldest)
        until = self.history.until(self.oldest + step)
        expected = range(self.oldest + 1, min(self.oldest + step, self.current) + 1)
        assert [each.version for each in until] == list(expected)

    @rule(count=st.integers(0, 9), more=st.sampled_from([-1, 0, 1]))
    def fit(self, count, more):
        """Limits at and beside the size of the last changes."""
        first = max(self.current - count, self.oldest)
        max_bytes = max(sum(self.sizes[first - FIRST :]) + more, 0)
        version = self.oldest
        while sum(self.sizes[version - FIRST :]) > max_bytes:
            version += 1
        assert self.history.version_within(max_bytes) == version

    @rule(kept=st.integers(0, 3), limit=st.integers(1, 4))
    def rest(self, kept, limit):
        start = max(self.rested, self.oldest)
        end = max(start, min(self.durable - kept, start + limit))
        found = [each.version for each in self.history.to_rest(kept, limit)]
        assert found == list(range(start + 1, end + 1))
        self.rested = max(self.rested, end)

    @invariant()
    def agree(self):
        history = self.history
        window = (history.oldest, history.durable, history.current)
        assert window == (self.oldest, self.durable, self.current)
        assert len(history) == self.current - self.oldest
        assert history.size_bytes == sum(self.sizes[self.oldest - FIRST :])


TestHistories = Histories.TestCase
TestHistories.settings = effort(60, stateful_step_count=30)


class NamesOfObjects(RuleBasedStateMachine):
    """Names by namespace, and a dictionary of them all."""

    places = ("a", "a-b", "b")
    keys = st.builds("{}/{}".format, st.sampled_from(places), st.sampled_from("xyz"))

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.model: dict[str, int] = {}

    @rule(key=keys, version=st.integers(0, 9))
    def write(self, key, version):
        assert self.names.version_of(key) == self.model.get(key)
        if key not in self.model:
            self.names.add(key)
            assert self.names.version_of(key) == 0
        self.names.set_version(key, version)
        self.model[key] = version

    @rule(key=keys)
    def remove(self, key):
        if self.model.pop(key, None) is not None:
            self.names.remove(key)

    @rule()
    def restore(self):
        self.names = Names(self.model)

    @rule(key=st.none() | keys, namespace=st.none() | st.sampled_from(places))
    def read(self, key, namespace):
        here = [
            each
            for each in sorted(self.model)
            if namespace is None or each.startswith(f"{namespace}/")
        ]
        later = [each for each in here if key is None or each > key]
        assert list(self.names.after(key, namespace)) == later
        assert self.names.count(namespace) == len(here)
        if key is not None:
            assert self.names.count_after(key, namespace) == len(later)

    @invariant()
    def agree(self):
        assert list(self.names.items()) == sorted(self.model.items())
        assert set(self.names.namespaces) == {key.rpartition("/")[0] for key in self.model}
        self.names.validate(self.model)


TestNamesOfObjects = NamesOfObjects.TestCase
TestNamesOfObjects.settings = effort(50, stateful_step_count=30)


def test_names_without_a_namespace_are_in_order():
    names = Names({"b": 2, "a": 1, "c": 3})
    names.remove("b")
    assert list(names.items()) == [("a", 1), ("c", 3)]
    assert list(names.after("a", None)) == ["c"]
    assert (names.count(None), names.count_after("a", None)) == (2, 1)
