"""The cache of one kernel: where it is, and what it loads and saves, without compiling anything."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core import caching, config

from podwright.scheduler.kernels import _cache, _compiled, division
from podwright.scheduler.kernels._cache import KernelCache

OURS: Any = inspect.unwrap(getattr(division.divide, "py_func", division.divide))
TYPES = ("int64", "int64")


def plain(number: int) -> int:
    return number


class Codegen:
    """The processor, as Numba names it."""

    def __init__(self, *magic: str) -> None:
        self._magic = magic

    def magic_tuple(self) -> tuple[str, ...]:
        return self._magic


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """A folder that is given by the environment, and no set before."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "given"))
    monkeypatch.setattr(KernelCache, "folder", None)
    _cache._opened.cache_clear()
    yield tmp_path / "given"
    _cache._opened.cache_clear()


# ------------------------------------------------------------------------------- folders


@pytest.mark.parametrize("prefix", ["", "_Present"])
def test_where_the_sets_are(prefix, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "given"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    file = str(tmp_path / "source" / "kernels.py")
    names = {
        "GivenFolder": tmp_path / "given",
        "BesideSource": tmp_path / "source" / "__pycache__",
        "UsersFolder": tmp_path / "home" / "podwright" / "kernels",
    }
    if prefix:
        names = {f"In{name}" if name != "BesideSource" else name: p for name, p in names.items()}
    for name, folder in names.items():
        locator = getattr(_cache, f"{prefix or '_'}{name}")(plain, file)
        assert locator.folder() == folder
        assert Path(locator.get_cache_path()).parent == folder


def test_the_folders_are_tried_in_order_and_those_that_exist_last():
    names = [locator.__name__ for locator in _cache.KernelCacheImpl._locator_classes]
    assert names == [
        "_GivenFolder",
        "_UsersFolder",
        "_BesideSource",
        "_PresentInGivenFolder",
        "_PresentInUsersFolder",
        "_PresentBesideSource",
    ]


@pytest.mark.parametrize("refused", [os.W_OK, os.X_OK, os.W_OK | os.X_OK])
def test_a_set_without_permissions_is_not_used(refused, tmp_path, monkeypatch):
    class InFolder(_cache._InSet):
        def folder(self):
            return tmp_path / "sets"

    InFolder().ensure_cache_path()
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & refused)
    with pytest.raises(PermissionError, match="cannot be written to"):
        InFolder().ensure_cache_path()


def test_a_set_is_made_once_and_marked_as_used(tmp_path):
    path = tmp_path / "deep" / f"{_cache.SET_PREFIX}x"
    _cache._opened.cache_clear()
    assert _cache._opened(path) == path
    assert path.is_dir()
    os.utime(path, ns=(1_000, 1_000))
    # Within a process it is opened once.
    _cache._opened(path)
    assert path.stat().st_mtime_ns == 1_000
    _cache._opened.cache_clear()
    _cache._opened(path)
    assert path.stat().st_mtime_ns > 1_000


# ------------------------------------------------------------------------------- one kernel


def test_the_cache_of_a_kernel_is_in_the_set(cache_folder):
    cache = KernelCache(plain)
    set_folder = cache_folder / f"{_cache.SET_PREFIX}{_cache.fingerprint(_cache.source_files())}"
    assert set_folder == KernelCache.folder
    assert set_folder.is_dir()
    cache._cache_file.save("key", ("code", 1))
    (entry,) = set_folder.iterdir()
    assert entry.match("test_cached_kernels.plain-*.nbc")
    assert KernelCache(plain)._cache_file.load("key") == ("code", 1)


def test_without_a_folder_there_is_no_cache(monkeypatch):
    monkeypatch.setattr(_cache.KernelCacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="cannot cache function"):
        KernelCache(plain)


