"""Objects at rest: JSON in the file, or compressed in memory, that is decoded when it is read.

As structs and documents, a small object takes several times the memory of its JSON. So objects of
the kinds that no component holds anyway, and their changes, are kept encoded as soon as they are
not among the last changes; in a store with a file also the older changes of all other kinds. The
objects that were read last stay decoded.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Final, Protocol, cast

from podwright.apimachinery.objects import TYPES, KubernetesObject, NamespacedName, decode_json
from podwright.apimachinery.schema import decode
from podwright.cluster.store.encodings import FormedText, TextForm
from podwright.cluster.store.errors import GroupKind, group_kind
from podwright.cluster.store.sorted_keys import Names

DECODED_MAX: Final = 1_024
"""How many of the objects at rest that were read last stay decoded."""

_DICTIONARY_TEXTS: Final = 16
_DICTIONARY_BYTES: Final = 16_384
_WINDOW_BITS: Final = -14
_MEMORY_LEVEL: Final = 5
"""A window of 16 KiB; the state of a larger one takes longer to copy than an Event to compress."""

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
    """The JSON of objects at rest in memory.

    Of texts with a form only the values are kept. Other objects of a kind have much in common too:
    the first ones are the dictionary for the others.
    """

    def __init__(self) -> None:
        self._texts: dict[int, tuple[TextForm | _Codec, bytes]] = {}
        self._codecs: dict[GroupKind, _Codec] = {}

    def read(self, version: int) -> bytes:
        """Return the JSON of a version."""
        form, data = self._texts[version]
        return form.restored(data)

    def keep(self, version: int, kind: GroupKind, text: Callable[[], FormedText]) -> None:
        """Keep the JSON of a version, unless it is kept already."""
        if version in self._texts:
            return
        form, data = text()
        if form is not None:
            self._texts[version] = form, data
            return
        codec = self._codecs.get(kind)
        if codec is None or codec.is_full:
            codec = self._codecs[kind] = _Codec(b"" if codec is None else codec.next_dictionary)
        self._texts[version] = codec, codec.compressed(data)

    def forget(self, version: int) -> None:
        """Release the JSON of a version."""
        self._texts.pop(version, None)


class _Codec:
    """Compresses texts that resemble each other.

    Parameters
    ----------
    dictionary : bytes
        Texts of the same kind; the first codec of a kind has none, and collects them.
    """

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = dictionary
        self._compressor = zlib.compressobj(
            1, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zdict=dictionary
        )
        self.next_dictionary = b""
        self._count = 0  # of the texts that were collected

    @property
    def is_full(self) -> bool:
        """Whether the texts so far suffice as a dictionary for the next ones."""
        return self._count >= _DICTIONARY_TEXTS

    def compressed(self, text: bytes) -> bytes:
        """Return a text compressed."""
        if not self._dictionary:
            self._count += 1
            self.next_dictionary = (self.next_dictionary + text)[-_DICTIONARY_BYTES:]
        compressor = self._compressor.copy()
        return compressor.compress(text) + compressor.flush()

    def restored(self, data: bytes) -> bytes:
        """Return the text of `compressed`."""
        return zlib.decompressobj(_WINDOW_BITS, zdict=self._dictionary).decompress(data)


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
