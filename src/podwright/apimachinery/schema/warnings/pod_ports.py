"""Warnings about the ports of the containers of a pod.

Upstream: pkg/api/pod/warnings.go, warningsForPodSpecAndMeta
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import chain, islice
from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import printed
from podwright.apimachinery.schema.warnings import WARNINGS_MAX


def port_warnings(containers: Sequence[tuple[str, Document]]) -> list[str]:
    """Return the warnings about ports that repeat or contradict others.

    Parameters
    ----------
    containers : sequence of pairs
        The path and the document of each container.
    """
    ports = [
        (f"{path}.ports[{index}]", port)
        for path, container in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    if len(ports) == 1 and not ports[0][1].get("hostIP"):
        return []
    return list(islice(chain(_definitions(ports), _names(ports)), WARNINGS_MAX)) if ports else []


def _definitions(ports: Sequence[tuple[str, Document]]) -> Iterator[str]:
    """Yield the warnings about ports that others define, too."""
    defined: dict[tuple[Any, Any], _Definitions] = {}
    for path, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {_go_text(port)}"
        key = (port.get("containerPort"), port.get("protocol"))
        others = defined.setdefault(key, _Definitions())
        for other_path, other in others.related(port):
            if word := _relation(port, other):
                yield f"{path}: {word} port definition with {other_path}"
        others.add(path, port)


class _Definitions:
    """The definitions of one port, in order; those of one host port apart."""

    def __init__(self) -> None:
        self._all: list[tuple[str, Document]] = []
        self._of_host: dict[int, dict[str, list[int]]] = {}

    def add(self, path: str, port: Document) -> None:
        of_host = self._of_host.setdefault(port.get("hostPort") or 0, {})
        of_host.setdefault(port.get("hostIP") or "", []).append(len(self._all))
        self._all.append((path, port))

    def related(self, port: Document) -> Iterator[tuple[str, Document]]:
        """Return the definitions that may have a relation with a port."""
        host, ip = port.get("hostPort") or 0, port.get("hostIP") or ""
        if not host:
            return iter(self._all)
        of_host = self._of_host.get(host, {})
        # Definitions with other addresses of the host go together.
        same_host = of_host.values() if not ip else (of_host.get(each, ()) for each in ("", ip))
        without_host = self._of_host.get(0, {}).values()
        return (self._all[place] for place in merge(*same_host, *without_host))


def _names(ports: Sequence[tuple[str, Document]]) -> Iterator[str]:
    """Yield the warnings about names that several ports have."""
    named: dict[str, str] = {}
    for path, port in ports:
        if not (name := port.get("name")):
            continue
        if name in named:
            other_path = named[name]
            yield (
                f"{path}: duplicate port name {printed(name)} with {other_path}, services and"
                f" probes that select ports by name will use {other_path}"
            )
        else:
            named[name] = path


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
