"""Objects at rest: JSON in the file, or compressed in memory, that is decoded when it is read.

As structs and documents, a small object takes several times the memory of its JSON. So objects of
the kinds that no component holds anyway, and their changes, are kept encoded as soon as they are
not among the last changes; in a store with a file also the older changes of all other kinds. The
objects that were read last stay decoded.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final, Protocol, cast

from podwright.apimachinery.objects import TYPES, KubernetesObject, NamespacedName, decode_json
from podwright.apimachinery.schema import decode
from podwright.cluster.store.encodings import FormedText, TextForm
from podwright.cluster.store.errors import GroupKind, group_kind
from podwright.cluster.store.sorted_keys import Names

DECODED_MAX: Final = 1_024
"""How many of the objects at rest that were read last stay decoded."""

_PACK_TEXTS: Final = 16
"""More are smaller still, by a few bytes each, and take longer to read one of."""

_PACK_BYTES: Final = 32_768
"""A larger pack takes no further text, and a larger text is alone: reading it reads no others."""

_END: Final = b"\xff"
"""Between texts; it is not in any JSON."""

_HELD_KINDS: Final = frozenset(map(group_kind, TYPES))
"""The kinds of the scheduler and the controllers, which hold their objects themselves."""


def rests(kind: GroupKind) -> bool:
    """Whether objects of a kind are kept encoded."""
    return kind not in _HELD_KINDS


class Texts(Protocol):
    """The JSON of versions of objects."""

    def read(self, version: int) -> bytes:
        """Return the JSON of a version.

        Raises
        ------
        UnusableStore
            The file cannot be read, or was altered.
        """

    def keep(self, version: int, kind: GroupKind, text: Callable[[], FormedText]) -> None:
        """Keep the JSON of a version, unless it is kept or in the file already."""

    def forget(self, version: int) -> None:
        """Release the JSON of a version that is not read any more."""


class CompressedTexts:
    """The JSON of objects at rest in memory; of texts with a form only the values.

    Objects of a kind have much in common, so the texts of a kind are compressed together, a few at
    a time. The memory of a text that is forgotten is free when the others of its pack are, too.
    """

    def __init__(self) -> None:
        self._packs: dict[int, _Pack] = {}
        # The packs of each kind that take more texts.
        self._open: dict[GroupKind, _Pack] = {}
        # The texts of the pack that was read last: those that are read next are often in it.
        self._unpacked: tuple[_Pack | None, Sequence[bytes]] = None, ()

    def __len__(self) -> int:
        return len(self._packs)

    def read(self, version: int) -> bytes:
        """Return the JSON of a version."""
        pack = self._packs[version]
        # Two threads may read at once, and a third one may add.
        unpacked, texts = self._unpacked
        if pack is not unpacked:
            is_full, texts = pack.is_full, pack.texts()
            if is_full:
                self._unpacked = pack, texts
        return pack.restored(version, texts)

    def keep(self, version: int, kind: GroupKind, text: Callable[[], FormedText]) -> None:
        """Keep the JSON of a version, unless it is kept already."""
        if version in self._packs:
            return
        kept = text()
        is_large = len(kept[1]) >= _PACK_BYTES
        pack = None if is_large else self._open.pop(kind, None)
        pack = pack or _Pack()
        pack.add(version, kept)
        self._packs[version] = pack
        if not pack.is_full:
            self._open[kind] = pack

    def forget(self, version: int) -> None:
        """Release the JSON of a version."""
        self._packs.pop(version, None)


class _Pack:
    """Some texts that are compressed together as soon as there are enough."""

    __slots__ = ("_data", "_forms", "_size_bytes", "_texts", "_versions")

    def __init__(self) -> None:
        self._versions: tuple[int, ...] = ()
        self._forms: tuple[TextForm | None, ...] = ()
        self._texts: tuple[bytes, ...] = ()
        self._size_bytes = 0
        self._data = b""

    @property
    def is_full(self) -> bool:
        """Whether no text is added any more."""
        return bool(self._data)

    def add(self, version: int, text: FormedText) -> None:
        """Add the text of a version."""
        form, values = text
        self._texts += (values,)
        self._forms += (form,)
        self._versions += (version,)
        self._size_bytes += len(values)
        if len(self._texts) == _PACK_TEXTS or self._size_bytes >= _PACK_BYTES:
            self._data = zlib.compress(_END.join(self._texts), zlib.Z_BEST_SPEED)
            # Last: another thread may be reading.
            self._texts = ()

    def texts(self) -> Sequence[bytes]:
        """Return the texts, or their values, in order."""
        return self._texts or zlib.decompress(self._data).split(_END)

    def restored(self, version: int, texts: Sequence[bytes]) -> bytes:
        """Return the JSON of a version, given all texts."""
        place = self._versions.index(version)
        form = self._forms[place]
        return texts[place] if form is None else form.restored(texts[place])


class ObjectsAtRest:
    """Versions of objects, read from their JSON.

    Parameters
    ----------
    texts : Texts
    """

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self._decoded: OrderedDict[int, KubernetesObject] = OrderedDict()

    def read(self, version: int) -> KubernetesObject:
        """Return the object that a version wrote."""
        # Two threads may read at once: either finds the object, or decodes it.
        found = self._decoded.pop(version, None)
        if found is None:
            found = decode(decode_json(self.texts.read(version)))
        self._decoded[version] = found
        if len(self._decoded) > DECODED_MAX:
            self._decoded.popitem(last=False)
        return found

    def forget(self, version: int) -> None:
        """Release a version that no change and no object needs any more."""
        self._decoded.pop(version, None)
        self.texts.forget(version)


class RestingObjects(MutableMapping[NamespacedName, KubernetesObject]):
    """The objects of a kind by key, in the order of their keys, of which some are at rest.

    An object at rest has only its version, in `names`; the others have version 0 there.

    Parameters
    ----------
    at_rest : ObjectsAtRest

    Attributes
    ----------
    names : Names
        The keys of all objects.
    """

    def __init__(self, at_rest: ObjectsAtRest) -> None:
        self._at_rest = at_rest
        self._awake: dict[NamespacedName, KubernetesObject] = {}
        self.names = Names()

    def __getitem__(self, key: NamespacedName) -> KubernetesObject:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return cast("KubernetesObject", found)

    def get(self, key: NamespacedName, default: Any = None) -> Any:
        """Return an object; None if there is none."""
        found = self._awake.get(key)
        if found is None:
            version = self.names.version_of(key)
            return self._at_rest.read(version) if version else default
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._awake or self.names.version_of(str(key)) is not None

    def __iter__(self) -> Iterator[NamespacedName]:
        return self.names.after(None, None)

    def __len__(self) -> int:
        return self.names.count(None)

    def __setitem__(self, key: NamespacedName, obj: KubernetesObject) -> None:
        if key not in self._awake:
            self.names.add(key)
        self._awake[key] = obj

    def __delitem__(self, key: NamespacedName) -> None:
        self._awake.pop(key, None)
        self.names.remove(key)

    def states(self) -> Iterator[tuple[NamespacedName, int, KubernetesObject | None]]:
        """Yield the keys, the versions and the objects, None for those at rest."""
        for key, version in self.names.items():
            obj = None if version else self._awake[key]
            yield key, version if obj is None else int(obj.metadata.resource_version), obj

    def holds(self, key: NamespacedName, obj: KubernetesObject) -> bool:
        """Whether an object is the current one, and not at rest."""
        return self._awake.get(key) is obj

    def rest(self, key: NamespacedName, version: int) -> None:
        """Replace an object by its version."""
        del self._awake[key]
        self.names.set_version(key, version)

    def restore(self, versions: Mapping[NamespacedName, int]) -> None:
        """Set the objects, all at rest, where there are none."""
        assert not self, "there are objects already"
        self.names = Names(versions)

    def version_of(self, key: NamespacedName) -> int | None:
        """Return the version of an object without decoding it, None if there is none."""
        awake = self._awake.get(key)
        return self.names.version_of(key) if awake is None else int(awake.metadata.resource_version)
