"""Whether `podwright up` collects the timeline."""

from __future__ import annotations

import pytest
from tests.e2e.command_line import run

from podwright.cli.serving import up_run
from podwright.cli.serving.up_options import UpOptions


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param("", True, id="the page plays it"),
        pytest.param("--no-ui", True, id="for other readers"),
        pytest.param("--no-timeline", False, id="switched off"),
        pytest.param("--no-scheduler", False, id="no decisions"),
    ],
)
def test_the_timeline_is_collected_unless_it_is_switched_off(options, expected, monkeypatch):
    given: list[UpOptions] = []
    monkeypatch.setattr(up_run, "run_up", given.append)
    run(f"up {options}")
    assert [each.keeps_timelines for each in given] == [expected]
