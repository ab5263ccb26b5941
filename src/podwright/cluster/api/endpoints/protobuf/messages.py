"""Messages of the API: structs of the schema table, read by the numbers of their fields.

Each struct is compiled once into its fields by number. A field that the struct does not have is
skipped, as upstream does, also by a strict request. A message that occurs twice is merged, and the
last scalar applies. Values are as in JSON: base64 for bytes, RFC 3339 for times. Empty values stay:
the Go form of the document, which every body gets later, omits those that are not pointers.

Upstream: staging/src/k8s.io/api/*/v1/generated.pb.go;
staging/src/k8s.io/apimachinery/pkg/api/resource/quantity_proto.go,
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/{time,micro_time}_proto.go,
staging/src/k8s.io/apimachinery/pkg/util/intstr/generated.pb.go
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import SECOND_NS, Document, timestamp_text
from podwright.apimachinery.schema import StructType, TypeRef
from podwright.cluster.api.endpoints.protobuf.wire import (
    FIXED64,
    LENGTH,
    VARINT,
    WireError,
    cut_off,
    length_delimited,
    signed,
    skip,
    tag,
    varint,
)

NESTING_MAX: Final = 100
"""The deepest nesting of messages: each takes five calls of Python's stack."""

_MICRO_NS: Final = 1_000
_ZERO_TIME: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_WIRE_TYPES: Final = {"bool": VARINT, "int32": VARINT, "int64": VARINT, "double": FIXED64}
_INITIALS: Final = {
    "api": "API", "aws": "AWS", "cpu": "CPU", "csi": "CSI", "dns": "DNS", "fc": "FC", "gce": "GCE",
    "gmsa": "GMSA", "grpc": "GRPC", "http": "HTTP", "ip": "IP", "iqn": "IQN", "iscsi": "ISCSI",
    "nfs": "NFS", "os": "OS", "pd": "PD", "rbd": "RBD", "seLinux": "SELinux", "ssl": "SSL",
    "tcp": "TCP", "ttl": "TTL", "tty": "TTY", "uid": "UID", "url": "URL",
}  # fmt: skip
_GO_NAMES: Final = {
    "cephfs": "CephFS", "chapAuthDiscovery": "DiscoveryCHAPAuth",
    "chapAuthSession": "SessionCHAPAuth", "pdID": "PdID",
    "serviceAccount": "DeprecatedServiceAccount", "storageos": "StorageOS", "wwids": "WWIDs",
}  # fmt: skip
"""Names in Go that do not follow from those in JSON, for errors."""


_SCHEMA_PROPS: Final = "apiextensions.v1.JSONSchemaProps"
_EMPTY_STRUCTS: Final = frozenset({
    ("apiserverinternal.v1alpha1.StorageVersion", "spec"),
    ("scheduling.v1alpha2.PodGroupSchedulingPolicy", "basic"),
    ("apiextensions.v1.CustomResourceSubresources", "status"),
})  # fmt: skip
"""Opaque fields that are messages without fields; the others hold JSON."""

_UNIONS: Final = {
    "additionalItems": "OrBool",
    "additionalProperties": "OrBool",
    "dependencies": "OrStringArray",
    "items": "OrArray",
}
"""The fields of a JSON schema that are a schema or something else."""

ReadMessage: TypeAlias = Callable[[bytes, int, int, int, Any], Any]
"""Returns the value of a message: from the data, its start, its end, its depth, and the value so
far, which is None for the first occurrence."""


def _go_name(name: str) -> str:
    """Return the name of a field in Go.

    Examples
    --------
    >>> _go_name("podIP"), _go_name("apiVersion"), _go_name("uid")
    ('PodIP', 'APIVersion', 'UID')
    """
    if name in _GO_NAMES:
        return _GO_NAMES[name]
    for initial, replaced in _INITIALS.items():
        if name.startswith(initial) and not name[len(initial) :][:1].islower():
            return replaced + name[len(initial) :]
    return name[:1].upper() + name[1:]


