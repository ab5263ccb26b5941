"""The report of a run: a table by area, the survivors, and whether the goal is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from tests.mutants.areas import Settings
from tests.mutants.sample import Mutant
from tests.mutants.stages import Result
from tests.mutants.workers import BROKEN, STOPPED


class Tally(msgspec.Struct, kw_only=True):
    """The counts of one area, or of all."""

    drawn: int = 0
    declared: int = 0
    killed: int = 0
    stopped: int = 0
    survived: int = 0

    @property
    def judged(self) -> int:
        """The mutants for which tests were run."""
        return self.killed + self.survived

    @property
    def rate(self) -> float:
        """The fraction of killed mutants among the judged ones."""
        return self.killed / self.judged if self.judged else 0.0

    def add(self, other: Tally) -> None:
        """Add the counts of an area."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def tally(
    mutants: Iterable[Mutant], declared: Iterable[str], results: dict[str, Result]
) -> dict[str, Tally]:
    """Count by area; mutants without a result count only as drawn."""
    not_judged = set(declared)
    areas: dict[str, Tally] = {}
    for mutant in mutants:
        counts = areas.setdefault(mutant.area, Tally())
        counts.drawn += 1
        result = results.get(mutant.key)
        if mutant.key in not_judged:
            counts.declared += 1
        elif result is not None and result.killed_by:
            counts.killed += 1
            counts.stopped += result.killed_by in (STOPPED, BROKEN)
        elif result is not None:
            counts.survived += 1
    return areas


def total_of(areas: dict[str, Tally]) -> Tally:
    """Add up all areas."""
    total = Tally()
    for counts in areas.values():
        total.add(counts)
    return total


def table(areas: dict[str, Tally]) -> Iterator[str]:
    """Yield the table by area, as Markdown."""
    yield "| area | mutants | declared equivalent | killed | of these by time | survived | rate |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, counts in [*areas.items(), ("all", total_of(areas))]:
        yield (
            f"| {name} | {counts.drawn} | {counts.declared} | {counts.killed} | {counts.stopped}"
            f" | {counts.survived} | {100 * counts.rate:.1f} % |"
        )


def survivors(
    mutants: Iterable[Mutant], declared: Iterable[str], results: dict[str, Result]
) -> Iterator[str]:
    """Yield each survivor: its place, its change, and the number of tests that passed."""
    left_out = set(declared)
    for mutant in sorted(mutants, key=lambda mutant: (mutant.area, mutant.path, mutant.line)):
        result = results.get(mutant.key)
        if result is not None and not result.killed_by and mutant.key not in left_out:
            yield ""
            yield f"{mutant.place}  [{mutant.area}, {mutant.operator}, {result.ran} tests ran]"
            yield mutant.diff


def shortcomings(
    areas: dict[str, Tally], settings: Settings, *, none_may_survive: bool
) -> Iterator[str]:
    """Yield the goals that a run misses."""
    total = total_of(areas)
    if not total.judged:
        yield "no mutant was tried"
        return
    if total.judged + total.declared < total.drawn:
        yield f"{total.drawn - total.judged - total.declared} mutants were not tried"
    if none_may_survive:
        if total.survived:
            yield f"{total.survived} survived, and of a fixed share none may"
        return
    if total.declared > settings.declared * total.drawn:
        most = f"{100 * settings.declared:.0f} %"
        yield f"{total.declared} of {total.drawn} are declared equivalent, more than {most}"
    least = f"{100 * settings.killed:.0f} %"
    for name, counts in areas.items():
        if counts.rate < settings.killed:
            yield f"{name}: {100 * counts.rate:.1f} % killed, less than {least}"
