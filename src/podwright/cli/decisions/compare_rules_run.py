"""`podwright compare-rules`: schedules by both rule sets and prints the differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from rich.text import Text

from podwright.cli.console import (
    NO_NODE,
    announce_compilation,
    print_data,
    print_heading,
    print_message,
    print_table,
    progress,
)
from podwright.cli.decisions.diff_run import SHOWN_SCORES, reason_text
from podwright.cli.decisions.options import CompareRulesOptions
from podwright.cli.decisions.schedule_run import NothingToSchedule
from podwright.cli.inputs import (
    Inputs,
    read_inputs,
    scheduler_of,
    without_classic_rules,
)
from podwright.cli.workloads import expand_workloads
from podwright.scheduler.assembly import ComparedPod, ComparisonFigures, figures_of, kind_of
from podwright.scheduler.assembly.compare_rules import compare_rules
from podwright.scheduler.config import KubeSchedulerConfiguration, KubeSchedulerProfile
from podwright.scheduler.framework import Decision
from podwright.simulation.recording import (
    decision_document,
    nomination_of,
    outcome_of,
    reason_document,
)

_SIDES = ("modern", "classic")
"""The rule sets in documents, named as the values of ``--rules``."""
_RELEASES = ("v1.36", "v1.16")
"""The rule sets in text."""
_RULES_SHOWN = 8


def run_compare_rules(options: CompareRulesOptions) -> bool:
    """Compare and print; return whether both rule sets give the same result for every pod.

    Raises
    ------
    NothingToSchedule
        If there are no pending pods: a check that checked nothing must not succeed.
    """
    setup, is_together, output = options.setup, options.same_cluster, options.output
    inputs = read_inputs(options.files, replace(setup, rules="classic"), has_both=True)
    sides = (
        scheduler_of(without_classic_rules(inputs), replace(setup, workers=1)),
        scheduler_of(_classic(inputs), setup),
    )
    expansion = expand_workloads(inputs.loaded, setup.hpa)
    for scheduler in sides:
        scheduler.add(*expansion.with_objects(inputs.loaded.objects))
    announce_compilation()
    total = len(sides[0].pending)
    if not total:
        raise NothingToSchedule("nothing to compare: no pending pods in these files")
    comparison = compare_rules(*sides, is_together=is_together)
    compared = list(progress(comparison, "scheduling with both rule sets", total))
    figures = figures_of(compared)
    differing = (pod.pod for pod in compared if not pod.is_same)
    if not print_data(output, lambda: _document(compared, figures), differing):
        _print(compared, figures, is_wide=output == "wide")
    return not figures.differing_count


def _classic(inputs: Inputs) -> Inputs:
    """Return the inputs without plugins and extenders, which the classic (v1.16) rules lack."""
    configuration = inputs.configuration or KubeSchedulerConfiguration()
    profiles = tuple(
        KubeSchedulerProfile(scheduler_name=profile.scheduler_name)
        for profile in configuration.profiles
    )
    return inputs._replace(
        configuration=msgspec.structs.replace(configuration, profiles=profiles, extenders=()),
        plugins=[],
    )


# ---------------------------------------------------------------- documents


def _document(compared: Sequence[ComparedPod], figures: ComparisonFigures) -> dict[str, Any]:
    return {
        "pods": [_pod_document(pod) for pod in compared],
        "summary": {
            "pods": figures.pod_count,
            "same": figures.same_count,
            "different": figures.differing_count,
            "differentAfterTheFirst": figures.parted_count,
            "placed": dict(zip(_SIDES, figures.placed_counts, strict=True)),
            "by": figures.kinds,
            "rules": dict(zip(_SIDES, figures.rules, strict=True)),
        },
    }


def _pod_document(pod: ComparedPod) -> dict[str, Any]:
    document: dict[str, Any] = {
        "pod": pod.pod,
        "same": pod.is_same,
        "afterTheFirst": pod.has_parted,
    }
    if not pod.is_same:
        document["by"] = kind_of(pod)
    for side, decision, because in zip(_SIDES, pod.decisions, pod.because, strict=True):
        side_document = decision_document(decision)
        side_document.pop("pod")
        side_document["because"] = (
            None if because is None else reason_document(because, limit=SHOWN_SCORES)
        )
        document[side] = side_document
    return document


# ---------------------------------------------------------------- text


def _print(compared: Sequence[ComparedPod], figures: ComparisonFigures, *, is_wide: bool) -> None:
    shown = [pod for pod in compared if is_wide or not pod.is_same]
    if shown:
        heads = ("NAMESPACE", "POD", "V1.36", "V1.16", "BY", "REASON")
        print_table(heads, [_row(pod) for pod in shown])
    for side, rules in zip(_RELEASES, figures.rules, strict=True):
        _print_rules(side, rules)
    print_message(_summary(figures))


def _row(pod: ComparedPod) -> tuple[str | Text, ...]:
    namespace, _, name = pod.pod.partition("/")
    by = "" if pod.is_same else kind_of(pod) + ("*" if pod.has_parted else "")
    reasons = [
        f"{side}: {reason_text(because)}"
        for side, because in zip(_RELEASES, pod.because, strict=True)
        if because is not None
    ]
    return namespace, name, *map(_place, pod.decisions), by, "; ".join(reasons)


def _place(decision: Decision) -> str | Text:
    if decision.node:
        return decision.node
    node, _ = nomination_of(decision)
    if node:
        return f"{NO_NODE}, nominated to {node}"
    outcome = outcome_of(decision)
    return NO_NODE if outcome == "Unschedulable" else f"{NO_NODE}, {outcome}"


def _print_rules(side: str, rules: Mapping[str, int]) -> None:
    if rules:
        print_heading(f"Why the {side} rules choose differently, by number of pods:")
        rows = [(rule, str(count)) for rule, count in list(rules.items())[:_RULES_SHOWN]]
        print_table(("RULE", "PODS"), rows, indent=2)


def _summary(figures: ComparisonFigures) -> str:
    pods = f"{figures.pod_count} pod{'s' * (figures.pod_count != 1)}"
    modern, classic = figures.placed_counts
    placed = f"the v1.36 rules schedule {modern}, the v1.16 rules {classic}"
    if not figures.differing_count:
        all_pods = "1 pod" if figures.pod_count == 1 else f"all {pods}"
        return f"Both rule sets give the same result for {all_pods}; {placed}."
    kinds = ", ".join(f"{count} by {kind}" for kind, count in figures.kinds.items())
    differ = "differs" if figures.differing_count == 1 else "differ"
    text = f"{figures.differing_count} of {pods} {differ} ({kinds}); {placed}."
    if figures.parted_count:
        text += (
            f" {figures.parted_count} of them (*) follow the first difference and were scheduled"
            " on different clusters."
        )
    return text
