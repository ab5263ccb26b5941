"""Traces of the whole scheduler: what their server does that vectors do not show."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import encode
from podwright.testing import make_node, make_pod
from podwright.testing.parity.trace import TraceReplay


@pytest.mark.parametrize(
    ("script", "seconds"),
    [({}, {"p7": 0, "g0-10": 1}), ({"starts_by_name": True}, {"p7": 7, "g0-10": 10})],
)
def test_pods_start_in_the_order_of_their_binding_or_of_the_numbers_in_their_names(
    script: dict[str, bool], seconds: dict[str, int]
) -> None:
    objects = [encode(each) for each in (make_node("n"), *map(make_pod, seconds))]
    case = {"start": "2000-01-01T00:00:10Z", "objects": objects, "script": script, "steps": []}
    replay = TraceReplay(case)
    for _ in seconds:
        replay.begin_step(1)
        replay.do({"op": "cycle", "dt": 1})
    for name, second in seconds.items():
        pod = replay.machine.pod(f"default/{name}")
        assert pod is not None
        assert pod.status.start_time == f"2000-01-02T00:00:{second:02}Z"