class FieldReader:
    """Reads one field.

    Attributes
    ----------
    name : str
        The name in JSON.
    go_name : str
        The name in Go, for errors.
    container : str
        `list`, `map` or "".
    wire_type : int
        The wire type of a value.
    scalar : str
        The type of a value that is not a message; "" for a message.
    message : callable or None
        Reads a message.
    zero : callable
        Returns the value of a map entry that has none.
    """

    __slots__ = ("container", "go_name", "message", "name", "scalar", "wire_type", "zero")

    def __init__(
        self,
        name: str,
        container: str,
        scalar: str,
        message: ReadMessage | None,
        zero: Callable[[], Any],
    ) -> None:
        self.name = name
        self.go_name = _go_name(name)
        self.container = container
        self.scalar = scalar
        self.message = message
        self.zero = zero
        self.wire_type = LENGTH if container == "map" else _WIRE_TYPES.get(scalar, LENGTH)

    def read(
        self, data: bytes, index: int, end: int, wire_type: int, depth: int, into: Document
    ) -> int:
        """Read one occurrence of the field, and return the index after it.

        Raises
        ------
        WireError
            The value is cut off or invalid.
        """
        is_packed = self.container == "list" and wire_type == LENGTH != self.wire_type
        if wire_type != self.wire_type and not is_packed:
            raise WireError(f"proto: wrong wireType = {wire_type} for field {self.go_name}")
        if is_packed:
            index, stop = length_delimited(data, index, end)
            values = into.setdefault(self.name, [])
            while index < stop:
                value, index = _number(data, index, stop, self.scalar)
                values.append(value)
        elif self.container == "map":
            index = self._read_entry(data, index, end, depth, into)
        elif self.container == "list":
            value, index = self.value(data, index, end, depth, None)
            into.setdefault(self.name, []).append(value)
        else:
            value, index = self.value(data, index, end, depth, into.get(self.name))
            into[self.name] = value
        return index

    def value(self, data: bytes, index: int, end: int, depth: int, before: Any) -> tuple[Any, int]:
        """Return a value, and the index after it."""
        if self.wire_type != LENGTH and self.container != "map":
            return _number(data, index, end, self.scalar)
        start, stop = length_delimited(data, index, end)
        if self.message is not None:
            return self.message(data, start, stop, depth + 1, before), stop
        content = data[start:stop]
        if self.scalar == "bytes":
            return base64.b64encode(content).decode(), stop
        return content.decode(errors="replace"), stop

    def _read_entry(self, data: bytes, index: int, end: int, depth: int, into: Document) -> int:
        index, stop = length_delimited(data, index, end)
        key, value = "", None
        # Upstream's code for entries checks no tags, and limits lengths by the message around.
        while index < stop:
            wire, index = varint(data, index, end)
            if wire >> 3 == 1:
                start, index = length_delimited(data, index, end)
                key = data[start:index].decode(errors="replace")
            elif wire >> 3 == 2:
                value, index = self.value(data, index, end, depth, None)
            else:
                index = skip(data, index, stop, wire & 7)
        into.setdefault(self.name, {})[key] = self.zero() if value is None else value
        return stop


