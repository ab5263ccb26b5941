"""A cache of the parsed documents of large YAML files.

Parsing a dump of 20,000 pods as YAML takes most of the time of a command that reads it. The cache
has the result of the parser, not objects: all that depends on options, such as validation, is done
again, so the answer is that of the uncached file.

An entry is a file with

- a magic number and a checksum of the rest;
- a header: the hash of the YAML file's content, and a *fingerprint* of the code that parsed it;
- the documents as MessagePack, compressed.

An entry stands beside its file as `.NAME.podwright-cache`, or in a folder of the cache if the
file's folder cannot be written to. An entry with another hash, fingerprint, owner or checksum is
ignored, and replaced by the next parse. An entry is written under another name and then renamed. A
failure to write it has no other effect.
"""

from __future__ import annotations

import contextlib
import gzip
import inspect
import io
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import YamlDocument, read_yaml

SUFFIX: Final = ".podwright-cache"
LEAST_BYTES: Final = 2 << 20
"""The size of the smallest file that is cached; it is parsed in about 0.3 s."""
FOLDER_BYTES_MAX: Final = 512 << 20
"""The size of a folder of the cache; the least recently used entries are removed."""

_PART: Final = 1
"""The type of the MessagePack extension that stands for a part."""
_NOT_ENCODABLE: Final = (OverflowError, UnicodeEncodeError, RecursionError)
"""An integer of more than 64 bits, half a surrogate pair, or too many levels."""
_MAGIC: Final = b"podwright documents 1\n"
_DIGEST_BYTES: Final = sha256().digest_size
_LENGTH_BYTES: Final = 4
_PART_SUFFIX: Final = ".new"
_LEFTOVER_SECONDS: Final = 600
"""The age of a partial file whose process has died; writing takes a second."""


class _Header(msgspec.Struct, frozen=True, array_like=True):
    """The key of an entry, and the length of its shared parts."""

    content: bytes
    fingerprint: bytes
    parts_bytes: int


class _Document(msgspec.Struct, frozen=True, array_like=True):
    """A `YamlDocument` without aliases."""

    value: Any
    line: int
    item_lines: tuple[int, ...]
    duplicates: tuple[tuple[int, str], ...]


