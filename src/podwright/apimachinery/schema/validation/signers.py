"""Validation of the names of signers and of their bundles, and of what pods write for them.

Upstream: pkg/apis/core/validation/names.go; pkg/apis/core/validation/validation.go,
ValidateUserAnnotations
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import validate_annotations_size
from podwright.apimachinery.schema.validation.names import (
    Details,
    dns_label,
    dns_subdomain,
    qualified_name,
)

SHORTEST_SECONDS: Final = 3600
"""The shortest time for which a pod may request a certificate."""
_LONGEST_SECONDS: Final = 91 * 24 * 3600
_LONGEST_OF_KUBERNETES_SECONDS: Final = 24 * 3600
_DOMAIN_MAX: Final = 253
_LABELS_MIN: Final = 2
_SIGNER_MAX: Final = _DOMAIN_MAX + 1 + _DOMAIN_MAX + 1 + 63


def longest_seconds(signer: str) -> int:
    """Return the longest time for which a pod may request a certificate of a signer."""
    host = signer.partition("/")[0]
    is_kubernetes = host == "kubernetes.io" or host.endswith(".kubernetes.io")
    return _LONGEST_OF_KUBERNETES_SECONDS if is_kubernetes else _LONGEST_SECONDS


def bundle_name(name: str, signer: str, as_name: Callable[[str], str] = str) -> Details:
    """Return the errors of the name of a bundle, which starts with that of its signer."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return dns_subdomain(as_name(name))
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return dns_subdomain(as_name(name.removeprefix(prefix)))


def validate_user_annotations(
    errors: FieldErrors, path: str, annotations: Mapping[str, str]
) -> None:
    """Check annotations whose keys have the domain of a signer."""
    for key in sorted(annotations):
        name = key.lower()
        if not name:
            errors.required(path)
        elif details := qualified_name(name):
            errors.each(path, name, details)
        elif "/" not in name:
            text = 'must be a domain-prefixed key (such as "acme.io/foo")'
            errors.invalid(path, name, text)
    validate_annotations_size(errors, path, annotations)


def validate_signer_name(errors: FieldErrors, path: str, signer: str) -> None:
    """Check the name of a signer, such as `example.com/signer`."""
    if not signer:
        errors.required(path)
        return
    segments = signer.split("/")
    if len(segments) != 2:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errors.invalid(path, signer, text)
        return
    domain, name = segments
    if len(domain.encode()) > _DOMAIN_MAX:
        errors.too_long(path, _DOMAIN_MAX)
    labels = domain.split(".")
    _validate_labels(errors, path, domain, labels, dns_label)
    if len(labels) < _LABELS_MIN:
        text = "should be a domain with at least two segments separated by dots"
        errors.invalid(path, domain, text)
    _validate_labels(errors, path, name, name.split("."), dns_subdomain)
    if len(signer.encode()) > _SIGNER_MAX:
        errors.too_long(path, _SIGNER_MAX)


def _validate_labels(
    errors: FieldErrors,
    path: str,
    text: str,
    labels: list[str],
    rule: Callable[[str], Iterable[str]],
) -> None:
    """Check the parts of a signer's name up to the first that is wrong."""
    for label in labels:
        details = list(rule(label))
        if details:
            shown = (f'validating label "{label}": {detail}' for detail in details)
            errors.each(path, text, shown)
            return
