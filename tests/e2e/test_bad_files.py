"""Files that are no input: every command says so on a line with the file's name, with status 2."""

from __future__ import annotations

import gzip
import json

import pytest
from tests.e2e.command_line import QUICKSTART, run

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
CONTENTS = {
    "list of null": b"[null]",
    "not UTF-8": json.dumps(POD).encode().replace(b"web", b"w\xff"),
    "a key that is not UTF-8": b'{"\xff": 1}',
    "truncated": json.dumps(POD).encode()[:-9],
    "nested too deeply": b"[" * 100_000,
    "truncated gzip": gzip.compress(json.dumps(POD).encode())[:-9],
    "control characters": bytes(range(32)),
    "a huge number": b'{"apiVersion": "v1", "kind": "Pod", "metadata": ' + b"9" * 5000 + b"}",
    "wrong kinds of values": b'{"apiVersion": 1, "kind": [], "metadata": null, "items": 3}',
}
COMMANDS = [
    "schedule {}",
    f"schedule {QUICKSTART} -c {{}}",
    f"schedule {QUICKSTART} --policy {{}}",
    f"schedule {QUICKSTART} --plugin {{}}",
    "explain web-0 {}",
    "explain web-0 --run {}",
    "simulate {} --until 1m",
    f"simulate {QUICKSTART} --until 1m --events {{}}",
    "simulate --resume {}",
    "diff {0} {0}",
    "compare-rules {}",
    "convert {} -o kss",
    "shadow {}",
    "config show {}",
    "run show {}",
    "report {}",
    "replay {} --server http://127.0.0.1:1",
    "clock show --kubeconfig {}",
    "import --kubeconfig {}",
    "up {} --port 0",
]


def kinds_of_path(folder):
    """Yield paths that are no files of the expected content, by what is wrong with them."""
    for what, content in CONTENTS.items():
        path = folder / f"{what.replace(' ', '-')}.json"
        path.write_bytes(content)
        yield what, path
    run_folder = folder / "run"
    run_folder.mkdir()
    (run_folder / "manifest.json").write_bytes(b'{"format": 1, "podwright": "\xff"}')
    yield "a run whose manifest is not UTF-8", run_folder
    yield "a missing file", folder / "missing.json"
    (folder / "empty").mkdir()
    yield "an empty folder", folder / "empty"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_no_input_is_one_clear_error(command, tmp_path):
    for what, path in kinds_of_path(tmp_path):
        if command.startswith("convert") and path.suffix != ".json":
            continue  # folders without objects are converted to nothing
        result = run(command.format(path), status=2)
        assert result.stderr.strip(), what
        assert "defect" not in result.stderr, what
