"""Compare with the real kube-apiserver: ``python -m tests.conformance.against_real --area NAME``.

The recorded exchanges of an area are sent to a fresh kube-apiserver (they must agree with the
recording: a check of the marks and of the set-up). Before each, variations of it are sent as dry
runs, so that the state stays that of the recording. All answers are written as a recording, which
is then replayed against podwright; differences are shown by cause, the most frequent first.

The recording stays in the cache: `python -m tests.conformance FILE` replays it again without the
binaries.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
from tests.conformance.comparison import Comparison
from tests.conformance.marks import Marks, present_days, without_owners
from tests.conformance.recordings import Exchange, Results, read_recording
from tests.conformance.replay import RECORDINGS, Compared, replay, request_of
from tests.conformance.variations import Pool, Variations
from tests.real_parts.binaries import AbsentBinaryError, cache_folder
from tests.real_parts.control_plane import FailedStartError, running
from tests.real_parts.wire import Connection

from podwright.apimachinery.schema import built_in

_CHECKED_HEADERS = ("content-type", "warning", "retry-after")
_KEPT_HEADERS = (*_CHECKED_HEADERS, "location", "etag", "vary", "cache-control", "allow")
_DEFINITIONS = "/customresourcedefinitions"
_DEFINITION_SECONDS = 2
_CREATED = 201
_EXAMPLES = 3
_WITH_OWNERS = "apply"
"""The recordings with `managedFields`; the others leave them out."""


class Recorder:
    """Sends the exchanges of a recording and their variations to a server."""

    def __init__(self, port: int, variations: Variations, count: int) -> None:
        self._connection = Connection(port)
        self._marks = Marks(*present_days())
        self._results = Results()
        self._variations = variations
        self._count = count
        self.disagreeing: list[str] = []
        """Recorded exchanges that this server answers differently."""

    def record(self, path: Path) -> list[Exchange]:
        """Return the answers of the server to a recording and to its variations."""
        recorded: list[Exchange] = []
        for exchange in read_recording(path):
            for number, (note, request) in enumerate(self._variations.of(exchange, self._count)):
                answered = self._send(f"{exchange.id}v{number}", exchange.group, request, note)
                if answered is not None:
                    recorded.append(answered)
            answered = self._send(exchange.id, exchange.group, exchange.request, exchange.note)
            if answered is None:
                self.disagreeing.append(f"{exchange.id} could not be sent")
                continue
            self._check(exchange, answered)
            recorded.append(answered)
            self._wait(exchange, answered)
        self._connection.close()
        return recorded

    def record_changed(self, path: Path) -> list[Exchange]:
        """Return the answers to a recording of which a part of the requests is changed.

        The changed requests are no dry runs: later answers show their effects.
        """
        recorded: list[Exchange] = []
        for exchange in read_recording(path):
            note, request = self._variations.replacement(exchange)
            answered = self._send(exchange.id, exchange.group, request, note)
            if answered is not None:
                recorded.append(answered)
                self._wait(exchange, answered)
        self._connection.close()
        return recorded

    def _send(self, name: str, group: str, request: dict[str, Any], note: str) -> Exchange | None:
        try:
            sent = request_of(request, self._results)
        except (KeyError, IndexError, TypeError, ValueError):
            return None
        watched = re.search(r"\bwatch=(true|1)", sent.query) is not None
        try:
            answer = self._connection.send(sent, watch=watched)
        except (OSError, ValueError) as error:
            print(f"{name} ({note}): not answered: {error!r}", file=sys.stderr)
            return None
        # Only recorded exchanges have values that later ones use.
        if "v" not in name:
            self._results.add(name, answer.body, answer.headers)
        body = self._marks.marked(answer.body, sent.body.decode(errors="replace"))
        if not group.startswith(_WITH_OWNERS):
            body = without_owners(body)
        is_watch = watched and isinstance(answer.body, list)
        headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
        response = {
            "status": answer.status,
            "headers": headers,
            "body": {"watch": body} if is_watch else body,
            "check": [
                each for each in _CHECKED_HEADERS if each != "content-type" or answer.body != ""
            ],
        }
        return Exchange(id=name, group=group, request=request, response=response, note=note)

    def _check(self, exchange: Exchange, answered: Exchange) -> None:
        response, expected = answered.response, exchange.response
        body = response["body"]
        if isinstance(body, dict) and "watch" in body:
            body = body["watch"]
        found = Comparison().responses(expected, response["status"], response["headers"], body)
        self.disagreeing += [f"{exchange.id} {each}" for each in found]

    def _wait(self, exchange: Exchange, answered: Exchange) -> None:
        path, status = exchange.request["path"], answered.response["status"]
        if status == _CREATED and path.endswith(_DEFINITIONS):
            time.sleep(_DEFINITION_SECONDS)
        time.sleep(exchange.wait)


def causes(compared: list[Compared]) -> dict[str, list[Compared]]:
    """Group exchanges by what differs first; the most frequent cause comes first."""
    found: dict[str, list[Compared]] = defaultdict(list)
    for each in compared:
        if each.differences:
            first = each.differences[0]
            if len(each.differences) > 1 and first.path == "status":
                by_message = [other for other in each.differences if other.path == ".message"]
                first = by_message[0] if by_message else first
            template = f"{first.path}: {_short(first.expected)} / {_short(first.found)}"
            found[re.sub(r"\[\d+\]", "[]", template)].append(each)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _short(value: Any) -> str:
    return re.sub(r'"[^"]*"|\d+', "…", str(value))[:140]


def show(compared: list[Compared], most: int) -> None:
    """Print what differs by cause, with examples."""
    for number, (cause, each) in enumerate(causes(compared).items()):
        if number == most:
            print("(more causes: --causes N)")
            break
        print(f"{len(each)} x {cause}")
        for one in each[:_EXAMPLES]:
            request = one.exchange.request
            query = f"?{request['query']}" if request["query"] else ""
            print(f"   {one.exchange.id} {request['method']} {request['path'][:90]}{query[:60]}")
            print(f"      [{one.exchange.note}]")
            for difference in one.differences[:3]:
                print(f"      {difference}")


def main(arguments: list[str] | None = None) -> int:
    """Record and compare; exit status 1 if anything differs, 3 if the server cannot be started."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.against_real")
    parser.add_argument("--area", action="append", required=True, help="as in tests/golden/api")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=25, help="variations of each exchange")
    parser.add_argument("--causes", type=int, default=25, help="how many to show an area")
    parser.add_argument(
        "--stored", action="store_true", help="change a part of the requests, and store the effects"
    )
    parser.add_argument("--again", action="store_true", help="replay what is in the cache")
    parsed = parser.parse_args(arguments)
    every = [
        each for path in sorted(RECORDINGS.glob("*.jsonl.gz")) for each in read_recording(path)
    ]
    pool = Pool(every, built_in())
    folder = cache_folder().parent / "variations"
    folder.mkdir(parents=True, exist_ok=True)
    different = 0
    for area in parsed.area:
        (path,) = RECORDINGS.glob(f"{area}-*.jsonl.gz")
        kind = "stored" if parsed.stored else parsed.count
        kept = folder / f"{area}-{parsed.seed}-{kind}.jsonl.gz"
        if not (parsed.again and kept.exists()):
            variations = Variations(pool, parsed.seed)
            try:
                with running() as plane:
                    recorder = Recorder(plane.port, variations, parsed.count)
                    record = recorder.record_changed if parsed.stored else recorder.record
                    exchanges = record(path)
            except (AbsentBinaryError, FailedStartError) as error:
                print(error, file=sys.stderr)
                return 3
            for each in recorder.disagreeing:
                print(f"{area}: the real server differs from the recording: {each}")
            with gzip.open(kept, "wb") as file:
                file.write(b"".join(msgspec.json.encode(each) + b"\n" for each in exchanges))
        compared = replay(kept)
        wrong = [each for each in compared if each.differences]
        print(f"{area}: {len(compared) - len(wrong)} of {len(compared)} agree; {kept}")
        show(wrong, parsed.causes)
        different += len(wrong)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
