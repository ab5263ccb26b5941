"""Replay recordings: ``python -m tests.conformance [FILE ...] [--http] [--differences N]``.

Without files it replays those of tests/golden/api; without `--http`, no socket is opened. The exit
status is 1 if anything differs, or if nothing was replayed, and 2 if a file cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.conformance.comparison import Counts
from tests.conformance.over_http import served_cluster
from tests.conformance.replay import RECORDINGS, Compared, replay


def main(arguments: list[str] | None = None) -> int:
    """Replay files, print what differs, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("files", nargs="*", type=Path, help="recordings (*.jsonl.gz)")
    parser.add_argument(
        "--differences", type=int, default=5, metavar="N", help="how many exchanges to show a file"
    )
    parser.add_argument("--http", action="store_true", help="replay against a server on a socket")
    parsed = parser.parse_args(arguments)
    files = parsed.files or sorted(RECORDINGS.glob("*.jsonl.gz"))
    agreed = total = 0
    counts = Counts()
    for path in files:
        try:
            compared = replay_over_http(path, counts) if parsed.http else replay(path, None, counts)
        except (OSError, ValueError, KeyError) as error:
            print(f"{path}: not a recording that can be replayed: {error!r}", file=sys.stderr)
            return 2
        same = sum(not each.differences for each in compared)
        agreed, total = agreed + same, total + len(compared)
        print(f"{path.name}: {same} of {len(compared)} agree")
        differing = [each for each in compared if each.differences]
        for each in differing[: parsed.differences]:
            print_differences(each)
    print("Normalizations, and how often each one mattered:")
    print("\n".join(counts.lines()))
    print(f"{agreed} of {total} exchanges in {len(files)} files agree")
    return 0 if total and agreed == total else 1


def replay_over_http(path: Path, counts: Counts | None = None) -> list[Compared]:
    """Replay a recording against a fresh server on a socket."""
    with served_cluster() as server:
        return replay(path, server, counts)


def print_differences(compared: Compared) -> None:
    """Print the first differences of an exchange."""
    exchange = compared.exchange
    request = exchange.request
    query = f"?{request['query']}" if request["query"] else ""
    where = f"{request['path']}{query}"[:110]
    print(f"  {exchange.id} {request['method']} {where}  {exchange.note}".rstrip())
    for each in compared.differences[:4]:
        print(f"     {each}")


if __name__ == "__main__":
    sys.exit(main())
