"""Suites of other projects on `podwright up --bare`: ``python -m tests.e2e_real.client_suites``.

Each package is built in a copy of its module, and has a server to itself.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from tests.e2e_real.cluster_processes import embedded
from tests.real_parts.binaries import AbsentBinaryError, module_folder

SUITES: Final = Path(__file__).with_name("suites.toml")
_SECONDS_MAX: Final = 900
_RAN: Final = re.compile(r"Ran (\d+) of \d+ Specs")
_FAILED: Final = re.compile(r"^ +\[[A-Z!]+\] (?!in )(.+)$", re.MULTILINE)
_GO_TEST: Final = re.compile(r"^ *--- (PASS|FAIL): (\S+)", re.MULTILINE)


class Module(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A module of Go and its packages with suites."""

    version: str
    packages: list[str]
    skip: str = ""
    """A regular expression of names of specs that are left out."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites; return 1 if a spec fails or a suite runs none, 3 if one cannot be built."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e_real.client_suites", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--only", type=re.compile, metavar="REGEX", help="modules or packages")
    parser.add_argument(
        "--folder", type=Path, default=Path(".reports/client-suites"), help="of copies and output"
    )
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    modules = msgspec.toml.decode(SUITES.read_bytes(), type=dict[str, Module])
    chosen = [
        (name, module, package)
        for name, module in modules.items()
        for package in module.packages
        if options.only is None or options.only.search(f"{name}/{package}")
    ]
    problems = [] if chosen else [f"nothing matches {options.only.pattern}"]
    for name, module, package in chosen:
        try:
            binary = _built(folder, name, module.version, package)
        except subprocess.CalledProcessError as error:
            print(f"{name}/{package}: the build failed with exit status {error.returncode}")
            return 3
        except AbsentBinaryError as error:
            print(error, file=sys.stderr)
            return 3
        place = folder / "runs" / name / package
        with embedded(place, "--bare", "--tls") as kubeconfig:
            # Where a person has it: a suite that is given a path installs no definitions.
            default = place / "home/.kube/config"
            default.parent.mkdir(parents=True)
            kubeconfig.rename(default)
            status, output = _run(binary, place / "home", module.skip)
        (place / "output.txt").write_text(output)
        count, found = read(output)
        print(f"{name}/{package}: {count} specs, {len(found)} failed", flush=True)
        problems += [f"{name}/{package}: {each}" for each in found]
        if not count or (status and not found):
            problems.append(f"{name}/{package}: exit status {status} after {count} specs")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def read(output: str) -> tuple[int, list[str]]:
    """Return how many specs ran, and the names of those that failed.

    They are those of Ginkgo, or, without it, tests of Go with their parts.
    """
    if ran := _RAN.search(output):
        _, _, summary = output.partition("Summarizing ")
        return int(ran[1]), _FAILED.findall(summary)
    found = _GO_TEST.findall(output)
    return len(found), [name for outcome, name in found if outcome == "FAIL"]


def _built(folder: Path, name: str, version: str, package: str) -> Path:
    """Build the tests of a package in a copy of its module, and return the binary in its folder."""
    copy = folder / "modules" / name
    if not copy.exists():
        source = module_folder(f"{name}@{version}")
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
    binary = copy / package / "suite.test"
    subprocess.run(
        ["go", "test", "-c", "-vet=off", "-ldflags", "-s -w", "-o", binary, f"./{package}"],
        cwd=copy, env=os.environ | {"CGO_ENABLED": "0"}, check=True,
    )  # fmt: skip
    return binary


def _run(binary: Path, home: Path, skip: str) -> tuple[int, str]:
    environment = os.environ | {"USE_EXISTING_CLUSTER": "true", "HOME": str(home)}
    environment.pop("KUBECONFIG", None)
    environment["GINKGO_NO_COLOR"] = "true"
    skipped = [f"-ginkgo.skip={skip}"] if skip else []
    try:
        found = subprocess.run(
            [binary, "-test.v", *skipped], cwd=binary.parent, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=_SECONDS_MAX, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return -1, (error.stdout or b"").decode(errors="replace")
    return found.returncode, found.stdout


if __name__ == "__main__":
    sys.exit(main())
