"""The reader in JavaScript, that of the web page, has the states that the reader in Python has."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import podwright as pw
from podwright.recording.timelines import decode_chunks, encode_chunks, timeline_of_log
from podwright.testing import make_node, make_pod

READER = Path(__file__).parents[4] / "src/podwright/ui/pictures/timeline_reader.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const { readTimeline, Player } = await import(process.argv[1]);
const file = readFileSync(process.argv[2]);
const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
const timeline = readTimeline(buffer);
const player = new Player(timeline);
const states = JSON.parse(process.argv[3]).map((time) => {
  player.seek(BigInt(time));
  const state = [];
  timeline.subjects.forEach(([kind, name], subject) =>
    timeline.fields.forEach((field, index) => {
      const value = player.value(subject, index);
      if (value !== 0) state.push([kind, name, field, value]);
    }));
  return state;
});
console.log(JSON.stringify({ firstNs: String(timeline.firstNs), states }));
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")


def run_node(content: bytes, folder: Path, times: list[str]) -> subprocess.CompletedProcess[str]:
    reader = folder / "timeline_reader.mjs"  # the suffix makes it a module for Node.js
    shutil.copyfile(READER, reader)
    file = folder / "timeline"
    file.write_bytes(content)
    command = ["node", "--input-type=module", "--eval", SCRIPT]
    arguments = [reader.as_uri(), str(file), json.dumps(times)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def content() -> bytes:
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


@needs_node
def test_the_states_are_those_of_the_reader_in_python_forwards_and_backwards(content, tmp_path):
    timeline = decode_chunks(content)
    times = sorted({*timeline.times_ns.tolist(), timeline.first_ns - 1})
    times += [*reversed(times), times[len(times) // 2], times[-1]]
    done = run_node(content, tmp_path, [str(time) for time in times])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["firstNs"] == str(timeline.first_ns)
    for time, state in zip(times, found["states"], strict=True):
        values = {((kind, name), field): value for kind, name, field, value in state}
        assert values == timeline.state_at(time)


@needs_node
@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (lambda content: content[:-1], "the timeline ends within a chunk"),
        (lambda content: b"nonsense" + content, "byte 0: a chunk of a timeline is expected"),
    ],
    ids=["cut off", "no timeline"],
)
def test_damaged_bytes_are_an_error(content, tmp_path, damaged, message):
    done = run_node(damaged(content), tmp_path, [])
    assert done.returncode != 0
    assert message in done.stderr
