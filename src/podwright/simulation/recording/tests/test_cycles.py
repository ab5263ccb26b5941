"""The cycles of a log, by pod."""

from __future__ import annotations

from podwright.simulation.recording.explanations.explain import Cycles
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod


def test_the_cycles_of_a_name_are_read_from_the_blocks_with_the_name():
    recorded = Recorded()
    recorded.put(make_node("n1", cpu="4"))
    log = recorded.run.log
    for name in ("web-1", "web-2", "other"):
        recorded.attempt(make_pod(name, cpu="1"))
        log.flush()
    every, named = Cycles(log), Cycles(log, naming="web-1")
    assert [*every.pods] == ["default/web-1", "default/web-2", "default/other"]
    assert [*named.pods] == ["default/web-1"]
    assert named.of("default/web-1") == every.of("default/web-1") != ()
    assert [*Cycles(log, naming="web").pods] == ["default/web-1", "default/web-2"]
    assert not Cycles(log, naming="missing").pods
