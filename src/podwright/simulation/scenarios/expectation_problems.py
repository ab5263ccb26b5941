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
    created = list(_created(spec, objects))
    budgets = {key for kind, key in created if kind == "PodDisruptionBudget"}
    classes = {key.partition("/")[2] for kind, key in created if kind == "PriorityClass"}
    classes |= {*_BUILT_IN_CLASSES}
    for index, each in enumerate(spec.expectations):
        budget = None if each.budget_blocked is None else each.budget_blocked.budget
        for kind, field, name, known in (
            ("PodDisruptionBudget", "budgetBlocked.budget", budget, budgets),
            ("PriorityClass", "noPreemptionOf", each.no_preemption_of, classes),
            ("PriorityClass", "priorityClass", each.priority_class, classes),
        ):
            if name and name not in known:
                hint = did_you_mean(name, sorted(known))
                message = f'there is no {kind} "{name}"{hint}'
                yield problem(f"spec.expectations[{index}].{field}", message)


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
            yield manifest.get("kind", ""), f"{namespace}/{metadata.get('name')}"
