"""What a container needs before it is created: its image, and a complete configuration.

Upstream: pkg/kubelet/images/image_manager.go; pkg/kubelet/kuberuntime/kuberuntime_container.go;
pkg/util/parsers/parsers.go; pkg/kubelet/images/image_manager.go.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec

from podwright.apimachinery.objects import SECOND_NS, Document
from podwright.cluster.kubelets.kubelet.pod_records import ContainerRecord
from podwright.cluster.kubelets.kubelet.references import environment_error
from podwright.cluster.kubelets.kubelet.sandbox import SyncContext
from podwright.cluster.kubelets.pod_statuses import pod_text

_PULL_BACK_OFF_NS: Final = 10 * SECOND_NS
_PULL_BACK_OFF_MAX_NS: Final = 300 * SECOND_NS
_SHOW_PULL_ERROR_NS: Final = 2 * SECOND_NS
_CONFIGURATION_RETRY_NS: Final = 10 * SECOND_NS


def can_create(sync: SyncContext, known: ContainerRecord, container: Document) -> bool:
    """Pull the image of a container, and tell whether it can be created; otherwise it waits."""
    image = _pulled_image(sync, known, container)
    return image is not None and _is_configured(sync, known, container, image)


def _pulled_image(sync: SyncContext, known: ContainerRecord, container: Document) -> Image | None:
    """Return the image of a container if it is on the node, after a pull if necessary."""
    name, now_ns = container.get("image") or "", sync.now_ns
    policy = container.get("imagePullPolicy") or "IfNotPresent"
    image = read_image(name)
    if image is None:
        text = (
            f'Failed to apply default image tag "{name}": couldn\'t parse image name '
            f'"{name}": invalid reference format'
        )
        if _wait(known, "InvalidImageName", text):
            sync.container_event(known, "Warning", "InspectFailed", text)
            sync.container_event(known, "Warning", "Failed", "Error: InvalidImageName")
        return None
    behaviors = sync.node.behaviors
    error = behaviors.value(name, image.name, lambda entry: entry.pull_error)
    if error is None:
        is_present = sync.node.has_image(image.name)
        if policy == "Never" or (is_present and policy != "Always"):
            note = f'Container image "{name}" already present on machine'
            note += " and can be accessed by the pod"
            sync.container_event(known, "Normal", "Pulled", note)
        else:
            sync.node.add_image(image.name)
            milliseconds = image.pull_ns // 1_000_000
            sync.container_event(known, "Normal", "Pulling", f'Pulling image "{name}"')
            note = (
                f'Successfully pulled image "{name}" in {milliseconds}ms ({milliseconds}ms '
                f"including waiting). Image size: {image.size_bytes} bytes."
            )
            sync.container_event(known, "Normal", "Pulled", note)
        known.pull_back_off_ns = 0
        return image
    if policy == "Never":
        text = f'Container image "{name}" is not present with pull policy of Never'
        if _wait(known, "ErrImageNeverPull", text):
            sync.container_event(known, "Warning", "ErrImageNeverPull", text)
            sync.container_event(known, "Warning", "Failed", "Error: ErrImageNeverPull")
        return None
    if now_ns < known.pull_retry_ns:
        text = f'Back-off pulling image "{name}"'
        if _wait(known, "ImagePullBackOff", f"{text}: ErrImagePull: {error}"):
            sync.container_event(known, "Normal", "BackOff", text)
            sync.container_event(known, "Warning", "Failed", "Error: ImagePullBackOff")
        sync.sync_at(known.pull_retry_ns)
        return None
    sync.container_event(known, "Normal", "Pulling", f'Pulling image "{name}"')
    sync.container_event(known, "Warning", "Failed", f'Failed to pull image "{name}": {error}')
    sync.container_event(known, "Warning", "Failed", "Error: ErrImagePull")
    _wait(known, "ErrImagePull", error)
    back_off_ns = min(2 * known.pull_back_off_ns, _PULL_BACK_OFF_MAX_NS)
    known.pull_back_off_ns = back_off_ns or _PULL_BACK_OFF_NS
    known.pull_retry_ns = now_ns + known.pull_back_off_ns
    # The error is shown until the next sync, which finds the back-off.
    sync.sync_at(now_ns + _SHOW_PULL_ERROR_NS)
    return None


def _is_configured(
    sync: SyncContext, known: ContainerRecord, container: Document, image: Image
) -> bool:
    """Whether a container can be created; it waits if its configuration is not complete."""
    error = _user_error(sync, container, image)
    reader = sync.node.reader
    if error is None and reader is not None:
        error = environment_error(container, sync.pod.namespace, reader)
    if error is None:
        return True
    if _wait(known, "CreateContainerConfigError", error):
        sync.container_event(known, "Warning", "Failed", f"Error: {error}")
    known.retry_ns = sync.now_ns + _CONFIGURATION_RETRY_NS
    sync.sync_at(known.retry_ns)
    return False


def _user_error(sync: SyncContext, container: Document, image: Image) -> str | None:
    of_pod = sync.spec.get("securityContext") or {}
    own = container.get("securityContext") or {}
    if not own.get("runAsNonRoot", of_pod.get("runAsNonRoot")):
        return None
    user = own.get("runAsUser", of_pod.get("runAsUser"))
    where = f'(pod: "{pod_text(sync.metadata)}", container: {container["name"]})'
    if user == 0:
        return f"container's runAsUser breaks non-root policy {where}"
    name = container.get("image") or ""
    behaviors = sync.node.behaviors
    if user is None and behaviors.value(name, image.name, lambda entry: entry.runs_as_root):
        return f"container has runAsNonRoot and image will run as root {where}"
    return None


def _wait(known: ContainerRecord, reason: str, message: str) -> bool:
    """Let a container wait; return whether it did not for this reason."""
    is_new = known.waiting != (reason, message)
    known.waiting = (reason, message)
    return is_new


# Images of containers: names, digests and sizes, which depend on the name only.
#
# There is no registry. Every image exists, unless `image_behaviors` declares an error of its pull.

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
