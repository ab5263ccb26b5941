"""Performs a run: each mutant against the tests near it, then against all that reach it.

Results are kept in a session database of Cosmic Ray, so an interrupted run continues where it
stopped. A killed mutant stays killed until its module changes. A survivor is tried again as soon as
any file of its area or of the tests that may kill it differs.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from pathlib import Path

import msgspec
from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult
from tests.mutants.areas import ROOT, Settings, modules_of_tests
from tests.mutants.in_memory import attempt
from tests.mutants.reach import Reach, stages_of
from tests.mutants.sample import Mutant
from tests.mutants.workers import Outcome, Run

ARROW = " -> "
"""What divides a line from the changed one in the name of a mutant."""

_SUBMITTED_AHEAD = 8


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a mutant.

    Parameters
    ----------
    killed_by : str
        The test that failed, or the event that stopped the tests; empty for a survivor.
    ran : int
        The number of tests that ran, for a survivor.
    tree : str
        The digest of the area and its tests at that time.
    """

    killed_by: str = ""
    ran: int = 0
    tree: str


class Session:
    """The results of mutants, kept in a file.

    Parameters
    ----------
    path : pathlib.Path
        The database; created if it does not exist.
    trees : dict
        The present digest of each area and its tests.
    """

    def __init__(self, path: Path, trees: Mapping[str, str]) -> None:
        self._database = WorkDB(str(path), WorkDB.Mode.create)
        self._trees = trees
        self._items = {item.job_id for item in self._database.work_items}
        self.results: dict[str, Result] = {
            key: msgspec.json.decode(result.output, type=Result)
            for key, result in self._database.results
        }

    def of(self, mutant: Mutant) -> Result | None:
        """Return the result of a mutant that is still valid."""
        result = self.results.get(mutant.key)
        if result is None or (not result.killed_by and result.tree != self._trees[mutant.area]):
            return None
        return result

    def plan(self, mutants: Iterable[Mutant]) -> None:
        """Record the mutants to try."""
        new = {mutant.key: mutant for mutant in mutants if mutant.key not in self._items}
        self._database.add_work_items(
            [
                WorkItem.single(
                    key,
                    MutationSpec(
                        module_path=mutant.path,
                        operator_name=mutant.operator,
                        occurrence=mutant.occurrence,
                        start_pos=mutant.span[0],
                        end_pos=mutant.span[1],
                    ),
                )
                for key, mutant in new.items()
            ]
        )
        self._items.update(new)

    def keep(self, mutant: Mutant, outcome: Outcome, *, is_final: bool = True) -> Result:
        """Record the result of a mutant; a result that is not final is tried again."""
        tree = self._trees[mutant.area] if is_final else ""
        result = Result(killed_by=outcome.failed, ran=outcome.ran, tree=tree)
        self._database.set_result(
            mutant.key,
            WorkResult(
                worker_outcome=WorkerOutcome.NORMAL,
                output=msgspec.json.encode(result).decode(),
                test_outcome=TestOutcome.KILLED if result.killed_by else TestOutcome.SURVIVED,
                diff=mutant.diff,
            ),
        )
        self.results[mutant.key] = result
        return result

    def close(self) -> None:
        """Close the database."""
        self._database.close()


