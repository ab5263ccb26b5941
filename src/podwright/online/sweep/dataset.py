"""The results of a sweep: a folder of Parquet files, one for each run.

A file appears under its name when it is complete, so a sweep that is interrupted loses only what
was running, and two sweeps may share a folder: the same run has the same name and content.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from podwright.apimachinery.objects import PodwrightError
from podwright.online.sweep.figures_of_run import RunFigures
from podwright.online.sweep.plan import SweepRun
from podwright.simulation.recording import (
    arrow_table,
    parquet_bytes,
    read_parquet,
    require_arrow,
)

_TYPES: Final = {
    "run": "text",
    "input": "text",
    "configuration": "text",
    "seed": "int",
    "figure": "text",
    "unit": "text",
    "value": "float",
    "error": "text",
    "warnings": "text",
}
_REQUIRED: Final = _TYPES.keys() - {"warnings"}
"""Results of earlier versions have no warnings."""


class SweepError(PodwrightError):
    """A sweep cannot be run, or its results cannot be read."""


class LostDaskScheduler(SweepError):  # noqa: N818 - named for what it is
    """Dask's scheduler does not answer."""

    is_remote = True


class SweepDataset:
    """A folder of results.

    Parameters
    ----------
    folder : Path
        It is created if it does not exist.

    Raises
    ------
    MissingExtra
        If pyarrow is not installed.
    """

    def __init__(self, folder: Path) -> None:
        require_arrow("sweep")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def finished(self) -> set[str]:
        """Return the ids of the runs with a result."""
        return {path.stem for path in self.folder.glob("*.parquet")}

    def add(self, result: RunFigures) -> None:
        """Write `result`, that of a run.

        Raises
        ------
        SweepError
            If it cannot be written; what is there is unharmed.
        """
        content = parquet_bytes(results_table([result]))
        path = self.folder / f"{result.run.id}.parquet"
        # Clients on several machines may have the same process number.
        part = path.with_suffix(f".{token_hex(8)}.part")
        try:
            part.write_bytes(content)
            part.replace(path)
        except OSError as error:
            raise SweepError(
                f"{path} cannot be written: {error.strerror or error}; finished runs have been"
                " kept, and the same sweep runs what is missing"
            ) from error
        finally:
            with suppress(OSError):  # a folder that is read-only
                part.unlink(missing_ok=True)

    def results(self, runs: Iterable[SweepRun]) -> list[RunFigures]:
        """Return the results of those `runs` that have one, in their order.

        Raises
        ------
        SweepError
            If a file cannot be read.
        """
        found = []
        for run in runs:
            path = self.folder / f"{run.id}.parquet"
            if not path.exists():
                continue
            try:
                columns = read_parquet(path).to_pydict()
                if not columns.keys() >= _REQUIRED or not columns["error"]:
                    raise ValueError(  # noqa: TRY301 - with the same words
                        f"it has the columns {', '.join(columns)}"
                    )
            except (ValueError, OSError) as error:
                raise SweepError(f"{path}: not the result of a run: {error}; delete it") from None
            values = zip(columns["figure"], columns["unit"], columns["value"], strict=True)
            figures = tuple(row for row in values if row[0])
            warnings = tuple(columns.get("warnings", [""])[0].splitlines())
            found.append(RunFigures(run, figures, columns["error"][0], warnings))
        return found


def results_table(results: Iterable[RunFigures]) -> Any:
    """Return a `pyarrow.Table` with a row for each figure of each run, and one for a failed run."""
    rows = [
        (*run, *figure, error, "\n".join(warnings))
        for run, figures, error, warnings in results
        for figure in figures or (("", "", None),)
    ]
    columns = {name: [row[index] for row in rows] for index, name in enumerate(_TYPES)}
    return arrow_table(_TYPES, columns)
