"""The state that plugins keep in a cycle, and who shares it."""

from __future__ import annotations

import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Cycle
from podwright.scheduler.framework.cycle import StateKey
from podwright.scheduler.framework.status import MissingStateError
from podwright.testing import make_pod

COUNT: StateKey[int] = StateKey("PreCount")
LIST: StateKey[Cloned] = StateKey("PreList", "no {} yet")


class Cloned:
    """State that is copied where a cycle is tried out."""

    def __init__(self, *entries: int) -> None:
        self.entries = list(entries)

    def clone(self) -> Cloned:
        return Cloned(*self.entries)


def cycle() -> Cycle:
    made = Cycle(make_pod("web"), Cluster())
    made.write(COUNT, 1)
    made.write(LIST, Cloned(1))
    return made


def test_what_was_written_is_read() -> None:
    made = cycle()
    assert (made.read(COUNT), made.find(COUNT)) == (1, 1)


@pytest.mark.parametrize(
    ("key", "message"),
    [(COUNT, 'reading "PreCount" from cycleState: not found'), (LIST, 'no "PreList" yet')],
)
def test_what_was_not_written_is_missing(key: StateKey[object], message: str) -> None:
    made = Cycle(make_pod("web"), Cluster())
    assert made.find(key) is None
    with pytest.raises(MissingStateError) as caught:
        made.read(key)
    assert str(caught.value) == message


def test_a_cycle_of_another_pod_with_the_key_shares_the_state() -> None:
    made, other = cycle(), make_pod("other")
    assert made.of(made.pod) is made
    shared = made.of(other)
    assert shared.pod is other
    shared.write(COUNT, 2)
    assert made.read(COUNT) == 2


def test_a_cycle_of_its_own_has_a_copy_of_the_state() -> None:
    made = cycle()
    own = made.own(make_pod("other"))
    own.write(COUNT, 2)
    assert (made.read(COUNT), own.read(LIST)) == (1, made.read(LIST))


def test_a_clone_copies_the_values_that_can_be_cloned() -> None:
    made = cycle()
    clone = made.clone()
    clone.write(COUNT, 2)
    clone.read(LIST).entries.append(2)
    assert (made.read(COUNT), made.read(LIST).entries) == (1, [1])
    assert clone.read(LIST).entries == [1, 2]
