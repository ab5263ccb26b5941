"""The resources of a definition: one for each served version.

All versions are stored in one of them. The objects of another version differ in `apiVersion` only,
or have to be converted by a webhook, which is never called: that fails as upstream's does when it
cannot be reached.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/{nop_converter,webhook_converter}.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching import custom_object_type
from podwright.apimachinery.schema.structural import CustomKind, CustomVersion
from podwright.cluster.api.endpoints.custom_resources.conditions import is_true
from podwright.cluster.api.endpoints.discovery import version_order
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.versions.resources import Conversion, Resource
from podwright.cluster.store import GroupKind

_KNOWN_MAX: Final = 16_384


def storage_kind(definition: Document) -> GroupKind:
    """Return the kind under which the store keeps the objects of a definition."""
    return definition["spec"]["group"], str(_names(definition).get("kind") or "")


def _names(definition: Document) -> Document:
    names: Document = (definition.get("status") or {}).get("acceptedNames") or {}
    return names


def served_resources(definition: Document) -> list[Resource]:
    """Return the resources of a definition; none until its names are accepted."""
    if not is_true(definition, "NamesAccepted") and not is_true(definition, "Established"):
        return []
    names = _names(definition)
    if not all(names.get(each) for each in ("plural", "singular", "kind", "listKind")):
        return []
    spec = definition["spec"]
    kinds = {
        each["name"]: CustomKind(CustomVersion.of(spec, each, names))
        for each in spec.get("versions") or ()
    }
    stored = next(each["name"] for each in spec["versions"] if each.get("storage"))
    made: list[Resource] = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        kind = kinds[version["name"]]
        made.append(
            Resource(
                kind=kind,
                storage=storage_kind(definition),
                storage_kind=kinds[stored],
                to_storage=_to_storage(definition, kind, kinds[stored]),
                from_storage=_from_storage(definition, kind, kinds, kinds[stored]),
                is_custom=True,
                custom_type=custom_object_type(
                    kind.api_version,
                    kind.row.kind,
                    version.get("schema", {}).get("openAPIV3Schema"),
                    has_status=kind.has_status,
                ),
                is_terminating=is_true(definition, "Terminating"),
                warnings=_warnings(spec, version),
                scale_paths=kind.scale_paths,
                scale_replicas={
                    each.api_version: each.scale_paths.replicas_path
                    for each in kinds.values()
                    if each.scale_paths is not None
                },
            )
        )
    return made


def _to_storage(definition: Document, kind: CustomKind, storage: CustomKind) -> Conversion:
    """Return the conversion to the stored version, whose defaults apply when it is read."""
    if kind is storage:
        return lambda document: document
    is_by_webhook = _calls_webhook(definition)

    def convert(document: Document) -> Document:
        if is_by_webhook:
            raise _not_converted(definition, document)
        return storage.as_read(document | {"apiVersion": storage.api_version})

    return convert


def _from_storage(
    definition: Document, kind: CustomKind, kinds: dict[str, CustomKind], storage: CustomKind
) -> Conversion:
    """Return the conversion from any version in which an object may have been stored.

    Objects are read by the schema of the version in which they were stored, as it is today.
    """
    # By the id() of a document; the value keeps it alive, so that its id is not reused.
    known: dict[int, tuple[Document, Document]] = {}
    is_by_webhook = _calls_webhook(definition)

    def convert(document: Document) -> Document:
        found = known.get(id(document))
        if found is not None:
            return found[1]
        written = document["apiVersion"].rpartition("/")[2]
        made = kinds.get(written, storage).as_read(document)
        if kind.api_version != made["apiVersion"]:
            if is_by_webhook:
                raise _not_converted(definition, document)
            made = kind.as_converted(made | {"apiVersion": kind.api_version})
        if len(known) >= _KNOWN_MAX:
            known.clear()
        known[id(document)] = document, made
        return made

    return convert


def _warnings(spec: Document, version: Document) -> tuple[str, ...]:
    """Return the warnings of requests to a deprecated version."""
    if not version.get("deprecated"):
        return ()
    if version.get("deprecationWarning") is not None:
        return (version["deprecationWarning"],)
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    better = sorted(
        (
            each["name"]
            for each in spec["versions"]
            if each.get("served")
            and not each.get("deprecated")
            and version_order(each["name"]) < version_order(version["name"])
        ),
        key=version_order,
    )
    return (f"{text}; use {group}/{better[0]} {kind}" if better else text,)


def _calls_webhook(definition: Document) -> bool:
    """Whether a webhook converts the objects of a definition."""
    conversion: Document = definition["spec"].get("conversion") or {}
    return conversion.get("strategy") == "Webhook"


def _not_converted(definition: Document, document: Document) -> Rejection:
    """Return the error of an object that a webhook would have to convert."""
    webhook: Document = definition["spec"]["conversion"].get("webhook") or {}
    url = _url(webhook.get("clientConfig") or {})
    what = f"{document.get('apiVersion')}, Kind={document.get('kind')}"
    return Rejection(
        500,
        "",
        f'conversion webhook for {what} failed: Post "{url}?timeout=30s": this server calls no'
        " webhooks",
    )


def _url(client: Document) -> str:
    service: Document | None = client.get("service")
    if service is None:
        return str(client.get("url") or "")
    host = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}"
    path = str(service.get("path") or "").lstrip("/")
    return f"https://{host}/{path}"
