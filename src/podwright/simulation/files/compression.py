"""Files that may be compressed with gzip, with a limit of what they become."""

from __future__ import annotations

import gzip
import io
from typing import Final

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
