"""Defaults of APIServices.

Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/defaults.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import with_absent, with_part


def set_api_service_defaults(api_service: Document) -> Document:
    """Set the port of the service that answers."""
    return with_part(api_service, "spec", lambda spec: with_part(spec, "service", _service))


def _service(service: Document) -> Document:
    return with_absent(service, {"port": 443})
