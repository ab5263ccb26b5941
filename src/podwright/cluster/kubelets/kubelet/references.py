"""The ConfigMaps and Secrets that a pod refers to, and the errors for missing ones.

Upstream: pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables; pkg/volume/configmap/configmap.go,
pkg/volume/secret/secret.go and pkg/volume/projected/projected.go;
pkg/volume/configmap/configmap.go, MakePayload; pkg/volume/secret/secret.go, MakePayload;
pkg/volume/downwardapi/downwardapi.go, CollectData; pkg/volume/projected/projected.go, collectData;
pkg/fieldpath/fieldpath.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    aggregated,
    go_quoted,
    parse_quantity,
)
from podwright.cluster.kubelets.kubelet.pod_records import containers_of
from podwright.cluster.store import GroupKind

CONFIG_MAP: Final[GroupKind] = ("", "ConfigMap")
SECRET: Final[GroupKind] = ("", "Secret")


class ObjectReader(Protocol):
    """Reads objects of the cluster, such as an `ObjectStore`."""

    def get(self, kind: GroupKind, key: str, /) -> KubernetesObject | None:
        """Return an object; None if it does not exist."""


def volume_errors(pod: Document, reader: ObjectReader) -> Iterator[tuple[str, str]]:
    """Yield the volumes that cannot be mounted, and why.

    Upstream: configmap.go and secret.go, MakePayload; projected.go, collectData
    """
    namespace = pod["metadata"].get("namespace") or ""
    for volume in used_volumes(pod):
        errors = []
        for kind, name, source in _needed_sources(volume):
            found = reader.get(kind, f"{namespace}/{name}")
            if found is None:
                errors.append(f'{_NOUNS[kind]} "{name}" not found')
                continue
            data, keys = _data(found), [item["key"] for item in source.get("items") or ()]
            errors += [f"{_NO_KEY[kind]}: {key}" for key in keys if key not in data][:1]
        if errors:
            yield volume["name"], aggregated(errors)


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
            name, key = source.get("name") or "", source.get("key")
            found = reader.get(kind, f"{namespace}/{name}")
            if found is None:
                return f'{_NOUNS[kind]} "{name}" not found'
            if key not in _data(found):
                return f"couldn't find key {key} in {kind[1]} {namespace}/{name}"
    return None


_NOUNS: Final = {CONFIG_MAP: "configmap", SECRET: "secret"}
_NO_KEY: Final = {
    CONFIG_MAP: "configmap references non-existent config key",
    SECRET: "references non-existent secret key",
}


def _needed_sources(volume: Document) -> Iterator[tuple[GroupKind, str, Document]]:
    """Yield the kind, the name and the reference of the objects that a volume cannot do without."""
    for part in (volume, *((volume.get("projected") or {}).get("sources") or ())):
        for kind, field in ((CONFIG_MAP, "configMap"), (SECRET, "secret")):
            source = part.get(field)
            if source is not None and not source.get("optional"):
                yield kind, source.get("name") or source.get("secretName") or "", source


def _data(obj: KubernetesObject) -> set[str]:
    return {key for field in ("data", "binaryData") for key in obj.raw.get(field) or ()}


# The files in the volumes of a pod whose contents the API defines.
#
# Such volumes are read-only. Their files are those of the objects at the time of reading; a
# kubelet brings changes into volumes within about a minute.

Contents: TypeAlias = dict[str, str | None]
"""Contents by path; None for a file whose content is not known, such as a token."""

_MAP_FIELD: Final = re.compile(r"metadata\.(annotations|labels)(?:\['([^']*)'\])?")


def data_of(obj: KubernetesObject) -> Contents:
    """Return the values of a ConfigMap or of a Secret; None for bytes that are not UTF-8."""
    raw = obj.raw
    is_secret = obj.kind == "Secret"
    found: Contents = {} if is_secret else dict(raw.get("data") or {})
    for key, value in (raw.get("data" if is_secret else "binaryData") or {}).items():
        try:
            found[key] = base64.b64decode(value).decode()
        except (binascii.Error, ValueError):
            found[key] = None
    return found


def field_of(pod: Document, path: str, facts: Mapping[str, str]) -> str | None:
    """Return the value of a `fieldRef`; None if it is not known.

    Parameters
    ----------
    pod : Document
    path : str
    facts : mapping
        The values of fields that the kubelet knows before the status has them.
    """
    if path in facts:
        return facts[path]
    found = _MAP_FIELD.fullmatch(path)
    if found is not None:
        values = pod["metadata"].get(found[1]) or {}
        if found[2] is not None:
            return str(values.get(found[2]) or "")
        return "\n".join(f"{key}={go_quoted(values[key])}" for key in sorted(values))
    value: Any = pod
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def resource_of(pod: Document, container: Document, reference: Document) -> str | None:
    """Return the value of a `resourceFieldRef`; None without such a limit or request."""
    name = reference.get("containerName")
    if name:
        found = [each for _, each in containers_of(pod["spec"]) if each["name"] == name]
        container = found[0] if found else container
    kind, _, resource = str(reference.get("resource") or "").partition(".")
    amount = ((container.get("resources") or {}).get(kind) or {}).get(resource)
    if amount is None:
        return None
    divisor = parse_quantity(reference.get("divisor") or 0).nano or parse_quantity(1).nano
    return str(-(-parse_quantity(amount).nano // divisor))


def contents_of(
    volume: Document, pod: Document, reader: ObjectReader | None, facts: Mapping[str, str]
) -> Contents | None:
    """Return the files of a volume; None if the API does not define them."""
    if "projected" in volume:
        found: Contents = {}
        for source in volume["projected"].get("sources") or ():
            found |= _source(source, pod, reader, facts)
        return found
    for field in ("configMap", "secret", "downwardAPI"):
        if field in volume:
            return _source(volume, pod, reader, facts)
    return None


def _source(
    source: Document, pod: Document, reader: ObjectReader | None, facts: Mapping[str, str]
) -> Contents:
    for field, kind in (("configMap", CONFIG_MAP), ("secret", SECRET)):
        part = source.get(field)
        if part is None:
            continue
        name = part.get("name") or part.get("secretName") or ""
        namespace = pod["metadata"].get("namespace") or ""
        obj = reader.get(kind, f"{namespace}/{name}") if reader is not None else None
        data = data_of(obj) if obj is not None else {}
        items = part.get("items")
        if items is None:
            return data
        return {item["path"]: data[item["key"]] for item in items if item["key"] in data}
    if "downwardAPI" in source:
        return {
            item["path"]: field_of(pod, item["fieldRef"].get("fieldPath") or "", facts)
            if "fieldRef" in item
            else resource_of(pod, {}, item.get("resourceFieldRef") or {})
            for item in source["downwardAPI"].get("items") or ()
        }
    if "serviceAccountToken" in source:
        return {source["serviceAccountToken"].get("path") or "token": None}
    paths = [part.get("path") for part in source.values() if isinstance(part, dict)]
    return {path: None for path in paths if path}
