"""Service accounts of pods: the default one, its token as a volume, and its secrets.

Upstream: plugin/pkg/admission/serviceaccount/admission.go
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import GO_BOOLEANS, Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import (
    PODS,
    Plugin,
    Resources,
    metadata_of,
    rejected,
    set_spec,
    spec_of,
)
from podwright.cluster.api.identity import generated_name
from podwright.cluster.api.pods.pod_references import secret_names
from podwright.cluster.store import GroupKind

_KIND: Final[GroupKind] = ("", "ServiceAccount")
_DEFAULT: Final = "default"
_PREFIX: Final = "kube-api-access-"
_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"
_CONTAINERS: Final = {"initContainers": "init container", "containers": "container"}

TOKEN_SECONDS: Final = 3_607
"""The lifetime of the token in a pod's volume."""


class ServiceAccount(Plugin):
    """Sets the service account of pods, and mounts its token."""

    name = "ServiceAccount"
    decides_alike = True
    resources: Resources = PODS
    template_kinds = frozenset({_KIND})

    def admit(self, attributes: Attributes) -> None:
        """Complete a new pod."""
        if attributes.operation != "CREATE" or not attributes.is_for("", "pods"):
            return
        if not _is_mirror(attributes):
            spec = spec_of(attributes)
            name = spec.get("serviceAccountName") or _DEFAULT
            account = self._account(attributes, name)
            fields: dict[str, Any] = {"serviceAccountName": name, "serviceAccount": name}
            if _mounts_token(account, spec):
                fields |= self._with_token(spec)
            if not spec.get("imagePullSecrets") and (secrets := account.get("imagePullSecrets")):
                fields["imagePullSecrets"] = [{"name": each.get("name", "")} for each in secrets]
            set_spec(attributes, **fields)
        self.validate(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Check the account and the secrets of a pod."""
        if attributes.object is None:
            return
        if attributes.operation == "UPDATE" and attributes.is_for(
            "", "pods", "ephemeralcontainers"
        ):
            self._check_account(attributes, {"ephemeralContainers": "ephemeral container"})
        elif attributes.operation == "CREATE" and attributes.is_for("", "pods"):
            if _is_mirror(attributes):
                _check_mirror(attributes)
            else:
                self._check_account(attributes, _CONTAINERS)

    def _account(self, attributes: Attributes, name: str) -> Document:
        found = self._store.get(_KIND, f"{attributes.namespace}/{name}")
        if found is None and name == _DEFAULT and self._context.assumes_accounts:
            return {"metadata": {}}
        if found is None:
            where = f"{attributes.namespace}/{name}"
            raise rejected(
                attributes,
                f'error looking up service account {where}: serviceaccount "{name}" not found',
            )
        return found.raw

    def _check_account(self, attributes: Attributes, containers: dict[str, str]) -> None:
        name = spec_of(attributes).get("serviceAccountName")
        if not name:
            pod = f"{attributes.namespace}/{attributes.name}"
            raise rejected(attributes, f"no service account specified for pod {pod}")
        account = self._account(attributes, name)
        annotations = account["metadata"].get("annotations") or {}
        if not GO_BOOLEANS.get(annotations.get(_ENFORCED, "")):
            return
        problem = next(_problems(account, spec_of(attributes), containers), None)
        if problem is not None:
            raise rejected(attributes, problem)

    def _with_token(self, spec: Document) -> dict[str, Any]:
        """Return the containers with the mount of the token, and the volumes with the token.

        The name of the volume is drawn for the names of the containers and volumes, so that the
        pods of a template share theirs, also if they vary in images, variables and amounts.
        """
        volumes = list(spec.get("volumes") or ())
        names = [each.get("name") or "" for each in volumes]
        volume = next((name for name in names if name.startswith(_PREFIX)), None)
        present = volume is not None
        if volume is None:
            own = [[each.get("name") for each in spec.get(field) or ()] for field in _CONTAINERS]
            draw = zlib.crc32(msgspec.json.encode([*own, names]))
            volume = generated_name(
                _PREFIX, namespace="", taken=names, seed=self._store.seed, version=draw
            )
        mount = {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}
        fields: dict[str, Any] = {}
        for field in _CONTAINERS:
            containers = spec.get(field) or ()
            if any(map(_needs_mount, containers)):
                fields[field] = [
                    _with_mount(each, mount) if _needs_mount(each) else each for each in containers
                ]
        if fields and not present:
            fields["volumes"] = [*volumes, token_volume(volume)]
        return fields


def _is_mirror(attributes: Attributes) -> bool:
    metadata = metadata_of(attributes)
    return _MIRROR in (metadata.get("annotations") or {})


def _check_mirror(attributes: Attributes) -> None:
    spec = spec_of(attributes)
    if spec.get("serviceAccountName"):
        raise rejected(attributes, "a mirror pod may not reference service accounts")
    if any(True for _ in secret_names(spec)):
        raise rejected(attributes, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                text = "a mirror pod may not use ServiceAccountToken volume projections"
                raise rejected(attributes, text)


def _mounts_token(account: Document, spec: Document) -> bool:
    for document in (spec, account):
        own = document.get("automountServiceAccountToken")
        if own is not None:
            return bool(own)
    return True


def _needs_mount(container: Document) -> bool:
    mounts = container.get("volumeMounts") or ()
    return all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts)


def _with_mount(container: Document, mount: Document) -> Document:
    return container | {"volumeMounts": [*(container.get("volumeMounts") or ()), mount]}


def token_volume(name: str) -> Document:
    """Return the volume with the token, the certificates and the namespace of a pod."""
    token = {"path": "token", "expirationSeconds": TOKEN_SECONDS}
    certificates = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": token},
        {"configMap": certificates},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def _problems(account: Document, spec: Document, containers: dict[str, str]) -> Iterator[str]:
    """Yield the uses of secrets that the account does not list."""
    listed = {each.get("name") for each in account.get("secrets") or ()}
    owner = f"is not allowed because service account {account['metadata']['name']} does not"
    if containers is _CONTAINERS:
        for volume in spec.get("volumes") or ():
            secret = volume.get("secret")
            if secret is not None and secret.get("secretName", "") not in listed:
                name = secret.get("secretName", "")
                yield f'volume with secret.secretName="{name}" {owner} reference that secret'
    for field, what in containers.items():
        for container in spec.get(field) or ():
            for where, name in _environment_secrets(container):
                if name not in listed:
                    yield (
                        f"{what} {container.get('name', '')} with {where} referencing"
                        f' secret.secretName="{name}" {owner} reference that secret'
                    )
    if containers is _CONTAINERS:
        pulled = {each.get("name") for each in account.get("imagePullSecrets") or ()}
        for index, each in enumerate(spec.get("imagePullSecrets") or ()):
            if each.get("name") not in pulled:
                yield (
                    f'imagePullSecrets[{index}].name="{each.get("name", "")}" {owner} reference'
                    " that imagePullSecret"
                )


def _environment_secrets(container: Document) -> Iterator[tuple[str, str]]:
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        reference = source.get("secretRef")
        if reference is not None:
            yield "envFrom", reference.get("name", "")
