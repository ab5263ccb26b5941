"""Objects and helpers for tests of stores."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.schema import decode
from podwright.cluster.store import Cursor, Page

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z
CONFIG_MAP = ("", "ConfigMap")
NAMESPACE = ("", "Namespace")
DEPLOYMENT = ("apps", "Deployment")
EVENT = ("", "Event")


def document(kind: str, name: str, api_version: str = "v1", **parts: Any) -> Any:
    metadata = {"name": name, **parts.pop("metadata", {})}
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts})


def a_pod(name: str = "web", **parts: Any) -> Any:
    spec = {"containers": [{"name": "c", "image": "nginx"}], **parts.pop("spec", {})}
    return document("Pod", name, spec=spec, **parts)


def a_config_map(name: str = "settings", **parts: Any) -> Any:
    return document("ConfigMap", name, **parts)


def seen(cursor: Cursor) -> list[tuple[str, str, int]]:
    return [
        (event.type, event.object.name if event.object else "", event.resource_version)
        for event in cursor.poll()
    ]


def names(page: Page) -> list[str]:
    return [obj.name for obj in page.objects]
