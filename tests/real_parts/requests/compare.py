"""Comparison of the answers of podwright with those of kube-apiserver, over seeds.

    python -m tests.real_parts.requests.compare --seeds 0:500

The requests of a seed go to both servers in order. A difference is printed with its seed and with
the earlier requests that it needs; `--seeds N:N+1` makes it again.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import quote

import msgspec
import yaml
from tests.conformance.comparison import Comparison, Counts, Difference
from tests.conformance.marks import Marks, present_days
from tests.conformance.replay import DirectServer, parsed
from tests.real_parts.control_plane import running
from tests.real_parts.requests.mistakes import changed
from tests.real_parts.requests.sequences import Sequence as Requests
from tests.real_parts.requests.steps import Step
from tests.real_parts.requests.topics import topic_steps, topics
from tests.real_parts.wire import Answer, Connection
from tests.waiting import until

from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.api.endpoints.served.bare import RECORDED_POLICY

_CHECKED_HEADERS = ("content-type", "warning", "retry-after")
HEADERS = {
    "authorization": "Bearer admin-token",
    "content-type": "application/json",
    "accept": "application/json",
}
_SHOWN = 700
_CONFLICT = "FieldManagerConflict"
_UNTYPED = "failed to create typed patch object"
_GENERATED = re.compile(r"\b([Gg]en-|x{58})[a-z0-9]{5}\b")
_AGE = re.compile(r"^(\d+[smhdy])+$|^<age>$")
_LATER_CHECK = "[+]poststarthook/apiservice-wait-for-first-sync ok\n"
_LABELS = ("metadata.labels", "metadata.annotations")
_LABEL_ERRORS = re.compile(r"(metadata\.(?:labels|annotations): Invalid).*\1", re.DOTALL)
_NEXT_ERROR = re.compile(r"(?<= is invalid: )\[|, (?=[a-z][\w.\[\]]*: )")
_DRAWN = re.compile(r"\b(10\.0\.0\.\d+|3[0-2]\d{3})\b")
NEUTRAL: Final = {
    "age": "the time since an object was created",
    "generated name": "drawn",
    "address or port": "drawn by each server for a Service, unless the request has it",
    "order of conflicts": "of a Go map",
    "order of type errors": "of a Go map",
    "order of label errors": "of a Go map",
    "health check of a later patch": "the recorded server has it, 1.36.0 has not",
}
"""What is made equal before a comparison, and why."""


class Server(Protocol):
    """A server that answers requests in order."""

    def send(self, request: HttpRequest) -> Answer:
        """Send a request and return the parsed answer."""


class RealServer:
    """kube-apiserver on a port."""

    def __init__(self, port: int) -> None:
        self._connection = Connection(port)

    def send(self, request: HttpRequest) -> Answer:
        """Send a request and return the parsed answer."""
        try:
            is_watch = "watch=" in request.query or "/watch/" in request.path
            return self._connection.send(request, watch=is_watch)
        except http.client.RemoteDisconnected:
            # Its handler has panicked.
            return Answer(0, {}, None)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class OwnServer:
    """podwright, without a socket."""

    def __init__(self, gates: Sequence[str] = ()) -> None:
        self._server = DirectServer(gates)

    def send(self, request: HttpRequest) -> Answer:
        """Send a request and return the parsed answer."""
        answer = self._server.send(request)
        if answer.is_watch:
            body: Any = [json.loads(line) for line in answer.body.splitlines()]
        else:
            body = parsed(answer.body)
        return Answer(answer.status, answer.headers, body)


class Different(msgspec.Struct, frozen=True):
    """A step whose answers differ."""

    step: Step
    differences: list[Difference]
    before: list[Step]
    """The steps that the difference needs."""

    @property
    def cause(self) -> str:
        """What differs first, without values."""
        first = next(
            (each for each in self.differences if each.path == ".message"), self.differences[0]
        )
        template = f"{first.path}: {_short(first.expected)} / {_short(first.found)}"
        return re.sub(r"\[\d+\]", "[]", template)


def _short(value: Any) -> str:
    return re.sub(r'"[^"]*"|\d+', "…", str(value))[:160]


class Pair:
    """Both servers, to which sequences are sent."""

    def __init__(self, real: Server, own: Server) -> None:
        self._real, self._own = real, own
        self._runs = 0
        self.counts = Counts()
        self.outcomes: dict[int, int] = defaultdict(int)

    def run(
        self, steps: list[Step], *, counts: bool = False
    ) -> Iterator[tuple[Step, list[Difference]]]:
        """Send steps to both on a fresh namespace; yield what differs in each answer."""
        self._runs += 1
        namespace = f"s{self._runs:05d}"
        marks = Marks(*present_days())
        real: dict[str, Answer] = {}
        own: dict[str, Answer] = {}
        paths = []
        for step in steps:
            one, other = request_of(step, namespace, real), request_of(step, namespace, own)
            if one is None or other is None:
                continue
            if _reads_from_cache(step):
                # Such a list waits until the cache of the server has the last write.
                path = one.path.replace("/watch/", "/")
                self._real.send(msgspec.structs.replace(one, path=path, query=""))
            expected = self._real_answer(one, step.until)
            found = self._own.send(other)
            real[step.id], own[step.id] = expected, found
            if not expected.status:
                break
            if counts:
                self.outcomes[expected.status] += 1
            if step.method in ("POST", "PATCH") and "/namespaces/" not in one.path:
                paths.append(one.path)
            yield step, _differences(marks, expected, found, step, self.counts)
        self._clear(namespace, paths)

    def _real_answer(self, request: HttpRequest, status: int) -> Answer:
        """Return the answer of kube-apiserver; with a status, the first that has it."""
        if not status:
            return self._real.send(request)
        # Its policies and definitions take effect after a while.
        found: list[Answer] = []

        def has_status() -> bool:
            found.append(self._real.send(request))
            return found[-1].status == status

        until(has_status)
        return found[-1]

    def wait_for_definitions(self) -> None:
        """Wait until kube-apiserver serves its definitions, or says that it does not."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

        def are_settled() -> bool:
            items = self._real.send(HttpRequest("GET", path, "", HEADERS, b"")).body["items"]
            found = [
                {(each["type"], each["status"]) for each in item["status"].get("conditions") or ()}
                for item in items
            ]
            return all(
                ("Established", "True") in each or ("NamesAccepted", "False") in each
                for each in found
            )

        until(are_settled)

    def _clear(self, namespace: str, paths: list[str]) -> None:
        """Delete the objects of a sequence outside its namespace."""
        collections = {re.sub(rf"/[^/]*{namespace}[^/]*(/status)?$", "", path) for path in paths}
        for server in (self._real, self._own):
            for collection in sorted(collections):
                listed = server.send(HttpRequest("GET", collection, "", HEADERS, b"")).body
                items = listed.get("items") or [] if isinstance(listed, dict) else []
                for item in items:
                    name = item["metadata"]["name"]
                    if namespace in name and collection != "/api/v1/namespaces":
                        path = f"{collection}/{name}"
                        if item["metadata"].get("finalizers"):
                            headers = HEADERS | {"content-type": "application/merge-patch+json"}
                            body = b'{"metadata":{"finalizers":null}}'
                            server.send(HttpRequest("PATCH", path, "", headers, body))
                        server.send(
                            HttpRequest("DELETE", path, "gracePeriodSeconds=0", HEADERS, b"")
                        )

    def reduced(self, steps: list[Step], step: Step, cause: str) -> list[Step]:
        """Return the earlier steps without which a step's answers no longer differ in this way."""
        kept = steps[: steps.index(step)]
        # Not the namespace, nor what a step waits for.
        first = max((index for index, each in enumerate(kept) if each.until), default=0)
        for each in kept[:first:-1]:
            fewer = [other for other in kept if other is not each]
            for last, found in self.run([*fewer, step]):
                if last is step and found and Different(step, found, []).cause == cause:
                    kept = fewer
        return kept


