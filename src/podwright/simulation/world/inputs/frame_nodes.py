"""Nodes from the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podwright.apimachinery.objects import Node, decode_as
from podwright.simulation.world.inputs.frame_columns import (
    Frame,
    Names,
    requested_resources,
)

_HOSTNAME: Final = "kubernetes.io/hostname"
_DEFAULT_PREFIX: Final = "node"
_DEFAULT_PODS: Final = "110"
"""The kubelet's default of `maxPods`."""


def nodes_from_frame(  # noqa: PLR0913 - one keyword for each column of a table
    frame: Any,
    *,
    name: str | None = None,
    cpu: str | None = None,
    memory: str | None = None,
    pods: str | None = None,
    resources: Mapping[str, str] | None = None,
    unit: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    replicas: str | None = None,
    prefix: str | None = None,
) -> list[Node]:
    """Make the nodes of each row of a table.

    Names that Kubernetes does not accept are changed, as by `Workload.from_frame`; the annotation
    `podwright.dev/original-name` and the label `kubernetes.io/hostname` have the name in the table
    and the changed one.

    Parameters
    ----------
    frame : table
        Columns by name: a DataFrame of pandas or Polars, an Arrow table, or a mapping of sequences.
    name : str, optional
        The column of node names; without it, `node-0`, `node-1` and so on.
    cpu, memory : str, optional
        The columns of allocatable amounts: numbers of CPUs, quantities such as `64Gi`. A row
        without a value has none.
    pods : str, optional
        The column of the number of pods that a node can have; without it, and in rows without a
        value, 110.
    resources : mapping of str to str, optional
        The columns of other allocatable amounts, by resource name.
    unit : mapping of str to str, optional
        The units of columns of numbers, by argument or resource name, such as
        ``{"memory": "GiB"}``; see `Workload.from_frame`.
    labels : mapping of str to str, optional
        The columns of labels, by label key. A row without a value has no such label.
    replicas : str, optional
        The column of the number of nodes of a row, which then end with a number: `node-0-1`.
    prefix : str, optional
        What names start with.

    Returns
    -------
    list of Node

    Raises
    ------
    ArgumentError
        If an argument has the wrong type.
    InputError
        With all missing columns, or all values that are not valid.

    Examples
    --------
    >>> import podwright as pw
    >>> table = {"cores": [64, 96], "gib": [256, 512], "zone": ["a", "b"]}
    >>> nodes = pw.nodes_from_frame(
    ...     table,
    ...     cpu="cores",
    ...     memory="gib",
    ...     unit={"memory": "GiB"},
    ...     labels={"topology.kubernetes.io/zone": "zone"},
    ... )
    >>> nodes[1].name, nodes[1].status.allocatable["memory"]
    ('node-1', '549755813888')
    """
    amounts = requested_resources(cpu, memory, resources)
    if pods is not None:
        amounts["pods"] = ("pods", pods)
    table = Frame(frame, unit, tuple(amounts))
    columns = table.amount_columns(amounts)
    names = table.column("name", name)
    copies = table.column("replicas", replicas)
    keyed = table.labelled("labels", labels)
    table.check_prefix(prefix)
    if not (amounts or keyed or name or replicas):
        table.wrong("frame", "no column is read; name at least one, such as cpu= or name=")
    table.raise_errors()
    taken = Names(table, names, prefix, _DEFAULT_PREFIX)
    found: list[dict[str, Any]] = []
    for row in range(table.length):
        count = 1 if copies is None else table.integer(*copies.at(row), least=0, default=1)
        allocatable = {"pods": _DEFAULT_PODS} | table.amounts(columns, row)
        given = table.labels(keyed, row)
        for number in range(count):
            named = taken.of_row(row, "" if copies is None else f"-{number}")
            found.append({
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": named.name,
                    "labels": {_HOSTNAME: named.name} | given,
                    "annotations": named.annotations,
                },
                "status": {"allocatable": allocatable, "capacity": allocatable},
            })  # fmt: skip
    table.raise_errors()
    return [decode_as(document, Node, source="nodes_from_frame") for document in found]
