"""`podwright diff` with several configurations: one table of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podwright.cli.console import (
    print_document,
    print_heading,
    print_message,
    print_table,
    write,
)
from podwright.cli.decisions.difference_text import percent, place, summary
from podwright.simulation.recording import PlacementDiff, diff_document


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
    if output in ("json", "yaml"):
        found = [
            {"config": config, **diff_document(diff)}
            for config, diff in zip(configs, diffs, strict=True)
        ]
        print_document({"configurations": found}, output)
        return
    followers = [{one.pod: one.follows for one in diff.differences} for diff in diffs]
    differing = set().union(*followers)
    pods = list(dict.fromkeys(pod for diff in diffs for pod in diff.placements))
    if output == "name":
        for pod in pods:
            if pod in differing:
                write(pod)
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
