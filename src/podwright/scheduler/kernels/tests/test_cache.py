"""Machine code on disk is used as long as it is current, and no longer."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite
import numba
import numpy as np
import pytest
from numba.core import config

from podwright.scheduler.kernels import _cache

needs_jit = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)

PACKAGE = Path(_cache.__file__).parents[2]

# Calls a kernel that calls `divide`, which is in another file; prints what came out, and the
# kernels that had to be compiled.
NORMALIZE = """
import numpy as np
from podwright.scheduler.kernels import normalize
from podwright.scheduler.kernels._jit import compile_all, notify_before_compiling

compiled = []
notify_before_compiling(compiled.append)
compile_all()
totals = np.zeros(2, dtype=np.int64)
normalize.add_default_normalized(np.array([1, 4], dtype=np.int64), totals, 1, 0)
print(*totals, *(name for name in compiled if "<locals>" not in name))
"""
BOTH = ["add_default_normalized", "divide"]


def copy_of_package(folder: Path) -> Path:
    """Copy what kernels need, so that a test may change it; return the package."""
    package = folder / "podwright"
    shutil.copytree(
        PACKAGE / "scheduler" / "kernels",
        package / "scheduler" / "kernels",
        ignore=shutil.ignore_patterns("__pycache__", "tests"),
    )
    shutil.copy(PACKAGE / "_arrays.py", package)
    (package / "__init__.py").touch()
    (package / "scheduler" / "__init__.py").touch()
    return package


def normalized(package: Path, *, first: str = "", **variables: str) -> tuple[list[int], list[str]]:
    """Normalize with a copy of the package in a new process; the totals, and what was compiled."""
    inherited = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    caches = {"XDG_CACHE_HOME": str(package.parent / "caches")}
    environment = inherited | {"PYTHONPATH": str(package.parent)} | caches | variables
    done = subprocess.run(
        [sys.executable, "-c", NORMALIZE.replace("totals =", f"{first}\ntotals =")],
        env=environment,
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    return [int(word) for word in words[:2]], sorted(words[2:])


def plant(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    before_ns = file.stat().st_mtime_ns
    file.write_text(text.replace(old, new))
    # Python compares whole seconds and the size to decide whether bytecode is current.
    os.utime(file, ns=(before_ns + 2_000_000_000, before_ns + 2_000_000_000))


def test_the_name_of_a_set_has_128_bits_of_the_fingerprint(tmp_path):
    class InFolder(_cache._InSet):
        def folder(self):
            return tmp_path

    files = _cache.source_files()
    digits = _cache.fingerprint(files)
    assert len(digits) == 32
    assert InFolder().get_cache_path() == str(tmp_path / f"{_cache.SET_PREFIX}{digits}")


@needs_jit
def test_a_change_in_a_kernel_that_another_file_calls_takes_effect(tmp_path):
    package = copy_of_package(tmp_path)
    division = package / "scheduler" / "kernels" / "division.py"
    assert normalized(package) == ([25, 100], BOTH)
    assert normalized(package) == ([25, 100], [])
    quotient = "np.int64(dividend / divisor)"
    plant(division, quotient, f"{quotient} + 1")
    assert normalized(package) == ([26, 101], BOTH)
    plant(division, f"{quotient} + 1", quotient)
    # What was compiled before is still there.
    assert normalized(package) == ([25, 100], [])


@needs_jit
def test_a_change_of_a_constant_in_another_file_takes_effect(tmp_path):
    package = copy_of_package(tmp_path)
    kernels = package / "scheduler" / "kernels"
    (kernels / "scale.py").write_text("BEST = 100\n")
    normalize = kernels / "normalize.py"
    plant(normalize, "divide(100 *", "divide(BEST *")
    plant(
        normalize,
        "import divide",
        "import divide\nfrom podwright.scheduler.kernels.scale import BEST",
    )
    assert normalized(package)[0] == [25, 100]
    plant(kernels / "scale.py", "100", "200")
    assert normalized(package)[0] == [50, 200]


@needs_jit
def test_installed_versions_that_share_a_folder_keep_their_code(tmp_path):
    shared = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    old, new = copy_of_package(tmp_path / "old"), copy_of_package(tmp_path / "new")
    plant(new / "scheduler" / "kernels" / "division.py", "EXACT = 1 << 53", "EXACT = 1 << 52")
    for package in (old, new):
        assert normalized(package, **shared)[1] == BOTH
    for package in (old, new, old):
        assert normalized(package, **shared) == ([25, 100], [])
    # Two installations of one version share a set, too.
    assert normalized(copy_of_package(tmp_path / "same"), **shared)[1] == []
    assert len(list((tmp_path / "cache").iterdir())) == 2


@needs_jit
def test_code_for_one_processor_is_not_used_for_another(tmp_path):
    package = copy_of_package(tmp_path)
    assert normalized(package)[1] == BOTH
    generic = {"NUMBA_CPU_NAME": "generic"}
    assert normalized(package, **generic)[1] == BOTH
    assert normalized(package, NUMBA_CPU_FEATURES="")[1] == BOTH
    assert normalized(package)[1] == []
    assert normalized(package, **generic)[1] == []


@needs_jit
@pytest.mark.skipif(os.name == "nt", reason="modes of folders have no effect")
def test_environments_of_a_user_share_one_folder_and_do_without_it(tmp_path):
    package, other = (copy_of_package(tmp_path / name) for name in ("first", "second"))
    caches = tmp_path / "caches"
    variables = {"XDG_CACHE_HOME": str(caches)}
    assert normalized(package, **variables)[1] == BOTH
    assert normalized(other, **variables)[1] == []
    assert [each.name for each in caches.rglob("*") if each.is_dir()][:2] == [
        "podwright",
        "kernels",
    ]
    # Without it, code is cached beside the source. A file where the folder should be: modes do
    # not stop root.
    shutil.rmtree(caches)
    caches.write_text("")
    assert normalized(package, **variables)[1] == BOTH
    assert normalized(package, **variables)[1] == []
    # Without any folder, each process compiles.
    beside = other / "scheduler" / "kernels" / "__pycache__"
    # It exists where Python keeps bytecode.
    shutil.rmtree(beside, ignore_errors=True)
    beside.write_text("")
    for _ in range(2):
        assert normalized(other, **variables) == ([25, 100], BOTH)


@needs_jit
def test_a_set_is_read_where_nothing_can_be_written(tmp_path):
    package = copy_of_package(tmp_path / "installed")
    assert normalized(package)[1] == BOTH
    # As a file system that is read-only replies: modes do not stop root.
    (package.parent / "sitecustomize.py").write_text(
        "import os\n"
        "def refuse(*_, **__):\n"
        "    raise OSError(30, 'Read-only file system')\n"
        "os.utime = os.mkdir = refuse\n"
        "os.access = lambda *_: False\n"
    )
    assert normalized(package) == ([25, 100], [])
    shutil.rmtree(package.parent / "caches")
    assert normalized(package) == ([25, 100], BOTH)


def test_without_the_compiler_no_file_is_written(tmp_path):
    package = copy_of_package(tmp_path)
    assert normalized(package, NUMBA_DISABLE_JIT="1") == ([25, 100], [])
    assert not list(tmp_path.rglob(f"{_cache.SET_PREFIX}*"))


@needs_jit
def test_an_entry_that_is_damaged_is_compiled_again(tmp_path):
    package = copy_of_package(tmp_path)
    assert normalized(package)[1] == BOTH
    for entry in tmp_path.rglob("*.add_default_normalized*.nbc"):
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 1
        entry.write_bytes(content)
    for entry in tmp_path.rglob("*.divide*.nbc"):
        entry.write_bytes(b"")
    assert normalized(package) == ([25, 100], BOTH)
    assert normalized(package) == ([25, 100], [])


def test_an_entry_is_that_of_its_key_or_none(tmp_path):
    entries = _cache._Entries(tmp_path / "set", "file.kernel")
    assert entries.load("a") is None
    entries.save("a", ("code", 1))
    entries.save("b", ("code", 2))
    entries.flush()
    assert entries.load("a") == ("code", 1)
    assert entries.load("b") == ("code", 2)
    assert _cache._Entries(tmp_path / "set", "file.other").load("a") is None
    first, second = entries._path("a"), entries._path("b")
    assert first.parent == second.parent == tmp_path / "set"
    assert first.match("file.kernel.*.nbc")
    assert sorted((tmp_path / "set").iterdir()) == sorted((first, second)), "no draft is left"
    # A file of another key, and one that is cut off or damaged.
    second.write_bytes(first.read_bytes())
    assert entries.load("b") is None
    for content in (b"", first.read_bytes()[:-1], first.read_bytes()[:40] + b"x"):
        second.write_bytes(content)
        assert entries.load("b") is None
    entries.save("b", 3)
    assert entries.load("b") == 3


def test_an_entry_that_cannot_be_written_leaves_nothing(tmp_path):
    entries = _cache._Entries(tmp_path, "file.kernel")
    entries._path("a").mkdir()
    with pytest.raises(IsADirectoryError):
        entries.save("a", 1)
    assert list(tmp_path.iterdir()) == [entries._path("a")]


def test_a_set_that_cannot_be_written_to_must_exist(tmp_path):
    class Present(_cache._Present):
        def folder(self):
            return tmp_path / "sets"

    class Made(_cache._InSet):
        def folder(self):
            return tmp_path / "sets"

    with pytest.raises(FileNotFoundError, match="does not exist"):
        Present().ensure_cache_path()
    assert not (tmp_path / "sets").exists()
    Made().ensure_cache_path()
    Present().ensure_cache_path()
    assert [each.name for each in (tmp_path / "sets").iterdir()] == [
        f"{_cache.SET_PREFIX}{_cache.fingerprint(_cache.source_files())}"
    ]


# ------------------------------------------------------------------------ the fingerprint


def test_every_file_that_a_kernel_imports_counts():
    counted = {path.relative_to(PACKAGE.parent) for path in _cache.source_files()}
    for path in _cache.source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                names = [str(node.module)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.split(".")[0] == "podwright":
                    assert Path(*name.split(".")).with_suffix(".py") in counted, (path, name)


def test_the_content_the_name_and_the_number_of_files_count(tmp_path):
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for content in (["", "x = 1"], ["x = 1", ""], ["x = 2", ""], ["x = 1\n", ""]):
        for file, text in zip(files, content, strict=True):
            file.write_text(text)
    states = set()
    for first, second in (("", "x = 1"), ("x = 1", ""), ("x = 2", ""), ("x = 1\n", "")):
        files[0].write_text(first)
        files[1].write_text(second)
        states.add(_cache.fingerprint(files))
        states.add(_cache.fingerprint(files[:1]))
    assert len(states) == 8
    files[0].rename(tmp_path / "c.py")
    assert _cache.fingerprint([tmp_path / "c.py", files[1]]) not in states


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (sys, "version"),
        (numba, "__version__"),
        (llvmlite, "__version__"),
        (np, "__version__"),
        (config, "OPT"),
        (config, "BOUNDSCHECK"),
    ],
)
def test_the_versions_and_the_compilers_options_count(monkeypatch, module, name):
    before = _cache.fingerprint([])
    assert _cache.fingerprint([]) == before
    monkeypatch.setattr(module, name, "another")
    assert _cache.fingerprint([]) != before


@needs_jit
def test_code_is_not_kept_when_a_source_changed_since_the_start(tmp_path):
    package = copy_of_package(tmp_path)
    script = NORMALIZE.replace(
        "totals =", f"open({str(package / '_arrays.py')!r}, 'a').write('#')\ntotals ="
    )
    assert script != NORMALIZE
    subprocess.run(
        [sys.executable, "-c", script],
        env={name: value for name, value in os.environ.items() if "NUMBA" not in name}
        | {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "caches")},
        check=True,
    )
    assert (tmp_path / "caches").exists()
    assert not list(tmp_path.rglob("*.nbc"))


# ------------------------------------------------------------------------------- clean-up


def sets(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix(_cache.SET_PREFIX) for path in folder.iterdir())


def make_set(folder: Path, name: str, used_ns: int) -> Path:
    path = folder / f"{_cache.SET_PREFIX}{name}"
    path.mkdir(parents=True)
    (path / "entry.nbc").write_bytes(b"code")
    os.utime(path, ns=(used_ns, used_ns))
    return path


def test_the_sets_that_were_used_least_recently_are_removed(tmp_path):
    for number in range(5):
        make_set(tmp_path, str(number), used_ns=1_000 + number)
    os.utime(tmp_path / f"{_cache.SET_PREFIX}0", ns=(9_000, 9_000))
    (tmp_path / "spread.cpython-311.pyc").touch()
    _cache.remove_old_sets(tmp_path, kept=3)
    assert sets(tmp_path) == ["0", "3", "4", "spread.cpython-311.pyc"]
    _cache.remove_old_sets(tmp_path, kept=3)
    assert sets(tmp_path) == ["0", "3", "4", "spread.cpython-311.pyc"]


def test_a_new_set_makes_room_and_a_used_one_removes_nothing(tmp_path):
    for number in range(_cache.SETS_KEPT):
        make_set(tmp_path, f"old-{number:02}", used_ns=1_000 + number)
    for name in ("old-00", "new"):
        _cache._opened(tmp_path / f"{_cache.SET_PREFIX}{name}")
    assert len(sets(tmp_path)) == _cache.SETS_KEPT
    assert "old-00" in sets(tmp_path), "it was marked as used"
    assert "old-01" not in sets(tmp_path)


def test_a_link_to_a_folder_elsewhere_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / f"{_cache.SET_PREFIX}link").symlink_to(elsewhere)
    _cache.remove_old_sets(folder, kept=0)
    assert (elsewhere / "file").exists()
