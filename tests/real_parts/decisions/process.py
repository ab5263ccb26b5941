"""The Go program of this folder as a process: what kube-scheduler's code makes of a case."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

Document = dict[str, Any]


class FailedCaseError(Exception):
    """The program could not decide a case."""


class UpstreamDecisions:
    """A running program; leave the context to end it.

    Parameters
    ----------
    binary : Path
        The built program.
    gates : dict of str to bool
        Feature gates other than by default.
    """

    def __init__(self, binary: Path, gates: Mapping[str, bool] = MappingProxyType({})) -> None:
        text = ",".join(f"{name}={str(is_on).lower()}" for name, is_on in gates.items())
        self._process = subprocess.Popen(
            [binary, "-feature-gates", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._input.close()
        self._process.terminate()
        self._process.wait()
        self._output.close()

    def expected(self, case: Document) -> Document:
        """Return `expect` of one case.

        Raises
        ------
        FailedCaseError
            If the program could not decide it.
        """
        self._write(case)
        return self._read()

    def expected_of(
        self, cases: Iterable[Document]
    ) -> Iterator[tuple[Document, Document | FailedCaseError]]:
        """Return each case with its `expect`, or why there is none; several run at a time."""
        given = list(cases)

        def write_all() -> None:
            for case in given:
                self._write(case)

        writer = threading.Thread(target=write_all)
        writer.start()
        for case in given:
            try:
                yield case, self._read()
            except FailedCaseError as error:
                yield case, error
        writer.join()

    def _write(self, case: Document) -> None:
        self._input.write(json.dumps(case) + "\n")
        self._input.flush()

    def _read(self) -> Document:
        line = self._output.readline()
        if not line:
            raise FailedCaseError("the program has ended")
        reply = json.loads(line)
        if "failed" in reply:
            raise FailedCaseError(reply["failed"])
        expect: Document = reply["expect"]
        return expect


def without_nulls(value: Any) -> Any:
    """Return a document as the vectors have it: without null fields, times, and share ids."""
    if isinstance(value, dict):
        return {
            key: "*" if key == "shareID" else without_nulls(each)
            for key, each in value.items()
            if (each is not None or key in ("node_names", "nominated_node"))
            and key != "allocationTimestamp"
        }
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value
