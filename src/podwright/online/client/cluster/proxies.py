"""The proxy by which a server is reached.

Upstream: vendor/golang.org/x/net/http/httpproxy/proxy.go;
staging/src/k8s.io/apimachinery/pkg/util/net/http.go, `NewProxierWithNoProxyCIDR`
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from podwright.apimachinery.objects import quoted
from podwright.online.client.kubeconfig import ConnectionSettingsError

_PORTS = {"http": 80, "https": 443}


def proxy_of(server: str, environment: Mapping[str, str]) -> str:
    """Return the proxy of the environment variables for a server; "" without one.

    A server of this machine has none.
    """
    url = urlsplit(server)
    name = f"{url.scheme}_proxy"
    found = environment.get(name.upper()) or environment.get(name, "")
    bypassed = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    host = url.hostname or ""
    if not found or is_local(server):
        return ""
    port = url.port or _PORTS[url.scheme]
    if any(_matches(each.strip().lower(), host, port) for each in bypassed.split(",")):
        return ""
    return found if "://" in found else f"http://{found}"


def checked_proxy(proxy: str) -> str:
    """Return the address of a proxy that can be used; "" for none.

    Raises
    ------
    ConnectionSettingsError
    """
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise ConnectionSettingsError(
            f"the proxy {quoted(proxy)} must be http://HOST:PORT or https://HOST:PORT"
        )
    return proxy


def is_local(server: str) -> bool:
    """Whether a server is on this machine."""
    host = urlsplit(server).hostname or ""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def _matches(pattern: str, host: str, port: int) -> bool:
    """Whether an entry of $NO_PROXY names a host.

    Upstream: vendor/golang.org/x/net/http/httpproxy/proxy.go, init
    """
    if pattern == "*":
        return True
    _, slash, length = pattern.partition("/")
    if not slash or length.isdecimal():  # Go reads no mask such as 255.0.0.0
        with contextlib.suppress(ValueError):  # a network, or an address
            return ip_address(host) in ip_network(pattern, strict=False)
    name, colon, number = pattern.rpartition(":")
    if colon and (not number or number.isdecimal()):
        if number and int(number) != port:
            return False
        pattern = name.strip("[]")
    if pattern.startswith("*."):
        pattern = pattern[1:]
    return host.endswith(pattern) if pattern.startswith(".") else _is_within(host, pattern)


def _is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
