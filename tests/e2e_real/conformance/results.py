"""The results of the specs, kept in a file from one run to the next."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec
from tests.e2e_real.conformance.suite import Result


class ResultsFile:
    """The last result of each spec.

    Parameters
    ----------
    path : Path
        The file, one JSON object a line; a later line of a name replaces an earlier one. It may
        not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._results: dict[str, Result] = {}
        if path.is_file():
            decoder = msgspec.json.Decoder(Result)
            for line in path.read_bytes().splitlines():
                result = decoder.decode(line)
                self._results[result.name] = result

    def __getitem__(self, name: str) -> Result:
        """Return the result of a spec that has one."""
        return self._results[name]

    def __contains__(self, name: str) -> bool:
        """Return whether a spec has a result."""
        return name in self._results

    def add(self, results: Iterable[Result]) -> None:
        """Add results of a process; threads may do so side by side."""
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                for result in results:
                    file.write(msgspec.json.encode(result) + b"\n")
                    self._results[result.name] = result

    @property
    def seconds(self) -> dict[str, float]:
        """The durations of the specs that have a result."""
        return {name: result.seconds for name, result in self._results.items()}

    def passed(self, names: Iterable[str]) -> list[str]:
        """Return the names whose last result is a pass."""
        return [n for n in names if n in self and self[n].state == "passed"]

    def missing(self, names: Iterable[str], *, source: str) -> list[str]:
        """Return the names without a result for this source code."""
        return [n for n in names if n not in self or self[n].source != source]


def source_digest(root: Path) -> str:
    """Return a digest of the source code of podwright."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if "tests" not in path.parts:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