class DocumentCache:
    """Keeps the documents of large YAML files.

    Parameters
    ----------
    folder : Path, optional
        The folder for entries that cannot be written beside their files.
    is_beside : bool
        Whether entries are written beside their files, where possible.
    least_bytes : int
        Smaller files are not cached.
    folder_bytes_max : int
        The size of the folder.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        is_beside: bool = True,
        least_bytes: int = LEAST_BYTES,
        folder_bytes_max: int = FOLDER_BYTES_MAX,
    ) -> None:
        self._folder = folder
        self._is_beside = is_beside
        self._least_bytes = least_bytes
        self._folder_bytes_max = folder_bytes_max

    def entry(self, source: str, data: bytes) -> CacheEntry | None:
        """Return the entry of a YAML file, which may not exist; None for a file that has none.

        Parameters
        ----------
        source : str
            The path of the file.
        data : bytes
            Its content.
        """
        if len(data) < self._least_bytes or not (fingerprint := _fingerprint()):
            return None
        content = sha256(data).digest()
        places = []
        if self._is_beside:
            path = Path(source)
            places.append(path.with_name(f".{path.name}{SUFFIX}"))
        if self._folder is not None:
            places.append(self._folder / f"{content.hex()}{SUFFIX}")
        return CacheEntry(
            (content, fingerprint),
            tuple(places),
            bytes_max=min(len(data), self._folder_bytes_max),
            folder=self._folder,
            folder_bytes_max=self._folder_bytes_max,
        )


class CacheEntry:
    """The entry of one file; made by `DocumentCache.entry`."""

    def __init__(
        self,
        key: tuple[bytes, bytes],
        places: tuple[Path, ...],
        *,
        bytes_max: int,
        folder: Path | None,
        folder_bytes_max: int,
    ) -> None:
        self._key = key
        self._places = places
        self._bytes_max = bytes_max
        self._folder = folder
        self._folder_bytes_max = folder_bytes_max

    def read(self) -> list[YamlDocument] | None:
        """Return the documents of the file; None if they are not in the cache."""
        for place in self._places:
            documents = _read(place, self._key)
            if documents is not None:
                if place.parent == self._folder:
                    _mark_used(place)
                return documents
        return None

    def recorded(self, parsed: Iterable[YamlDocument]) -> Iterator[YamlDocument]:
        """Yield documents from the parser; after the last one, write the entry.

        An invalid file, whose parser raises an error, has no entry.
        """
        packer = _Packer()
        for document in parsed:
            # Before the document is used, so that no change of it can be written.
            packer.add(document)
            yield document
        packed = packer.packed()
        if packed is None:
            return
        entry = _encoded(packed, self._key)
        if len(entry) <= self._bytes_max:
            self._write(entry)

    def _write(self, entry: bytes) -> None:
        """Write an entry to the first place where that is possible."""
        for place in self._places:
            is_in_folder = place.parent == self._folder
            with contextlib.suppress(OSError):
                if is_in_folder:
                    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _replace(place, entry)
                if is_in_folder:
                    _remove_oldest(place.parent, self._folder_bytes_max)
                return


@cache
def _fingerprint() -> bytes:
    """Return a hash of all that parsed documents depend on; empty if there are no sources."""
    import yaml  # 20 ms, which a question about a recorded run does not need

    loader = "libyaml" if hasattr(yaml, "CSafeLoader") else "python"
    state = sha256(f"{yaml.__version__} {loader} {msgspec.__version__}\n".encode())
    try:
        parser = inspect.getsourcefile(read_yaml)
        for file in (Path(parser or ""), Path(__file__), Path(__file__).with_name("documents.py")):
            state.update(file.read_bytes())
    except OSError:
        return b""
    return state.digest()


# ------------------------------------------------------------------------------- entries


class _Packer:
    """Encodes documents; a part that many objects have is written once.

    Pods of one template have the same containers, labels and volumes. A *part* is a map or a list
    in the metadata, the spec or the status of an object. Parts are shared after reading, too, which
    is what makes reading quick: documents must not be changed.
    """

    def __init__(self) -> None:
        self._documents: list[_Document] = []
        self._maps: list[dict[str, Any]] = []
        self._counts: dict[bytes, int] = {}
        self._is_encodable = True

    def add(self, document: YamlDocument) -> None:
        """Add a document; its parts are encoded at once."""
        self._is_encodable = self._is_encodable and not document.has_aliases
        if not self._is_encodable:
            return
        try:
            value = self._entries(document.value)
        except _NOT_ENCODABLE:
            self._is_encodable = False
            return
        self._documents.append(
            _Document(value, document.line, document.item_lines, document.duplicates)
        )

    def packed(self) -> tuple[bytes, bytes] | None:
        """Return the shared parts and the documents; None if they cannot be encoded."""
        if not self._is_encodable:
            return None
        shared = [part for part, count in self._counts.items() if count > 1]
        place_of = {part: index for index, part in enumerate(shared)}
        for one in self._maps:
            for key, value in one.items():
                if type(value) is msgspec.Raw and (place := place_of.get(bytes(value))) is not None:
                    one[key] = msgspec.msgpack.Ext(_PART, place.to_bytes(_LENGTH_BYTES, "big"))
        try:
            documents = msgspec.msgpack.encode(self._documents)
        except _NOT_ENCODABLE:
            return None
        return msgspec.msgpack.encode([msgspec.Raw(part) for part in shared]), documents

    def _entries(self, value: Any) -> Any:
        """Return a document, or the entries of its lists, with encoded parts."""
        if not isinstance(value, dict):
            return msgspec.Raw(msgspec.msgpack.encode(value))
        return {
            key: [self._object(entry) for entry in inner]
            if isinstance(inner, list)
            else self._fields(inner)
            for key, inner in value.items()
        }

    def _object(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return msgspec.Raw(msgspec.msgpack.encode(value))
        return {key: self._fields(inner) for key, inner in value.items()}

    def _fields(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return msgspec.Raw(msgspec.msgpack.encode(value))
        fields = {
            key: self._part(inner) if isinstance(inner, dict | list) else inner
            for key, inner in value.items()
        }
        self._maps.append(fields)
        return fields

    def _part(self, value: Any) -> msgspec.Raw:
        part = msgspec.msgpack.encode(value)
        self._counts[part] = self._counts.get(part, 0) + 1
        return msgspec.Raw(part)


def _encoded(packed: tuple[bytes, bytes], key: tuple[bytes, bytes]) -> bytes:
    header = msgspec.msgpack.encode(_Header(*key, len(packed[0])))
    length = len(header).to_bytes(_LENGTH_BYTES, "big")
    rest = length + header + zlib.compress(b"".join(packed), 1)
    return _MAGIC + sha256(rest).digest() + rest


def _read(place: Path, key: tuple[bytes, bytes]) -> list[YamlDocument] | None:
    """Return the documents of an entry; None if it is missing, damaged or of something else."""
    try:
        with place.open("rb") as file:
            if not _is_own(os.fstat(file.fileno()).st_uid):
                return None
            entry = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    checksum, rest = entry[len(_MAGIC) : start], entry[start:]
    if not entry.startswith(_MAGIC) or sha256(rest).digest() != checksum:
        return None
    end = _LENGTH_BYTES + int.from_bytes(rest[:_LENGTH_BYTES], "big")
    try:
        header = msgspec.msgpack.decode(rest[_LENGTH_BYTES:end], type=_Header)
        if (header.content, header.fingerprint) != key:
            return None
        return _unpacked(zlib.decompress(rest[end:]), header.parts_bytes)
    except (msgspec.MsgspecError, zlib.error, IndexError):
        return None


def _unpacked(data: bytes, parts_bytes: int) -> list[YamlDocument]:
    parts = msgspec.msgpack.decode(memoryview(data)[:parts_bytes], type=list[Any])

    def part(_: int, place: memoryview) -> Any:
        return parts[int.from_bytes(place, "big")]

    decoder = msgspec.msgpack.Decoder(list[_Document], ext_hook=part)
    return [
        YamlDocument(one.value, one.line, one.item_lines, one.duplicates)
        for one in decoder.decode(memoryview(data)[parts_bytes:])
    ]


def _is_own(owner: int) -> bool:
    """Whether this user wrote a file: the entry of another user could give another answer."""
    return not hasattr(os, "geteuid") or owner == os.geteuid()


# --------------------------------------------------------------------------------- files


def _replace(place: Path, entry: bytes) -> None:
    """Write a file under another name and rename it; only the user can read it."""
    descriptor, name = tempfile.mkstemp(
        prefix=f"{place.name}.", suffix=_PART_SUFFIX, dir=place.parent
    )
    part = Path(name)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(entry)
        _remove_leftovers(place, part.stat().st_mtime)
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _remove_leftovers(place: Path, now_s: float) -> None:
    """Remove partial files of processes that died."""
    for part in place.parent.iterdir():
        if part.name.startswith(f"{place.name}.") and part.name.endswith(_PART_SUFFIX):
            with contextlib.suppress(OSError):
                if part.stat().st_mtime < now_s - _LEFTOVER_SECONDS:
                    part.unlink()


def _mark_used(place: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(place)


def _remove_oldest(folder: Path, bytes_max: int) -> None:
    """Remove the least recently used entries beyond a size."""
    used: list[tuple[int, int, Path]] = []
    for path in folder.glob(f"*{SUFFIX}*"):
        with contextlib.suppress(OSError):  # another process was quicker
            state = path.stat()
            used.append((state.st_mtime_ns, state.st_size, path))
    total = 0
    for _, size, path in sorted(used, reverse=True):
        total += size
        if total > bytes_max:
            path.unlink(missing_ok=True)


# Files that may be compressed with gzip, with a limit of what they become.

MAGIC: Final = b"\x1f\x8b"

UNPACKED_BYTES: Final = 64 << 20
"""A file of any compressed size may become this large."""

RATIO_MAX: Final = 200
"""How many times as large a larger file may become; records of equal pods reach about 50."""


def unpacked_max(packed_bytes: int) -> int:
    """Return how large a compressed file may become, in bytes."""
    return max(UNPACKED_BYTES, RATIO_MAX * packed_bytes)


def too_large(limit_bytes: int) -> gzip.BadGzipFile:
    """Return the error of a file that becomes larger."""
    return gzip.BadGzipFile(f"it becomes larger than {limit_bytes >> 20} MiB; unpack it yourself")


def unpacked(data: bytes) -> bytes:
    """Return the content of a file.

    Raises
    ------
    OSError, EOFError, zlib.error
        It is not whole, or becomes too large.
    """
    if data[:2] != MAGIC:
        return data
    limit = unpacked_max(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        found = file.read(limit + 1)
    if len(found) > limit:
        raise too_large(limit)
    return found