def _reads_from_cache(step: Step) -> bool:
    return step.method == "GET" and ("resourceVersion" in step.query or "watch" in step.query)


def request_of(step: Step, namespace: str, answers: dict[str, Answer]) -> HttpRequest | None:
    """Return the request of a step, with values of earlier answers; None without one it changes."""
    body = step.body
    if step.base:
        found = (answers[each].body for each in reversed(step.base) if each in answers)
        base = next((each for each in found if _is_object(each)), None)
        if base is None:
            return None
        body = changed(base, [(tuple(path), value) for path, value in step.changes])
    text = "" if body is None else body if isinstance(body, str) else _json(body)
    values = {"ns": namespace} | _answered(answers)
    query = step.query
    for name, value in values.items():
        query = query.replace(f"%7B{name}%7D", quote(value))
        text = text.replace(f"{{{name}}}", value)
    path = step.path.replace("{ns}", namespace)
    headers = {name: text.replace("{ns}", namespace) for name, text in step.headers.items()}
    return HttpRequest(step.method, path, query, headers, text.encode())


def _answered(answers: dict[str, Answer]) -> dict[str, str]:
    """Return the values of earlier answers that a request can have."""
    found = {"rv": "0", "first": "0", "uid": "", "continue": ""}
    for answer in answers.values():
        metadata = answer.body.get("metadata") if isinstance(answer.body, dict) else None
        for name, field in (("rv", "resourceVersion"), ("uid", "uid"), ("continue", "continue")):
            found[name] = str((metadata or {}).get(field) or found[name])
        if found["first"] == "0":
            found["first"] = found["rv"]
    return found


