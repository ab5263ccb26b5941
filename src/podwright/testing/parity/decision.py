"""Single decisions: every field of `expect`.

Each case is decided twice: once with an explanation, without cached results, and once with the
production code path. Both are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.scheduler.assembly import Registry
from podwright.scheduler.framework import EXTENDER, Code, Explanation, PluginRunner, Status
from podwright.testing.parity.comparison import Case, Check, Comparison, equal, only
from podwright.testing.parity.sequence import (
    NOW_NS,
    cluster_of,
    compare_preemption,
    effective_configuration,
    profiles_of,
)

_FIXED_REASONS = (
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
)


_NOT_LISTED = frozenset({"placementGenerate", "placementScore"})
"""Extension points of alpha gates, which the vectors do not list."""


def check_decision(case: Case) -> Check:
    """Compare one decision with kube-scheduler's."""
    expect = case["expect"]
    pod = decode_pod(case["pod"])
    if "plugins" in expect or case["family"] == "profiles":
        yield equal("plugins", expect.get("plugins"), _plugins(case))
    profile = profiles_of(case.get("config")).get(pod.spec.scheduler_name)
    yield equal("ignored", expect.get("ignored", False), profile is None)
    if profile is None:
        yield from nothing_else(expect, "ignored")
        return
    held = gated_by(profile.pre_enqueue, pod)
    yield equal("pre_enqueue", expect.get("pre_enqueue"), held)
    if held is not None:
        yield from nothing_else(expect, "pre_enqueue")
        return
    runner = PluginRunner(profile, cluster_of(case["objects"]))
    explanation = runner.explain(pod, cycle_number=1, now_ns=NOW_NS)
    if not explanation.node_names:
        yield equal("message", expect.get("message"), explanation.decision.message)
        yield from nothing_else(expect, "message")
        return
    yield from compare_explanation(expect, explanation)


_FIELDS = frozenset({
    "error", "feasible", "filter", "ignored", "message", "plugins", "pre_enqueue", "preemption",
    "prefilter", "scores", "skipped_filter", "skipped_score", "total", "unschedulable_plugins",
    "winners",
})  # fmt: skip
"""Every field of `expect` in a single decision."""


def nothing_else(expect: dict[str, Any], *given: str) -> Check:
    """Compare a case without a scheduling cycle: it must have no nodes."""
    for field in ("feasible", "winners"):
        yield equal(field, expect.get(field), [])
    yield from only("", expect, ("feasible", "winners", "plugins", *given))


def compare_explanation(
    expect: dict[str, Any], found: Explanation, also: Iterable[str] = ()
) -> Check:
    """Compare every field of a decision.

    Parameters
    ----------
    also : iterable of str
        Fields of `expect` that the caller compares.
    """
    yield from only("", expect, (*_FIELDS, *also))
    decision = found.decision
    for error in (found.error, decision.error):
        yield equal("error", expect.get("error"), None if error is None else error.message)
    is_error = found.error is not None or "error" in expect
    yield equal("prefilter", expect.get("prefilter"), pre_filter_of(found))
    yield equal("skipped_filter", expect.get("skipped_filter", []), sorted(found.skipped_filters))
    yield equal("filter", expect.get("filter", {}), _filter(found))
    yield equal("feasible", expect.get("feasible"), sorted(found.feasible))
    yield equal("skipped_score", expect.get("skipped_score", []), sorted(found.skipped_scores))
    yield equal("scores", expect.get("scores", {}), _scores(found))
    yield equal("total", expect.get("total", {}), found.totals)
    winners = expect.get("winners", [])
    yield equal("winners", expect.get("winners"), sorted(found.winners))
    yield Comparison("node", winners, decision.node, decision.node in (winners or [""]))
    if decision.node:
        yield equal("node_total", expect.get("total", {}).get(decision.node), decision.total)
    diagnosis = decision.diagnosis
    blamed = None if diagnosis is None else sorted(diagnosis.rejected_by)
    yield equal("unschedulable_plugins", expect.get("unschedulable_plugins"), blamed)
    if not is_error:
        yield equal("message", expect.get("message", ""), decision.message)
    yield from compare_preemption(expect.get("preemption"), decision)


def _plugins(case: Case) -> dict[str, Any]:
    """Return the plugins in effect, at the extension points that the case lists."""
    configuration = effective_configuration(case.get("config"), Registry())
    return {
        profile.scheduler_name: {
            point: [list(entry) if point == "score" else entry[0] for entry in entries]
            for point, entries in profile.plugins.items()
            if point not in _NOT_LISTED
        }
        for profile in configuration.profiles
    }


def gated_by(plugins: tuple[Any, ...], pod: Pod) -> dict[str, Any] | None:
    """Return the status of the first PreEnqueue plugin that holds the pod back; None if none."""
    for plugin in plugins:
        status = plugin.pre_enqueue(pod)
        if not status.is_success:
            return _status(status.by(plugin.name))
    return None


def _status(status: Status) -> dict[str, Any]:
    # In the vectors an extender's rejection has no plugin.
    plugin = {} if status.plugin == EXTENDER else {"plugin": status.plugin}
    return plugin | {"code": status.code.label, "reasons": _in_fixed_order(status)}


def _in_fixed_order(status: Status) -> list[str]:
    """Return the reasons; upstream's map order of scalar resources is fixed by name."""
    fixed = [reason for reason in status.reasons if reason in _FIXED_REASONS]
    if not fixed or status.plugin != "NodeResourcesFit":
        return list(status.reasons)
    return fixed + sorted(reason for reason in status.reasons if reason not in _FIXED_REASONS)


def pre_filter_of(found: Explanation) -> dict[str, Any]:
    """Return the result of PreFilter, as the vectors have it."""
    restricted = found.restricted_to
    names = None if restricted is None else sorted(restricted)
    status = found.pre_filter
    if found.error is not None and not found.filters:
        status = found.error
    if status.is_success:
        return {"status": Code.SUCCESS.label, "node_names": names}
    return {
        "status": status.code.label,
        "plugin": status.plugin,
        "reasons": list(status.reasons),
        "node_names": None,
    }


def _filter(found: Explanation) -> dict[str, Any]:
    return {name: _status(status) for name, status in found.rejected.items()}


def _scores(found: Explanation) -> dict[str, Any]:
    return {
        score.plugin: {"weight": score.weight, "raw": score.raw}
        | ({} if score.normalized == score.raw else {"normalized": score.normalized})
        for score in found.scores
    }
