"""Run upstream's tests of kubectl on two clusters: ``python -m tests.e2e_real.kubectl_suite``.

One is `podwright up`, the other upstream's control plane. Both run the same functions in the same
order, so what is absent on the computer, such as a network, fails on both. A command that fails on
one only is a difference, which differences.toml explains, or an error.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.e2e_real.cluster_processes import embedded, upstream
from tests.e2e_real.kubectl_suite.suite import Outcome, Suite, differences
from tests.real_parts.binaries import KUBERNETES, AbsentBinaryError, module_folder

KNOWN = Path(__file__).with_name("differences.toml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run functions; return 1 if a difference is not explained, or an explanation is outdated."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e_real.kubectl_suite", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--only", type=re.compile, metavar="REGEX", help="names of functions")
    parser.add_argument(
        "--folder", type=Path, default=Path(".reports/kubectl-suite"), help="of the output"
    )
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    known: dict[str, dict[str, str]] = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    try:
        with _here(folder / "here") as here, _upstream(folder / "upstream") as real:
            names = [each for each in here.names() if not options.only or options.only.search(each)]
            return compare(here, real, names, known, is_whole=options.only is None)
    except AbsentBinaryError as error:
        print(error, file=sys.stderr)
        return 3


@contextmanager
def _here(folder: Path) -> Iterator[Suite]:
    # No kubelets: upstream's tests have none. The class is one that upstream does not have.
    options = ("--tls", "--no-scheduler", "--no-lifecycle", "--no-default-storage-class")
    with embedded(folder, *options) as kubeconfig:
        yield Suite(folder, kubeconfig)


@contextmanager
def _upstream(folder: Path) -> Iterator[Suite]:
    # As upstream's own set-up of these tests.
    authority = module_folder(KUBERNETES) / "hack/testdata/ca/ca"
    signing = {"cert": ".crt", "key": ".key"}
    with upstream(
        folder,
        has_scheduler=False,
        has_service_accounts=True,
        flags=[f"--client-ca-file={authority}.crt"],
        manager_flags=[
            f"--cluster-signing-{part}-file={authority}{suffix}" for part, suffix in signing.items()
        ],
    ) as kubeconfig:
        yield Suite(folder, kubeconfig)


def compare(
    here: Suite, real: Suite, names: Sequence[str], known: dict[str, dict[str, str]],
    *, is_whole: bool,
) -> int:  # fmt: skip
    """Run functions on both clusters side by side, and print what each found; return the status.

    Parameters
    ----------
    known : dict
        The reason of each known difference, by function and place.
    is_whole : bool
        Whether `names` has all functions.
    """
    problems: list[str] = []
    passed = 0
    with ThreadPoolExecutor(1) as other:
        for name in names:
            theirs = other.submit(real.run, name)
            ours = here.run(name)
            found = theirs.result()
            passed += ours.passed_count
            print(f"{name}: {_line(ours, found)}", flush=True)
            rows = known.get(name, {})
            for place, side in differences(ours, found, rows):
                problems.append(f"{name}: {place} fails {side} only")
                print(f"  {problems[-1]}", flush=True)
            if ours.failed == found.failed and ours.passed_count != found.passed_count:
                problems.append(f"{name}: another number of assertions passed, without a failure")
            outdated = rows.keys() - (ours.failed ^ found.failed)
            problems += [f"{name}: {place} is equal now" for place in sorted(outdated)]
    if is_whole:
        problems += [f"{name} is not a function" for name in sorted(known.keys() - {*names})]
    if not passed:
        problems.append("no assertion passed")
    print(f"{len(names)} functions, {passed} assertions passed on podwright up")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _line(ours: Outcome, theirs: Outcome) -> str:
    failed = f"{len(ours.failed)} and {len(theirs.failed)} failed commands"
    return f"{ours.passed_count} and {theirs.passed_count} assertions passed, {failed}"


if __name__ == "__main__":
    sys.exit(main())
