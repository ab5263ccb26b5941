"""`podwright diff`: schedules both sides, or reads both runs, and prints the differences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from podwright.apimachinery.objects import Pod
from podwright.cli.console import (
    NO_NODE,
    announce_compilation,
    print_data,
    print_heading,
    print_message,
    print_paragraph,
    print_table,
    progress_bar,
)
from podwright.cli.decisions.options import DiffOptions
from podwright.cli.file_reading import ErrorCollector
from podwright.cli.inputs import (
    Inputs,
    extender_caller,
    inputs_of,
    read_inputs,
    scheduler_options,
    warn_of_idle,
)
from podwright.cli.options import Setup
from podwright.cli.workloads import report_expansion, warn_of_idle_hpa
from podwright.scheduler.assembly import Because
from podwright.simulation.recording import (
    SIDES,
    SUFFIX,
    PlacementDiff,
    PodDifference,
    PodPlacement,
    Scenario,
    counted,
    decision_count,
    diff_document,
    diff_with_each,
)

if TYPE_CHECKING:
    from podwright.simulation.world import RunComparison

# The words of differences: places, shares, and the reason of a different decision.

SHOWN_SCORES = 3
"""The number of score differences in a table."""


def reason_text(because: Because, *, limit: int | None = SHOWN_SCORES) -> str:
    """Return the reason of one side against the node of the other.

    Parameters
    ----------
    limit : int, optional
        The number of score differences to include; None for all.
    """
    match because.kind:
        case "priority":
            return ", ".join(f"{one.rule} {one.weighted:+d}" for one in because.scores[:limit])
        case "draw":
            return "tied, another node was drawn"
        case "sampling":
            return "not evaluated, enough feasible nodes were found before"
        case _:
            reasons = ", ".join(because.reasons)
            return (
                f"{because.rule} ({reasons})"
                if because.rule and reasons
                else (because.rule or reasons)
            )


def place(placement: PodPlacement | None) -> str:
    """Return where a pod is placed."""
    if placement is None:
        return "<absent>"
    if placement.node:
        return placement.node
    return f"{NO_NODE}, nominated to {placement.nominated}" if placement.nominated else NO_NODE


def percent(share: float | None) -> str:
    """Return a share as text."""
    return NO_NODE if share is None else f"{100 * share:.1f} %"


def summary(diff: PlacementDiff) -> str:
    """Return how many pods differ, and how, as a sentence."""
    total = f"{len(diff.placements)} pod{'s' * (len(diff.placements) != 1)}"
    if not diff.differences:
        text = f"No difference: {total} on the same nodes on both sides."
        return text if diff.is_same else f"{text[:-1]}, but the nodes or their use differ."
    differ = "differs" if len(diff.differences) == 1 else "differ"
    counts = ", ".join(f"{count} {change}" for change, count in diff.counts.items())
    text = f"{len(diff.differences)} of {total} {differ}: {counts}."
    following = sum(one.follows for one in diff.differences)
    if following == 1:
        text += " 1 of them (*) follows another difference: the clusters differed by then."
    elif following:
        text += (
            f" {following} of them (*) follow another difference: the clusters differed by then."
        )
    return text


_NAMES_SHOWN = 10


def run_diff(files: tuple[Sequence[str], Sequence[str]], options: DiffOptions) -> bool:
    """Compare scenarios and print the differences; return whether there are none.

    Parameters
    ----------
    files : tuple of sequence of str
        The files of each side.
    """
    before, afters = options.setups()
    reschedule, reasons, output = options.reschedule, options.reasons, options.output
    setups = (before, *afters)
    sides = _inputs(files, setups)
    scenarios = [
        Scenario(
            inputs.loaded.objects,
            scheduler_options(inputs, setup),
            reschedule=reschedule,
            hpa=setup.hpa,
            call_extender=extender_caller(inputs.configuration, inputs.source),
        )
        for inputs, setup in zip(sides, setups, strict=True)
    ]
    if files[0] == files[1]:
        report_expansion(scenarios[0].expansion)
    else:
        for side, scenario in zip(SIDES, scenarios, strict=False):
            report_expansion(scenario.expansion, side=side)
    warn_of_idle_hpa(before.hpa, chain(*(inputs.loaded.objects for inputs in sides)))
    announce_compilation()
    shows_reasons = len(afters) == 1 or output in {"json", "yaml"}
    most = reasons if shows_reasons else 0
    first, *others = scenarios
    with progress_bar("scheduling", decision_count(first, *others, most_reasons=most)) as advance:
        each = diff_with_each(first, others, most_reasons=most, watch=counted(advance))
    found = each[0]
    if not any(found.tried_counts) and found.is_same:
        raise typer.BadParameter(_nothing_to_compare(sides[0], reschedule), param_hint="'FILE'")
    if len(each) > 1:
        print_several([str(setup.config) for setup in afters], each, output)
        return all(one.is_same for one in each)
    print_diff(found, output)
    if len(found.differences) > reasons:
        print_message(
            f"reasons: those of the first {reasons} of {len(found.differences)} pods that differ;"
            " --reasons NUMBER finds more"
        )
    return found.is_same


def _inputs(
    files: tuple[Sequence[str], Sequence[str]], setups: Sequence[Setup]
) -> Sequence[Inputs]:
    """Return the inputs of all sides; the files of a side are read once."""
    sides = [read_inputs(files[0], setups[0])]
    if files[0] != files[1]:
        sides.append(read_inputs(files[1], setups[1]))
    read = sides[-1]
    collected = ErrorCollector()
    others = [inputs_of(read.loaded, setup, collected) for setup in setups[len(sides) :]]
    collected.raise_all()
    for other in others:
        if (other.configuration, other.gates) != (read.configuration, read.gates):
            warn_of_idle(other, "configuration", "decisions")
    return sides + others


def _nothing_to_compare(inputs: Inputs, reschedule: bool) -> str:
    count = sum(bool(pod.spec.node_name) for pod in inputs.loaded.of(Pod))
    if not reschedule and count:
        pods = "1 pod that has a node" if count == 1 else f"{count} pods on nodes"
        return f"has no pending pods; --reschedule schedules the {pods} again."
    return "has no pods to schedule."


def runs_among(paths: Sequence[str]) -> tuple[Path, Path] | None:
    """Return two run folders; None if no path is a run folder.

    Raises
    ------
    BadParameter
        If a path is a run folder and there are not exactly two of them.
    """
    runs = [Path(path) for path in paths if _is_run(Path(path))]
    if not runs:
        return None
    others = [path for path in paths if Path(path) not in runs]
    if others or len(runs) != 2:
        other = ""
        if others:
            exists = Path(others[0]).exists()
            other = f", and {others[0]} {'is not' if exists else 'does not exist'}"
        raise typer.BadParameter(
            f"{runs[0]} is the folder of a run{other}; a run is compared with exactly one other"
            " run.",
            param_hint="'FILE'",
        )
    return runs[0], runs[1]


def _is_run(path: Path) -> bool:
    return path.is_dir() and (
        (path / "manifest.json").exists() or (path / "log").is_dir() or any(path.glob(f"*{SUFFIX}"))
    )


def print_diff(diff: PlacementDiff, output: str, figures: RunComparison | None = None) -> None:
    """Print the differences between two sides, and the figures of runs."""
    beside = {} if figures is None else figures.document()
    names = (one.pod for one in diff.differences)
    if not print_data(output, lambda: diff_document(diff) | beside, names):
        _print_tables(diff, figures, is_wide=output == "wide")


# ---------------------------------------------------------------- text


def _print_tables(diff: PlacementDiff, figures: RunComparison | None, *, is_wide: bool) -> None:
    rows = _wide_rows(diff) if is_wide else [_row(one) for one in diff.differences]
    if rows:
        print_table(("NAMESPACE", "POD", "BEFORE", "AFTER", "CHANGE", "REASON"), rows)
    _print_nodes(diff, is_wide=is_wide)
    print_heading("Utilization (the spread is the standard deviation over the nodes):")
    heads = ("RESOURCE", "BEFORE", "AFTER", "SPREAD BEFORE", "SPREAD AFTER")
    print_table(
        heads,
        [(use.resource, *map(percent, (*use.share, *use.spread))) for use in diff.resources],
        indent=2,
    )
    if any(diff.zones):
        print_heading("Pods on nodes by zone:")
        zones = [(zone or NO_NODE, *map(str, counts)) for zone, counts in diff.zones.items()]
        print_table(("ZONE", "BEFORE", "AFTER"), zones, indent=2)
    if figures is not None:
        print_heading("Figures of the runs:")
        cells = [(each.name, *each.cells()) for each in figures.figures]
        print_table(("FIGURE", "BEFORE", "AFTER", "CHANGE"), cells, indent=2)
        for note in figures.notes:
            print_message(note)
    print_message(summary(diff))


def _wide_rows(diff: PlacementDiff) -> list[tuple[str | Text, ...]]:
    differing = {one.pod: _row(one, limit=None) for one in diff.differences}
    return [
        differing.get(key) or (*key.split("/", 1), *map(place, sides), "", "")
        for key, sides in diff.placements.items()
    ]


def _row(one: PodDifference, *, limit: int | None = SHOWN_SCORES) -> tuple[str | Text, ...]:
    reasons = [
        f"{side}: {reason_text(because, limit=limit)}"
        for side, because in zip(SIDES, one.reasons, strict=True)
        if because is not None
    ]
    change = one.change + "*" * one.follows
    places = map(place, (one.before, one.after))
    namespace, _, name = one.pod.partition("/")
    if one.counterpart:
        name += f" ({one.counterpart.partition('/')[2]})"
    return (namespace, name, *places, change, "; ".join(reasons) or _message(one))


def _message(one: PodDifference) -> str:
    """Return why a pod of the second side has no node, if there is no reason against one node."""
    is_new = one.change in ("newly pending", "added")
    return one.after.message if is_new and one.after is not None else ""


def _print_nodes(diff: PlacementDiff, *, is_wide: bool) -> None:
    nodes = diff.nodes
    print_heading(f"Nodes in use: {nodes.used[0]} before, {nodes.used[1]} after")
    for label, names in (
        ("emptied", nodes.emptied),
        ("newly used", nodes.newly_used),
        ("added", nodes.added),
        ("removed", nodes.removed),
    ):
        if names:
            shown = names if is_wide else names[:_NAMES_SHOWN]
            more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
            print_paragraph(f"{label}: {', '.join(shown)}{more}", indent=2, hanging=2)


# `podwright diff` with several configurations: one table of all.


def print_several(configs: Sequence[str], diffs: Sequence[PlacementDiff], output: str) -> None:
    """Print how several configurations differ from one.

    Parameters
    ----------
    configs : sequence of str
        The files of the configurations.
    diffs : sequence of PlacementDiff
        Of each; the first sides are equal.
    output : str
        The output format.
    """
    followers = [{one.pod: one.follows for one in diff.differences} for diff in diffs]
    differing = set().union(*followers)
    pods = list(dict.fromkeys(pod for diff in diffs for pod in diff.placements))
    sides_of = zip(configs, diffs, strict=True)
    if print_data(
        output,
        lambda: {"configurations": [{"config": c, **diff_document(d)} for c, d in sides_of]},
        (pod for pod in pods if pod in differing),
    ):
        return
    names = _names(configs)
    rows = []
    for pod in pods:
        if output == "wide" or pod in differing:
            sides = [diff.placements.get(pod, (None, None)) for diff in diffs]
            before = next((first for first, _ in sides if first is not None), None)
            places = [
                place(after) + "*" * follows.get(pod, False)
                for (_, after), follows in zip(sides, followers, strict=True)
            ]
            rows.append((*pod.split("/", 1), place(before), *places))
    if rows:
        print_table(("NAMESPACE", "POD", "BEFORE", *names), rows)
    print_heading("Figures (the spread is the standard deviation over the nodes):")
    print_table(*_figures(names, diffs), indent=2)
    for name, diff in zip(names, diffs, strict=True):
        print_message(f"{name}: {summary(diff)}")


def _figures(
    names: Sequence[str], diffs: Sequence[PlacementDiff]
) -> tuple[list[str], list[list[str]]]:
    """Return a row of figures for the first side, and one for each configuration."""
    resources = list(dict.fromkeys(use.resource for diff in diffs for use in diff.resources))
    heads = ["CONFIGURATION", "DIFFERENT", "PENDING", "NODES IN USE"]
    heads += [f"{head}{name}".upper() for name in resources for head in ("", "SPREAD ")]
    rows = []
    afters = [(name, diff, 1) for name, diff in zip(names, diffs, strict=True)]
    for name, diff, side in (("before", diffs[0], 0), *afters):
        uses = {use.resource: use for use in diff.resources}
        placed = [sides[side] for sides in diff.placements.values()]
        row = [
            name,
            str(len(diff.differences)) if side else "-",
            str(sum(one is not None and not one.node for one in placed)),
            str(diff.nodes.used[side]),
        ]
        for resource in resources:
            use = uses.get(resource)
            row += [percent(use.share[side] if use else None)]
            row += [percent(use.spread[side] if use else None)]
        rows.append(row)
    return heads, rows


def _names(configs: Sequence[str]) -> list[str]:
    """Return the names of files, with their folders where they are not unique without."""
    names = [Path(config).name for config in configs]
    return names if len(set(names)) == len(names) else list(configs)
