"""Files and folders that can hold Secrets are closed to other users."""

from __future__ import annotations

import os
import stat

import pytest

import podwright as pw
from podwright._private_files import exposures, make_private_folder, write_private
from podwright.cluster.store import open_store
from podwright.online.apiserver import kubeconfig, write_kubeconfig


@pytest.fixture(autouse=True)
def ordinary_umask():
    """Set the umask that most users have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    """Return the modes of a folder and of all in it, as text, by name."""
    found = {".": folder, **{str(each.relative_to(folder)): each for each in folder.rglob("*")}}
    return {name: f"{stat.S_IMODE(path.stat().st_mode):o}" for name, path in found.items()}


def test_a_database_and_its_log_are_private(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o755)
    store = open_store(folder / "cluster.db")
    found = modes(folder)
    store.close()
    assert set(found) == {".", "cluster.db", "cluster.db-wal"}
    assert {found["cluster.db"], found["cluster.db-wal"]} == {"600"}


def test_all_of_a_run_is_private(tmp_path):
    objects = [pw.testing.make_node("n1"), pw.testing.make_pod("web")]
    pw.simulate(objects, output=str(tmp_path / "runs/first"))
    found = modes(tmp_path / "runs")
    assert {"first/manifest.json", "first/log/00000000.pwlog"} <= set(found)
    folders = {name for name in found if (tmp_path / "runs" / name).is_dir()}
    assert {found.pop(name) for name in folders} == {"700"}
    assert set(found.values()) == {"600"}


def test_a_kubeconfig_and_its_new_folder_are_private(tmp_path):
    write_kubeconfig(tmp_path / "new" / "config", kubeconfig("http://127.0.0.1:1", "token", None))
    assert modes(tmp_path / "new") == {".": "700", "config": "600"}


def test_what_exists_keeps_its_mode(tmp_path):
    file = tmp_path / "open"
    file.touch(mode=0o644)
    write_private(file, b"x")
    assert file.stat().st_mode & 0o777 == 0o644
    with pytest.raises(FileExistsError):
        make_private_folder(file)


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "expected"),
    [
        (0o600, 0o755, ""),
        (None, 0o755, ""),
        (0o644, 0o700, "mode 0644"),
        (0o640, 0o700, "chmod 600"),
        (0o600, 0o777, "can replace"),
        (None, 0o777, "chmod go-w"),
        (0o600, 0o1777, ""),
    ],
)
def test_open_files_and_their_folders_are_named(tmp_path, file_mode, folder_mode, expected):
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "cluster.db"
    if file_mode is not None:
        file.touch()
        file.chmod(file_mode)
    folder.chmod(folder_mode)
    warnings = list(exposures(None, file))
    assert [expected in each for each in warnings] == [True] * bool(expected)


def test_an_open_folder_of_runs_is_named(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o755)
    (warning,) = exposures(folder)
    assert warning.endswith(f"(mode 0755); close it with: chmod 700 {folder}")
    folder.chmod(0o700)
    assert not list(exposures(folder))
