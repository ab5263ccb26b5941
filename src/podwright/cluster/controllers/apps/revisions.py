"""Hashes of templates for the names of revisions, in upstream's form.

Upstream: pkg/controller/controller_utils.go, ComputeHash; pkg/controller/history/
controller_history.go; staging/src/k8s.io/apimachinery/pkg/util/rand/rand.go
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_ESCAPED: Final = re.compile("[<>&\u2028\u2029]")


def go_json(document: Any) -> bytes:
    """Return a document as Go encodes maps: sorted keys, `<`, `>` and `&` escaped."""
    text = msgspec.json.encode(document, order="sorted").decode()
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def fnv32(data: bytes) -> int:
    """Return the 32-bit FNV-1 hash."""
    value = _OFFSET
    for byte in data:
        value = (value * _PRIME & 0xFFFFFFFF) ^ byte
    return value


def fnv32a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def safe_encoded(number: int) -> str:
    """Return a number in an alphabet without vowels, which spells no words."""
    # Upstream: rand.go, SafeEncodeString: the index is the character code, not the digit.
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def template_hash(template: Document, collision_count: int | None) -> str:
    """Return the hash of a template for deployments and daemon sets.

    Upstream hashes a dump of Go's in-memory structs, which cannot be reproduced in Python. This
    hash has the same form but another value.
    """
    data = go_json(template)
    if collision_count is not None:
        data += collision_count.to_bytes(8, "little")
    return safe_encoded(fnv32a(data))


def revision_hash(data: Document, collision_count: int | None) -> str:
    """Return the hash of a revision for stateful sets, with upstream's value.

    Notes
    -----
    Upstream: controller_history.go, HashControllerRevision
    """
    text = go_json(data)
    if collision_count is not None:
        text += str(collision_count).encode()
    return safe_encoded(fnv32(text))


def template_patch(template: Document) -> Document:
    """Return the data of a revision: a patch that restores the template, with sorted keys.

    Clients compare the data with the bytes of a patch that they make themselves.

    Notes
    -----
    Upstream: pkg/controller/statefulset/stateful_set_utils.go, getPatch
    """
    return {"spec": {"template": _sorted({**template, "$patch": "replace"})}}


def template_of_patch(data: Document) -> Document:
    """Return the template in the data of a revision."""
    template: Document = (data.get("spec") or {}).get("template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def _sorted(value: Any) -> Any:
    """Return a value with the keys of all objects in order, and without nulls."""
    if isinstance(value, dict):
        return {name: _sorted(each) for name, each in sorted(value.items()) if each is not None}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    return value
