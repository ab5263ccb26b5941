"""Files and folders that options name are looked up before anything is run."""

from __future__ import annotations

import pytest

from podwright.cli.tests.served import command

ABSENT, IS_FOLDER, IS_FILE = "does not exist", "is a directory", "is a file"


@pytest.mark.parametrize(
    ("line", "option", "what", "is_wrong"),
    [
        ("study fgd file --published none", "--published", "File 'none'", ABSENT),
        ("study fgd file --published folder", "--published", "File 'folder'", IS_FOLDER),
        ("study fgd file --out file", "--out", "Directory 'file'", IS_FILE),
        ("sweep none --out a", "PLAN", "File 'none'", ABSENT),
        ("sweep folder --out a", "PLAN", "File 'folder'", IS_FOLDER),
        ("sweep file --out file", "--out", "Directory 'file'", IS_FILE),
        ("sweep file --out a --report folder", "--report", "File 'folder'", IS_FOLDER),
        ("tune none --out a", "PLAN", "File 'none'", ABSENT),
        ("tune file --out file", "--out", "Directory 'file'", IS_FILE),
        ("trace generate --model none --pods 1 --out a", "--model", "File 'none'", ABSENT),
        ("trace generate --model folder --pods 1 --out a", "--model", "File 'folder'", IS_FOLDER),
        ("trace generate --model file --pods 1 --out folder", "--out", "File 'folder'", IS_FOLDER),
        ("trace cut file --out folder", "--out", "File 'folder'", IS_FOLDER),
        ("scheduler-perf file --data-items-dir file", "--data-items-dir", "Directory 'file'",
         IS_FILE),
        ("up --images none", "--images", "File 'none'", ABSENT),
        ("up --images folder", "--images", "File 'folder'", IS_FOLDER),
        ("up --replay none", "--replay", "File 'none'", ABSENT),
        ("up --replay folder", "--replay", "File 'folder'", IS_FOLDER),
        ("up --runs none", "--runs", "Directory 'none'", ABSENT),
        ("up --runs file", "--runs", "Directory 'file'", IS_FILE),
    ],
)  # fmt: skip
def test_a_file_or_folder_of_an_option_that_cannot_be_used_is_named(
    line, option, what, is_wrong, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    printed, errors, status = command(line)
    assert (printed, status) == ("", 2)
    assert errors.splitlines()[-1] == f"error: Invalid value for '{option}': {what} {is_wrong}."
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}
