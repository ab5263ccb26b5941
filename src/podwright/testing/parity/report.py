"""Agreement per family and per field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from podwright.apimachinery.cel import (
    MAX_SELECTOR_COST,
    UNBOUNDED,
    DeviceSelector,
    SelectorError,
    compile_new_selector,
    compile_selector,
    device_value,
)
from podwright.apimachinery.objects import (
    QuantityError,
    assigned_requests,
    decode_pod,
    is_scalar_resource,
    non_zero_requests,
    parse_quantity_text,
    pending_requests,
    score_requests_balanced,
    score_requests_fit,
)
from podwright.scheduler.framework import PluginRunner, TieRule, nodes_to_find
from podwright.testing.parity.classic.classic_sequence import (
    check_classic_events,
    check_classic_node_tree,
    check_classic_queue,
    check_classic_sequence,
)
from podwright.testing.parity.classic.classic_setup import (
    check_classic_decision,
    check_classic_preemption,
    check_classic_priorities,
    check_classic_prioritize,
)
from podwright.testing.parity.comparison import (
    Case,
    Check,
    Comparison,
    LeftOut,
    compared,
    equal,
    only,
)
from podwright.testing.parity.config import check_config
from podwright.testing.parity.decision import check_decision
from podwright.testing.parity.dra import check_dra, check_dra_sequence
from podwright.testing.parity.extenders import check_extenders
from podwright.testing.parity.queue import check_hints, check_queue
from podwright.testing.parity.sequence import check_sequence, cluster_of, profiles_of
from podwright.testing.parity.trace import check_trace

# Pod requests, for filters and for scores.

_FIXED = ("cpu", "memory", "ephemeral-storage")


def check_pod_requests(case: Case) -> Check:
    """Compare the requests of one pod in all their forms."""
    pod = decode_pod(case["pod"])
    expect = case["expect"]
    actual = {
        "assigned": _present(assigned_requests(pod)),
        "filter": _present(pending_requests(pod)),
        "non_zero": non_zero_requests(pod),
        "score_fit": _cpu_and_memory(score_requests_fit(pod)),
        "score_balanced": _cpu_and_memory(score_requests_balanced(pod)),
    }
    yield from compared("", expect, actual)


def _present(amounts: dict[str, int]) -> dict[str, int]:
    """Return the amounts of the resources that the scheduler counts."""
    return {
        name: amount
        for name, amount in amounts.items()
        if amount and (name in _FIXED or is_scalar_resource(name))
    }


def _cpu_and_memory(amounts: dict[str, int]) -> dict[str, int]:
    """Return the requests for scoring in the form of the vectors."""
    return {name: amounts.get(name, 0) for name in ("cpu", "memory")}


# Parsing of quantities.


def check_quantities(case: Case) -> Check:
    """Compare value and milli-value of each text, or that it is refused."""
    for text, expected in zip(case["quantities"], case["expect"], strict=True):
        actual: dict[str, object]
        try:
            quantity = parse_quantity_text(text)
        except QuantityError:
            actual = {"error": True}
        else:
            actual = {"value": str(quantity.value()), "milli": str(quantity.milli_value())}
        yield equal("quantity", expected, actual)


# Selectors of devices: compilation, cost estimates, evaluations.

_EXPECTED = (
    "compile_error", "output_type", "max_cost", "too_expensive", "compile_error_new", "results",
)  # fmt: skip
_EVALUATED = ("result", "error", "cost")


def check_cel(case: Case) -> Check:
    """Compare what the compilation of a selector says, and each evaluation with its cost."""
    expect = case["expect"]
    yield from only("", expect, _EXPECTED)
    try:
        selector = compile_selector(case["expression"])
    except SelectorError as error:
        yield equal("compile_error", expect.get("compile_error"), str(error))
        return
    yield equal("compile_error", expect.get("compile_error"), None)
    if "compile_error" in expect:
        return
    yield from _check_estimate(case["expression"], selector, expect)
    results = expect["results"]
    yield equal("results", len(results), len(case["devices"]))
    for device, result in zip(case["devices"], results, strict=False):
        yield from only("results", result, _EVALUATED)
        value = device_value(device["driver"], device["device"])
        found = selector.evaluate(value)
        actual: dict[str, object] = (
            {"error": found.error} if found.error else {"result": found.matches}
        )
        yield equal("result", {k: v for k, v in result.items() if k != "cost"}, actual)
        if "cost" in result:
            yield equal("cost", result["cost"], found.cost)


def _check_estimate(source: str, selector: DeviceSelector, expect: dict[str, Any]) -> Check:
    yield equal("output_type", expect["output_type"], str(selector.output_type))
    cost = selector.max_cost()
    yield equal("max_cost", expect["max_cost"], "max" if cost == UNBOUNDED else str(cost))
    yield equal("too_expensive", expect.get("too_expensive", False), cost > MAX_SELECTOR_COST)
    yield equal(
        "compile_error_new",
        expect.get("compile_error_new"),
        _error_of_new(source),
    )


def _error_of_new(source: str) -> str | None:
    try:
        compile_new_selector(source)
    except SelectorError as error:
        return str(error)
    return None


# Node order and sampling: the nodes that are evaluated in clusters of 100 and more.


def check_sampling(case: Case) -> Check:
    """Compare the order of nodes, and per step the start, the end and the result of the search."""
    # 0 selects upstream's adaptive rule; podwright evaluates all nodes if unset.
    percentage = case.get("percentage_of_nodes_to_score") or 0
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": percentage,
    }
    (profile,) = profiles_of(config, tie_rule=TieRule.HEAP).values()
    cluster = cluster_of(case["objects"])
    runner = PluginRunner(profile, cluster)
    names = cluster.nodes.names
    order = [names[slot] for slot in cluster.nodes.visiting_order()]
    yield from only("", case["expect"], ("node_order", "steps"))
    yield equal("node_order", case["expect"]["node_order"], order)
    for number, (step, expect) in enumerate(
        zip(case["steps"], case["expect"]["steps"], strict=True)
    ):
        pod = decode_pod(step["pod"])
        ranking = runner.ranking_of(pod)
        totals = ranking.sweep_filters(cluster)
        search = runner.node_search.run(totals, ranking.outcome)
        found = [names[slot] for slot in search.examined if totals[slot] >= 0]
        runner.decide(pod, cycle_number=number)
        actual: dict[str, Any] = {
            "start": search.start,
            "nodes_to_find": nodes_to_find(len(order), percentage),
            "feasible": found,
            "failed": len(search.examined) - len(found),
            "next_start": runner.node_search.next_start,
        }
        yield from compared("", expect, actual)


class Family(NamedTuple):
    """How the cases of a family are checked, and the fields that they need."""

    check: Callable[[Case], Check]
    required: tuple[str, ...]


_STEPS = ("objects", "steps")
_TRACE = ("start", *_STEPS)
_DECISION = ("objects", "pod", "expect")
_HINTS = ("pod", "change", "expect")

_DECISIONS = (
    "balanced", "declared_features", "edge", "gates", "hostports", "images", "mixed",
    "mixed_config", "nodeaffinity", "nodename", "podaffinity_preferred", "podaffinity_required",
    "podantiaffinity", "preemption", "preemption_criteria", "preemption_mixed", "preemption_pdb",
    "profiles", "resources", "scoring", "spread_default", "spread_hard", "spread_soft", "taints",
    "unschedulable", "volumes",
)  # fmt: skip
"""The families of single decisions."""

FAMILIES: dict[str, Family] = {
    **dict.fromkeys(_DECISIONS, Family(check_decision, _DECISION)),
    "batching": Family(check_trace, _TRACE),
    "cel": Family(check_cel, ("expression", "devices", "expect")),
    "classic_decision": Family(check_classic_decision, _DECISION),
    "classic_events": Family(check_classic_events, ("event", "expect")),
    "classic_node_tree": Family(check_classic_node_tree, ("tree_steps", "nodes_to_find", "expect")),
    "classic_preemption": Family(check_classic_preemption, _DECISION),
    "classic_priorities": Family(check_classic_priorities, _DECISION),
    "classic_prioritize": Family(check_classic_prioritize, ("policy", *_DECISION)),
    "classic_queue": Family(check_classic_queue, ("steps",)),
    "classic_sequence": Family(check_classic_sequence, _STEPS),
    "config": Family(check_config, ("file", "gates", "accepted")),
    "cycle": Family(check_trace, _TRACE),
    "cycle_volumes": Family(check_trace, _TRACE),
    "dra": Family(check_dra, _DECISION),
    "dra_hints": Family(check_hints, _HINTS),
    "dra_sequence": Family(check_dra_sequence, _STEPS),
    "extenders": Family(check_extenders, ("config", "extenders_behaviour", *_DECISION)),
    "gang": Family(check_trace, ("gates", *_TRACE)),
    "hints": Family(check_hints, _HINTS),
    "pod_requests": Family(check_pod_requests, ("pod", "expect")),
    "quantities": Family(check_quantities, ("quantities", "expect")),
    "queue": Family(check_queue, ("options", "start", "hint_mode", "steps")),
    "sampling": Family(check_sampling, (*_STEPS, "expect")),
    "sequence": Family(check_sequence, _STEPS),
    "sequence_preemption": Family(check_sequence, _STEPS),
}
"""Every family that can be checked."""


def problem_of(case: Mapping[str, object]) -> str:
    """Return the reason why a case is not a valid vector; "" if it can be checked."""
    if not isinstance(case.get("id"), str) or not isinstance(case.get("family"), str):
        return "not a vector: must be an object with id and family"
    family = str(case["family"])
    if family not in FAMILIES:
        known = ", ".join(sorted(FAMILIES))
        return f"unknown family {family!r}; the families are {known}"
    missing = [name for name in FAMILIES[family].required if name not in case]
    return f"a case of {family} needs {', '.join(missing)}" if missing else ""


class Mismatch(msgspec.Struct, frozen=True):
    """A field in which podwright and the vector differ."""

    case: str
    field: str
    expected: object
    actual: object


class FamilyReport(msgspec.Struct):
    """The figures of one family.

    Parameters
    ----------
    cases, agreeing_cases : int
        Cases compared; those that agree in every field.
    fields, agreeing_fields : Counter of str
        Per field, how often it was compared and how often it agreed.
    left_out : Counter of str
        Per reason, how many cases or fields were not compared.
    mismatches : list of Mismatch
        All differences, in order.
    """

    family: str
    cases: int = 0
    agreeing_cases: int = 0
    fields: Counter[str] = msgspec.field(default_factory=Counter)
    agreeing_fields: Counter[str] = msgspec.field(default_factory=Counter)
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    mismatches: list[Mismatch] = msgspec.field(default_factory=list)


def check_case(case: Case) -> Check:
    """Yield a comparison for every field that a case gives, or that is found for it.

    Raises
    ------
    ValueError
        If the case is not one that can be checked; see `problem_of`.
    """
    problem = problem_of(case)
    if problem:
        raise ValueError(problem)
    yield from FAMILIES[case["family"]].check(case)


NOTHING = "nothing was compared"
CRASH = "the check failed"


def _with_crashes(case: Case) -> Check:
    """Check a case; an exception is a difference, and ends this case only."""
    try:
        yield from check_case(case)
    except Exception as error:  # noqa: BLE001 - an error in one case must not end the comparison
        yield Comparison(CRASH, None, f"{type(error).__name__}: {error}", agrees=False)


def check_cases(cases: Iterable[Case], reports: dict[str, FamilyReport]) -> None:
    """Check cases one after the other and add what comes of them to `reports`.

    Parameters
    ----------
    reports : dict of str to FamilyReport, written
        By family.

    Raises
    ------
    ValueError
        If a case is not one that can be checked; see `problem_of`.
    """
    for vector in cases:
        problem = problem_of(vector)
        if problem:
            raise ValueError(problem)
        report = reports.setdefault(vector["family"], FamilyReport(vector["family"]))
        compared, left_out, agrees = 0, 0, True
        for result in _with_crashes(vector):
            match result:
                case LeftOut(reason):
                    left_out += 1
                    report.left_out[reason] += 1
                case Comparison(field, expected, actual, field_agrees):
                    compared += 1
                    report.fields[field] += 1
                    if field_agrees:
                        report.agreeing_fields[field] += 1
                    else:
                        agrees = False
                        report.mismatches.append(Mismatch(vector["id"], field, expected, actual))
        if not compared and not left_out:
            # A check that compares nothing proves nothing.
            compared, agrees = 1, False
            report.fields[NOTHING] += 1
            report.mismatches.append(Mismatch(vector["id"], NOTHING, "a comparison", None))
        if compared:
            report.cases += 1
            report.agreeing_cases += agrees
