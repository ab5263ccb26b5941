"""Run folders of formats before the first release are refused; their logs replay as before."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.e2e.command_line import run

import podwright as pw
from podwright.simulation.recording.log.log_format import decode_actions
from podwright.simulation.recording.log.replay import Replay
from podwright.testing import make_node

ARCHIVE = Path(__file__).parent / "run_folders/format-3.tar.xz"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "run"


def test_an_old_folder_is_refused_in_one_line(old):
    found = run(f"run show {old}", status=2)
    written = (old / "manifest.json").read_bytes()
    by = msgspec.json.decode(written)["podwright"]
    line = (
        f"{old} is in format 3, written by podwright {by}; podwright {pw.__version__} reads"
        " format 6: run it again in another folder. It was left as it is"
    )
    assert " ".join(found.stderr.split()) == f"error: {line}"
    assert found.stdout == ""
    for call in (
        lambda: pw.Run.open(old),
        lambda: pw.simulate([make_node("n")], output=old, resume=True),
    ):
        with pytest.raises(pw.RunError) as refused:
            call()
        assert str(refused.value) == line
    assert (old / "manifest.json").read_bytes() == written


_LATER: dict[str, tuple[str, ...]] = {
    "EmitEvent": ("resource_version",),
    "Condition": ("observed_generation",),
    "PatchPodStatus": ("condition_types",),
}
"""Fields that actions have since the folders were written."""


def plain(value: Any) -> Any:
    """Return a part of an action as plain data, without the later fields."""
    if isinstance(value, msgspec.Struct):
        name = type(value).__name__
        fields = set(value.__struct_fields__) - set(_LATER.get(name, ()))
        return name, {each: plain(getattr(value, each)) for each in sorted(fields)}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return value


def test_the_log_of_an_old_folder_replays_with_the_same_actions(old):
    replay = Replay(pw.DecisionLog.open(str(old / "log")), is_checked=False)
    count = 0
    while (step := replay.step()) is not None:
        entry, actions = step
        assert plain(actions) == plain(decode_actions(entry.actions)), entry.index
        count += 1
    assert count > 200