class EmbeddedReader:
    """Reads the fields of a struct that Go embeds: a message whose fields JSON flattens.

    Attributes
    ----------
    name : str
        For errors.
    fields : dict of int to reader
    """

    __slots__ = ("fields", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: dict[int, Reader] = {}

    def read(
        self, data: bytes, index: int, end: int, wire_type: int, depth: int, into: Document
    ) -> int:
        """Read the message into the outer one, and return the index after it."""
        if wire_type != LENGTH:
            raise WireError(f"proto: wrong wireType = {wire_type} for field {self.name}")
        start, stop = length_delimited(data, index, end)
        read_fields(self.fields, self.name, data, start, stop, depth + 1, into)
        return stop


Reader: TypeAlias = FieldReader | EmbeddedReader


def read_fields(
    fields: Mapping[int, Reader],
    name: str,
    data: bytes,
    index: int,
    end: int,
    depth: int,
    into: Document,
) -> Document:
    """Read the fields of a message.

    Parameters
    ----------
    fields : mapping of int to reader
    name : str
        The name of the message, for errors.
    data : bytes
    index, end : int
        Where the message starts and ends.
    depth : int
        How many messages enclose it.
    into : dict, written

    Returns
    -------
    dict
        `into`.

    Raises
    ------
    WireError
        The message is cut off, invalid, or nested too deeply.
    """
    if depth > NESTING_MAX:
        raise WireError("exceeded max depth")
    while index < end:
        number, wire_type, index = tag(data, index, end, name)
        field = fields.get(number)
        if field is None:
            index = skip(data, index, end, wire_type)
        else:
            index = field.read(data, index, end, wire_type, depth, into)
    return into


class Messages:
    """The compiled structs of a schema.

    Parameters
    ----------
    type_of : callable
        Returns a struct type of the table by its name.
    """

    def __init__(self, type_of: Callable[[str], StructType]) -> None:
        self._type_of = type_of
        self._compiled: dict[str, dict[int, Reader]] = {}
        union = _SCHEMA_PROPS
        self._unions: dict[str, dict[int, Reader]] = {
            "OrBool": _plain(allows="bool") | {2: self._of_struct("schema", union)},
            "OrArray": {
                1: self._of_struct("schema", union),
                2: self._of_struct("jSONSchemas", union, "list"),
            },
            "OrStringArray": {
                1: self._of_struct("schema", union),
                2: FieldReader("property", "list", "string", None, str),
            },
        }

    def read(
        self, name: str, data: bytes, start: int, end: int, depth: int = 0, before: Any = None
    ) -> Document:
        """Return a message as a document.

        Parameters
        ----------
        name : str
            The struct, such as `core.v1.PodSpec`.
        data : bytes
        start, end : int
            Where the message is.
        depth : int
            How many messages enclose it.
        before : dict, optional
            The fields of an earlier occurrence.

        Raises
        ------
        WireError
            The message is invalid.
        """
        fields = self._compiled.get(name)
        if fields is None:
            fields = self._compiled[name] = self._compile(name)
        into = {} if before is None else before
        return read_fields(fields, name.rpartition(".")[2], data, start, end, depth, into)

    def _compile(self, name: str) -> dict[int, Reader]:
        found: dict[int, Reader] = {}
        for field in self._type_of(name).fields.values():
            if not field.number:
                continue
            holder = found
            for number in field.number[:-1]:
                embedded = holder.setdefault(number, EmbeddedReader(name.rpartition(".")[2]))
                assert isinstance(embedded, EmbeddedReader), (name, field.name)
                holder = embedded.fields
            holder[field.number[-1]] = self._reader(name, field.name, field.type)
        return found

    def _reader(self, owner: str, name: str, ref: TypeRef) -> FieldReader:
        element = ref.element or ref
        if element.container:
            # Go names the list, and protobuf has a message for it.
            return FieldReader(name, ref.container, "", _read_items, list)
        if element.is_struct:
            return self._of_struct(name, element.name, ref.container)
        message = self._message(owner, name, element.name)
        if message is not None:
            zero = _zero_quantity if element.name == "quantity" else _none
            return FieldReader(name, ref.container, "", message, zero)
        return FieldReader(name, ref.container, element.name, None, _ZEROS[element.name])

    def _of_struct(self, name: str, struct_name: str, container: str = "") -> FieldReader:
        def read(data: bytes, start: int, end: int, depth: int, before: Any) -> Document:
            return self.read(struct_name, data, start, end, depth, before)

        return FieldReader(name, container, "", read, dict)

    def _message(self, owner: str, name: str, scalar: str) -> ReadMessage | None:
        if owner == _SCHEMA_PROPS and name in _UNIONS:
            return self._union(_UNIONS[name])
        if scalar in ("object", "any"):
            return _read_empty if (owner, name) in _EMPTY_STRUCTS else _read_json
        return _SCALAR_MESSAGES.get(scalar)

    def _union(self, suffix: str) -> ReadMessage:
        fields, name = self._unions[suffix], f"JSONSchemaProps{suffix}"

        def read(data: bytes, start: int, end: int, depth: int, _before: Any) -> Any:
            found = read_fields(fields, name, data, start, end, depth, {})
            if suffix == "OrArray":
                return found.get("jSONSchemas") or found.get("schema")
            if suffix == "OrStringArray":
                return found.get("property") or found.get("schema")
            return found["schema"] if "schema" in found else found.get("allows", False)

        return read


# ---------------------------------------------------------------------------- scalars


def _number(data: bytes, index: int, end: int, scalar: str) -> tuple[int | bool | float, int]:
    if scalar == "double":
        if index + 8 > end:
            raise cut_off()
        (value,) = struct.unpack_from("<d", data, index)
        if not math.isfinite(value):
            raise WireError(f"json: unsupported value: {value}")
        return value, index + 8
    found, index = varint(data, index, end)
    if scalar == "bool":
        return found != 0, index
    return signed(found, 32 if scalar == "int32" else 64), index


def _plain(**names: str) -> dict[int, Reader]:
    """Return readers of scalars whose numbers are 1, 2 and so on."""
    return {
        number: FieldReader(name, "", scalar, None, _ZEROS[scalar])
        for number, (name, scalar) in enumerate(names.items(), start=1)
    }


def _none() -> None:
    return None


def _zero_quantity() -> str:
    return "0"


_ZEROS: Final[dict[str, Callable[[], Any]]] = {
    "string": str, "bytes": str, "bool": bool, "int32": int, "int64": int, "double": float,
}  # fmt: skip
_QUANTITY: Final = _plain(string="string")
_INT_OR_STRING: Final = _plain(type="int64", intVal="int32", strVal="string")
_TIMESTAMP: Final = _plain(seconds="int64", nanos="int32")
_RAW: Final = _plain(raw="bytes")
_ITEMS: Final[dict[int, Reader]] = {1: FieldReader("items", "list", "string", None, list)}


def _read_quantity(data: bytes, start: int, end: int, depth: int, before: Any) -> str:
    found = read_fields(_QUANTITY, "Quantity", data, start, end, depth, {})
    text: str = found.get("string", before or "0")
    return text


def _read_int_or_string(data: bytes, start: int, end: int, depth: int, _before: Any) -> int | str:
    found = read_fields(_INT_OR_STRING, "IntOrString", data, start, end, depth, {})
    chosen: int | str = found.get("strVal", "") if found.get("type") else found.get("intVal", 0)
    if found.get("type", 0) not in (0, 1):
        raise WireError(f"impossible IntOrString.Type {found['type']}")
    return chosen


def _read_time(data: bytes, start: int, end: int, depth: int, _before: Any) -> str | None:
    seconds, _ = _timestamp("Timestamp", data, start, end, depth)
    return None if seconds is None else _second_text(seconds)


def _read_micro_time(data: bytes, start: int, end: int, depth: int, _before: Any) -> str | None:
    seconds, nanos = _timestamp("Timestamp", data, start, end, depth)
    if seconds is None:
        return None
    # Go truncates toward zero.
    micros = int(nanos / _MICRO_NS)
    seconds, micros = divmod(seconds * 1_000_000 + micros, 1_000_000)
    return f"{_second_text(seconds)[:-1]}.{micros:06d}Z"


def _timestamp(name: str, data: bytes, start: int, end: int, depth: int) -> tuple[int | None, int]:
    if start == end:
        return None, 0
    found = read_fields(_TIMESTAMP, name, data, start, end, depth, {})
    seconds, nanos = found.get("seconds", 0), found.get("nanos", 0)
    if seconds == _ZERO_TIME and not nanos:
        return None, 0
    return seconds, nanos


def _second_text(seconds: int) -> str:
    if not _ZERO_TIME <= seconds <= _LAST_SECOND:
        raise WireError("Time.MarshalJSON: year outside of range [0,9999]")
    return timestamp_text(seconds * SECOND_NS)


def _read_items(data: bytes, start: int, end: int, depth: int, _before: Any) -> list[str]:
    found = read_fields(_ITEMS, "ExtraValue", data, start, end, depth, {})
    items: list[str] = found.get("items", [])
    return items


def _read_empty(data: bytes, start: int, end: int, depth: int, _before: Any) -> Document:
    return read_fields({}, "Empty", data, start, end, depth, {})


def _read_json(data: bytes, start: int, end: int, depth: int, _before: Any) -> Any:
    found = read_fields(_RAW, "RawExtension", data, start, end, depth, {})
    raw = base64.b64decode(found.get("raw", ""))
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"json: error calling MarshalJSON for type RawExtension: {error}") from None


_SCALAR_MESSAGES: Final[dict[str, ReadMessage]] = {
    "quantity": _read_quantity,
    "int-or-string": _read_int_or_string,
    "time": _read_time,
    "micro-time": _read_micro_time,
}
