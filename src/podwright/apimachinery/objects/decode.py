"""Decoding: from documents to objects.

The fast path converts a document in one step and then checks its quantities. Only if that fails,
the document is walked field by field to collect all errors.

A `null` field is absent, as for the API server.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from podwright.apimachinery.objects.devices import ResourceClaim, ResourceSlice
from podwright.apimachinery.objects.errors import (
    FieldError,
    InvalidObject,
    invalid,
    nearest,
    quoted,
    required,
    unsupported,
)
from podwright.apimachinery.objects.kinds import TYPE_OF, Object, Unknown, api_group
from podwright.apimachinery.objects.meta import (
    KubernetesObject,
    ObjectMeta,
    QuantityText,
)
from podwright.apimachinery.objects.node import Node
from podwright.apimachinery.objects.pods.pod import Pod, PodSpec, PodStatus
from podwright.apimachinery.objects.quantity import QuantityError, parse_quantity
from podwright.apimachinery.objects.spec import facts_of
from podwright.apimachinery.objects.storage import (
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
)
from podwright.apimachinery.objects.workload import (
    CoschedulingPodGroup,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

T = TypeVar("T", bound=KubernetesObject)

Document: TypeAlias = dict[str, Any]

DEFAULT_NAMESPACE = "default"
_ONLY_SPEC = frozenset({"apiVersion", "kind", "metadata", "spec"})


def decode(document: Mapping[str, Any], *, source: str = "") -> Object:
    """Read an object of any kind; objects with one `Spec` have one struct for it.

    Parameters
    ----------
    document : mapping
        The object as JSON. It is kept as `raw` and must not be changed afterwards.
    source : str
        The source of the document, for errors.

    Returns
    -------
    Object
        The struct of its kind; `Unknown` if scheduling does not read the kind. An object of a
        typed namespaced kind without a namespace is in `default`; `schema.decode` knows the scope
        of the others too.

    Raises
    ------
    InvalidObject
        With all errors.
    """
    if not isinstance(document, dict):
        raise InvalidObject([_whole(source, f"must be an object, not {quoted(document)}")])
    cls = _struct_of(document.get("apiVersion"), document.get("kind"))
    if cls is None:
        raise InvalidObject(
            [
                FieldError(source=source, path=path, message=required(), value=value)
                for path in ("apiVersion", "kind")
                if not isinstance(value := document.get(path), str) or not value
            ]
        )
    return cast(Object, _decode(document, cls, source))


_OTHER_FORMS: Final = frozenset(
    f"resource.k8s.io/{version}" for version in ("v1alpha2", "v1alpha3", "v1beta1")
)
_OF_DEVICES: Final = frozenset({ResourceClaim.kind, "ResourceClaimTemplate", ResourceSlice.kind})
"""The kinds whose fields stand elsewhere in those versions; files are read with a conversion."""


def _struct_of(api_version: Any, kind: Any) -> type[KubernetesObject] | None:
    """Return the struct of a kind; None if a name is missing."""
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        return None
    if api_version in _OTHER_FORMS and kind in _OF_DEVICES:
        return Unknown
    return TYPE_OF.get((api_group(api_version), kind), Unknown)


def decode_as(document: Mapping[str, Any], cls: type[T], *, source: str = "") -> T:
    """Read an object of a known kind; `apiVersion` and `kind` may be absent.

    Raises
    ------
    InvalidObject
        With all errors, including a different kind.
    """
    if not isinstance(document, dict):
        raise InvalidObject([_whole(source, f"must be an object, not {quoted(document)}")])
    if document.get("kind", cls.kind) != cls.kind:
        message = unsupported(document["kind"], [cls.kind])
        raise InvalidObject(
            [FieldError(source=source, path="kind", message=message, value=document["kind"])]
        )
    if "kind" not in document or "apiVersion" not in document:
        document = {"apiVersion": cls.api_version, "kind": cls.kind} | document
    return _decode(document, cls, source)


def decode_pod(document: Document | bytes | str, *, source: str = "") -> Pod:
    """Read a pod, from a document or from JSON text; see `decode_as`."""
    parsed = decode_json(document, source=source) if isinstance(document, bytes | str) else document
    return decode_as(parsed, Pod, source=source)


def decode_node(document: Document | bytes | str, *, source: str = "") -> Node:
    """Read a node, from a document or from JSON text; see `decode_as`."""
    parsed = decode_json(document, source=source) if isinstance(document, bytes | str) else document
    return decode_as(parsed, Node, source=source)


UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for invalid bytes, also for text that is not UTF-8 and for deep nesting."""


