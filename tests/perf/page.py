"""The web page at 5,000 nodes and 20,000 pods, in Chromium on the machine of the server.

    python -m tests.perf.page                   all figures
    python -m tests.perf.page --minutes 10      watch the memory of the page for longer
    python -m tests.perf.page --only paint,scrub
    python -m tests.perf.page --json FILE       also write the figures

One server serves all figures; nothing is asserted. Changes are pods that are created and deleted
in turn, half of the rate each.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import shutil
import statistics
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.ui.requests import request
from tests.ui.served import Served

CHANGES_PER_SECOND = 200
SECONDS = 20.0
PAGES = 10
SETTLED_SECONDS = 5.0
PROBES = 60
SCROLLS = 3
FRAME_MAX_MS = 50
WIDTH, HEIGHT = 1280, 800
SLOW_MS = 300_000
"""Long enough for each step on a machine with other load."""

PODS = "/api/v1/namespaces/default/pods"
_MEASURED_UP = Path(__file__).with_name("measured_up.py")
_TURN = struct.Struct("<dd")
_TICKS = os.sysconf("SC_CLK_TCK")

PAINTED = """
globalThis.painted = null;
const fillRect = CanvasRenderingContext2D.prototype.fillRect;
let cells = 0;
CanvasRenderingContext2D.prototype.fillRect = function (...area) {
  fillRect.apply(this, area);
  if (painted !== null || this.canvas.getRootNode().host?.localName !== "pw-heat-map") return;
  if (++cells < NODES) return;
  painted = 0;
  // A task after the frame that paints the cells.
  requestAnimationFrame(() => setTimeout(() => (painted = performance.now())));
};
"""
PROBE = """
async (node) => {
  const { model } = await import("/pictures/data/model.js");
  const data = model();
  const slot = data.live.names.indexOf(node);
  globalThis.probed = [];
  let before = data.live.column("unschedulable")[slot] ?? 0;
  data.addEventListener("state", () => {
    const present = data.live.column("unschedulable")[slot] ?? 0;
    if (present === before) return;
    before = present;
    const arrived = Date.now() / 1000;
    requestAnimationFrame(() => setTimeout(() => probed.push([arrived, Date.now() / 1000])));
  });
}
"""

CASES = ("paint", "size", "explain", "scroll", "update", "scrub", "memory", "server")
PENDING = 10
"""Pods that fit nowhere, which are explained."""


FRAMES = """
async (seconds) => {
  const scroll = document.querySelector("pw-resources").shadowRoot.querySelector(".table");
  performance.mark("scrolling");
  const begin = performance.now();
  for (let share = 0; share < 1; ) {
    share = Math.min(1, (performance.now() - begin) / (seconds * 1e3));
    // Of the rows that are there: more of them arrive.
    scroll.scrollTop = share * (scroll.scrollHeight - scroll.clientHeight);
    await new Promise(requestAnimationFrame);
  }
  performance.mark("scrolled");
}
"""
"""Scrolls through the rows; the marks are the times between which each frame is requested."""

UPDATE_PARTS = ("until the reply", "then until the page has it", "then until the frame")
"""What an update waits for; the page may have it before the reply."""

SELECT = """
async (pod) => {
  const { address } = await import("/pictures/data/address.js");
  const begin = performance.now();
  address.set({ pod, node: null, attempt: null });
  const isShown = () => {
    const of = document.querySelector("pw-screen").shadowRoot.querySelector("pw-pod");
    const titles = [...of.shadowRoot.querySelectorAll("h3")].map((each) => each.textContent);
    return of.pod === pod && titles.some((each) => each.includes("Why it is pending"));
  };
  const frame = () => new Promise(requestAnimationFrame);
  await frame().then(frame);  // the explanation of another pod goes
  while (!isShown()) await frame();
  return (performance.now() - begin) / 1e3;
}
"""
"""Selects a pod, and returns the seconds until the frame with its explanation."""

LABELS = """
async (count) => {
  const { model } = await import("/pictures/data/model.js");
  while (model().labels.size < count) await new Promise((resolve) => setTimeout(resolve, 200));
}
"""

Figures = dict[str, "tuple[float, str, str]"]


class Load:
    """Changes of the cluster at a rate, from a thread.

    Attributes
    ----------
    changes : int
        How many there were.
    """

    def __init__(self, served: Served, per_second: float) -> None:
        self.changes = 0
        self._served = served
        self._per_second = per_second
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        address = self._served.server.removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=60)
        headers = {
            "authorization": f"Bearer {self._served.token}",
            "content-type": "application/json",
        }
        alive: list[str] = []
        begin = time.monotonic()
        while not self._is_over.is_set():
            ahead = begin + self.changes / self._per_second - time.monotonic()
            if ahead > 0:
                self._is_over.wait(ahead)
                continue
            if self.changes % 2 and len(alive) > self._per_second:
                method, path, body = "DELETE", f"{PODS}/{alive.pop(0)}?gracePeriodSeconds=0", None
            else:
                name = f"load-{time.monotonic_ns()}"
                alive.append(name)
                method, path, body = "POST", PODS, json.dumps(_pod(name))
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            reply.read()
            assert reply.status < 300, reply.status
            self.changes += 1
        for name in alive:
            connection.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0", headers=headers)
            connection.getresponse().read()


class Bench:
    """The figures of a server that runs.

    Parameters
    ----------
    served : Served
    browser : Browser
    nodes : int
    turns : Path
        Where the server writes its turns.
    """

    def __init__(self, served: Served, browser: Browser, nodes: int, turns: Path) -> None:
        self._served = served
        self._browser = browser
        self._nodes = nodes
        self._turns = turns

    def paint(self) -> Figures:
        """Measure the time from the navigation to the heat map; medians, cold and warm caches."""
        found: dict[str, list[float]] = {"first visit": [], "later visit": []}
        for _ in range(3):
            with self._context() as context:
                context.add_init_script(PAINTED.replace("NODES", str(self._nodes)))
                for visit in found.values():
                    with self._page(context) as page:
                        visit.append(self._painted(page))
        return {
            f"navigation to heat map, {name}": (statistics.median(runs), "s", "2")
            for name, runs in found.items()
        }

    def size(self) -> Figures:
        """Measure what a visit of a view transfers, and how long it takes until it is shown."""
        figures: Figures = {}
        for view, address, shown in (
            ("cluster", "", "pw-heat-map canvas"),
            ("20,000 rows", "/resources?kind=pods", "pw-resources .line"),
        ):
            with self._context() as context, self._page(context) as page:
                devices = context.new_cdp_session(page)
                devices.send("Network.enable")
                sizes: list[float] = []
                devices.on("Network.dataReceived", _adder(sizes))
                begin = time.monotonic()
                page.goto(self._served.page + address, wait_until="commit", timeout=SLOW_MS)
                page.locator(shown).first.wait_for(timeout=SLOW_MS)
                seconds = time.monotonic() - begin
                page.wait_for_timeout(SETTLED_SECONDS * 1e3)
            figures |= {
                f"{view}: until it is shown": (seconds, "s", "2"),
                f"{view}: transferred in {SETTLED_SECONDS:g} s": (sum(sizes) / 1e6, "MB", "4"),
            }
        return figures

    def explain(self) -> Figures:
        """Measure the time from a click on a pending pod to its explanation, under changes."""
        waits = []
        with self._context() as context, self._page(context) as page:
            self._open(page)
            page.evaluate(LABELS, self._nodes)
            with Load(self._served, CHANGES_PER_SECOND) as load:
                page.wait_for_timeout(SETTLED_SECONDS * 1e3)
                at, before = time.monotonic(), load.changes
                for number in range(PENDING):
                    waits.append(page.evaluate(SELECT, f"default/pending-{number}"))
                    page.wait_for_timeout(700)
                rate = (load.changes - before) / (time.monotonic() - at)
        waits.sort()
        return {
            "explanation shown, p50": (statistics.median(waits), "s", "1"),
            "explanation shown, longest": (waits[-1], "s", "1"),
            "changes while pods were explained": (rate, "/s", f"{CHANGES_PER_SECOND}"),
        }

    def scroll(self) -> Figures:
        """Measure the frames while all rows of the pods are scrolled through, by traces.

        On a machine with other load, a task waits for a processor: its CPU time tells what the
        page itself needs.
        """
        gaps: list[float] = []
        walls: list[float] = []
        cpus: list[float] = []
        for _ in range(SCROLLS):
            with self._context() as context, self._page(context) as page:
                page.goto(f"{self._served.page}/resources?kind=pods", timeout=SLOW_MS)
                page.locator("pw-resources .line").first.wait_for(timeout=SLOW_MS)
                with _traced(context.new_cdp_session(page)) as events:
                    page.evaluate(FRAMES, SECONDS / 2)
            marks = {e["name"]: e["ts"] for e in events if e["cat"] == "blink.user_timing"}
            begin, end = marks["scrolling"], marks["scrolled"]
            frames = [
                e["ts"] for e in events if e["name"] == "DrawFrame" and begin <= e["ts"] <= end
            ]
            gaps += [b - a for a, b in itertools.pairwise([begin, *frames])]
            main = {
                (event["pid"], event["tid"])
                for event in events
                if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
            }
            tasks = [e for e in events if "RunTask" in e["name"] and begin <= e["ts"] <= end]
            tasks = [task for task in tasks if (task["pid"], task["tid"]) in main]
            walls += [task.get("dur", 0) for task in tasks]
            cpus += [task.get("tdur", 0) for task in tasks]
        for each in (gaps, walls, cpus):
            each.sort()
        p99 = gaps[len(gaps) * 99 // 100]
        longer = sum(gap > FRAME_MAX_MS * 1e3 for gap in gaps) / len(gaps)
        return {
            "frames while scrolling": (len(gaps) / (SCROLLS * SECONDS / 2), "/s", ""),
            "gap between frames while scrolling, p50": (gaps[len(gaps) // 2] / 1e3, "ms", ""),
            "gap between frames while scrolling, p99": (p99 / 1e3, "ms", ""),
            "longest gap between frames while scrolling": (gaps[-1] / 1e3, "ms", "50"),
            "share of gaps longer than 50 ms": (longer * 100, "%", "0"),
            "longest task of the page while scrolling": (walls[-1] / 1e3, "ms", "50"),
            "most CPU of a task while scrolling": (cpus[-1] / 1e3, "ms", "50"),
        }

    def update(self) -> Figures:
        """Measure the time from a request that changes a node to the frame that shows it."""
        node = f"node-{self._nodes // 2}"
        with self._context() as context, self._page(context) as page:
            self._open(page)
            page.evaluate(PROBE, node)
            with Load(self._served, CHANGES_PER_SECOND) as load:
                page.wait_for_timeout(2_000)
                begin, before = time.monotonic(), load.changes
                sent = []
                for number in range(PROBES):
                    at = time.time()
                    self._cordon(node, is_cordoned=number % 2 == 0)
                    sent.append((at, time.time()))
                    page.wait_for_function(f"probed.length > {number}", timeout=SLOW_MS)
                    page.wait_for_timeout(37 * (number % 5))
                rate = (load.changes - before) / (time.monotonic() - begin)
            seen = page.evaluate("probed")
        times = [(*before, *after) for before, after in zip(sent, seen, strict=True)]
        times.sort(key=lambda each: each[-1] - each[0])
        waits = [(each[-1] - each[0]) * 1e3 for each in times]
        for each in times[-5:]:
            parts = zip(UPDATE_PARTS, itertools.pairwise(each), strict=True)
            texts = [f"{part} {(end - begin) * 1e3:.0f} ms" for part, (begin, end) in parts]
            print("a slow update:", ", ".join(texts), file=sys.stderr)
        return {
            "update on screen, p50": (statistics.median(waits), "ms", "300"),
            "update on screen, p99": (waits[len(waits) * 99 // 100], "ms", "300"),
            "changes while updates were measured": (rate, "/s", f"{CHANGES_PER_SECOND}"),
        }

    def scrub(self) -> Figures:
        """Measure the frames a second while the time bar is dragged, by a trace of the browser."""
        with self._context() as context, self._page(context) as page:
            self._open(page)
            bar = page.locator("pw-time .track").bounding_box()
            assert bar is not None
            middle = bar["y"] + bar["height"] / 2
            page.mouse.move(bar["x"] + bar["width"] - 12, middle)
            begin = time.monotonic()
            page.mouse.down()
            page.locator("pw-time .badge.past").wait_for(timeout=SLOW_MS)
            loaded = time.monotonic() - begin
            devices = context.new_cdp_session(page)
            with _traced(devices) as events:
                begin = time.monotonic()
                while (passed := time.monotonic() - begin) < SECONDS / 2:
                    share = abs(1 - passed / 2 % 2)  # there and back in four seconds
                    page.mouse.move(bar["x"] + 12 + (bar["width"] - 24) * share, middle)
            page.mouse.up()
        frames = [event["ts"] for event in events if event["name"] == "DrawFrame"]
        gaps = sorted(b - a for a, b in itertools.pairwise(frames))
        return {
            "the past is loaded": (loaded, "s", ""),
            "frames while scrubbing": (len(frames) / passed, "/s", "20"),
            "longest gap between frames, p95": (gaps[len(gaps) * 95 // 100] / 1e3, "ms", ""),
        }

    def memory(self, minutes: float) -> Figures:
        """Measure how the heap of a page grows while the cluster changes."""
        with self._context() as context, self._page(context) as page:
            self._open(page)
            devices = context.new_cdp_session(page)
            sizes = []
            with Load(self._served, CHANGES_PER_SECOND):
                page.wait_for_timeout(SETTLED_SECONDS * 1e3)
                for _ in range(11):
                    sizes.append(_heap_mib(devices))
                    page.wait_for_timeout(minutes * 6e3)
        print("heap in MiB:", *(f"{size:.1f}" for size in sizes), file=sys.stderr)
        return {
            "heap of a page": (sizes[-1], "MiB", ""),
            f"growth of the heap in {minutes:g} min": (sizes[-1] - sizes[0], "MiB", "stable"),
        }

    def server(self) -> Figures:
        """Measure the turns of the server and its CPU time, with one page and with ten."""
        figures: Figures = {}
        spent = []
        for count in (1, PAGES):
            with ExitStack() as stack:
                # A browser opens at most six connections to a server, so each page is that of
                # another user.
                contexts = [stack.enter_context(self._context()) for _ in range(count)]
                pages = [context.new_page() for context in contexts]
                for page in pages:
                    self._open(page)
                    self._wait_for_labels(page)
                with Load(self._served, CHANGES_PER_SECOND) as load:
                    pages[0].wait_for_timeout(SETTLED_SECONDS * 1e3)
                    began, before = self._turns.stat().st_size, load.changes
                    begin, cpu = time.monotonic(), _cpu_seconds(self._served.process.pid)
                    pages[0].wait_for_timeout(SECONDS * 1e3)
                    seconds = time.monotonic() - begin
                    spent.append((_cpu_seconds(self._served.process.pid) - cpu) / seconds)
                    rate = (load.changes - before) / seconds
                turns = list(_TURN.iter_unpack(self._turns.read_bytes()[began:]))
            pages_text = "a page" if count == 1 else f"{count} pages"
            cpus, walls = (sorted(each) for each in zip(*turns, strict=True))
            p99 = len(cpus) * 99 // 100
            figures |= {
                f"turn with {pages_text}, CPU p99": (cpus[p99], "ms", "20"),
                f"turn with {pages_text}, wall p99": (walls[p99], "ms", ""),
                f"CPU of the server with {pages_text}": (spent[-1] * 1e2, "%", ""),
                f"changes with {pages_text}": (rate, "/s", f"{CHANGES_PER_SECOND}"),
            }
        figures["CPU of the server, ten pages over one"] = (spent[1] / spent[0], "times", "1.5")
        return figures

    def _painted(self, page: Page) -> float:
        page.goto(self._served.page, wait_until="commit", timeout=SLOW_MS)
        page.wait_for_function("painted > 0", timeout=SLOW_MS)
        return float(page.evaluate("painted")) / 1e3

    def _open(self, page: Page) -> None:
        page.goto(self._served.page, timeout=SLOW_MS)
        page.locator("pw-heat-map canvas").wait_for(timeout=SLOW_MS)

    def _wait_for_labels(self, page: Page) -> None:
        """Wait until the page has read the labels of all nodes, which it does once."""
        page.evaluate(LABELS, self._nodes)

    def _cordon(self, node: str, *, is_cordoned: bool) -> None:
        path = f"/api/v1/nodes/{node}"
        _patch(self._served, path, {"spec": {"unschedulable": is_cordoned or None}})

    @contextmanager
    def _context(self) -> Iterator[BrowserContext]:
        context = self._browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        try:
            yield context
        finally:
            context.close()

    @contextmanager
    def _page(self, context: BrowserContext) -> Iterator[Page]:
        page = context.new_page()
        try:
            yield page
        finally:
            page.close()


@contextmanager
def _traced(devices: Any) -> Iterator[list[Any]]:
    """Collect the frames that a browser draws during a block."""
    events: list[Any] = []
    is_complete = threading.Event()
    devices.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    devices.on("Tracing.tracingComplete", lambda _: is_complete.set())
    categories = (
        "toplevel,__metadata,blink.user_timing,devtools.timeline.frame,"
        "disabled-by-default-devtools.timeline.frame"
    )
    devices.send("Tracing.start", {"categories": categories, "transferMode": "ReportEvents"})
    yield events
    devices.send("Tracing.end")
    while not is_complete.is_set():
        devices.send("Runtime.evaluate", {"expression": "1"})
    events.sort(key=lambda event: event["ts"])


def _adder(sizes: list[float]) -> Callable[[Any], None]:
    return lambda event: sizes.append(event["encodedDataLength"])


def _heap_mib(devices: Any) -> float:
    devices.send("HeapProfiler.collectGarbage")
    return float(devices.send("Runtime.getHeapUsage")["usedSize"]) / (1 << 20)


def _cpu_seconds(process: int) -> float:
    """Return the CPU time of the server: the process, and its children but that of the page."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
            is_server = int(folder.name) == process
            if not is_server and int(fields[1]) != process:
                continue
            if b"podwright.online.ui" in (folder / "cmdline").read_bytes():
                continue
        except OSError:
            continue  # the process has ended
        total += int(fields[11]) + int(fields[12])
        if is_server:
            total += int(fields[13]) + int(fields[14])
    return total / _TICKS


