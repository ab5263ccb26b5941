"""Reads the objects of a file so that equal parts of them are one value in memory.

Decoded one by one, 1,000,000 pods of a template have as many copies of its spec and its labels,
which take three quarters of their memory.
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from podwright.apimachinery.objects import UNDECODABLE, KubernetesObject, Pod, decode_json
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.store.errors import POD

_SHARED_MAX: Final = 16_384
"""How many parts are remembered: then all are forgotten, and occur once more from then on."""

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NODE: Final = "nodeName"
_replace = msgspec.structs.replace


class SharedReading:
    """Reads objects from their JSON, and remembers their parts.

    The sections of an object and the fields of these are shared where their texts are equal. Specs
    are those that later writes share too, with their structs; the node of a bound pod is outside.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}

    def read(self, text: bytes) -> KubernetesObject:
        """Return the object of a text.

        Raises
        ------
        InvalidObject
            The text is not an object of its kind.
        """
        if len(self._parts) > _SHARED_MAX:
            self._parts.clear()
        try:
            sections = _fields.decode(text)
            document = {
                name: self._part(bytes(raw), is_section=True) for name, raw in sections.items()
            }
        except UNDECODABLE:
            return decode(decode_json(text))
        kind = built_in().find(str(document.get("apiVersion")), str(document.get("kind")))
        if kind is None:
            return decode(document)
        spec: Any = document.get("spec")
        is_pod = kind.group_kind == POD and isinstance(spec, dict)
        node = spec.get(_NODE) if is_pod else None
        if not isinstance(node, str):
            return _with_shared_labels(decode(kind.with_shared_spec(document)))
        free = {name: value for name, value in spec.items() if name != _NODE}
        pod = cast(Pod, decode(kind.with_shared_spec(document | {"spec": free})))
        bound = pod.raw | {"spec": spec}
        pod = _replace(pod, spec=_replace(pod.spec, node_name=node), raw=bound)
        return _with_shared_labels(pod)

    def _part(self, text: bytes, *, is_section: bool) -> Any:
        found = self._parts.get(text)
        if found is None:
            if is_section and text[:1] == b"{":
                fields = _fields.decode(text)
                found = {
                    name: self._part(bytes(raw), is_section=False) for name, raw in fields.items()
                }
            else:
                found = decode_json(text)
            self._parts[text] = found
        return found


def _with_shared_labels(obj: KubernetesObject) -> KubernetesObject:
    """Return a new object whose struct has the labels of its document, which are shared."""
    labels = obj.raw["metadata"].get("labels")
    if labels == obj.metadata.labels:
        msgspec.structs.force_setattr(obj.metadata, "labels", labels)
    return obj
