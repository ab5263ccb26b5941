"""Decisions with extenders: the requests to them, and the effect of their replies.

The extenders of a case are rules (`extenders_behaviour`); a fake replies by these rules in
place of an HTTP service.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from typing import Any

from podwright.apimachinery.objects import Pod, QuantityError, decode_pod, format_quantity
from podwright.scheduler.assembly import Registry, build_profiles
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework import (
    CalledExtender,
    Explanation,
    PluginRunner,
    bind_steps,
    extenders_of,
    run_steps,
)
from podwright.testing.parity.comparison import Case, Check, equal, only
from podwright.testing.parity.decision import compare_explanation
from podwright.testing.parity.sequence import NOW_NS, cluster_of, effective_configuration

_OF_GO = ("Post ", "json:", "invalid character", "EOF", "unexpected EOF")
"""Prefixes of error messages from Go's HTTP client or JSON decoder."""

_AMOUNTS = ("requests", "limits", "allocatable", "capacity", "overhead", "allocatedResources")


_FIELDS_OF_AN_ERROR = frozenset({
    "error", "feasible", "filter", "prefilter", "requests", "scores", "skipped_filter",
    "skipped_score", "winners",
})  # fmt: skip


def check_extenders(case: Case) -> Check:
    """Compare one decision, the requests that it took, and the binding."""
    pod = decode_pod(case["pod"])
    registry = Registry()
    configuration = effective_configuration(case["config"], registry)
    profile = build_profiles(configuration, registry)[pod.spec.scheduler_name]
    extenders = extenders_of(configuration)
    fake = _FakeExtenders(case["extenders_behaviour"])
    runner = PluginRunner(profile, cluster_of(case["objects"]), extenders=extenders)
    found = runner.explain(pod, cycle_number=1, now_ns=NOW_NS, call_extender=fake.answer)
    expect = _with_our_text(case["expect"], found)
    yield from compare_explanation(expect, found, ("bind", "extender_scores", "requests", "tied"))
    if "error" not in expect:
        yield equal("extender_scores", expect.get("extender_scores", {}), _scores(found))
        yield equal("tied", expect.get("tied", expect["winners"]), sorted(found.tied))
        yield equal("bind", expect.get("bind"), _bind(expect, extenders, pod, fake))
    else:
        yield from only("", expect, _FIELDS_OF_AN_ERROR)
    requests = [_comparable(request) for request in expect["requests"]]
    yield equal("requests", requests, list(fake.comparable_requests()))


def _scores(found: Explanation) -> dict[str, dict[str, int]]:
    """Return what each extender adds to the nodes that are left."""
    given = {
        str(answers.index): {
            name: score for name, score in answers.scores.items() if name in found.feasible
        }
        for answers in found.extenders
    }
    return {index: scores for index, scores in given.items() if scores}


def _bind(
    expect: dict[str, Any], extenders: tuple[CalledExtender, ...], pod: Pod, fake: _FakeExtenders
) -> dict[str, Any] | None:
    if not expect["winners"]:
        return None
    node = expect["winners"][0]
    binding = run_steps(bind_steps(extenders, pod, node), fake.answer)
    answer: dict[str, Any] = {"node": node, "by_extender": binding.by_extender}
    if binding.error:
        expected = expect.get("bind", {}).get("error", "")
        answer["error"] = expected if expected.startswith(_OF_GO) else binding.error
    return answer


def _with_our_text(expect: dict[str, Any], found: Explanation) -> dict[str, Any]:
    """Replace the text of Go's HTTP client or JSON decoder by ours, if we have an error too."""
    expect = dict(expect)
    if expect.get("error", "").startswith(_OF_GO) and found.error is not None:
        expect["error"] = found.error.message
    preemption = expect.get("preemption")
    result = found.decision.post_filter
    if preemption is not None and result is not None:
        theirs = preemption["message"]
        if theirs.removeprefix("preemption: ").startswith(_OF_GO) and result.message:
            expect["preemption"] = preemption | {"message": result.message}
            expect["message"] = expect["message"].replace(theirs, result.message)
    return expect


# -------------------------------------------------------------------- the fake


