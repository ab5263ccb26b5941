"""The GPUs of the openb trace as resources that the scheduler counts.

In the trace's own simulator, pods request GPUs by annotations, and a plugin assigns each pod
devices of a node: `gpu-count` devices, and `gpu-milli` thousandths of each. kube-scheduler's
plugins do not read these annotations. On request, they become requests for one extended resource,
which `NodeResourcesFit` sums per node:

- `milli`: `alibabacloud.com/gpu-milli`, thousandths of GPUs. Pods share GPUs.
- `count`: `alibabacloud.com/gpu-count`, whole GPUs. A pod that requests a share takes a whole GPU.

Devices are not assigned, so with `milli` a node may take a pod for which its free shares suffice
only together. The models that a pod accepts become a required node affinity. The other one of the
two resources is removed from the nodes: it would seem to be free.

Upstream: pkg/type/open-gpu-share/utils/pod.go and pkg/simulator/plugin/open-gpu-share.go of
hkust-adsl/kubernetes-scheduler-simulator
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from podwright.files.object_reader import Sourced
from podwright.objects import (
    GPU_CARD_MODEL,
    GPU_COUNT,
    GPU_MILLI,
    Document,
    FieldError,
    InputError,
    Node,
    Object,
    Pod,
    encode,
    invalid,
)
from podwright.schema import decode

OpenbGpus: TypeAlias = Literal["milli", "count"]
"""How the scheduler counts the GPUs of the openb trace: in thousandths, or whole ones."""

_RESOURCES: Final = {"milli": GPU_MILLI, "count": GPU_COUNT}
_MILLI_PER_GPU: Final = 1000


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
    changed = tuple(_counted(entry, gpus, errors) for entry in sourced)
    if errors:
        raise InputError(errors)
    return changed


def _is_gpu_pod(obj: Object) -> bool:
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
    message = invalid(text, "a whole number is expected")
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
