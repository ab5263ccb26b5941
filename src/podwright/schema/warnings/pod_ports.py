"""Warnings about the ports of the containers of a pod.

Upstream: pkg/api/pod/warnings.go, warningsForPodSpecAndMeta
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podwright.objects import Document
from podwright.schema.validation.field_errors import printed


def port_warnings(containers: Sequence[tuple[str, Document]]) -> list[str]:
    """Return the warnings about ports that repeat or contradict others.

    Parameters
    ----------
    containers : sequence of pairs
        The path and the document of each container.
    """
    found: list[str] = []
    defined: dict[tuple[Any, Any], list[tuple[str, Document]]] = {}
    ports = [
        (f"{path}.ports[{index}]", port)
        for path, container in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    if not ports:
        return found
    for path, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            found.append(f"{path}: hostIP set without hostPort: {_go_text(port)}")
        others = defined.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for other_path, other in others:
            word = _relation(port, other)
            if word:
                found.append(f"{path}: {word} port definition with {other_path}")
        others.append((path, port))
    named: dict[str, str] = {}
    for path, port in ports:
        if not (name := port.get("name")):
            continue
        if name in named:
            other_path = named[name]
            found.append(
                f"{path}: duplicate port name {printed(name)} with {other_path}, services and"
                f" probes that select ports by name will use {other_path}"
            )
        else:
            named[name] = path
    return found


def _relation(port: Document, other: Document) -> str:
    """Return what two definitions of one port are; "" if they go together."""
    ip, other_ip = port.get("hostIP") or "", other.get("hostIP") or ""
    host, other_host = port.get("hostPort") or 0, other.get("hostPort") or 0
    if (ip, host) == (other_ip, other_host):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    if host == other_host and bool(ip) != bool(other_ip):
        return "dangerously ambiguous"
    return ""


def _go_text(port: Document) -> str:
    """Return a port as Go prints a struct."""
    return (
        f"{{Name:{port.get('name') or ''} HostPort:{port.get('hostPort') or 0}"
        f" ContainerPort:{port.get('containerPort') or 0} Protocol:{port.get('protocol') or ''}"
        f" HostIP:{port.get('hostIP') or ''}}}"
    )
