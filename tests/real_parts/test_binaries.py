"""Where binaries are found, and what is said when they are absent."""

from __future__ import annotations

import pytest
from tests.real_parts.binaries import AbsentBinaryError, cache_folder, find, main


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path


def test_the_folder_of_kubebuilder_comes_first(empty_cache, monkeypatch):
    for folder in (empty_cache / "assets", cache_folder()):
        folder.mkdir(parents=True)
        (folder / "etcd").touch()
    assert find("etcd") == cache_folder() / "etcd"
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(empty_cache / "assets"))
    assert find("etcd") == empty_cache / "assets" / "etcd"


@pytest.mark.usefixtures("empty_cache")
def test_an_absent_binary_is_named_with_what_to_do():
    with pytest.raises(AbsentBinaryError, match=r"kubectl is not in .*: run `make real-parts`"):
        find("kubectl")


def test_a_machine_without_go_is_reported(empty_cache, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(empty_cache))
    assert main(["kubectl"]) == 3
    assert "install Go 1.26" in capsys.readouterr().err


@pytest.mark.usefixtures("empty_cache")
def test_kwok_has_versions_of_its_own():
    assert cache_folder("kwok") != cache_folder("kubectl")