def _pod(name: str, cpu: str = "50m") -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "app",
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [container]},
    }


def _patch(served: Served, path: str, body: Any) -> None:
    connection = http.client.HTTPConnection(served.server.removeprefix("http://"), timeout=60)
    headers = {
        "authorization": f"Bearer {served.token}",
        "content-type": "application/merge-patch+json",
    }
    connection.request("PATCH", path, json.dumps(body), headers)
    assert connection.getresponse().status == 200
    connection.close()


def _wait_until_placed(served: Served, pods: int) -> None:
    deadline = time.monotonic() + 600
    while True:
        counts = request(served, "GET", "/podwright/v1/queue?limit=1")
        waiting = sum(counts["counts"].values())
        bound = request(served, "GET", f"{PODS}?limit=1")["metadata"].get("remainingItemCount", 0)
        if waiting == PENDING and bound >= pods - 1:
            return
        assert time.monotonic() < deadline, f"{waiting} pods still wait"
        time.sleep(0.5)


def main() -> None:
    """Run the server and the browser, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long memory is watched")
    parser.add_argument("--only", default="", help=", ".join(CASES))
    parser.add_argument("--json", default="", help="file to write the figures to")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("the figures of the page need chromium on PATH (apt-get install chromium)")
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        pods = {"apiVersion": "v1", "kind": "List"}
        pods_file = folder / "pods.json"
        items = [_pod(f"pod-{number}") for number in range(options.pods - PENDING)]
        items += [_pod(f"pending-{number}", "9999") for number in range(PENDING)]
        pods_file.write_text(json.dumps(pods | {"items": items}))
        turns = folder / "turns"
        served = Served(
            folder, str(turns), "up", "--port", "0", "--ui-port", "0", "--nodes",
            str(options.nodes), str(pods_file), command=(sys.executable, "-P", str(_MEASURED_UP)),
        )  # fmt: skip
        try:
            _wait_until_placed(served, options.pods)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            bench = Bench(served, browser, options.nodes, turns)
            cases: dict[str, Callable[[], Figures]] = {
                "paint": bench.paint,
                "size": bench.size,
                "explain": bench.explain,
                "scroll": bench.scroll,
                "update": bench.update,
                "scrub": bench.scrub,
                "memory": lambda: bench.memory(options.minutes),
                "server": bench.server,
            }
            for case in options.only.split(",") if options.only else cases:
                for title, (value, unit, target) in cases[case]().items():
                    figures[title] = (value, unit, target)
                    print(f"{title:48} {value:10.2f} {unit:6} {target:>8}", flush=True)
            browser.close()
        finally:
            served.stop()
    if options.json:
        text = {
            title: {"value": value, "unit": unit} for title, (value, unit, _) in figures.items()
        }
        Path(options.json).write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
