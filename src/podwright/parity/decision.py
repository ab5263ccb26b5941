"""Single decisions: every field of `expect`.

Each case is decided twice: once with everything recorded, where no cached result takes part,
and once on the way that production takes. Both are compared.
"""

from __future__ import annotations

from typing import Any

from podwright.assembly.registry import Registry
from podwright.framework.explain import Explanation, explain
from podwright.framework.extenders import EXTENDER
from podwright.framework.run import Runner
from podwright.framework.status import Code, Status
from podwright.objects import Pod, decode_pod
from podwright.parity.comparison import Case, Check, Comparison, equal
from podwright.parity.preemption import NOW_NS, compare_preemption
from podwright.parity.setup import cluster_of, effective_configuration, profiles_of

_FIXED_REASONS = (
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
)


def check_decision(case: Case) -> Check:
    """Compare one decision with what kube-scheduler made of it."""
    expect = case["expect"]
    pod = decode_pod(case["pod"])
    if "plugins" in expect:
        yield equal("plugins", expect["plugins"], _plugins(case))
    profile = profiles_of(case.get("config")).get(pod.spec.scheduler_name)
    yield equal("ignored", expect.get("ignored", False), profile is None)
    if profile is None:
        return
    held = _held_back(profile.pre_enqueue, pod)
    yield equal("pre_enqueue", expect.get("pre_enqueue"), held)
    if held is not None:
        return
    runner = Runner(profile, cluster_of(case["objects"]))
    explanation = explain(runner, pod, cycle_number=1, now_ns=NOW_NS)
    if not explanation.node_names:
        yield equal("message", expect["message"], explanation.decision.message)
        return
    yield from compare_explanation(expect, explanation)


def compare_explanation(expect: dict[str, Any], found: Explanation) -> Check:
    """Compare every field of a decision that a case gives."""
    decision = found.decision
    if "error" in expect or found.error is not None:
        actual = None if found.error is None else found.error.message
        yield equal("error", expect.get("error"), actual)
        actual = None if decision.error is None else decision.error.message
        yield equal("error", expect.get("error"), actual)
    if "prefilter" in expect:
        yield equal("prefilter", expect["prefilter"], _pre_filter(found))
    if "skipped_filter" in expect:
        yield equal("skipped_filter", expect["skipped_filter"], sorted(found.skipped_filters))
    if "error" in expect:
        return
    yield equal("filter", expect.get("filter", {}), _filter(found))
    yield equal("feasible", expect["feasible"], sorted(found.feasible))
    if "skipped_score" in expect:
        yield equal("skipped_score", expect["skipped_score"], sorted(found.skipped_scores))
    yield equal("scores", expect.get("scores", {}), _scores(found))
    if "total" in expect:
        yield equal("total", expect["total"], found.totals)
    winners = expect["winners"]
    yield equal("winners", winners, sorted(found.winners))
    yield Comparison("node", winners, decision.node, decision.node in (winners or [""]))
    if "total" in expect and decision.node:
        yield equal("node_total", expect["total"].get(decision.node), decision.total)
    if decision.diagnosis is not None:
        blamed = sorted(decision.diagnosis.rejected_by)
        yield equal("unschedulable_plugins", expect.get("unschedulable_plugins"), blamed)
    yield equal("message", expect.get("message", ""), decision.message)
    yield from compare_preemption(expect.get("preemption"), decision)


def _plugins(case: Case) -> dict[str, Any]:
    """Return the plugins in effect, at the extension points that the case lists."""
    configuration = effective_configuration(case.get("config"), Registry())
    expected = case["expect"]["plugins"]
    return {
        profile.scheduler_name: {
            point: [list(entry) if point == "score" else entry[0] for entry in entries]
            for point, entries in profile.plugins.items()
            if point in expected.get(profile.scheduler_name, {})
        }
        for profile in configuration.profiles
    }


def _held_back(plugins: tuple[Any, ...], pod: Pod) -> dict[str, Any] | None:
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


def _pre_filter(found: Explanation) -> dict[str, Any]:
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
