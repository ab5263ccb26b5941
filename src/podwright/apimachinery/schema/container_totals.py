"""The sum of the resources of a pod's containers.

Upstream: staging/src/k8s.io/component-helpers/resource/helpers.go, AggregateContainerRequests,
AggregateContainerLimits
"""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import (
    Document,
    QuantityFormat,
    format_quantity,
    parse_quantity,
)


def container_totals(spec: Document, kind: str) -> dict[str, int]:
    """Return the amounts that the containers of a pod use at once, by resource.

    Parameters
    ----------
    spec : dict
        The spec of a pod with valid quantities.
    kind : str
        `requests` or `limits`.

    Returns
    -------
    dict of str to int
        In units of 10^-9.

    Notes
    -----
    Init containers run one after the other, beside the sidecars that started before them.
    """
    totals: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(totals, container, kind)
    sidecars: dict[str, int] = {}
    largest: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            _add(totals, container, kind)
            _add(sidecars, container, kind)
            used = sidecars
        else:
            used = dict(sidecars)
            _add(used, container, kind)
        for name, amount in used.items():
            largest[name] = max(largest.get(name, amount), amount)
    names = {*totals, *largest}
    return {name: max(totals.get(name, 0), largest.get(name, 0)) for name in names}


def _add(totals: dict[str, int], container: Document, kind: str) -> None:
    for name, text in ((container.get("resources") or {}).get(kind) or {}).items():
        totals[name] = totals.get(name, 0) + parse_quantity(text).nano


def written_total(spec: Document, kind: str, name: str, total: int) -> str:
    """Return a total with the kind of suffix of the first amount in it.

    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Add
    """
    amount = parse_quantity(f"{total}n")
    suffixes = _suffixes_of(spec, kind, name)
    return format_quantity(msgspec.structs.replace(amount, format=suffixes))


def _suffixes_of(spec: Document, kind: str, name: str) -> QuantityFormat:
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            text = ((container.get("resources") or {}).get(kind) or {}).get(name)
            if text is not None and (amount := parse_quantity(text)).nano:
                return amount.format
    return "DecimalSI"
