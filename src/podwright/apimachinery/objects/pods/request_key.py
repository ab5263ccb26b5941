"""Keys of pods with equal requests, computed without summing the requests."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from podwright.apimachinery.objects.pods.pod import Pod
from podwright.apimachinery.objects.pods.requests import has_actual_resources, is_resize_infeasible


def status_changes_requests(pod: Pod) -> bool:
    """Whether a pod's status affects the resources that it occupies.

    Only a pod that has started has such a status: it may be in the middle of a resize.
    """
    status = pod.status
    return (
        bool(status.container_statuses or status.init_container_statuses)
        or status.resources is not None
        or status.allocated_resources is not None
    )


def request_key(pod: Pod) -> Hashable:
    """Return a key that is equal only for pods with the same requests.

    Pods of one template share it. Computing it takes a few microseconds; summing the requests
    takes some tens. Equal requests in different notations have different keys.
    """
    spec = pod.spec
    key: tuple[Hashable, ...] = tuple(
        [tuple(container.resources.requests.items()) for container in spec.containers]
    )
    if spec.init_containers:
        key = (
            key,
            tuple(
                [
                    (container.is_sidecar, *container.resources.requests.items())
                    for container in spec.init_containers
                ]
            ),
        )
    if spec.resources is not None or spec.overhead:
        of_pod = () if spec.resources is None else tuple(spec.resources.requests.items())
        key = (key, of_pod, tuple(spec.overhead.items()))
    if status_changes_requests(pod):
        names = tuple([container.name for container in (*spec.containers, *spec.init_containers)])
        # Not the whole status: its times would make all pods of a template different.
        actual: tuple[object, ...] = ()
        if has_actual_resources(pod):
            status = pod.status
            actual = (
                status.container_statuses,
                status.init_container_statuses,
                status.resources,
                status.allocated_resources,
                is_resize_infeasible(pod),
            )
        key = (key, names, msgspec.json.encode(actual))
    return key
