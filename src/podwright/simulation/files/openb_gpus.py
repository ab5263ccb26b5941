"""The GPUs of the openb trace as resources that the scheduler counts.

In the trace's own simulator, pods request GPUs by annotations, and a plugin assigns each pod
devices of a node: `gpu-count` devices, and `gpu-milli` thousandths of each. kube-scheduler's
plugins do not read these annotations. On request, they become requests for one extended resource,
which `NodeResourcesFit` sums per node:

- `milli`: `alibabacloud.com/gpu-milli`, thousandths of GPUs. Pods share GPUs.
- `count`: `alibabacloud.com/gpu-count`, whole GPUs. A pod that requests a share takes a whole GPU.

The sum of a node does not say whether one GPU has a share. So with `milli` each GPU is also a
device of a ResourceSlice, whose capacity `gpu_milli` allocations share (feature gate
DRAConsumableCapacity, on by default), and each pod has a ResourceClaim for its share of each of its
GPUs. The scheduler's allocator assigns the first devices with enough room; the claim's status names
them. A pod that has a node already gets no claim: its devices are not known, and only the sum
counts it.

The models that a pod accepts become a required node affinity. The other one of the two resources is
removed from the nodes: it would seem to be free.

Upstream: hkust-adsl/kubernetes-scheduler-simulator pkg/type/open-gpu-share/utils/pod.go,
pkg/simulator/plugin/open-gpu-share.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from podwright.apimachinery.devices import CARDS_KIND, is_cards, read_cards, slices_of_cards
from podwright.apimachinery.objects import (
    GPU_CARD_MODEL,
    GPU_COUNT,
    GPU_MILLI,
    SOURCE_UID,
    Document,
    FieldError,
    InputError,
    Node,
    Object,
    Pod,
    ResourceSlice,
    encode,
    invalid,
    parse_quantity,
)
from podwright.apimachinery.schema import decode
from podwright.simulation.files.object_reader import Sourced

OpenbGpus: TypeAlias = Literal["milli", "count"]
"""How the scheduler counts the GPUs of the openb trace: in thousandths, or whole ones."""

_RESOURCES: Final = {"milli": GPU_MILLI, "count": GPU_COUNT}
_MILLI_PER_GPU: Final = 1000

_GPU_DRIVER: Final = "alibabacloud.com"
_GPU_CLAIM: Final = "gpus"
_CAPACITY: Final = "gpu_milli"
_API_VERSION: Final = "resource.k8s.io/v1"
_CLASS: Final[dict[str, Any]] = {
    "apiVersion": _API_VERSION,
    "kind": "DeviceClass",
    "metadata": {"name": f"gpu.{_GPU_DRIVER}"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{_GPU_DRIVER}"'}}]},
}


def requests_openb_gpus(sourced: Iterable[Sourced]) -> bool:
    """Tell whether there are pods that request GPUs by the annotations of the openb trace."""
    return any(_is_gpu_pod(entry.object) for entry in sourced)


def with_openb_gpus(sourced: Iterable[Sourced], gpus: OpenbGpus) -> tuple[Sourced, ...]:
    """Return the objects with GPUs as resources; other objects are returned as they are.

    Parameters
    ----------
    gpus : str
        Which resource the pods request.

    Raises
    ------
    InputError
        With every annotation that is not a number of GPUs.
    """
    errors: list[FieldError] = []
    given = tuple(sourced)
    changed = [_counted(entry, gpus, errors) for entry in given]
    if errors:
        raise InputError(errors)
    if gpus == "milli":
        changed += _devices(changed, {_place(entry.object) for entry in given})
    return tuple(changed)


def _devices(sourced: Iterable[Sourced], present: set[tuple[str, str]]) -> Iterator[Sourced]:
    """Yield the DeviceClass, the GPUs of nodes and the claims of pods, unless they are present."""
    first_source = ""
    for entry in sourced:
        obj, document = entry.object, None
        if isinstance(obj, Node) and GPU_MILLI in obj.status.allocatable:
            document = _slice(obj)
        elif _is_gpu_pod(obj) and any(each.name == _GPU_CLAIM for each in obj.spec.resource_claims):
            document = _claim(obj)
        if document is None:
            continue
        if not first_source:
            first_source = entry.source
            yield from _new(first_source, _CLASS, present)
        yield from _new(entry.source, document, present)


def _new(source: str, document: Document, present: set[tuple[str, str]]) -> Iterator[Sourced]:
    obj = decode(document)
    if _place(obj) not in present:
        yield Sourced(source, obj)


def _place(obj: Object) -> tuple[str, str]:
    return obj.kind, obj.key


def _slice(node: Node) -> Document:
    count = parse_quantity(node.status.allocatable[GPU_MILLI]).value() // _MILLI_PER_GPU
    gpu = {
        "allowMultipleAllocations": True,
        "capacity": {_CAPACITY: {"value": str(_MILLI_PER_GPU)}},
    }
    devices = [
        {"name": f"gpu-{index}", "attributes": {"index": {"int": index}}, **gpu}
        for index in range(count)
    ]
    pool = {"name": node.name, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": _API_VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node.name}-{_GPU_DRIVER}"},
        "spec": {"driver": _GPU_DRIVER, "nodeName": node.name, "pool": pool, "devices": devices},
    }


def _claim(pod: Pod) -> Document:
    annotations = pod.metadata.annotations
    count, milli = int(annotations[GPU_COUNT]), min(int(annotations[GPU_MILLI]), _MILLI_PER_GPU)
    exactly = {
        "deviceClassName": _CLASS["metadata"]["name"],
        "allocationMode": "ExactCount",
        "count": count,
        "capacity": {"requests": {_CAPACITY: str(milli)}},
    }
    devices: dict[str, Any] = {"requests": [{"name": _GPU_CLAIM, "exactly": exactly}]}
    if count > 1:
        # Shares of one pod are on different GPUs.
        devices["constraints"] = [{"distinctAttribute": f"{_GPU_DRIVER}/index"}]
    return {
        "apiVersion": _API_VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": f"{pod.name}-{_GPU_CLAIM}", "namespace": pod.namespace},
        "spec": {"devices": devices},
    }


def _is_gpu_pod(obj: Object) -> TypeGuard[Pod]:
    return isinstance(obj, Pod) and GPU_COUNT in obj.metadata.annotations


def _counted(entry: Sourced, gpus: OpenbGpus, errors: list[FieldError]) -> Sourced:
    obj = entry.object
    if _is_gpu_pod(obj):
        return Sourced(entry.source, _with_request(entry, gpus, errors))
    if isinstance(obj, Node) and {GPU_COUNT, GPU_MILLI} <= obj.status.allocatable.keys():
        return Sourced(entry.source, _with_one_resource(obj, _RESOURCES[gpus]))
    return entry


def _with_one_resource(node: Node, resource: str) -> Object:
    left_out = GPU_COUNT if resource == GPU_MILLI else GPU_MILLI
    document = dict(encode(node))
    status = document["status"] = dict(document["status"])
    for amounts in ("allocatable", "capacity"):
        if amounts in status:
            status[amounts] = {k: v for k, v in status[amounts].items() if k != left_out}
    return decode(document)


def _with_request(entry: Sourced, gpus: OpenbGpus, errors: list[FieldError]) -> Object:
    pod = entry.object
    assert isinstance(pod, Pod), pod.kind
    annotations = pod.metadata.annotations
    count = _number(entry, annotations, GPU_COUNT, errors)
    milli = min(_number(entry, annotations, GPU_MILLI, errors), _MILLI_PER_GPU)
    # Upstream's filter passes a pod whose share is 0 on every node.
    if not count or not milli:
        return pod
    document = dict(encode(pod))
    spec = document["spec"] = dict(document["spec"])
    first, *rest = spec["containers"]
    resources = dict(first.get("resources") or {})
    request = {_RESOURCES[gpus]: str(count * milli if gpus == "milli" else count)}
    # The API server requires that limits of extended resources equal their requests.
    for amounts in ("requests", "limits"):
        others = dict(resources.get(amounts) or {})
        others.pop(GPU_COUNT, None)
        others.pop(GPU_MILLI, None)
        resources[amounts] = others | request
    if gpus == "milli" and not pod.spec.node_name:
        claims = [each for each in spec.get("resourceClaims") or () if each["name"] != _GPU_CLAIM]
        own = {"name": _GPU_CLAIM, "resourceClaimName": f"{pod.name}-{_GPU_CLAIM}"}
        spec["resourceClaims"] = [*claims, own]
        used = [each for each in resources.get("claims") or () if each["name"] != _GPU_CLAIM]
        resources["claims"] = [*used, {"name": _GPU_CLAIM}]
    spec["containers"] = [{**first, "resources": resources}, *rest]
    if models := annotations.get(GPU_CARD_MODEL):
        spec["affinity"] = _with_models(spec.get("affinity") or {}, models.split("|"))
    return decode(document)


def _number(
    entry: Sourced, annotations: Mapping[str, str], key: str, errors: list[FieldError]
) -> int:
    text = annotations.get(key, "0")
    if text.isascii() and text.isdigit():
        return int(text)
    path = f"metadata.annotations[{key}]"
    message = invalid(text, "must be a whole number")
    errors.append(FieldError(source=entry.source, path=path, message=message, value=text))
    return 0


def _with_models(affinity: Document, models: list[str]) -> Document:
    """Return an affinity that also requires a node with a GPU of one of the models."""
    one_of: dict[str, Any] = {"key": GPU_CARD_MODEL, "operator": "In", "values": models}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    terms = (node_affinity.get(required) or {}).get("nodeSelectorTerms")
    # One of the terms must match, so each of them gets the requirement.
    several = [_with_requirement(t, one_of) for t in terms or [{"matchExpressions": []}]]
    node_affinity[required] = {"nodeSelectorTerms": several}
    return affinity | {"nodeAffinity": node_affinity}


def _with_requirement(term: Document, requirement: Document) -> Document:
    if not term:
        return term  # matches no node
    others = [each for each in term.get("matchExpressions") or () if each != requirement]
    return term | {"matchExpressions": [*others, requirement]}


# The DeviceCards among manifests: the ResourceSlices that simulated drivers publish at the start.
#
# Upstream has no such kind; see `devices.cards`.


def with_device_slices(
    sourced: Sequence[Sourced], errors: list[FieldError], warnings: list[str]
) -> list[Sourced]:
    """Add the ResourceSlices of described cards, for the nodes among the objects.

    The descriptions stay, for nodes that are added later.

    Parameters
    ----------
    errors : list of FieldError
        Gets what is wrong with the descriptions.
    warnings : list of str
        Gets a text for each description that no node matches.
    """
    if not any(is_cards(entry.object) for entry in sourced):
        return list(sourced)
    nodes = [entry.object for entry in sourced if isinstance(entry.object, Node)]
    published = {
        (entry.object.spec.driver, entry.object.spec.node_name)
        for entry in sourced
        if isinstance(entry.object, ResourceSlice)
    }
    described: dict[tuple[str, str], str] = {}
    found: list[Sourced] = []
    for entry in sourced:
        found.append(entry)
        if not is_cards(entry.object):
            continue
        spec, problems = read_cards(encode(entry.object))
        if spec is None:
            _add(errors, entry.source, problems)
            continue
        chosen = [
            node for node in nodes if spec.node_selector.items() <= node.metadata.labels.items()
        ]
        mirrored = [node.name for node in chosen if SOURCE_UID in node.metadata.annotations]
        if mirrored:
            which = f"node {mirrored[0]} is left alone: it has"
            if len(mirrored) > 1:
                which = f"{len(mirrored)} nodes such as {mirrored[0]} are left alone: they have"
            warnings.append(
                f"{entry.source}: {CARDS_KIND} {entry.object.name}: {which} the devices of the"
                " cluster that is mirrored"
            )
            chosen = [node for node in chosen if SOURCE_UID not in node.metadata.annotations]
        elif not chosen:
            labels = ", ".join(f"{key}={value}" for key, value in spec.node_selector.items())
            which = f"no node has the labels {labels}" if labels else "there are no nodes"
            warnings.append(
                f"{entry.source}: {CARDS_KIND} {entry.object.name} has no effect so far: {which}"
            )
        for node in chosen:
            place = spec.driver, node.name
            first = described.setdefault(place, entry.object.name)
            if first != entry.object.name:
                message = (
                    f"node {node.name} has cards of driver {spec.driver} by {CARDS_KIND} {first}"
                    " already"
                )
                errors.append(FieldError(source=entry.source, path="spec.driver", message=message))
                break
            if place in published:
                continue
            objects, problems = slices_of_cards(entry.object.name, spec, node.name)
            if problems:
                # The slices of the other nodes have the same problems.
                _add(errors, entry.source, problems)
                break
            found += [Sourced(entry.source, obj) for obj in objects]
    return found


def _add(errors: list[FieldError], source: str, problems: Iterable[tuple[str, str]]) -> None:
    errors += [FieldError(source=source, path=path, message=message) for path, message in problems]
