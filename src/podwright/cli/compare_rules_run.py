"""What `podwright compare-rules` does, once it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from rich.text import Text

from podwright.assembly import Because, ComparedPod, ComparisonFigures, figures_of, kind_of
from podwright.assembly.compare_rules import compare_rules
from podwright.cli.console import (
    announce_compilation,
    print_document,
    print_heading,
    print_table,
    progress,
    say,
)
from podwright.cli.inputs import (
    Inputs,
    about_workloads,
    modern,
    read_inputs,
    scheduler_of,
)
from podwright.cli.options import RuleName, Setup
from podwright.cli.schedule_run import NO_NODE, document_of, nomination_of, outcome_of
from podwright.config import KubeSchedulerConfiguration, KubeSchedulerProfile
from podwright.framework import Decision

_SIDES = ("modern", "classic")
_RULES_SHOWN = 8


def run_compare_rules(
    files: Sequence[str], setup: Setup, *, is_together: bool, output: str
) -> bool:
    """Compare and print; tell whether both rule sets treat every pod alike."""
    inputs = read_inputs(files, replace(setup, rules=RuleName.classic), has_both=True)
    sides = (
        scheduler_of(modern(inputs), replace(setup, workers=1)),
        scheduler_of(_classic(inputs), setup),
    )
    for scheduler in sides:
        scheduler.add(*inputs.loaded.objects)
    announce_compilation()
    total = len(sides[0].pending)
    comparison = compare_rules(*sides, is_together=is_together)
    compared = list(progress(comparison, "placing by both rules", total))
    figures = figures_of(compared)
    if output in ("json", "yaml"):
        print_document(_document(compared, figures), output)
    elif not compared:
        say(about_workloads(inputs.loaded) or "Nothing to compare: no pending pods.")
    else:
        _print(compared, figures, is_wide=output == "wide")
    return not figures.differing_count


def _classic(inputs: Inputs) -> Inputs:
    """Return the inputs without what the classic rules do not have: plugins, extenders."""
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
        told = document_of(decision)
        told.pop("pod")
        told["because"] = None if because is None else _because(because)
        document[side] = told
    return document


def _because(because: Because) -> dict[str, Any]:
    return {
        "kind": because.kind,
        "rule": because.rule or None,
        "reasons": list(because.reasons),
        "scores": [{"rule": one.rule, "weighted": one.weighted} for one in because.scores],
        "margin": because.margin,
    }


# ---------------------------------------------------------------- text


def _print(compared: Sequence[ComparedPod], figures: ComparisonFigures, *, is_wide: bool) -> None:
    shown = [pod for pod in compared if is_wide or not pod.is_same]
    if shown:
        heads = ("NAMESPACE", "POD", "MODERN", "CLASSIC", "BY", "BECAUSE")
        print_table(heads, [_row(pod) for pod in shown])
    for side, rules in zip(_SIDES, figures.rules, strict=True):
        _print_rules(side, rules)
    say(_summary(figures))


def _row(pod: ComparedPod) -> tuple[str | Text, ...]:
    namespace, _, name = pod.pod.partition("/")
    by = "" if pod.is_same else kind_of(pod) + ("*" if pod.has_parted else "")
    told = [
        f"{side}: {_told(because)}"
        for side, because in zip(_SIDES, pod.because, strict=True)
        if because is not None
    ]
    return namespace, name, *map(_place, pod.decisions), by, "; ".join(told)


def _place(decision: Decision) -> str | Text:
    if decision.node:
        return decision.node
    node, _ = nomination_of(decision)
    if node:
        return f"{NO_NODE}, nominated to {node}"
    outcome = outcome_of(decision)
    return NO_NODE if outcome == "Unschedulable" else f"{NO_NODE}, {outcome}"


def _told(because: Because) -> str:
    match because.kind:
        case "priority":
            return ", ".join(f"{one.rule} {one.weighted:+d}" for one in because.scores)
        case "draw":
            return "equally good, another was drawn"
        case "sampling":
            return "enough nodes were found without it"
        case _:
            reasons = ", ".join(because.reasons)
            return (
                f"{because.rule} ({reasons})"
                if because.rule and reasons
                else (because.rule or reasons)
            )


def _print_rules(side: str, rules: Mapping[str, int]) -> None:
    if rules:
        print_heading(f"What keeps the {side} rules from following the others, by pods:")
        rows = [(rule, str(count)) for rule, count in list(rules.items())[:_RULES_SHOWN]]
        print_table(("RULE", "PODS"), rows, indent=2)


def _summary(figures: ComparisonFigures) -> str:
    pods = f"{figures.pod_count} pod{'s' * (figures.pod_count != 1)}"
    modern, classic = figures.placed_counts
    placed = f"the modern rules place {modern}, the classic ones {classic}"
    if not figures.differing_count:
        return f"Both rule sets treat all {pods} alike; {placed}."
    kinds = ", ".join(f"{count} by {kind}" for kind, count in figures.kinds.items())
    differ = "differs" if figures.differing_count == 1 else "differ"
    text = f"{figures.differing_count} of {pods} {differ} ({kinds}); {placed}."
    if figures.parted_count:
        text += (
            f" {figures.parted_count} of them (*) come after the first that differs, and the two"
            " sides no longer look at the same cluster."
        )
    return text
