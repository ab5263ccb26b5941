"""The log of the queue's operations on pods."""

from __future__ import annotations

import inspect

from podwright.scheduler.queueing import SchedulingQueue
from podwright.scheduler.queueing.rules import Story
from podwright.scheduler.queueing.tests.pods import make_pod


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


def test_the_touches_after_one_that_never_was_are_not_known():
    story = Story(5)
    for number in range(2):
        story.record(number, "default/a", "activeQ", "PodAdd")
    # The same tuple is meant, and not an equal one: two operations may be alike.
    assert story.since((0, "default/a", "activeQ", "PodAdd")) is None
    assert story.since((7, "default/b", "activeQ", "PodAdd")) is None


def test_a_queue_keeps_ten_thousand_operations_unless_it_is_given_another_number():
    assert inspect.signature(SchedulingQueue).parameters["story_limit_count"].default == 10_000
    queue = SchedulingQueue(story_limit_count=2)
    for name in ("a", "b", "c"):
        queue.add(make_pod(name), 0)
    assert [len(queue.story(f"default/{name}")) for name in ("a", "b", "c")] == [0, 1, 1]
