"""Uids and generated names: they look random, but are functions of the seed and the version.

Two stores with the same seed and the same writes assign the same uids and names.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from hashlib import blake2b

from podwright.apimachinery.objects import Document

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LETTER_COUNT = len(_ALPHABET)
_SUFFIX_COUNT = _LETTER_COUNT**_SUFFIX_LENGTH
_PAIRS = [first + second for second in _ALPHABET for first in _ALPHABET]
_PAIR_COUNT = len(_PAIRS)
# RFC 4122 fixes the two highest bits of this digit at 10, which leaves 8, 9, a and b.
_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
# Upstream: 63 characters (a DNS label) minus the suffix.
_PREFIX_LENGTH_MAX = 58
_ATTEMPTS_MAX = 1_000


def uid_at(seed: int, version: int) -> str:
    """Return the uid of the object that a version creates, in the form of a random UUID."""
    digits = _digest("uid", seed, version, 0).hexdigest()
    variant = _VARIANTS[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def generated_name(
    prefix: str, *, namespace: str, taken: Container[str], seed: int, version: int
) -> str:
    """Return an unused name that starts with a `generateName`.

    Parameters
    ----------
    prefix : str
        `metadata.generateName`; cut to 58 characters.
    namespace : str
        The namespace of the object; empty for cluster-scoped kinds.
    taken : container of NamespacedName
        The keys in use.
    seed, version : int
        The inputs of the suffix.

    Notes
    -----
    Upstream: staging/src/k8s.io/apiserver/pkg/storage/names/generate.go
    """
    prefix = prefix[:_PREFIX_LENGTH_MAX]
    where = f"{namespace}/" if namespace else ""
    for attempt in range(_ATTEMPTS_MAX):
        number = (
            int.from_bytes(_digest("name", seed, version, attempt).digest(), "big") % _SUFFIX_COUNT
        )
        # The digits of the number in the alphabet, lowest first, two at a time.
        first, rest = _PAIRS[number % _PAIR_COUNT], number // _PAIR_COUNT
        name = f"{prefix}{first}{_PAIRS[rest % _PAIR_COUNT]}{_ALPHABET[rest // _PAIR_COUNT]}"
        if f"{where}{name}" not in taken:
            return name
    raise AssertionError(f"no free name for {where}{prefix} in {_ATTEMPTS_MAX} attempts")


def with_generated_name(
    document: Document, *, taken: Container[str], seed: int, version: int
) -> Document:
    """Return a new object with the name that is made of its `generateName`.

    Mutating admission receives the object without this name, validating admission with it.

    Parameters
    ----------
    document : dict
        Returned as it is if it has a name, or no `generateName`.
    taken, seed, version
        See `generated_name`.

    Notes
    -----
    Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, BeforeCreate
    """
    metadata: Document = document.get("metadata") or {}
    prefix = metadata.get("generateName")
    if metadata.get("name") or not prefix:
        return document
    namespace = metadata.get("namespace", "")
    name = generated_name(prefix, namespace=namespace, taken=taken, seed=seed, version=version)
    # Go writes the name before the prefix.
    return document | {"metadata": {"name": name} | metadata | {"name": name}}


def _digest(stream: str, seed: int, version: int, attempt: int) -> blake2b:
    digest = _begun(stream, seed).copy()
    digest.update(b"%d/%d" % (version, attempt))
    return digest


@lru_cache(maxsize=64)
def _begun(stream: str, seed: int) -> blake2b:
    """Return the digest of the prefix that all versions share; callers copy it."""
    return blake2b(f"{stream}/{seed}/".encode(), digest_size=16)
