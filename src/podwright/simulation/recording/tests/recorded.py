"""A small recorded run for tests that look back: it has one of everything that can happen."""

from __future__ import annotations

from pathlib import Path

from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.world.world import World
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
START = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z


def record_run(log: Path, *, checkpoint_events: int | None = None) -> None:
    """Record a quarter of an hour.

    At first there are two nodes. `web` and `db` are placed after 10 and 20 seconds. `batch`
    fits nowhere after 30, and on the node `huge` that comes after 10 minutes. `urgent` preempts
    `web` and `db` after a minute. `held` has a gate. `hopeless` fits nowhere at any time.
    """
    world = World(
        seed=7,
        log=str(log),
        controllers=(),
        checkpoint_events=checkpoint_events,
    )
    world.add(make_node("small", cpu="2", memory="4Gi"), make_node("large", cpu="4", memory="8Gi"))
    world.add(make_pod("web", cpu="1"), at="10s")
    world.add(make_pod("db", cpu="3"), at="20s")
    world.add(make_pod("batch", cpu="8"), at="30s")
    world.add(make_pod("held", gates=["example.com/wait"]), at="40s")
    world.add(make_pod("urgent", cpu="4", priority=100), at="1m")
    world.add(make_pod("hopeless", cpu="100"), at="2m")
    world.add(make_node("huge", cpu="16", memory="64Gi"), at="10m")
    world.run_until("15m")
    world.log.close()


def recorded_log(folder: Path, *, checkpoint_events: int | None = None) -> DecisionLog:
    """Record the run and open its log."""
    record_run(folder, checkpoint_events=checkpoint_events)
    return DecisionLog.open(folder)
