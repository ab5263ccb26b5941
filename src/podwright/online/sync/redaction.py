"""What a record leaves out of an object: what is confidential, and what no decision depends on."""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document

REDACTED: Final = "redacted"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def redacted(obj: Document) -> Document:
    """Return an object without its confidential fields.

    These are managed fields, the last applied configuration and, of containers, the values of
    environment variables, commands and arguments, also those of probes and hooks with their HTTP
    headers.
    """
    metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    annotations = metadata.get("annotations")
    if annotations and _LAST_APPLIED in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    found = {**obj, "metadata": metadata}
    if "spec" in obj and isinstance(obj["spec"], dict):
        found["spec"] = _spec(obj["spec"])
    return found


def _spec(spec: Document) -> Document:
    found = dict(spec)
    for field in _CONTAINERS:
        if found.get(field):
            found[field] = [_container(each) for each in found[field]]
    template = found.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        # The templates of workloads have the same containers, and a copy of the annotation.
        metadata = {"metadata": template.get("metadata") or {}}
        found["template"] = {**redacted({**template, **metadata})}
    return found


def _container(container: Document) -> Document:
    found = dict(container)
    if found.get("env"):
        found["env"] = [_variable(each) for each in found["env"]]
    for field in ("command", "args"):
        if found.get(field):
            found[field] = [REDACTED]
    for field in _PROBES:
        if found.get(field):
            found[field] = _action(found[field])
    if found.get("lifecycle"):
        hooks = found["lifecycle"].items()
        found["lifecycle"] = {k: _action(v) if isinstance(v, dict) else v for k, v in hooks}
    return found


def _action(action: Document) -> Document:
    """Return a probe or a hook without its command and headers."""
    found = dict(action)
    if found.get("exec"):
        found["exec"] = {"command": [REDACTED]}
    if (found.get("httpGet") or {}).get("httpHeaders"):
        headers = [{**each, "value": REDACTED} for each in found["httpGet"]["httpHeaders"]]
        found["httpGet"] = {**found["httpGet"], "httpHeaders": headers}
    return found


def _variable(variable: Any) -> Document:
    kept: Document = {"name": variable["name"]}
    return {**kept, "value": REDACTED} if "value" in variable else dict(variable)
