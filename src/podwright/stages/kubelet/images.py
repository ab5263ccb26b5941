"""Images of containers: names, digests, and which of them can never be pulled.

There is no registry. An image whose name says so does not exist: the tag `404`, a registry at
`localhost` or under `.invalid`, or a repository or a tag that is called `nonexistent` or the like.

Upstream: pkg/util/parsers/parsers.go; pkg/kubelet/images/image_manager.go
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec

ROOT_IMAGES: Final = frozenset(
    {
        *("agnhost", "alpine", "bash", "busybox", "centos", "debian", "fedora", "golang"),
        *("haproxy", "httpd", "mysql", "nginx", "node", "postgres", "python", "redis", "ubuntu"),
    }
)
"""The last part of the repositories whose images run as root; others are not known to."""

SHELL_IMAGES: Final = frozenset(
    {"alpine", "bash", "busybox", "centos", "debian", "fedora", "ubuntu"}
)
"""Images that run a shell, which ends without a command."""

SERVER_IMAGES: Final = frozenset(
    {"agnhost", "haproxy", "httpd", "mysql", "nginx", "pause", "postgres", "redis"}
)
"""Images that run until they are stopped."""

_NOT_FOUND_TAG: Final = "404"
_NOT_FOUND: Final = re.compile(r"non-?existent|doesnt-exist|does-not-exist|doesntexist|notfound")
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
    base_name : str
        The last part of the repository.
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
    base_name: str
    image_id: str
    size_bytes: int
    pull_ns: int
    exists: bool
    runs_as_root: bool


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
    exists = not (
        tag == _NOT_FOUND_TAG
        or registry.partition(":")[0] == "localhost"
        or registry.startswith("invalid.")
        or registry.partition(":")[0].endswith(".invalid")
        or _NOT_FOUND.search(f"{path}:{tag}")
    )
    return Image(
        f"{name}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}",
        path.rpartition("/")[2],
        f"{name}@{digest or f'sha256:{fingerprint}'}",
        _MIB + number * 4096,
        200_000_000 + number * 10_000,
        exists,
        path.rpartition("/")[2] in ROOT_IMAGES,
    )


def pull_error(image: Image) -> str:
    """Return the error of the container runtime for an image that does not exist."""
    return (
        f'failed to pull and unpack image "{image.name}": failed to resolve reference '
        f'"{image.name}": {image.name}: not found'
    )