def decode_json(text: bytes | str, *, source: str = "") -> Any:
    """Read JSON text.

    Raises
    ------
    InvalidObject
        The text is not JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise InvalidObject([_whole(source, "nested too deeply")]) from None
    except UNDECODABLE as error:
        raise InvalidObject([_whole(source, f"not JSON: {error}")]) from None


def _whole(source: str, message: str) -> FieldError:
    return FieldError(source=source, path="", message=message)


def _decode(document: Mapping[str, Any], cls: type[T], source: str) -> T:
    document = _with_namespace(cast(Document, document), cls)
    facts = facts_of(document.get("spec"))
    if facts is not None:
        known = facts.get(cls)
        if known is not None and (found := decode_with_spec(document, known, cls)) is not None:
            return found
    try:
        decoded = msgspec.convert(document, cls)
        _parse_all(_quantities_of(decoded))
    except (msgspec.ValidationError, QuantityError):
        pruned = without_nulls(document)
        errors = [
            FieldError(source=source, path=path, message=message, value=value)
            for path, message, value in _walk(pruned, cls, "")
        ]
        if errors:
            raise InvalidObject(errors) from None
        try:
            decoded = msgspec.convert(pruned, cls)
        except msgspec.ValidationError as error:
            # The walk checks fewer rules than msgspec; in this case msgspec's error is reported.
            raise InvalidObject([_whole(source, str(error))]) from None
    msgspec.structs.force_setattr(decoded, "raw", document)
    if facts is not None:
        facts[cls] = getattr(decoded, "spec", None)
    return decoded


def decode_with_spec(document: Document, spec: Any, cls: type[T]) -> T | None:
    """Read an object whose spec is decoded already; None if the rest has errors.

    Decoding the metadata of a pod takes a fourth of the time of decoding the pod.
    """
    try:
        if document.keys() == _ONLY_SPEC:
            metadata = msgspec.convert(document["metadata"], ObjectMeta)
            return cls(metadata=metadata, spec=spec, raw=document)  # type: ignore[call-arg]  # has a spec
        rest = {name: value for name, value in document.items() if name != "spec"}
        decoded = msgspec.convert(rest, cls)
        _parse_all(_quantities_of(decoded))
    except (msgspec.ValidationError, QuantityError):
        return None
    msgspec.structs.force_setattr(decoded, "spec", spec)
    msgspec.structs.force_setattr(decoded, "raw", document)
    return decoded


def _with_namespace(document: Document, cls: type[KubernetesObject]) -> Document:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return document
    if cls is Unknown or not cls.namespaced:
        return document
    return document | {"metadata": metadata | {"namespace": DEFAULT_NAMESPACE}}


def without_nulls(value: Any) -> Any:
    """Return a value without the null fields of its objects."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [without_nulls(entry) for entry in value]
    return value


# ------------------------------------------------------------------------ quantities


def _parse_all(groups: Iterator[Iterable[QuantityText]]) -> None:
    for quantities in groups:
        for text in quantities:
            parse_quantity(text)


def _quantities_of(decoded: KubernetesObject) -> Iterator[Iterable[QuantityText]]:
    """Yield every quantity of an object; a faster equivalent of finding them in `_walk`."""
    match decoded:
        case Pod():
            yield from _quantities_of_spec(decoded.spec)
            yield from _quantities_of_status(decoded.status)
        case Node():
            yield decoded.status.allocatable.values()
            yield decoded.status.capacity.values()
        case PersistentVolume():
            yield decoded.spec.capacity.values()
        case PersistentVolumeClaim():
            yield decoded.spec.resources.requests.values()
            yield decoded.spec.resources.limits.values()
            yield decoded.status.capacity.values()
        case CSIStorageCapacity():
            sizes = (decoded.capacity, decoded.maximum_volume_size)
            yield [size for size in sizes if size is not None]
        case ReplicaSet() | StatefulSet() | ReplicationController():
            if decoded.spec.template is not None:
                yield from _quantities_of_spec(decoded.spec.template.spec)
        case CoschedulingPodGroup():
            yield decoded.spec.min_resources.values()
        case ResourceSlice():
            yield from _quantities_of_slice(decoded)
        case ResourceClaim():
            yield from _quantities_of_claim(decoded)
        case _:
            return


def _quantities_of_slice(resource_slice: ResourceSlice) -> Iterator[Iterable[QuantityText]]:
    for counter_set in resource_slice.spec.shared_counters:
        yield [counter.value for counter in counter_set.counters.values()]
    for device in resource_slice.spec.devices:
        yield [capacity.value for capacity in device.capacity.values()]
        for consumption in device.consumes_counters:
            yield [counter.value for counter in consumption.counters.values()]
        for capacity in device.capacity.values():
            policy = capacity.request_policy
            if policy is None:
                continue
            allowed = policy.valid_range
            bounds = () if allowed is None else (allowed.min, allowed.max, allowed.step)
            amounts = (policy.default, *bounds, *policy.valid_values)
            yield [amount for amount in amounts if amount is not None]


def _quantities_of_claim(claim: ResourceClaim) -> Iterator[Iterable[QuantityText]]:
    for request in claim.spec.devices.requests:
        for choice in (request.exactly, *request.first_available):
            if choice is not None and choice.capacity is not None:
                yield choice.capacity.requests.values()
    if claim.status.allocation is not None:
        for result in claim.status.allocation.devices.results:
            yield result.consumed_capacity.values()


