"""The reader of timelines in JavaScript has the states that the reader in Python has."""

import base64

import pytest

import podwright as pw
from podwright.simulation.recording.timelines.columns import decode_chunks, encode_chunks
from podwright.simulation.recording.timelines.feed import timeline_of_log
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.ui

STATES = """
async ({ content, times }) => {
  const { readTimeline, Player } = await import("/pictures/data/timeline_reader.js");
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const timeline = readTimeline(bytes.buffer);
  const player = new Player(timeline);
  const states = times.map((time) => {
    player.seek(BigInt(time));
    const state = [];
    timeline.subjects.forEach(([kind, name], subject) =>
      timeline.fields.forEach((field, index) => {
        const value = player.value(subject, index);
        if (value !== 0) state.push([kind, name, field, String(value)]);
      }));
    return state;
  });
  return { firstNs: String(timeline.firstNs), states };
}
"""


@pytest.fixture(scope="module")
def content():
    run = pw.simulate(
        [make_node("n1", cpu="2", memory="64Ti"), *(make_pod(f"p{i}", cpu="1") for i in range(5))],
        events=[
            {"at": "10s", "delete": "pod/p0", "gracePeriodSeconds": 0},
            {"at": "20s", "apply": make_pod("urgent", cpu="2", priority=100).raw},
            {"at": "30s", "apply": make_node("n2", cpu="8").raw},
            {"at": "40s", "delete": "node/n1"},
        ],
        until="2m",
    )
    return b"".join(encode_chunks(timeline_of_log(run.log), chunk_rows=7))


@pytest.fixture
def states(page, demo):
    """Read a timeline in the browser, and return its states at some times."""
    page.goto(f"{demo.page}/pictures/favicon.svg")

    def read(content, times):
        given = {
            "content": base64.b64encode(content).decode(),
            "times": [str(time) for time in times],
        }
        return page.evaluate(STATES, given)

    return read


def test_the_states_are_those_of_the_reader_in_python_forwards_and_backwards(content, states):
    timeline = decode_chunks(content)
    times = sorted({*timeline.times_ns.tolist(), timeline.first_ns - 1})
    times += [*reversed(times), times[len(times) // 2], times[-1]]
    found = states(content, times)
    assert found["firstNs"] == str(timeline.first_ns)
    for time, state in zip(times, found["states"], strict=True):
        values = {((kind, name), field): int(value) for kind, name, field, value in state}
        assert values == timeline.state_at(time)


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (lambda content: content[:-1], "the timeline ends within a chunk"),
        (
            lambda content: b"nonsense" + content,
            "byte 0: must be the start of a chunk of a timeline",
        ),
    ],
    ids=["cut off", "no timeline"],
)
def test_damaged_bytes_are_an_error(content, states, damaged, message):
    with pytest.raises(Exception, match=message):
        states(damaged(content), [])
