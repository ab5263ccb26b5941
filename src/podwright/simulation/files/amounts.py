"""Amounts that do not fit 64 bits.

The API server accepts them, and kube-scheduler calculates with something else: a pod that requests
10^30 CPUs fits every node. See `podwright.apimachinery.objects.quantity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from podwright.apimachinery.objects import Node, Pod, QuantityText, parse_quantity
from podwright.simulation.files.object_reader import Sourced

_Amounts: TypeAlias = Iterable[tuple[str, Mapping[str, QuantityText]]]


def overflows(sourced: Iterable[Sourced]) -> Iterator[str]:
    """Yield a warning for each amount of a pod or a node that kube-scheduler misreads."""
    examined: dict[int, object] = {}
    for entry in sourced:
        obj = entry.object
        if isinstance(obj, Pod):
            # Pods of one template share their spec.
            if id(obj.spec) in examined:
                continue
            examined[id(obj.spec)] = obj.spec
            amounts = _of_pod(obj)
        elif isinstance(obj, Node):
            status = obj.status
            amounts = (("status.allocatable", status.allocatable or status.capacity),)
        else:
            continue
        for path, resources in amounts:
            for name, text in resources.items():
                read = _misread(text, is_cpu=name == "cpu")
                if read:
                    yield (
                        f"{entry.source}: {path}[{name}]: {text} does not fit 64 bits;"
                        f" kube-scheduler reads {read}"
                    )


def _of_pod(pod: Pod) -> _Amounts:
    for field, containers in (
        ("initContainers", pod.spec.init_containers),
        ("containers", pod.spec.containers),
    ):
        for index, container in enumerate(containers):
            yield f"spec.{field}[{index}].resources.requests", container.resources.requests
    if pod.spec.resources is not None:
        yield "spec.resources.requests", pod.spec.resources.requests
    yield "spec.overhead", pod.spec.overhead


@lru_cache(maxsize=65_536)
def _misread(text: QuantityText, *, is_cpu: bool) -> str:
    """Return the amount that upstream calculates with, if it is another one; else nothing."""
    quantity = parse_quantity(text)
    unit, value = (10**6, quantity.milli_value()) if is_cpu else (10**9, quantity.value())
    # Smaller parts are rounded up.
    if abs(quantity.nano - value * unit) < unit:
        return ""
    return f"{value}m" if is_cpu else f"{value}"
