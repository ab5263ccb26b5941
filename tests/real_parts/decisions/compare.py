"""Comparison of podwright with kube-scheduler's own code, over seeds.

    python -m tests.real_parts.decisions.compare cluster --seeds 0:2000

A difference is printed with its seed, which makes the case again. Known are: the dry run of
preemption compares sums beyond 64 bits in another way (`cluster` does not draw them), and upstream
prints arguments of a queue sort plugin with the names of its internal type (seed 12 of config).
Extenders receive a pending pod that names a node without that name, which the program takes from
the stored pod (seed 821522 of extenders). Slices of one pool whose counts differ, and counters,
which the allocator keeps by the name of a pool alone, give reasons that depend on the order in
which upstream meets slices and nodes; only feasible nodes are tried in both orders (`dra`).
Threads of a group run in any order (`gang`): pods that preempt the same victims at once delete them
(820152, 872831), clear the nominations of others (872077), write Events (871829), and a pod whose
binding fails is queued before or after the others of its group (870315, 872362, 872837).
Traces do not draw what follows: of several pods with one host port on a node, upstream frees the
port when the first is gone; in the cycle of a pod group it sees the affinity terms of the group's
own pods only on nodes that had such pods before; it tries a status patch that conflicts again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.real_parts import binaries
from tests.real_parts.decisions.generated_clusters import Drawn
from tests.real_parts.decisions.generated_configs import draw_config_case
from tests.real_parts.decisions.generated_extenders import draw_extender_case
from tests.real_parts.decisions.generated_hints import draw_hints_case
from tests.real_parts.decisions.generated_placements import recorded_placements
from tests.real_parts.decisions.generated_pods import DrawnCluster
from tests.real_parts.decisions.generated_queue import draw_queue_case, with_states
from tests.real_parts.decisions.generated_requests import (
    draw_quantities_case,
    draw_requests_case,
)
from tests.real_parts.decisions.generated_selectors import draw_selector_case
from tests.real_parts.decisions.generated_sequences import recorded_sequence
from tests.real_parts.decisions.generated_traces import (
    GROUP_GATES,
    draw_trace,
    with_trace_states,
)
from tests.real_parts.decisions.process import (
    FailedCaseError,
    UpstreamDecisions,
    without_nulls,
)

from podwright.testing.parity.comparison import Comparison, LeftOut
from podwright.testing.parity.report import FAMILIES

Document = dict[str, Any]
Comparing = Callable[[UpstreamDecisions, range], Iterator[tuple[Document, Any]]]
"""Returns cases of seeds with `expect`, which a case may also have itself; or with an error."""
BINARY = "decisions"
"""The name of the built program."""


def differences_of(case: Document, expect: Document) -> Iterator[Comparison]:
    """Return the fields of a case in which podwright and upstream differ."""
    family = FAMILIES.get(case["family"], FAMILIES["mixed"])
    for found in family.check({"expect": expect} | case):
        if isinstance(found, LeftOut):
            continue
        if not found.agrees and not _is_open(found, expect):
            yield found


_OF_CHOICE = frozenset({
    "preemption.acceptable", "preemption.criterion", "preemption.nominated_node",
    "preemption.victims",
})  # fmt: skip
"""What follows from the candidates of preemption; of equal nodes upstream takes any."""

_INVALID_SCORE = re.compile(r'plugin "\w+" returns an invalid score -?\d+')


def _is_open(found: Comparison, expect: Document) -> bool:
    """Return whether a difference is one between several results that upstream may give."""
    preemption = expect.get("preemption", {})
    if found.field == "preemption.candidates" and "requests" in expect:
        # Requests have the candidates of the dry run; what extenders leave decides the node.
        return True
    if found.field in _OF_CHOICE and preemption.get("status") == "Success":
        if found.field == "preemption.acceptable":
            return preemption["nominated_node"] in (found.actual or ())
        return True
    if found.field == "error" and isinstance(found.expected, str) and isinstance(found.actual, str):
        # Of several invalid scores, the first one to be found is reported.
        texts = {_INVALID_SCORE.sub("", text) for text in (found.expected, found.actual)}
        return len(texts) == 1
    # The nodes that are rejected before a filter fails.
    return found.field == "filter" and "error" in expect and not expect.get("feasible")


def _alone(family: str, draw: Callable[[int], Document]) -> Comparing:
    """Compare cases of which each is decided alone."""

    def compare_cases(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
        cases = ({"id": f"{family}-{seed}"} | draw(seed) for seed in seeds)
        yield from upstream.expected_of(cases)

    return compare_cases


def compare_sequences(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
    """Schedule several pods on each cluster, with changes in between."""
    for seed in seeds:
        case = {"id": f"dra_sequence-{seed}"} | recorded_sequence(upstream, seed)
        yield case, {}


def compare_placements(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
    """Schedule several ordinary pods on each cluster, with deletions in between."""
    for seed in seeds:
        yield {"id": f"sequence-{seed}"} | recorded_placements(upstream, seed), {}


def compare_queues(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
    """Do the same steps on both queues."""
    for case, found in _alone("queue", draw_queue_case)(upstream, seeds):
        whole = isinstance(found, dict)
        yield (with_states(case, found["steps"]), {}) if whole else (case, found)


def _traced(kind: str, runs: int = 1) -> Comparing:
    """Run the whole scheduler on both sides, in virtual time.

    Parameters
    ----------
    runs : int
        How many runs of upstream have to agree; others have no certain outcome.
    """

    def compare_traces(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
        for seed in seeds:
            case = {"id": f"{kind}-{seed}"} | draw_trace(kind, seed)
            try:
                found = [upstream.expected(case)["steps"] for _ in range(runs)]
            except FailedCaseError as error:
                yield case, error
            else:
                varies = {"varies": True} if any(each != found[0] for each in found) else {}
                yield with_trace_states(case, found[0]), varies

    return compare_traces


def compare_quantities(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
    """Parse the same texts."""
    for case, found in _alone("quantities", draw_quantities_case)(upstream, seeds):
        whole = isinstance(found, dict)
        yield (case | {"expect": found["quantities"]}, {}) if whole else (case, found)


def compare_configs(upstream: UpstreamDecisions, seeds: range) -> Iterator[tuple[Document, Any]]:
    """Read the same files."""
    for case, found in _alone("config", draw_config_case)(upstream, seeds):
        whole = isinstance(found, dict)
        yield (case | found, {}) if whole else (case, found)


KINDS: dict[str, Comparing] = {
    "batching": _traced("batching"),
    "cel": _alone("cel", draw_selector_case),
    "cluster": _alone("cluster", lambda seed: DrawnCluster(seed).case()),
    "config": compare_configs,
    "cycle": _traced("cycle"),
    "dra": _alone("dra", lambda seed: Drawn(seed).case()),
    "dra_sequence": compare_sequences,
    "extenders": _alone("extenders", draw_extender_case),
    "gang": _traced("gang"),
    "gang_preemption": _traced("gang_preemption", runs=3),
    "gang_topology": _traced("gang_topology", runs=6),
    "hints": _alone("hints", draw_hints_case),
    "pod_requests": _alone("pod_requests", draw_requests_case),
    "quantities": compare_quantities,
    "queue": compare_queues,
    "sampling": _traced("sampling"),
    "sequence": compare_placements,
}

GATES = GROUP_GATES
"""Feature gates that upstream has in a family, other than by default."""


class Summary:
    """The figures of a comparison.

    Attributes
    ----------
    cases : int
    outcomes : Counter of str
        How many cases were decided in which way, so that a generator's bias is seen.
    different : dict of str to list of Comparison
        By the id of the case.
    """

    def __init__(self) -> None:
        self.cases = 0
        self.outcomes: Counter[str] = Counter()
        self.different: dict[str, list[Comparison]] = {}


def compare(binary: Path, family: str, seeds: range) -> Summary:
    """Compare the cases of seeds."""
    summary = Summary()
    with UpstreamDecisions(binary, GATES.get(family, {})) as upstream:
        for case, expect in KINDS[family](upstream, seeds):
            summary.cases += 1
            if isinstance(expect, FailedCaseError):
                failed = Comparison("upstream", str(expect), None, agrees=False)
                summary.different[case["id"]] = [failed]
                continue
            if expect.pop("varies", False):
                summary.outcomes["of no certain outcome"] += 1
                continue
            summary.outcomes.update(_outcomes(case, expect))
            try:
                found = list(differences_of(case, without_nulls(expect)))
            except Exception as error:  # noqa: BLE001 - the next seed is compared too
                found = [Comparison("the check failed", None, repr(error), agrees=False)]
            if found:
                summary.different[case["id"]] = found
    return summary


def _outcomes(case: Document, expect: Document) -> Iterator[str]:
    match case["family"]:
        case "config":
            yield "accepted" if case["accepted"] else "refused"
        case "quantities":
            yield from ("malformed" if "error" in each else "parsed" for each in case["expect"])
        case "pod_requests":
            yield "summed" if expect["assigned"] else "empty"
        case "hints" | "dra_hints":
            for event in expect["events"]:
                yield from event["hints"].values()
        case "cel":
            yield from _of_a_selector(expect)
        case "batching" | "cycle" | "gang":
            for step in case["steps"]:
                yield from _of_a_step(step["expect"])
        case _ if "steps" in case:
            for step in case["steps"]:
                yield "placed" if step.get("expect", {}).get("chosen") else step["op"]
        case _:
            yield _of_a_decision(expect)


def _of_a_step(expect: Document) -> Iterator[str]:
    for attempt in expect.get("attempts", ()):
        yield "placed" if attempt["chosen"] else "error" if "error" in attempt else "unschedulable"
        if "hint" in attempt.get("batch", {}):
            yield "hint"
    for calls in expect.get("calls", {}).values():
        yield from (each["call"] for each in calls)
    yield from (place for place in ("preempting", "waiting") if place in expect)


def _of_a_selector(expect: Document) -> Iterator[str]:
    if "compile_error" in expect:
        yield "does not compile"
    for result in expect.get("results", ()):
        yield "error" if "error" in result else str(result["result"])


def _of_a_decision(expect: Document) -> str:
    if "ignored" in expect:
        return "ignored"
    if "pre_enqueue" in expect:
        return "held back"
    if "error" in expect:
        return "error"
    if not expect["feasible"]:
        preempts = expect.get("preemption", {}).get("status") == "Success"
        return "preemption" if preempts else "unschedulable"
    return "allocated" if "allocations" in expect.get("dra", {}) else "feasible"


def main(arguments: list[str] | None = None) -> int:
    """Compare seeds of a family; exit status 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_parts.decisions.compare")
    parser.add_argument("family", choices=sorted(KINDS))
    parser.add_argument("--seeds", default="0:200", metavar="FIRST:END")
    given = parser.parse_args(arguments)
    first, _, end = given.seeds.partition(":")
    summary = compare(binaries.find(BINARY), given.family, range(int(first), int(end)))
    for name, differences in summary.different.items():
        for each in differences[:3]:
            expected, actual = json.dumps(each.expected), json.dumps(each.actual, default=str)
            print(f"{name}: {each.field}\n  upstream  {expected}\n  podwright {actual}")
    outcomes = ", ".join(f"{count} {name}" for name, count in summary.outcomes.most_common())
    print(f"{summary.cases} cases, {len(summary.different)} differ ({outcomes})")
    return 1 if summary.different else 0


if __name__ == "__main__":
    sys.exit(main())
