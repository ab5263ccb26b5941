"""What is wrong in expectations: their form, and names of what does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from podwright.apimachinery.documents import (
    did_you_mean,
    problem,
)
from podwright.apimachinery.objects import FieldError, Object
from podwright.simulation.scenarios.document import Spec

_BUILT_IN_CLASSES: Final = ("system-cluster-critical", "system-node-critical")


def reference_problems(spec: Spec, objects: Iterable[Object]) -> Iterator[FieldError]:
    """Yield an error for each budget and priority class that nothing creates."""
    known: dict[str, set[str]] = {"PodDisruptionBudget": set(), "PriorityClass": set()}
    for kind, key in _created(spec, objects):
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


def _created(spec: Spec, objects: Iterable[Object]) -> Iterator[tuple[str, str]]:
    for obj in objects:
        yield obj.kind, f"{obj.namespace or 'default'}/{obj.name}"
    manifests: list[Any] = [each.apply or each.create for each in spec.operations]
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
