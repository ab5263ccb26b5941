"""The timeline of a recorded run, by replaying it once.

A log that has dropped its oldest events is replayed from its first checkpoint, whose state is the
first of the timeline.
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.scheduler.framework import Plugin
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.replay import Replay
from podwright.simulation.recording.timelines.columns import Timeline
from podwright.simulation.recording.timelines.feed import TimelineFeed


def timeline_of_log(log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> Timeline:
    """Return the timeline of a recorded run, by replaying it.

    Parameters
    ----------
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.

    Raises
    ------
    LogError
        If the run cannot be replayed.
    """
    run = Replay(log, until=0, plugins=plugins)
    feed = TimelineFeed(run.machine)
    while (entry := run.peek()) is not None:
        feed.advance(entry.now_ns)
        run.step()
        feed.handled(entry.event)
    return feed.timeline()
