"""What is wrong in expectations: their form, and names of what does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import (
    did_you_mean,
    invalid,
    not_supported,
    problem,
    required,
)
from podwright.apimachinery.objects import FieldError, Object
from podwright.simulation.scenarios.document import Expectation, Spec
from podwright.simulation.world import duration_problems, selector_problems

_BUILT_IN_CLASSES: Final = ("system-cluster-critical", "system-node-critical")
_KINDS: Final = (
    "scheduledWithin", "pendingAtMost", "spread", "noPreemptionOf", "utilization",
    "budgetBlocked", "placed", "samePlacement",
)  # fmt: skip


def expectation_problems(
    expectation: Expectation, path: str, configurations: Sequence[str]
) -> Iterator[FieldError]:
    """Yield what is wrong in the form of an expectation, each with its path."""
    fields = zip(expectation.__struct_fields__, expectation.__struct_encode_fields__, strict=True)
    given = [
        written
        for field, written in fields
        if written in _KINDS and getattr(expectation, field) not in (None, ())
    ]
    if len(given) != 1:
        found = f", not {' and '.join(given)}" if given else ""
        yield required(path, f"one of {', '.join(_KINDS)} is expected{found}")
    yield from selector_problems(expectation.pods, f"{path}.pods")
    for field in ("configurations", "same_placement"):
        shown = "samePlacement" if field == "same_placement" else field
        for index, name in enumerate(getattr(expectation, field)):
            if name not in configurations:
                known = tuple(dict.fromkeys(configurations))
                yield not_supported(f"{path}.{shown}[{index}]", name, known)
    if len(expectation.same_placement) == 1:
        yield required(f"{path}.samePlacement", "two configurations or more")
    yield from duration_problems(expectation.scheduled_within, f"{path}.scheduledWithin")
    if expectation.budget_blocked is not None:
        yield from duration_problems(
            expectation.budget_blocked.at_most, f"{path}.budgetBlocked.atMost"
        )
    yield from _range_problems(expectation, path)


def _range_problems(expectation: Expectation, path: str) -> Iterator[FieldError]:
    most = expectation.pending_at_most
    if most is not None and most < 0:
        yield invalid(f"{path}.pendingAtMost", most, "must not be negative")
    spread = expectation.spread
    if spread is not None and spread.max_skew < 0:
        yield invalid(f"{path}.spread.maxSkew", spread.max_skew, "must not be negative")
    if spread is not None and not spread.topology_key:
        yield required(f"{path}.spread.topologyKey", "a label of nodes")
    limits = expectation.utilization
    if limits is not None:
        for name, share in (("atLeast", limits.at_least), ("atMost", limits.at_most)):
            if share is not None and not 0 <= share <= 1:
                yield invalid(f"{path}.utilization.{name}", share, "a share of 0 to 1 is expected")
    if expectation.placed is not None and "/" not in expectation.placed.pod:
        yield invalid(f"{path}.placed.pod", expectation.placed.pod, "namespace/name is expected")


def reference_problems(
    spec: Spec, objects: Iterable[Object], operations: Iterable[tuple[int, bytes]]
) -> Iterator[FieldError]:
    """Yield an error for each budget and priority class that nothing creates."""
    known: dict[str, set[str]] = {"PodDisruptionBudget": set(), "PriorityClass": set()}
    for kind, key in _created(spec, objects, operations):
        if kind in known:
            known[kind].add(key)
    known["PriorityClass"] |= {f"default/{name}" for name in _BUILT_IN_CLASSES}
    classes = {key.partition("/")[2] for key in known["PriorityClass"]}
    for index, expectation in enumerate(spec.expectations):
        path = f"spec.expectations[{index}]"
        if expectation.budget_blocked is not None:
            name = expectation.budget_blocked.budget
            budgets = known["PodDisruptionBudget"]
            yield from _missing(
                "PodDisruptionBudget", name, budgets, f"{path}.budgetBlocked.budget"
            )
        for field, written in (
            ("no_preemption_of", "noPreemptionOf"),
            ("priority_class", "priorityClass"),
        ):
            name = getattr(expectation, field)
            if name:
                yield from _missing("PriorityClass", name, classes, f"{path}.{written}")


def _missing(kind: str, name: str, known: set[str], path: str) -> Iterator[FieldError]:
    if name not in known:
        hint = did_you_mean(name, sorted(known))
        yield problem(path, f'there is no {kind} "{name}"{hint}')


def _created(
    spec: Spec, objects: Iterable[Object], operations: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[str, str]]:
    for obj in objects:
        yield obj.kind, f"{obj.namespace or 'default'}/{obj.name}"
    lines = (msgspec.json.decode(line) for _, line in operations)
    manifests: list[Any] = [line.get("apply") or line.get("create") for line in lines]
    manifests += [
        {**entry.object, "metadata": {"name": f"{entry.name}-0"}}
        for entry in spec.load
        if entry.object is not None
    ]
    for manifest in manifests:
        if isinstance(manifest, dict):
            metadata = manifest.get("metadata") or {}
            namespace = metadata.get("namespace") or "default"
            yield str(manifest.get("kind")), f"{namespace}/{metadata.get('name')}"