def _json(body: Any) -> str:
    # Upstream keeps the bytes of free parts of an object: its own writing of them is compact.
    named = json.loads(json.dumps(body))  # a changed body can have keys that are no texts
    return json.dumps(named, separators=(",", ":"), sort_keys=True)


def _is_object(body: Any) -> bool:
    return isinstance(body, dict) and body.get("kind") not in ("Status", "Scale", "Table")


def _differences(
    marks: Marks, expected: Answer, found: Answer, step: Step, counts: Counts
) -> list[Difference]:
    """Return what differs between two answers, and count what made others equal."""
    arguments = (marks, expected, found, step)
    differing = _neutral_differences(*arguments, frozenset(), counts)
    if expected.body != found.body:
        for name in NEUTRAL:
            without = _neutral_differences(*arguments, frozenset({name}), Counts())
            counts.by_name[name] += len(without) > len(differing)
    return differing


def _neutral_differences(
    marks: Marks,
    expected: Answer,
    found: Answer,
    step: Step,
    without: frozenset[str],
    counts: Counts,
) -> list[Difference]:
    # What a request has of an earlier answer, such as an address, each server has drawn.
    written = _json([step.body, step.changes])
    neutral = _neutral(expected.body, written, without)
    body = marks.marked(neutral, written)
    is_watch = isinstance(body, list)
    response = {
        "status": expected.status,
        "headers": expected.headers,
        "check": _CHECKED_HEADERS,
        "body": {"watch": body} if is_watch else body,
    }
    body = _neutral(found.body, written, without)
    return Comparison(counts).responses(response, found.status, found.headers, body)


def _neutral(value: Any, sent: str, without: frozenset[str]) -> Any:
    """Return an answer without what each server draws."""
    if isinstance(value, dict):
        if "cells" in value and "age" not in without:
            # A watch has the names of the columns in its first event only.
            cells = [_AGE.sub("<age>", each) if isinstance(each, str) else each
                     for each in value["cells"]]  # fmt: skip
            value = value | {"cells": cells}
        if "resourceVersion" in value and "managedFields" not in value:
            # A recording without managed fields is compared without them.
            value = value | {"managedFields": []}
        return {name: _neutral(part, sent, without) for name, part in value.items()}
    if isinstance(value, list):
        parts = [_neutral(part, sent, without) for part in value]
        is_conflict = parts and isinstance(parts[0], dict) and parts[0].get("reason") == _CONFLICT
        is_sorted = is_conflict and "order of conflicts" not in without
        if "order of label errors" not in without:
            parts = _with_label_errors_in_order(parts)
        return sorted(parts, key=_json) if is_sorted else parts
    if not isinstance(value, str):
        return value
    if "generated name" not in without:
        value = _GENERATED.sub(r"\1<gen5>", value)
    if "order of type errors" not in without and value.startswith(_UNTYPED):
        value = "\n".join(sorted(value.split("\n")))
    if "order of label errors" not in without and _LABEL_ERRORS.search(value):
        value = ", ".join(sorted(_NEXT_ERROR.split(value.removesuffix("]"))))
    if "health check of a later patch" not in without:
        value = value.replace(_LATER_CHECK, "")
    if "address or port" in without:
        return value
    return _DRAWN.sub(lambda found: found[0] if found[0] in sent else "<drawn>", value)


def _with_label_errors_in_order(parts: list[Any]) -> list[Any]:
    """Return the causes of an error with those of one map of labels next to another in order."""
    labels = [isinstance(each, dict) and each.get("field") in _LABELS for each in parts]
    found: list[Any] = []
    for _, indexes in itertools.groupby(
        range(len(parts)), key=lambda index: (labels[index], index * (not labels[index]))
    ):
        found += sorted((parts[index] for index in indexes), key=_json)
    return found


StepsOf: TypeAlias = Callable[[int], list[Step]]
"""Draws the requests of a seed."""


def object_steps(seed: int) -> list[Step]:
    """Return the requests of one seed about objects of all kinds."""
    return Requests(seed).steps


class Summary:
    """The figures of a comparison."""

    def __init__(self) -> None:
        self.requests = 0
        self.following: list[tuple[int, Different]] = []
        """What differs after a different write of the same seed, perhaps because of it."""
        self.different: dict[str, list[tuple[int, Different]]] = defaultdict(list)