def _quantities_of_spec(spec: PodSpec) -> Iterator[Iterable[QuantityText]]:
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers:
            yield container.resources.requests.values()
            yield container.resources.limits.values()
    if spec.resources is not None:
        yield spec.resources.requests.values()
        yield spec.resources.limits.values()
    yield spec.overhead.values()
    for volume in spec.volumes:
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            resources = volume.ephemeral.volume_claim_template.spec.resources
            yield resources.requests.values()
            yield resources.limits.values()


def _quantities_of_status(status: PodStatus) -> Iterator[Iterable[QuantityText]]:
    for entry in (*status.container_statuses, *status.init_container_statuses):
        if entry.allocated_resources:
            yield entry.allocated_resources.values()
        if entry.resources is not None:
            yield entry.resources.requests.values()
            yield entry.resources.limits.values()
    if status.allocated_resources:
        yield status.allocated_resources.values()
    if status.resources is not None:
        yield status.resources.requests.values()
        yield status.resources.limits.values()


# ------------------------------------------------------------------ collecting all errors

_Problem = tuple[str, str, Any]


_JSON_NAME: dict[type, str] = {str: "a string", int: "an integer", bool: "true or false"}


def _walk(value: Any, expected: Any, path: str) -> Iterator[_Problem]:
    """Yield (path, message, value) for every violation of a type in a document."""
    origin = get_origin(expected)
    if origin is Annotated:
        yield from _walk_number(value, expected, path)
    elif origin in {Union, types.UnionType}:
        yield from _walk_union(value, expected, path)
    elif origin is Literal:
        if value not in get_args(expected):
            yield path, unsupported(value, get_args(expected)), value
    elif origin is tuple:
        yield from _walk_list(value, get_args(expected)[0], path)
    elif origin is dict:
        yield from _walk_map(value, get_args(expected)[1], path)
    elif issubclass(expected, msgspec.Struct):
        yield from _walk_struct(value, expected, path)
    elif expected in _JSON_NAME and not _is_plain(value, expected):
        hint = (
            "; put it in quotes" if expected is str and not isinstance(value, list | dict) else ""
        )
        yield path, invalid(value, f"must be {_JSON_NAME[expected]}{hint}"), value


def _is_plain(value: Any, expected: Any) -> bool:
    return isinstance(value, expected) and (expected is bool or not isinstance(value, bool))


def _walk_union(value: Any, expected: Any, path: str) -> Iterator[_Problem]:
    choices = [choice for choice in get_args(expected) if choice is not types.NoneType]
    if len(choices) == 1:
        yield from _walk(value, choices[0], path)
    elif set(choices) == set(get_args(QuantityText)):
        yield from _walk_quantity(value, path)
    elif not any(_is_plain(value, choice) for choice in choices):
        names = " or ".join(_JSON_NAME[choice] for choice in choices)
        yield path, invalid(value, f"must be {names}"), value


def _walk_number(value: Any, expected: Any, path: str) -> Iterator[_Problem]:
    kind, limits = get_args(expected)
    problems = list(_walk(value, kind, path))
    if not problems and not limits.ge <= value <= limits.le:
        detail = f"must be a number from {limits.ge} to {limits.le}"
        problems.append((path, invalid(value, detail), value))
    yield from problems


def _walk_list(value: Any, expected: Any, path: str) -> Iterator[_Problem]:
    if not isinstance(value, list | tuple):
        yield path, invalid(value, "must be a list"), value
        return
    for index, entry in enumerate(value):
        yield from _walk(entry, expected, f"{path}[{index}]")


def _walk_quantity(value: Any, path: str) -> Iterator[_Problem]:
    if not isinstance(value, str | int | float):
        yield path, invalid(value, "must be a quantity, such as 500m or 2Gi"), value
        return
    try:
        parse_quantity(value)
    except QuantityError as error:
        yield path, invalid(value, str(error)), value


def _walk_map(value: Any, expected: Any, path: str) -> Iterator[_Problem]:
    if not isinstance(value, dict):
        yield path, invalid(value, "must be a map"), value
        return
    for key, entry in value.items():
        if not isinstance(key, str):
            yield path, invalid(key, "keys are strings; put it in quotes"), key
        yield from _walk(entry, expected, f"{path}[{key}]")


def _walk_struct(value: Any, expected: type[msgspec.Struct], path: str) -> Iterator[_Problem]:
    if not isinstance(value, dict):
        yield path, invalid(value, "must be an object"), value
        return
    prefix = f"{path}." if path else ""
    hints = get_type_hints(expected, include_extras=True)
    fields = msgspec.structs.fields(expected)
    known = {field.encode_name for field in fields}
    for field in fields:
        if field.encode_name in value:
            yield from _walk(
                value[field.encode_name], hints[field.name], f"{prefix}{field.encode_name}"
            )
        elif field.required:
            meant = [key for key in value if isinstance(key, str) and key not in known]
            near = nearest(field.encode_name, meant)
            detail = f'"{near}" is not a field; was it meant?' if near else ""
            yield f"{prefix}{field.encode_name}", required(detail), None
