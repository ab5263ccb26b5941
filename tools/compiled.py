"""Make a copy of the source tree in which chosen modules are compiled by mypyc.

    python tools/compiled.py FOLDER             the copy, for tests: modules beside their sources
    python tools/compiled.py FOLDER --wheel     also a wheel of it, in dist/

There is one source: a compiled module is made of the same file, beside which it stands and which
Python then does not read. The copy is made of the files that git knows, as they are now; modules
are compiled again only when a file or the list below has changed. Needs a C compiler.

A module is in the list if it gains, and if it has no class that mypyc makes differently: it ignores
the keywords of a msgspec struct (`frozen`, `kw_only`), and classes cannot be patched. Modules that
check what users' plugins return are not in it: compiled code checks types in its own words.
Nor are modules that compare tuples by identity, which compiled code makes anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

MODULES = (
    "scheduler/columns/affinity/counters", "scheduler/columns/affinity/selectors",
    "scheduler/columns/cluster", "scheduler/columns/nodes", "scheduler/columns/nominations",
    "scheduler/columns/pod_keys", "scheduler/columns/ranked_pods",
    "scheduler/framework/cycle", "scheduler/framework/keys",
    "scheduler/framework/nominated", "scheduler/framework/post_filter",
    "scheduler/framework/rankings/groups", "scheduler/framework/rankings/ranking",
    "scheduler/framework/rankings/ranking_cache", "scheduler/framework/rankings/rows",
    "scheduler/framework/rankings/sums", "scheduler/framework/rankings/verdicts",
    "scheduler/framework/run",
    "scheduler/machine/cycles/binding", "scheduler/machine/cycles/binding_cycles",
    "scheduler/machine/cycles/cycle", "scheduler/machine/cycles/eviction",
    "scheduler/machine/cycles/evictions", "scheduler/machine/cycles/failure_handling",
    "scheduler/machine/cycles/pod_steps",
    "scheduler/machine/cycles/waiting", "scheduler/machine/event_handlers",
    "scheduler/machine/machine", "scheduler/machine/metrics/machine_metrics",
    "scheduler/machine/reporting", "scheduler/machine/state",
    "scheduler/queueing/events", "scheduler/queueing/heap", "scheduler/queueing/hints",
    "scheduler/queueing/nominator", "scheduler/queueing/pod", "scheduler/queueing/queue",
    "scheduler/queueing/subqueues",
)  # fmt: skip
"""The modules that are compiled: those of the way of a pod through the scheduler."""

# setuptools reads a pyproject.toml where it runs, and rejects the license of ours.
_SETUP = """
import os
from mypyc.build import mypycify
from setuptools import setup

modules = os.environ["COMPILED_MODULES"].split()
options = ["--config-file=mypy.toml", *modules]
extensions = mypycify(
    options, only_compile_paths=modules, opt_level="2", multi_file=True, group_name="podwright"
)
setup(name="podwright", packages=[], package_dir={"": "src"}, ext_modules=extensions)
"""


def main() -> int:
    """Parse the options and build; return an exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the copy is made")
    parser.add_argument("--wheel", action="store_true", help="also build a wheel in dist/")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    copy_sources(folder)
    compile_modules(folder)
    if options.wheel:
        build_wheel(folder)
    return 0


def copy_sources(folder: Path) -> None:
    """Bring the files of a copy up to date; those that have not changed keep their times."""
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others"]
    listed = subprocess.run(
        [*listing, "--exclude-standard"], check=True, stdout=subprocess.PIPE
    ).stdout  # fmt: skip
    names = {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, target = ROOT / name, folder / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for stale in [*folder.glob("src/**/*.py"), *folder.glob("tests/**/*.py")]:
        if stale.relative_to(folder).as_posix() not in names:
            stale.unlink()


def compile_modules(folder: Path) -> None:
    """Compile the modules of a copy, in place."""
    modules = [f"src/podwright/{module}.py" for module in MODULES]
    for module in folder.glob("src/**/*.so"):
        module.unlink()
    (folder / "setup.py").write_text(_SETUP, encoding="utf-8")
    (folder / "pyproject.toml").rename(folder / "mypy.toml")
    try:
        subprocess.run(
            [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--parallel=2"],
            cwd=folder,
            env=os.environ | {"COMPILED_MODULES": " ".join(modules), "MYPYPATH": "src"},
            check=True,
        )
    finally:
        (folder / "mypy.toml").rename(folder / "pyproject.toml")
        (folder / "setup.py").unlink()


def build_wheel(folder: Path) -> None:
    """Build a wheel of a copy, for this Python and this kind of machine."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"],
        cwd=folder,
        env=os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"},
        check=True,
    )
    (ROOT / "dist").mkdir(exist_ok=True)
    for wheel in folder.glob("dist/*.whl"):
        shutil.copy2(wheel, ROOT / "dist")


if __name__ == "__main__":
    sys.exit(main())
