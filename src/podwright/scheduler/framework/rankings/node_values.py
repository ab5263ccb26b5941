"""Values by node name, kept as columns."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

from podwright._arrays import I64Array


class NodeNames:
    """The names of some nodes, shared by all values of these nodes.

    Parameters
    ----------
    names : tuple of str
        Each name once.
    """

    __slots__ = ("_places", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._places: dict[str, int] | None = None

    @property
    def places(self) -> dict[str, int]:
        """Where each name is."""
        if self._places is None:
            self._places = {name: place for place, name in enumerate(self.names)}
        return self._places


class NodeValues(Mapping[str, int]):
    """A value for each of some nodes, in their order; equal to a dictionary.

    Parameters
    ----------
    nodes : NodeNames
    array : (n,) int64
        The values; not copied.
    """

    __slots__ = ("_nodes", "array")
    __hash__ = None  # type: ignore[assignment]  # equal to dictionaries, which have none

    def __init__(self, nodes: NodeNames, array: I64Array) -> None:
        assert len(nodes.names) == len(array), f"{len(nodes.names)} names, {len(array)} values"
        self._nodes = nodes
        self.array = array

    def __getitem__(self, name: str) -> int:
        return self.array.item(self._nodes.places[name])

    def __contains__(self, name: object) -> bool:
        return name in self._nodes.places

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes.names)

    def __len__(self) -> int:
        return len(self.array)

    def items(self) -> ItemsView[str, int]:
        """Return the names and values."""
        return self._as_dict().items()

    def values(self) -> ValuesView[int]:
        """Return the values."""
        return self._as_dict().values()

    def __repr__(self) -> str:
        return repr(self._as_dict())

    def _as_dict(self) -> dict[str, int]:
        return dict(zip(self._nodes.names, self.array.tolist(), strict=True))
