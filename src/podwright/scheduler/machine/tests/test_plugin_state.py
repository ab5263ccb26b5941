"""Which plugins have state that a new instance would not have."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine.plugin_state import PluginStates
from podwright.testing import make_pod

SEEN: list[str] = []


def note(name: str) -> None:
    SEEN.append(name)


class Holder:
    """Something of the user's own inside a plugin."""

    total = 0

    def __init__(self) -> None:
        self.values = {"a": {1, 2}}
        self.lock = threading.Lock()


class Example(Plugin):
    """Has an attribute of every kind."""

    name = "Example"
    shared: ClassVar[dict[str, int]] = {}

    def __init__(self) -> None:
        self.limits = {"red": 4, "blue": 2}
        self.count = 0
        self.names = {"x", "y"}
        self.holder = Holder()
        self.used = Counter(red=1)
        self.recent = deque([1, 2], maxlen=4)
        self.draw = random.Random(7)
        self.numbers = np.zeros(4, dtype=np.int64)
        self.parts = np.array([{"a": 1}, None], dtype=object)
        self.last: Any = None
        self.bound = self.helper

    def helper(self) -> None:
        note("helper")

    def total(self) -> int:
        return Holder.total


CHANGES: list[tuple[str, Callable[[Example], Any]]] = [
    ("a number", lambda plugin: setattr(plugin, "count", 1)),
    ("a number of another type", lambda plugin: setattr(plugin, "count", False)),
    ("a dictionary", lambda plugin: plugin.limits.update(red=5)),
    ("a set", lambda plugin: plugin.names.add("z")),
    ("what an attribute holds", lambda plugin: plugin.holder.values["a"].add(3)),
    ("a counter", lambda plugin: plugin.used.update(red=1)),
    ("a queue", lambda plugin: plugin.recent.append(3)),
    ("a generator of numbers", lambda plugin: plugin.draw.random()),
    ("an array", lambda plugin: plugin.numbers.__setitem__(1, 5)),
    (
        "the shape of an array",
        lambda plugin: setattr(plugin, "numbers", np.zeros((2, 2), np.int64)),
    ),
    ("the type of an array", lambda plugin: setattr(plugin, "numbers", np.zeros(4, np.uint64))),
    ("an object of an array", lambda plugin: plugin.parts.__setitem__(1, "b")),
    ("what an object of an array holds", lambda plugin: plugin.parts[0].update(a=2)),
    ("an object of the cluster", lambda plugin: setattr(plugin, "last", make_pod("a"))),
    ("a new attribute", lambda plugin: setattr(plugin, "other", 1)),
    ("a private one that ends in two underscores", lambda plugin: setattr(plugin, "_other__", 1)),
    ("one that begins with two", lambda plugin: setattr(plugin, "__other", 1)),
    ("an attribute of the class", lambda plugin: plugin.shared.update(a=1)),
    ("an attribute of a class that it names", lambda _: setattr(Holder, "total", 1)),
    ("a variable that a function it calls changes", lambda plugin: plugin.helper()),
    ("something that cannot be looked into", lambda p: setattr(p, "last", (x for x in "ab"))),
]


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    monkeypatch.setattr(Example, "shared", {})
    monkeypatch.setattr(Holder, "total", 0)
    SEEN.clear()


@pytest.mark.parametrize("change", [pytest.param(change, id=what) for what, change in CHANGES])
def test_what_a_new_instance_would_not_have_is_state(change):
    plugin = Example()
    states = PluginStates([plugin])
    assert states.changed() == ()
    change(plugin)
    assert states.changed() == ("Example",)


def test_state_that_is_as_it_was_at_first_is_none():
    plugin = Example()
    states = PluginStates([plugin])
    plugin.used["red"] += 1
    plugin.names.add("z")
    plugin.parts[0]["b"] = 2
    assert states.changed() == ("Example",)
    plugin.used["red"] -= 1
    plugin.names.remove("z")
    del plugin.parts[0]["b"]
    plugin.numbers = plugin.numbers.copy()
    assert states.changed() == ()


def test_the_machine_that_a_plugin_is_in_is_not_its_state():
    plugin = Example()
    states = PluginStates([plugin])
    plugin.handle = object()  # type: ignore[assignment]
    assert states.changed() == ()


def test_a_plugin_of_which_nothing_can_be_known_counts_as_one_with_state():
    class Odd(Plugin):
        name = "Odd"

        def __init__(self) -> None:
            self.lines = (line for line in "ab")

    assert PluginStates([Odd()]).changed() == ("Odd",)


def test_a_plugin_that_says_itself_what_counts_is_taken_at_its_word():
    class Caching(Plugin):
        name = "Caching"

        def __init__(self) -> None:
            self.cache = itertools.count()

        def remembers(self) -> bool:
            return False

    plugin = Caching()
    states = PluginStates([plugin])
    next(plugin.cache)
    assert states.changed() == ()


class Slotted(Plugin):
    """Has slots, of which one has no value at first."""

    __slots__ = ("given", "later")
    name = "Slotted"

    def __init__(self) -> None:
        self.given = 1
        self.later: int


def test_a_slot_without_a_value_is_state_when_it_gets_one() -> None:
    plugin = Slotted()
    states = PluginStates([plugin])
    assert states.changed() == ()
    plugin.later = 2
    assert states.changed() == ("Slotted",)
    del plugin.later
    assert states.changed() == ()
    plugin.given = 2
    assert states.changed() == ("Slotted",)
