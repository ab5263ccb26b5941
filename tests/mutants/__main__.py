"""Run mutation tests, and print the mutants that survive.

    python -m tests.mutants                        all areas
    python -m tests.mutants --area queueing        one (repeat for more)
    python -m tests.mutants --share 20             some with a known killer; none may survive
    python -m tests.mutants --list                 the results so far, without running anything

The exit status is 0 if enough are killed, 1 if not or if none was tried, and 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path

from tests.mutants import report
from tests.mutants.areas import ROOT, Settings, modules_of, read_settings
from tests.mutants.equivalent import (
    Equivalent,
    UnknownEquivalentError,
    declared_among,
    read_equivalents,
)
from tests.mutants.sample import Mutant, all_of, draw, source_of
from tests.mutants.stages import ARROW, Session, Stages, digest_of_area, name_of, unchanged_of
from tests.mutants.workers import pool_of

FOLDER = ROOT / ".mutants"
KILLERS = Path(__file__).parent / "killers.json"


def main() -> int:
    """Run the command; return its exit status."""
    settings = read_settings()
    options = read_options(settings)
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.0f}s  {line}", file=sys.stderr, flush=True)

    areas = options.area or list(settings.areas)
    entries = [entry for entry in read_equivalents() if entry.area in areas]
    is_share = options.share is not None
    every = {
        area: all_of(
            area, settings, options.seed, needed(area, settings, entries) if is_share else None
        )
        for area in areas
    }
    try:
        declared = declared_among(
            [mutant for mutants in every.values() for mutant in mutants], entries
        )
    except UnknownEquivalentError as error:
        print(error, file=sys.stderr)
        return 2
    if not is_share:
        drawn = [
            mutant
            for area in areas
            for mutant in draw(every[area], options.mutants or settings.mutants_of(area))
        ]
    else:
        drawn = list(share_of(every, known_killers(), options.share))
        if len(drawn) < options.share:
            print(f"only {len(drawn)} mutants have a known killer", file=sys.stderr)
            return 1

    if options.fresh:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(exist_ok=True)
    trees = {area: digest_of_area(area, settings) for area in areas}
    session = Session(FOLDER / "session.sqlite", trees)
    judged = [mutant for mutant in drawn if mutant.key not in declared]
    say(f"{len(drawn)} mutants drawn with seed {options.seed}, {len(judged)} to be killed")
    unfinished = () if options.list else run_all(judged, settings, session, options, say)
    session.close()

    results = session.results
    counts = report.tally(drawn, declared, results)
    lines = [*report.survivors(drawn, declared, results), "", *report.table(counts)]
    missing = [
        *report.shortcomings(counts, settings, none_may_survive=is_share),
        *(f"{file}: left out, it did not come to an end" for file in unfinished),
    ]
    print("\n".join([*lines, *([""] if missing else []), *missing]))
    say("done")
    return 1 if missing else 0


def run_all(
    mutants: list[Mutant],
    settings: Settings,
    session: Session,
    options: argparse.Namespace,
    say: Callable[[str], None],
) -> list[str]:
    """Try the mutants, and record the killers if requested; return the unfinished test modules."""
    killers = known_killers()
    stages = Stages(
        session, settings, FOLDER, say, is_near_only=options.near, skips_near=options.skip_near
    )
    pool = pool_of(options.jobs, FOLDER)
    try:
        stages.play(mutants, killers, pool)
    finally:
        pool.shutdown(cancel_futures=True)
        for copy in FOLDER.glob("copy-*"):
            shutil.rmtree(copy, ignore_errors=True)
    if options.update_killers:
        found = {name_of(mutant): session.results[mutant.key].killed_by for mutant in mutants}
        written = {name: test for name, test in (killers | found).items() if "::" in test}
        KILLERS.write_text(
            json.dumps(dict(sorted(written.items())), indent=1) + "\n", encoding="utf-8"
        )
    return sorted(stages.unfinished)


def known_killers() -> dict[str, str]:
    """Return the test that killed each mutant of the recorded ones."""
    killers: dict[str, str] = json.loads(KILLERS.read_text(encoding="utf-8"))
    return killers


def needed(area: str, settings: Settings, entries: Iterable[Equivalent]) -> set[str]:
    """Return the modules of an area with a declaration, or a line of a mutant with a killer.

    Listing the mutants of all modules takes a hundred seconds.
    """
    declared = {entry.module for entry in entries if entry.area == area}
    killed = (name for name in known_killers() if name.startswith(f"{area}: "))
    lines = {start.split(": ", 2)[2] for name in killed for start in _beginnings(name)}
    return declared | {
        module
        for module, path in modules_of(settings.areas[area]).items()
        if not lines.isdisjoint(
            " ".join(line.split()) for line in source_of(path.relative_to(ROOT)).splitlines()
        )
    }


def share_of(
    every: dict[str, list[Mutant]], killers: Mapping[str, str], count: int
) -> Iterator[Mutant]:
    """Yield `count` mutants that a test is known to kill, from each area in turn, as drawn."""
    # The changed line costs a parse of the module, so only lines with a killer are changed.
    lines = {start for name in killers for start in _beginnings(name)}
    rows = [
        draw([m for m in mutants if unchanged_of(m) in lines and name_of(m) in killers], count)
        for mutants in every.values()
    ]
    in_turn = (mutant for row in zip_longest(*rows) for mutant in row if mutant is not None)
    yield from islice(in_turn, count)


def _beginnings(name: str) -> Iterator[str]:
    """Yield what stands before each arrow of a name; the code may have arrows too."""
    parts = name.split(ARROW)
    return (ARROW.join(parts[:end]) for end in range(1, len(parts)))


def read_options(settings: Settings) -> argparse.Namespace:
    """Parse the command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--area", action="append", choices=settings.areas, help="only this area; may be repeated"
    )
    parser.add_argument(
        "--mutants", type=at_least_one, help="how many in each area; default: by its size"
    )
    parser.add_argument(
        "--share",
        type=at_least_one,
        help="that many over all areas that a test is known to kill; none may survive",
    )
    parser.add_argument("--seed", type=int, default=settings.seed)
    parser.add_argument("--jobs", type=at_least_one, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("--list", action="store_true", help="show what is known and run nothing")
    parser.add_argument(
        "--near",
        action="store_true",
        help="run only the tests beside each module: quick, not final",
    )
    parser.add_argument(
        "--skip-near",
        action="store_true",
        help="leave those out: an interrupted run of the same tree ran them",
    )
    parser.add_argument(
        "--update-killers",
        action="store_true",
        help=f"write into {KILLERS.name} which test kills each: the next run begins with it",
    )
    return parser.parse_args()


def at_least_one(text: str) -> int:
    """Parse a positive number."""
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return count


if __name__ == "__main__":
    sys.exit(main())
