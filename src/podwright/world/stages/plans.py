"""What the plan for an object is made of, and plans that are the same for all objects."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from podwright.world.stages.stage import Stage

FixedPlan: TypeAlias = tuple[str, int, int, str]
"""Of a plan that looks the same for all objects: its basis, its delay, its stage, and the name."""


def basis_of(applying: list[int], weights: list[int | None], sources: list[tuple[Any, Any]]) -> str:
    """Return what a plan is made of, as a text: stages, their weights, and words on delays."""
    return msgspec.json.encode((applying, weights, sources)).decode()


def fixed_plan(stage: Stage, index: int) -> FixedPlan | None:
    """Return the plan of a stage for which objects can say neither weight nor delay, else None."""
    delay = stage.delay
    asked = (stage.weight.query, delay.duration.query, delay.jitter.query)
    if any(query is not None for query in asked):
        return None
    least_ns, most_ns = delay.bounds((None, None), 0)
    if most_ns > least_ns:
        return None
    basis = basis_of([index], [stage.weight.default], [(None, None)])
    return basis, least_ns, index, stage.name
