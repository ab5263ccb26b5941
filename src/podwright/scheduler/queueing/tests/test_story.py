"""The log of the queue's operations on pods."""

from __future__ import annotations

from podwright.scheduler.queueing.rules import Story


def test_all_touches_are_known_until_one_is_dropped():
    story = Story(3)
    assert story.since(None) == []
    for number in range(2):
        story.record(number, "default/a", "activeQ", "PodAdd")
    assert [touch[0] for touch in story.since(None) or ()] == [1, 0]
    story.record(2, "default/a", "activeQ", "PodAdd")
    assert story.since(None) is None


def test_the_touches_after_one_that_was_dropped_are_not_known():
    story = Story(2)
    story.record(0, "default/a", "activeQ", "PodAdd")
    first = story.latest
    story.record(1, "default/b", "activeQ", "PodAdd")
    assert [touch[1] for touch in story.since(first) or ()] == ["default/b"]
    story.record(2, "default/c", "activeQ", "PodAdd")
    assert story.since(first) is None
