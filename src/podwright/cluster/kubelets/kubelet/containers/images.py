"""Images of containers: names, digests and sizes, which depend on the name only.

There is no registry. Every image exists, unless `image_behaviors` declares an error of its pull.

Upstream: pkg/util/parsers/parsers.go; pkg/kubelet/images/image_manager.go
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec

_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN: Final = rf"(?:{_LABEL}\.)*{_LABEL}(?::\d+)?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME: Final = re.compile(
    rf"(?P<repository>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_MIB: Final = 1 << 20


class Image(msgspec.Struct, frozen=True):
    """An image.

    Attributes
    ----------
    name : str
        The normalized name, with a registry and a tag or a digest.
    image_id : str
        The name with the digest.
    size_bytes : int
        A size that depends on the name only.
    pull_ns : int
        The time that is reported for a pull.
    exists : bool
    runs_as_root : bool
    """

    name: str
    image_id: str
    size_bytes: int
    pull_ns: int


@lru_cache(maxsize=1024)
def read_image(text: str) -> Image | None:
    """Return the image of a container; None for an invalid name."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    repository, tag, digest = found["repository"], found["tag"], found["digest"]
    registry, slash, path = repository.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        registry, path = "docker.io", repository if slash else f"library/{repository}"
    name = f"{registry}/{path}"
    if not digest:
        tag = tag or "latest"
    fingerprint = sha256(f"{name}:{tag}".encode()).hexdigest()
    number = int(fingerprint[:4], 16)
    return Image(
        f"{name}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}",
        f"{name}@{digest or f'sha256:{fingerprint}'}",
        _MIB + number * 4096,
        200_000_000 + number * 10_000,
    )