class _FakeExtenders:
    """Replies as the extenders of a case, and records the requests."""

    def __init__(self, behavior: list[dict[str, Any]]) -> None:
        self._behaviour = behavior
        self.requests: list[dict[str, Any]] = []

    def answer(self, call: ExtenderCall) -> ExtenderReply:
        """Reply to one call by its rule."""
        body = json.loads(call.body)
        self.requests.append({"extender": call.extender, "verb": call.verb, "body": body})
        rule = self._behaviour[call.extender].get(call.verb, {})
        if "delay_ms" in rule:
            return ExtenderReply(error=f'Post "{call.url}": timed out')
        if rule.get("drop"):
            return ExtenderReply(error=f'Post "{call.url}": connection closed')
        status = rule.get("status", 200)
        if "raw" in rule or "status" in rule:
            return ExtenderReply(status=status, body=rule.get("raw", "").encode())
        made = _ANSWERS[call.verb](rule, body)
        return ExtenderReply(status=status, body=json.dumps(made).encode())

    def comparable_requests(self) -> Iterator[dict[str, Any]]:
        """Yield the requests; those to prioritize, which go out together, by extender."""
        for verb, group in groupby(self.requests, key=lambda request: str(request["verb"])):
            together = list(group)
            if verb == "prioritize":
                together.sort(key=lambda request: int(request["extender"]))
            for request in together:
                yield _comparable(request)


def _filter(rule: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    documents = [] if body["Nodes"] is None else body["Nodes"]["items"]
    items = {node["metadata"]["name"]: node for node in documents}
    asked = body["NodeNames"] or [node["metadata"]["name"] for node in documents]
    failed, unresolvable = rule.get("failed"), rule.get("unresolvable")
    gone = {*(failed or {}), *(unresolvable or {})}
    kept = rule["nodes"] if "nodes" in rule else [name for name in asked if name not in gone]
    form = rule.get("form") or ("nodes" if body["Nodes"] is not None else "node_names")
    nodes = {"items": [items.get(name, {"metadata": {"name": name}}) for name in kept]}
    return {
        "Nodes": nodes if form in ("nodes", "both") else None,
        "NodeNames": kept if form in ("node_names", "both") else None,
        "FailedNodes": failed,
        "FailedAndUnresolvableNodes": unresolvable,
        "Error": rule.get("error", ""),
    }


def _prioritize(rule: dict[str, Any], _body: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"Host": host, "Score": _as_sent(score)} for host, score in rule.get("scores", ())]


def _as_sent(score: int) -> int:
    """Return a score as the extenders of the vectors sent it: by way of a double."""
    return int(Decimal(repr(float(score))))


def _preempt(rule: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    proposed = body["NodeNameToMetaVictims"]
    if proposed is None:
        proposed = {
            node: victims
            | {"Pods": [{"UID": pod["metadata"].get("uid", "")} for pod in victims["Pods"]]}
            for node, victims in body["NodeNameToVictims"].items()
        }
    keep = rule.get("keep", list(proposed))
    answer = {node: victims for node, victims in proposed.items() if node in keep}
    for node, other in rule.get("victims", {}).items():
        answer[node] = {
            "Pods": [{"UID": uid} for uid in other["uids"]],
            "NumPDBViolations": other["pdb_violations"],
        }
    return {"NodeNameToMetaVictims": answer}


def _bound(rule: dict[str, Any], _body: dict[str, Any]) -> dict[str, Any]:
    return {"Error": rule.get("error", "")}


_ANSWERS: dict[str, Any] = {
    "filter": _filter,
    "prioritize": _prioritize,
    "preempt": _preempt,
    "bind": _bound,
}


# -------------------------------------------------------------------- comparing bodies


def _comparable(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request with its nodes in order, canonical amounts, and nothing empty."""
    body = dict(request["body"])
    if body.get("NodeNames") is not None:
        body["NodeNames"] = sorted(body["NodeNames"])
    if body.get("Nodes") is not None:
        items = sorted(body["Nodes"].get("items") or (), key=lambda node: node["metadata"]["name"])
        body["Nodes"] = {"items": items}
    return request | {"body": _without_empty(body)}


def _without_empty(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if key in _AMOUNTS:
            return {name: _canonical(amount) for name, amount in value.items()}
        entries = {name: _without_empty(entry, name) for name, entry in value.items()}
        return {name: entry for name, entry in entries.items() if not _is_empty(entry)}
    if isinstance(value, list):
        return [_without_empty(entry) for entry in value]
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", 0, {}, [])


def _canonical(amount: Any) -> Any:
    try:
        return format_quantity(amount)
    except QuantityError:
        return amount