def compare_seeds(
    pair: Pair,
    seeds: range,
    steps_of: StepsOf | None = None,
    *,
    reduces: bool = True,
    summary: Summary | None = None,
) -> Summary:
    """Compare the sequences of seeds, by default those of objects with mistakes.

    Parameters
    ----------
    reduces : bool
        Whether to look for the earlier requests that a difference needs.
    summary : Summary, optional
        Gets what is found; a new one by default.
    """
    summary = summary or Summary()
    for seed in seeds:
        steps = (steps_of or object_steps)(seed)
        broken = False
        for step, found in list(pair.run(steps, counts=True)):
            summary.requests += 1
            if not found:
                continue
            different = Different(step, found, [])
            if broken:
                summary.following.append((seed, different))
                continue
            # Later answers may differ because of this one.
            broken = step.method != "GET"
            cause = different.cause
            if reduces and cause not in summary.different:
                different = Different(step, found, pair.reduced(steps, step, cause))
            summary.different[cause].append((seed, different))
    return summary


@contextlib.contextmanager
def servers(gates: Sequence[str] = ()) -> Iterator[Pair]:
    """Start both servers with the definition of the custom resources, and with feature gates."""
    text = (Path(__file__).parent / "own_kind.yaml").read_text()
    definition = yaml.load(text, yaml.CSafeLoader)
    flags: list[str] = []
    if gates:
        on = ",".join(f"{gate}=true" for gate in gates)
        flags = ["--runtime-config=api/all=true", f"--feature-gates={on}"]
    with running(*flags) as plane, contextlib.closing(RealServer(plane.port)) as real:
        pair = Pair(real, own := OwnServer(gates))
        for server in (real, own):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            answer = server.send(
                HttpRequest("POST", path, "", HEADERS, json.dumps(definition).encode())
            )
            assert answer.status == http.HTTPStatus.CREATED, answer.body
        until(lambda: _serves_crates(real))
        for kind in ("clusterroles", "clusterrolebindings"):
            # Of the server that was recorded for tests/conformance.
            name = RECORDED_POLICY[0]["metadata"]["name"]
            path = f"/apis/rbac.authorization.k8s.io/v1/{kind}/{name}"
            own.send(HttpRequest("DELETE", path, "", HEADERS, b""))
        yield pair


def _serves_crates(server: Server) -> bool:
    path = "/apis/boxes.example.org/v1/crates"
    return server.send(HttpRequest("GET", path, "", HEADERS, b"")).status == http.HTTPStatus.OK


def show(summary: Summary, most: int) -> None:
    """Print the differences by cause, the most frequent first."""
    causes = sorted(summary.different.items(), key=lambda each: -len(each[1]))
    for cause, cases in causes[:most]:
        seeds = ", ".join(str(seed) for seed, _ in cases[:6])
        print(f"\n{len(cases)} x {cause} (seeds {seeds})")
        _, different = cases[0]
        for step in (*different.before, different.step):
            query = f"?{step.query}" if step.query else ""
            kind = step.headers.get("content-type", "").removeprefix("application/")
            print(f"   {step.id} {step.method} {step.path}{query} {kind} [{step.note[:300]}]")
        for each in different.differences[:4]:
            print(f"      {each.path}")
            print(f"         upstream  {str(each.expected)[:_SHOWN]}")
            print(f"         podwright {str(each.found)[:_SHOWN]}")


def main(arguments: list[str] | None = None) -> int:
    """Compare seeds; exit status 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_parts.requests.compare")
    parser.add_argument("--seeds", default="0:100", metavar="FIRST:END")
    parser.add_argument("--causes", type=int, default=60, help="how many to show")
    parser.add_argument("--topic", choices=("objects", "all", *topics()), default="objects")
    parser.add_argument("--whole", action="store_true", help="do not look for the steps needed")
    given = parser.parse_args(arguments)
    first, _, end = given.seeds.partition(":")
    topic = "" if given.topic == "all" else given.topic
    steps_of = object_steps if topic == "objects" else partial(topic_steps, name=topic)
    gates = topics()[topic].gates if topic in topics() else []
    with servers(gates) as pair:
        seeds = range(int(first), int(end))
        summary = compare_seeds(pair, seeds, steps_of, reduces=not given.whole)
    show(summary, given.causes)
    count = sum(map(len, summary.different.values()))
    outcomes = ", ".join(f"{number} x {status}" for status, number in sorted(pair.outcomes.items()))
    ways, following = len(summary.different), len(summary.following)
    print("\nNormalizations, and how often each one mattered:")
    print("\n".join(pair.counts.lines()))
    for name, reason in NEUTRAL.items():
        print(f"{pair.counts.by_name[name]:7}  {name}: {reason}")
    print(f"\n{summary.requests} requests, {count} differ in {ways} ways ({outcomes})")
    print(f"{following} more differ after a different write of their seed")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
