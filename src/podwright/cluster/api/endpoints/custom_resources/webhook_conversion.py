"""Conversion by a webhook, which is never called: as upstream's when it cannot be reached.

Objects are read and written in the version in which they are stored; every other request fails.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.cluster.api.rejections import Rejection


def calls_webhook(definition: Document) -> bool:
    """Whether a webhook converts the objects of a definition."""
    conversion: Document = definition["spec"].get("conversion") or {}
    return conversion.get("strategy") == "Webhook"


def not_converted(definition: Document, document: Document) -> Rejection:
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
