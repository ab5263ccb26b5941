"""Run folders of earlier versions are read, and equal today's after conversion of their texts.

The exception are stored objects, which have upstream's defaults today.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.e2e.command_line import run
from tests.e2e.run_folders.played_run import play

import podwright as pw
from podwright.apimachinery.objects import timestamp_ns
from podwright.simulation.recording import TABLES, Manifest, RunFolder
from podwright.simulation.recording.log.log_format import decode_actions
from podwright.simulation.recording.log.log_tables import tables_of_log
from podwright.simulation.recording.log.replay import Replay
from podwright.simulation.world.runs.run import SAMPLE_NS
from podwright.testing import make_node

pytest.importorskip("pyarrow")

STORED = Path(__file__).parent / "run_folders"


def replacements() -> list[tuple[str, str]]:
    lines = (STORED / "texts.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines]
    assert all(len(pair) == 2 for pair in pairs), "a line is: old, tab, new"
    return [(old, new) for old, new in pairs]


def converted(text: str) -> str:
    """Replace the changed texts, and the version that wrote the folder."""
    for old, new in replacements():
        text = text.replace(old, new)
    return re.sub(r'("podwright": )"[^"]*"', rf'\1"{pw.__version__}"', text)


def converted_rows(folder: RunFolder) -> dict[str, dict[str, list[Any]]]:
    """Return the tables as they are written today."""
    found: dict[str, dict[str, list[Any]]] = {}
    for name, types in TABLES.items():
        table = folder.read_table(name)
        found[name] = {}
        for column, kind in types.items():
            values = table.column(column)
            if kind == "time":
                found[name][column] = values.cast("int64").to_pylist()
            else:
                found[name][column] = [
                    converted(value) if isinstance(value, str) else value
                    for value in values.to_pylist()
                ]
    return found


def summary_of(folder: Path) -> dict[str, Any]:
    """Return the part of a summary that all formats have.

    Utilization came from samples, and fragmentation had another definition.
    """
    summary: dict[str, Any] = json.loads(converted((folder / "summary.json").read_text()))
    summary.pop("report", None)
    summary["utilisation"] = sorted(summary["utilisation"])
    return summary


def contains(document: Any, part: Any) -> bool:
    """Whether a document has all fields of an earlier one, with the same values."""
    if isinstance(part, dict):
        return isinstance(document, dict) and all(
            name in document and contains(document[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return len(document) == len(part) and all(map(contains, document, part))
    return bool(document == part)


def extracted(file_format: int, folder: Path) -> Path:
    with tarfile.open(STORED / f"format-{file_format}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "run"


@pytest.fixture(scope="module", params=[1, 3])
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extracted(request.param, tmp_path_factory.mktemp("old"))


def test_an_old_folder_converts_to_the_one_of_today(old, tmp_path):
    play(tmp_path / "new")
    files = {file.relative_to(old) for file in old.rglob("*") if file.is_file()}
    new_files = {
        file.relative_to(tmp_path / "new")
        for file in (tmp_path / "new").rglob("*")
        if file.is_file()
    }
    assert files == new_files
    assert pw.verify(pw.DecisionLog.open(str(tmp_path / "new" / "log"))).is_same
    tables = RunFolder.create(tmp_path / "tables", Manifest(start_ns=0))
    rows = converted_rows(RunFolder.open(old))
    # Older versions measured nodes that are not ready, too; the log has what happened.
    log = pw.DecisionLog.open(old / "log")
    end_ns = timestamp_ns(summary_of(old)["end"])
    assert end_ns is not None
    measured = tables_of_log(log, SAMPLE_NS, end_ns).rows()
    rows |= {name: measured[name] for name in ("fragmentation", "utilisation")}
    tables.write_tables(TABLES, rows)
    tables.release()
    for file in sorted(files):
        if file.name == "summary.json":
            assert summary_of(old) == summary_of(tmp_path / "new")
            continue
        if file.suffix == ".pwlog":
            continue  # it contains objects, which have upstream's defaults today
        if file.name == "objects.json":
            texts = [(old / file).read_text(), (tmp_path / "new" / file).read_text()]
            was, is_now = (json.loads(converted(text)) for text in texts)
            assert contains(is_now, was)
            continue
        now = (tmp_path / "new" / file).read_bytes()
        if file.suffix == ".parquet":
            before = (tmp_path / "tables" / file).read_bytes()
        else:
            before = converted((old / file).read_text(encoding="utf-8")).encode()
        assert before == now, file


def test_an_old_folder_is_read(old):
    manifest = RunFolder.open(old).manifest
    assert manifest.format in (1, 3)
    assert manifest.options["sampleNs"] == 60_000_000_000
    shown = run(f"run show {old}").stdout
    assert "default/first" in shown or "first" in shown
    explained = run(f"explain huge --run {old} --attempt 1", status=1).stdout
    assert "Insufficient cpu" in explained


def interrupted(folder: Path) -> Path:
    """Change a folder to that of a run that was interrupted at its end."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "interrupted"}))
    for name in ("summary.json", "metrics.prom"):
        (folder / name).unlink()
    shutil.rmtree(folder / "tables")
    return folder


@pytest.mark.parametrize("written_format", [1, 3])
def test_an_interrupted_old_run_is_shown_and_not_resumed(written_format, tmp_path):
    folder = interrupted(extracted(written_format, tmp_path))
    shown = run(f"run show {folder}").stdout
    status = (
        f"interrupted in format {written_format}, which podwright {pw.__version__} cannot resume;"
        " run it again in another folder"
    )
    assert status in " ".join(shown.split())
    assert run(f"explain huge --run {folder} --attempt 1", status=1).stdout
    opened = pw.Run.open(folder)
    assert len(opened.node_of) > 0
    with pytest.raises(pw.RunError, match="run it again in another folder"):
        pw.simulate([make_node("n")], output=folder, resume=True)


@pytest.mark.parametrize("written_format", [1, 3])
def test_an_interrupted_old_run_without_events_says_so(written_format, tmp_path):
    folder = interrupted(extracted(written_format, tmp_path))
    shutil.rmtree(folder / "log")
    refused = run(f"run show {folder}", status=2)
    message = f"{folder} has no events: the run was interrupted before it began; run it again"
    assert " ".join(refused.stderr.split()) == f"error: {message}"


def fields(value: Any) -> Any:
    """Return a value with its structs as mappings of their fields."""
    if isinstance(value, msgspec.Struct):
        return {name: fields(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return list(map(fields, value))
    if isinstance(value, dict):
        return {name: fields(each) for name, each in value.items()}
    return value


def test_the_summary_of_format_3_has_all_its_fields(tmp_path):
    folder = extracted(3, tmp_path)
    stored = pw.Run.open(folder).summary
    assert contains(fields(stored), json.loads((folder / "summary.json").read_text()))


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
