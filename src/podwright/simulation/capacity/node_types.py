"""Types of nodes that can be bought: those of a file, and the pools of a cluster."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from podwright.apimachinery.documents import (
    Count,
    NotNegative,
    decode as decode_struct,
    duplicate,
    join,
    needed,
    parse_document,
)
from podwright.apimachinery.objects import (
    ZONE,
    FieldError,
    InputError,
    Node,
    Object,
)
from podwright.simulation.autoscaling import (
    INSTANCE_TYPE,
    NodeTemplate,
    pool_of,
)


class NodeType(NodeTemplate, frozen=True, kw_only=True):
    """Nodes that can be bought.

    Attributes
    ----------
    name : str
        The name of the type, with which the names of its nodes start.
    price : float
        Of one node, in any unit.
    max : int, optional
        The most nodes of this type.
    allocatable, labels, taints
        As for `NodeTemplate`.
    """

    name: Annotated[str, needed()] = ""
    price: NotNegative = 1.0
    max: Count | None = None


class NodeTypes(msgspec.Struct, frozen=True):
    """The types of a file.

    Attributes
    ----------
    types : tuple of NodeType
    """

    types: Annotated[tuple[NodeType, ...], needed("name at least one type")] = ()

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield an error in `path` for each name that several types have."""
        names = [each.name for each in self.types]
        for index, name in enumerate(names):
            if name and name in names[:index]:
                yield duplicate(join(path, f"types[{index}].name"), name)


def read_node_types(data: str | bytes, source: str) -> tuple[NodeType, ...]:
    """Read types of nodes: YAML or JSON with a list `types`, or a CSV table.

    Parameters
    ----------
    data : str or bytes
        The content of the file.
    source : str
        The name of the file. If it ends with `.csv`, each row is a type with the columns `name`,
        `price`, `max` and `labels.KEY`; each other column is a resource.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    errors: list[FieldError] = []
    try:
        document = _csv_types(data) if source.endswith(".csv") else parse_document(data)
        found = decode_struct(document, NodeTypes, "", errors).types
    except (ValueError, csv.Error) as error:
        raise InputError([FieldError(source=source, path="", message=str(error))]) from error
    if errors:
        raise InputError(msgspec.structs.replace(each, source=source) for each in errors)
    return found


def _csv_types(data: str | bytes) -> dict[str, Any]:
    """Return a table as the document that a YAML file would have."""
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    types: list[dict[str, Any]] = []
    for row in csv.DictReader(text.splitlines(keepends=True), strict=True):
        if None in row or None in row.values():
            raise ValueError(f"types[{len(types)}]: does not have as many columns as the first row")
        found: dict[str, Any] = {"allocatable": {}, "labels": {}}
        for column, cell in row.items():
            name, value = column.strip(), cell.strip()
            if not value:
                continue
            if name.startswith("labels."):
                found["labels"][name.removeprefix("labels.")] = value
            elif name in ("price", "max"):
                found[name] = parse_document(value)
            elif name == "name":
                found[name] = value
            else:
                found["allocatable"][name] = value
        types.append(found)
    return {"types": types}


def pool_types(objects: Iterable[Object], label: str = "") -> tuple[NodeType, ...]:
    """Return the pools of a cluster as types of price 1.

    A pool with several instance types or zones is a type for each, named after them, too. Each is
    like its first node.

    Parameters
    ----------
    objects : iterable of Object
        The cluster; only its nodes count.
    label : str
        The label that names a node's pool; by default those of known providers.
    """
    pools: dict[str, dict[tuple[str, ...], Node]] = {}
    for node in objects:
        if isinstance(node, Node) and (pool := pool_of(node, label)):
            parts = tuple(node.metadata.labels.get(key, "") for key in (INSTANCE_TYPE, ZONE))
            pools.setdefault(pool, {}).setdefault(parts, node)
    found = []
    for pool, nodes in pools.items():
        differs = [len(set(values)) > 1 for values in zip(*nodes, strict=True)]
        for parts, node in nodes.items():
            named = [part for part, is_own in zip(parts, differs, strict=True) if part and is_own]
            found.append(type_of(node, "-".join([pool, *named])))
    return tuple(found)


def type_of(node: Node, name: str) -> NodeType:
    """Return the type `name` of nodes that are like `node`."""
    return NodeType.like(node, name=name)
