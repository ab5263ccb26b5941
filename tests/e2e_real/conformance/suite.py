"""One process of the suite: it runs some specs on a cluster and writes a report."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from tests.e2e_real.conformance.specs import focus
from tests.real_parts.binaries import find

TIMEOUT_SECONDS: Final = 1_800
"""The time after which the suite interrupts its specs and writes the report."""

_KILL_SECONDS: Final = TIMEOUT_SECONDS + 120
_ERROR_CHARACTERS_MAX: Final = 2_000

State = Literal["passed", "failed", "skipped"]
_STATES: Final[dict[str, State]] = {"passed": "passed", "skipped": "skipped"}


class Result(msgspec.Struct, frozen=True):
    """How a spec ended.

    Attributes
    ----------
    name : str
    state : {"passed", "failed", "skipped"}
    seconds : float
        The duration, in seconds.
    error : str
        Why the spec failed or was skipped; empty for one that passed.
    source : str
        The digest of the source code that was run.
    """

    name: str
    state: State
    seconds: float
    error: str = ""
    source: str = ""


class _Location(msgspec.Struct, rename="pascal"):
    file_name: str = ""
    line_number: int = 0


class _Failure(msgspec.Struct, rename="pascal"):
    message: str = ""
    location: _Location = msgspec.field(default_factory=_Location)


class _SpecReport(msgspec.Struct, rename="pascal"):
    leaf_node_type: str
    leaf_node_text: str
    state: str
    container_hierarchy_texts: list[str] | None = None
    run_time: int = 0
    failure: _Failure = msgspec.field(default_factory=_Failure)


class _SuiteReport(msgspec.Struct, rename="pascal"):
    spec_reports: list[_SpecReport] | None = None


def run(names: Iterable[str], kubeconfig: Path, folder: Path, *, source: str) -> list[Result]:
    """Run specs in one process of the suite.

    Parameters
    ----------
    names : iterable of str
        Full names.
    kubeconfig : Path
    folder : Path
        Where the output, `e2e.log`, and the report are written.
    source : str
        The digest of the source code, kept in the results.

    Returns
    -------
    list of Result
        One for each name, in the given order; a spec that was not run has failed.
    """
    names = list(names)
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    log = folder / "e2e.log"
    command = [
        str(find("e2e.test")),
        f"--kubeconfig={kubeconfig}",
        "--provider=skeleton",
        f"--kubectl-path={find('kubectl')}",
        "--ginkgo.v",
        "--ginkgo.no-color",
        f"--ginkgo.focus={focus(names)}",
        f"--ginkgo.timeout={TIMEOUT_SECONDS}s",
        f"--ginkgo.json-report={report}",
        "--dump-logs-on-failure=false",
        "--node-os-distro=custom",
        "--disable-log-dump",
    ]
    # kubectl keeps its cache of discovery per HOME.
    environment = os.environ | {"HOME": str(folder), "KUBECONFIG": str(kubeconfig)}
    # What a killed process did not report has failed.
    with log.open("wb") as output, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=_KILL_SECONDS,
            check=False,
        )
    found = results(report.read_bytes(), source) if report.is_file() else {}
    report.unlink(missing_ok=True)  # some 20 MB
    not_run = Result("", "failed", 0.0, f"not run; see {log}", source)
    return [found.get(name) or msgspec.structs.replace(not_run, name=name) for name in names]


def results(report: bytes, source: str) -> dict[str, Result]:
    """Return the results in a JSON report of Ginkgo, by full name.

    Specs that were left out by the focus have no result. A failure before the first spec, such as
    nodes that are not ready, is that of every spec: they are absent.
    """
    found = {}
    for suite in msgspec.json.decode(report, type=list[_SuiteReport]):
        for spec in suite.spec_reports or ():
            error = _error(spec.failure)
            if spec.leaf_node_type != "It" or (spec.state == "skipped" and not error):
                continue
            name = " ".join((*(spec.container_hierarchy_texts or ()), spec.leaf_node_text))
            # A failure may also be panicked, timedout, interrupted or aborted.
            state = _STATES.get(spec.state, "failed")
            found[name] = Result(name, state, spec.run_time / 1e9, error, source)
    return found


def _error(failure: _Failure) -> str:
    message = failure.message.strip()[:_ERROR_CHARACTERS_MAX]
    if not message:
        return ""
    place = failure.location
    return f"{message} ({Path(place.file_name).name}:{place.line_number})"