class Stages:
    """One run.

    Parameters
    ----------
    session : Session
        The database of results.
    settings : Settings
        Areas and tests.
    folder : pathlib.Path
        The folder of the records of reached functions.
    say : callable
        Prints a line of progress.
    is_near_only : bool
        Whether only the tests beside a module are run. Other tests may kill the survivors.
    skips_near : bool
        Whether those tests are left out, because an interrupted run ran them.
    """

    def __init__(
        self,
        session: Session,
        settings: Settings,
        folder: Path,
        say: Callable[[str], None],
        *,
        is_near_only: bool = False,
        skips_near: bool = False,
    ) -> None:
        self._session = session
        self._settings = settings
        self._say = say
        self._is_near_only = is_near_only
        self._skips_near = skips_near
        self._reach = {
            is_compiled: Reach(folder / f"reach-{name}.msgpack", is_compiled=is_compiled)
            for is_compiled, name in ((True, "compiled"), (False, "plain"))
        }
        self._ran: dict[str, int] = {}
        self._kills: dict[str, Counter[str]] = defaultdict(Counter)
        self._near: dict[str, tuple[str, ...]] = {}

    def play(self, mutants: list[Mutant], killers: dict[str, str], pool: Executor) -> None:
        """Try every mutant without a result."""
        self._session.plan(mutants)
        left = []
        for mutant in mutants:
            known = self._session.of(mutant)
            if known is None:
                left.append(mutant)
            elif known.killed_by:
                self._kills[mutant.area][known.killed_by] += 1
        if len(left) < len(mutants):
            self._say(f"{len(mutants) - len(left)} of {len(mutants)} are known from before")
        left = self._try(left, (self._last_killer(mutant, killers) for mutant in left), pool)
        for which, name in enumerate(("near tests", "early tests", "other tests")):
            if not left or (which and self._is_near_only):
                break
            if not which and self._skips_near:
                continue
            self._learn(left, which, pool)
            self._near = {} if which else self._near_of_areas(left)
            self._say(f"{len(left)} mutants, {name}")
            left = self._try(left, (self._run(mutant, which) for mutant in left), pool)
        unfinished = self.unfinished
        for mutant in left:
            ran = self._ran.get(mutant.key, 0)
            is_final = not self._is_near_only and unfinished.isdisjoint(
                file for files in stages_of(mutant, self._settings) for file in files
            )
            self._session.keep(mutant, Outcome(ran=ran), is_final=is_final)
            self._say(f"survived {ran} tests: {mutant.place}: {mutant.text}  ->  {mutant.mutated}")

    @property
    def unfinished(self) -> set[str]:
        """The test modules that were left out because they did not come to an end."""
        return {file for reach in self._reach.values() for file in reach.unfinished}

    def _is_compiled(self, mutant: Mutant) -> bool:
        return self._settings.areas[mutant.area].compiled

    def _last_killer(self, mutant: Mutant, killers: dict[str, str]) -> Run | None:
        test = killers.get(name_of(mutant), "")
        file = test.split("::", maxsplit=1)[0]
        if not test or not (ROOT / file).exists():
            return None
        return Run(
            path=mutant.path.as_posix(),
            source=mutant.source,
            files=(file,),
            tests={test: self._settings.seconds_of_tests / 3},
            seconds=self._settings.seconds_of_tests / 3,
            is_compiled=self._is_compiled(mutant),
        )

    def _learn(self, mutants: list[Mutant], which: int, pool: Executor) -> None:
        files: dict[bool, dict[str, None]] = {True: {}, False: {}}
        mutated = {mutant.path.as_posix() for mutant in mutants}
        for mutant in mutants:
            requested = stages_of(mutant, self._settings)[which]
            files[self._is_compiled(mutant)].update(dict.fromkeys(requested))
        for is_compiled, names in files.items():
            reach = self._reach[is_compiled]
            for test in reach.learn(names, mutated, pool):
                self._say(f"left out, it fails on the tree as it is: {test}")
            for file in [name for name in names if name in reach.unfinished]:
                self._say(f"left out, {file}: {reach.unfinished[file]}")

    def _near_of_areas(self, mutants: Iterable[Mutant]) -> dict[str, tuple[str, ...]]:
        """Return the test modules beside the mutated modules of each area."""
        unfinished = self.unfinished
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for mutant in mutants:
            beside = stages_of(mutant, self._settings)[0]
            found[mutant.area].update((file, None) for file in beside if file not in unfinished)
        return {area: tuple(files) for area, files in found.items()}

    def _run(self, mutant: Mutant, which: int) -> Run | None:
        files = stages_of(mutant, self._settings)[which]
        reach = self._reach[self._is_compiled(mutant)]
        is_early = which == 1
        tests = reach.tests_for(
            mutant,
            files,
            self._settings.early_seconds_of_tests if is_early else self._settings.seconds_of_tests,
            self._kills[mutant.area],
            modules_of_tests(self._settings.everywhere, ROOT),
        )
        if not tests:
            return None
        return Run(
            path=mutant.path.as_posix(),
            source=mutant.source,
            files=tuple(dict.fromkeys(test.split("::", maxsplit=1)[0] for test in tests)),
            tests=tests,
            collected=self._near.get(mutant.area, ()),
            seconds=sum(tests.values()),
            is_compiled=self._is_compiled(mutant),
        )

    def _try(
        self, mutants: list[Mutant], runs: Iterable[Run | None], pool: Executor
    ) -> list[Mutant]:
        """Perform one run for each mutant that has one; return those that are still alive."""
        killed: set[str] = set()
        done = 0
        # Few runs are submitted ahead: their tests are chosen by the kills so far.
        pending: dict[Future[Outcome], Mutant] = {}
        pairs = ((mutant, run) for mutant, run in zip(mutants, runs, strict=True) if run)
        while True:
            for mutant, run in islice(pairs, _SUBMITTED_AHEAD - len(pending)):
                pending[pool.submit(attempt, run)] = mutant
            if not pending:
                break
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                mutant, outcome = pending.pop(future), future.result()
                if outcome.failed:
                    self._session.keep(mutant, outcome)
                    self._kills[mutant.area][outcome.failed] += 1
                    killed.add(mutant.key)
                self._ran[mutant.key] = self._ran.get(mutant.key, 0) + outcome.ran
                done += 1
                if done % 50 == 0:
                    self._say(f"{done} of {len(mutants)} tried, {len(killed)} killed")
        return [mutant for mutant in mutants if mutant.key not in killed]


def name_of(mutant: Mutant) -> str:
    """Return the identity of a mutant over versions of its module."""
    return f"{unchanged_of(mutant)}{ARROW}{mutant.mutated}"


def unchanged_of(mutant: Mutant) -> str:
    """Return what the name of a mutant begins with: its place without the change."""
    return f"{mutant.area}: {mutant.operator}: {mutant.text}"


def digest_of_area(area: str, settings: Settings, root: Path = ROOT) -> str:
    """Return a digest of the code of an area, and of the tests that may kill its mutants."""
    digest = hashlib.sha256()
    for name in dict.fromkeys((*settings.areas[area].folders, *settings.tests_of(area))):
        place = root / name
        for path in sorted(place.rglob("*")) if place.is_dir() else (place,):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
