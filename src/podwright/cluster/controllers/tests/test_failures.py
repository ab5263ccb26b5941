"""A controller that fails is reported and tried again; the others go on."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import ObjectPut
from podwright.cluster.api import UpdateObject
from podwright.cluster.controllers.controller_loop import ControllerLoop
from podwright.cluster.controllers.interface import (
    Controller,
    SyncAt,
    SyncDue,
    SyncNext,
    WriteRejected,
)
from podwright.cluster.controllers.tests.staged_cluster import document

SECOND = 1_000_000_000
MAP = document("ConfigMap", "m", namespace="shop")


class _Faulty(Controller):
    """A controller that fails as often as the test says."""

    name: Any = "faulty"
    instance: Any = None
    kinds: Any = (("", "ConfigMap"),)
    failures_left = 0
    fails_at_changes = False
    due_ns: int | None = None
    syncs = 0

    def __init__(self, lister):
        super().__init__(lister)
        type(self).instance = self

    def observe(self, old, new):
        if self.fails_at_changes:
            raise LookupError("a change")
        return (new.key,)

    def sync(self, key, now_ns):
        self.syncs += 1
        if self.failures_left:
            self.failures_left -= 1
            raise ValueError("broken")
        return [] if self.due_ns is None else [self.sync_at(key, self.due_ns)]


class _Sound(_Faulty):
    name = "sound"


def a_loop(*makers: Any) -> tuple[Any, list[Any]]:
    reported: list[Any] = []
    loop = ControllerLoop(
        makers, report_failure=lambda name, key, error: reported.append((name, key, str(error)))
    )
    return loop, reported


def test_a_failing_sync_becomes_an_event_and_is_tried_again_with_back_off():
    loop, reported = a_loop(_Faulty, _Sound)
    _Faulty.instance.failures_left = 3
    loop.handle(ObjectPut(MAP), 0)
    delays = []
    now_ns = 0
    for _ in range(3):
        event, later = loop.handle(SyncNext(), now_ns)
        assert (event.reason, event.type) == ("FailedSync", "Warning")
        assert event.note == "Error syncing shop/m: ValueError: broken"
        assert isinstance(later, SyncAt)
        delays.append(later.due_ns - now_ns)
        now_ns = later.due_ns
        loop.handle(SyncDue("faulty", "shop/m"), now_ns)
        # The key of the other controller waits in the same queue.
        if len(delays) == 1:
            assert loop.handle(SyncNext(), now_ns) == []
    assert delays == [5_000_000, 10_000_000, 20_000_000]
    assert reported == [("faulty", "shop/m", "broken")] * 3
    assert loop.handle(SyncNext(), now_ns) == []
    assert _Sound.instance.syncs == 1
    # After a success, the back-off begins anew.
    _Faulty.instance.failures_left = 1
    loop.handle(ObjectPut(document("ConfigMap", "m", namespace="shop", data={"a": "b"})), now_ns)
    actions = [*loop.handle(SyncNext(), now_ns), *loop.handle(SyncNext(), now_ns)]
    assert [each.due_ns - now_ns for each in actions if isinstance(each, SyncAt)] == [5_000_000]


def test_a_sync_that_fails_while_a_later_one_is_due_is_tried_again_before():
    loop, reported = a_loop(_Faulty)
    _Faulty.instance.due_ns = SECOND
    loop.handle(ObjectPut(MAP), 0)
    assert [each.due_ns for each in loop.handle(SyncNext(), 0)] == [SECOND]
    _Faulty.instance.failures_left = 1
    loop.handle(ObjectPut(MAP), 1)
    _, later = loop.handle(SyncNext(), 1)
    assert (later.due_ns, len(reported)) == (5_000_001, 1)


def test_a_change_that_a_controller_cannot_process_reaches_the_others():
    loop, reported = a_loop(_Faulty, _Sound)
    _Faulty.instance.fails_at_changes = True
    loop.handle(ObjectPut(MAP), 0)
    assert reported == [("faulty", "shop/m", "a change")]
    loop.handle(SyncNext(), 0)
    assert _Sound.instance.syncs == 1


def write_of(controller: str) -> UpdateObject:
    return UpdateObject(MAP, "main", controller)


def test_a_rejected_write_is_tried_again_once_for_each_sync():
    loop, reported = a_loop(_Faulty)
    loop.handle(ObjectPut(MAP), 0)
    loop.handle(SyncNext(), 0)
    (later,) = loop.handle(WriteRejected(write_of("faulty"), "denied by a policy"), 0)
    assert later.due_ns == 5_000_000
    assert loop.handle(WriteRejected(write_of("faulty"), "denied by a policy"), 0) == []
    assert loop.handle(WriteRejected(write_of("another"), "denied"), 0) == []
    assert reported == [("faulty", "shop/m", "denied by a policy")]


def test_without_a_report_exceptions_pass():
    loop: Any = ControllerLoop((_Faulty,))
    _Faulty.instance.failures_left = 1
    loop.handle(ObjectPut(MAP), 0)
    with pytest.raises(ValueError, match="broken"):
        loop.handle(SyncNext(), 0)
    assert not loop.retries("faulty")
