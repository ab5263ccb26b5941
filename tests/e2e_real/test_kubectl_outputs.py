"""The comparison of kubectl's outputs: what counts as a difference, and what does not."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.e2e_real.kubectl_outputs import Output, compared

PODS = """\
NAME                       READY   AGE
applied-7d9f6c5b8-bbbbb    0/1     5s
applied-7d9f6c5b8-ccccc    1/1     12s
"""
OTHER_PODS = """\
NAME                       READY   AGE
applied-75c4bf6d9f-ddddd   1/1     1m5s
applied-75c4bf6d9f-fffff   0/1     61s
"""
EVENTS = """\
Events:
  Type    Reason  Age               From   Message
  ----    ------  ----              ----   -------
  Normal  Pulled  5s (x2 over 10s)  agent  took 3s
"""


def mattering(
    want: str, got: str, command: str = "get pods", *, head: str = ""
) -> list[str] | None:
    """Return the normalizations that make two outputs equal; None if they differ."""
    counts: Counter[str] = Counter()
    found = compared(Output(command, 0, want, head), Output(command, 0, got, head), counts)
    return None if found else sorted(counts)


@pytest.mark.parametrize(
    ("want", "got", "command"),
    [
        pytest.param("cpu: 100m\n", "cpu: 950m\n", "get x -o yaml", id="a quantity is not an age"),
        pytest.param("b\na\n", "a\nb\n", "get x -o name", id="lines have an order"),
        pytest.param("  a: 1\n", "a: 1\n", "get x -o yaml", id="spaces count"),
        pytest.param("a\n", "a\na\n", "get x", id="repeated lines count"),
        pytest.param(PODS, OTHER_PODS, "get pods --sort-by=.a", id="sorted rows keep their order"),
        pytest.param(EVENTS, EVENTS.replace("x2", "x3"), "describe pod a", id="counts of events"),
        pytest.param(EVENTS, EVENTS.replace("took 3s", "took 4s"), "describe pod a",
                     id="times in messages"),
        pytest.param("NAME   DURATION\na      5s\n", "NAME   DURATION\na      <none>\n", "get x",
                     id="an age that is missing"),
    ],
)  # fmt: skip
def test_this_is_a_difference(want, got, command):
    assert mattering(want, got, command) is None


@pytest.mark.parametrize(
    ("want", "got", "names"),
    [
        pytest.param("a\n", "a\n", [], id="equal"),
        pytest.param(PODS, OTHER_PODS, ["age", "order of drawn names", "pod name", "width"],
                     id="drawn names and ages in a table"),
        pytest.param(EVENTS, EVENTS.replace("5s (x2 over 10s)", "9s (x2 over 20s)"),
                     ["age", "width"], id="ages of events"),
        pytest.param("Waiting for a\nb\n", "b\n", ["waiting"], id="messages of a wait"),
        pytest.param('resourceVersion: "5"\n', 'resourceVersion: "17"\n', ["version of an object"],
                     id="versions"),
    ],
)  # fmt: skip
def test_this_differs_between_two_runs_of_one_cluster(want, got, names):
    assert mattering(want, got) == names


@pytest.mark.parametrize(
    ("got", "names"),
    [
        pytest.param("web   100m   1/1   5s\n", [], id="equal"),
        pytest.param("web   100m   1/1   12m\n", ["age", "width"], id="another age"),
        pytest.param("web   950m   1/1   5s\n", None, id="a quantity in another column"),
        pytest.param("web   100m   1/1   <none>\n", None, id="an age that is missing"),
        pytest.param("web   100m   1/1   5s   x\n", None, id="a column more"),
        pytest.param("web   100m   1/1   \n", None, id="an empty cell"),
    ],
)
def test_rows_without_a_head_are_compared_by_column(got, names):
    want, head = "web   100m   1/1   5s\n", "NAME   CPU   READY   AGE"
    assert mattering(want, got, "get pods --no-headers", head=head) == names
