"""Changes of a source, and what a mirror makes of them."""

import json

from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.operations import Create
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import source_kinds

KINDS = {kind.resource: kind for kind in source_kinds()}


def change(
    event, name, *, uid="u1", node="", initial=False, kind="pods", created="2030-01-01T00:00:05Z",
    metadata=None, **fields,
):  # fmt: skip
    namespace = "default" if KINDS[kind].is_namespaced else ""
    obj = {
        "metadata": {
            "name": name, "namespace": namespace, "uid": uid, "creationTimestamp": created,
            **(metadata or {}),
        },
        **fields,
    }  # fmt: skip
    if node:
        obj["spec"] = {**obj.get("spec", {}), "nodeName": node}
    meta = Meta(name=name, namespace=namespace, uid=uid, resource_version="1")
    body = json.dumps(obj).encode()
    return SourceChange(KINDS[kind], ChangedObject(event, meta, body, initial), 0)


def taken(mirror, *changes):
    return [operation for each in changes for operation in mirror.take(each)]


def node_of(operations):
    (created,) = operations
    assert isinstance(created, Create)
    return created.obj["spec"].get("nodeName", "")