def test_a_source_that_cannot_be_read_is_no_reason_to_fail(monkeypatch):
    def refuse() -> str:
        raise OSError("gone")

    monkeypatch.setattr(_cache, "_fingerprint_at_start", refuse)
    with pytest.raises(RuntimeError, match=r"^cannot cache plain: gone$"):
        KernelCache(plain)


@pytest.mark.usefixtures("cache_folder")
def test_types_processor_code_and_sources_are_the_key(monkeypatch):
    cache, codegen = KernelCache(plain), Codegen("x86", "avx")
    key = cache._index_key(TYPES, codegen)
    assert KernelCache(plain)._index_key(TYPES, Codegen("x86", "avx")) == key

    def other(number: int) -> int:
        return number + 1

    assert isinstance(key, str)
    others = {
        cache._index_key(("int32", "int64"), codegen),
        cache._index_key(TYPES, Codegen("x86")),
        KernelCache(other)._index_key(TYPES, codegen),
    }
    monkeypatch.setattr(_cache, "_fingerprint_at_start", lambda: "another")
    others.add(KernelCache(plain)._index_key(TYPES, codegen))
    assert len(others - {key}) == 4


@pytest.mark.usefixtures("cache_folder")
def test_a_function_outside_of_the_kernels_counts_with_its_file(monkeypatch):
    stamps = []
    for stamp in ("one", "two"):
        monkeypatch.setattr(caching._SourceFileBackedLocatorMixin, "get_source_stamp",
                            lambda _self, stamp=stamp: stamp)  # fmt: skip
        stamps.append([KernelCache(one)._index_key(TYPES, Codegen()) for one in (plain, OURS)])
    (plain_one, ours_one), (plain_two, ours_two) = stamps
    assert plain_one != plain_two
    assert ours_one == ours_two, "the sources of kernels are in the name of the set"


class Saved:
    """Compiled code."""

    codegen = Codegen("x86")


@pytest.fixture
def in_numba(monkeypatch):
    """What reaches Numba's own cache."""
    calls: list[tuple[Any, ...]] = []

    def called(_: object, *arguments: Any) -> str:
        calls.append(arguments)
        return "code"

    for name in ("save_overload", "_load_overload"):
        monkeypatch.setattr(caching.FunctionCache, name, called)
    return calls


@pytest.mark.usefixtures("cache_folder")
def test_code_is_saved_while_the_sources_are_those_of_the_start(in_numba, monkeypatch):
    cache, code = KernelCache(plain), Saved()
    cache.save_overload(TYPES, code)
    assert in_numba == [(TYPES, code)]
    monkeypatch.setattr(_cache, "fingerprint", lambda _files: "another")
    cache.save_overload(TYPES, code)
    assert in_numba == [(TYPES, code)]


@pytest.mark.usefixtures("cache_folder")
def test_code_that_cannot_be_saved_is_used_all_the_same(monkeypatch):
    def refuse(*_: Any) -> None:
        raise OSError("full")

    monkeypatch.setattr(caching.FunctionCache, "save_overload", refuse)
    KernelCache(plain).save_overload(TYPES, Saved())


@pytest.mark.usefixtures("cache_folder")
def test_only_the_runtime_is_prepared_before_code_is_loaded(in_numba, monkeypatch):
    prepared: list[object] = []
    monkeypatch.setattr(_cache, "rtsys", SimpleNamespace(initialize=prepared.append))
    context = object()
    assert KernelCache(plain).load_overload(TYPES, context) == "code"
    assert prepared == [context]
    assert in_numba == [(TYPES, context)]


def test_kernels_are_cached_if_their_set_has_entries(tmp_path, monkeypatch):
    found = []
    for folder in (None, tmp_path):
        monkeypatch.setattr(KernelCache, "folder", folder)
        found.append(_compiled.is_cached())
    (tmp_path / "kernel.nbc.tmp.1").touch()
    found.append(_compiled.is_cached())
    (tmp_path / "kernel.nbc").touch()
    found.append(_compiled.is_cached())
    assert found == [False, False, False, True]
