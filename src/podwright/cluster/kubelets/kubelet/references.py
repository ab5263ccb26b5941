"""The ConfigMaps and Secrets that a pod refers to, and the errors for missing ones.

Upstream: pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables; pkg/volume/configmap/configmap.go,
pkg/volume/secret/secret.go and pkg/volume/projected/projected.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.kubelets.kubelet.pod_records import containers_of
from podwright.cluster.store import GroupKind

CONFIG_MAP: Final[GroupKind] = ("", "ConfigMap")
SECRET: Final[GroupKind] = ("", "Secret")


class ObjectReader(Protocol):
    """Reads objects of the cluster, such as an `ObjectStore`."""

    def get(self, kind: GroupKind, key: str, /) -> KubernetesObject | None:
        """Return an object; None if it does not exist."""


def volume_error(pod: Document, reader: ObjectReader) -> tuple[str, str] | None:
    """Return the first volume that cannot be mounted, and why; None if all can be."""
    namespace = pod["metadata"].get("namespace") or ""
    for volume in used_volumes(pod):
        for kind, name, keys, is_optional in _volume_sources(volume):
            found = reader.get(kind, f"{namespace}/{name}")
            if found is None:
                if not is_optional:
                    return volume["name"], f'{_NOUNS[kind]} "{name}" not found'
            elif not is_optional:
                data = _data(found)
                missing = [key for key in keys if key not in data]
                if missing:
                    return volume["name"], "references non-existent " + (
                        f"{_NOUNS[kind]} key: {missing[0]}"
                    )
    return None


def used_volumes(pod: Document) -> Iterator[Document]:
    """Yield the volumes that containers of a pod use; others are not mounted."""
    spec = pod.get("spec") or {}
    if not spec.get("volumes"):
        return iter(())
    used = {
        entry["name"]
        for _, container in containers_of(spec)
        for field in ("volumeMounts", "volumeDevices")
        for entry in container.get(field) or ()
    }
    return (volume for volume in spec["volumes"] if volume["name"] in used)


def environment_error(container: Document, namespace: str, reader: ObjectReader) -> str | None:
    """Return why the environment of a container cannot be made; None if it can be."""
    for entry in container.get("envFrom") or ():
        for kind, field in ((CONFIG_MAP, "configMapRef"), (SECRET, "secretRef")):
            source = entry.get(field)
            if source and not source.get("optional"):
                name = source.get("name") or ""
                if reader.get(kind, f"{namespace}/{name}") is None:
                    return f'{_NOUNS[kind]} "{name}" not found'
    for entry in container.get("env") or ():
        value_from = entry.get("valueFrom") or {}
        for kind, field in ((CONFIG_MAP, "configMapKeyRef"), (SECRET, "secretKeyRef")):
            source = value_from.get(field)
            if not source or source.get("optional"):
                continue
            name, key = source.get("name") or "", source.get("key") or ""
            found = reader.get(kind, f"{namespace}/{name}")
            if found is None:
                return f'{_NOUNS[kind]} "{name}" not found'
            if key not in _data(found):
                return f"couldn't find key {key} in {kind[1]} {namespace}/{name}"
    return None


_NOUNS: Final = {CONFIG_MAP: "configmap", SECRET: "secret"}


def _volume_sources(volume: Document) -> Iterator[tuple[GroupKind, str, list[str], bool]]:
    for kind, field, name_field in (
        (CONFIG_MAP, "configMap", "name"),
        (SECRET, "secret", "secretName"),
    ):
        source = volume.get(field)
        if source is not None:
            yield kind, source.get(name_field) or "", _keys(source), bool(source.get("optional"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        for kind, field in ((CONFIG_MAP, "configMap"), (SECRET, "secret")):
            part = source.get(field)
            if part is not None:
                yield kind, part.get("name") or "", _keys(part), bool(part.get("optional"))


def _keys(source: Document) -> list[str]:
    return [item["key"] for item in source.get("items") or ()]


def _data(obj: KubernetesObject) -> set[str]:
    return {key for field in ("data", "binaryData") for key in obj.raw.get(field) or ()}
