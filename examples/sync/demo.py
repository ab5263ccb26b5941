"""Two configurations follow one source: starts three clusters and a sync between them.

The source and A schedule with the default configuration, B with Coscheduling, so it waits until
all three workers of a group fit. Ctrl-C ends everything. Run it with `make demo-sync`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
PODWRIGHT = Path(sys.executable).with_name("podwright")
SECONDS_MAX = 180
SHOWN = 2
"""The workers that differ: B places none, the others two."""
ADDRESS = re.compile(r"at (http\S+)\n")
PAGE = re.compile(r"The web page is at (\S+)\n")


class Started:
    """A podwright command that runs in the background."""

    def __init__(self, stack: ExitStack, log: Path, *words: str | Path) -> None:
        self._log = log
        output = stack.enter_context(log.open("wb"))
        command = [str(PODWRIGHT), *map(str, words)]
        self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=log.parent)
        stack.callback(self._end)

    def until(self, condition: Callable[[str], bool]) -> str:
        """Return the output as soon as it meets a condition."""
        deadline = time.monotonic() + SECONDS_MAX
        while not condition(text := self.text()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{self._log.stem} did not start:\n{text}")
            time.sleep(0.1)
        return text

    def text(self) -> str:
        """Return the output so far."""
        return self._log.read_text(encoding="utf-8")

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(30)


def main() -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-ui", action="store_true", help="without the web pages")
    parser.add_argument("--once", action="store_true", help="end when the differences are printed")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def cluster(name: str, *words: str | Path) -> str:
            page = ("--no-ui",) if options.no_ui or name == "source" else ("--ui-port", "0")
            given = ("up", "--port", "0", "--kubeconfig", folder / f"{name}.kubeconfig", *page)
            started = Started(stack, folder / f"{name}.log", *given, *words)
            found = ADDRESS.search(started.until(lambda text: bool(ADDRESS.search(text))))
            assert found is not None, "it was found"
            shown = PAGE.search(started.text())
            print(f"{name}: {found[1]}" + (f", page: {shown[1]}" if shown else ""), flush=True)
            return found[1]

        source = cluster("source", HERE / "nodes.yaml", HERE / "group.yaml")
        a = cluster("A")
        b = cluster("B", "--config", HERE / "gang.yaml")
        sync = Started(stack, folder / "sync.log",
                       "sync", "--server", source, "--to", f"A={a}", "--to", f"B={b}")  # fmt: skip
        sync.until(lambda text: "B: created" in text)
        print("A and B follow the source; three workers are created there", flush=True)
        Started(stack, folder / "workers.log", "replay", HERE / "workers.jsonl",
                "--to", source, "--immediate")  # fmt: skip
        shown: list[str] = []
        deadline = time.monotonic() + SECONDS_MAX
        try:
            while not options.once or (len(shown) < SHOWN and time.monotonic() < deadline):
                lines = [each for each in sync.text().splitlines() if "  source=" in each]
                for line in lines[len(shown) :]:
                    print(line, flush=True)
                shown = lines
                time.sleep(0.2)
        except KeyboardInterrupt:
            print("ended")


if __name__ == "__main__":
    main()
