"""Credentials that a plugin of a kubeconfig returns.

Upstream: staging/src/k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import time
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import UNDECODABLE, quoted
from podwright.online.client.kubeconfig import Cluster, ConnectionSettingsError, Exec, read_file

_VERSIONS: Final = frozenset(
    {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}
)
_END_SECONDS: Final = 1.0
_CLUSTER_EXTENSION: Final = "client.authentication.k8s.io/exec"


class PluginCredentials(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a plugin returns.

    Attributes
    ----------
    token : str
        "" for none.
    client_certificate_data, client_key_data : str
        In PEM; "" for none.
    expiration_timestamp : datetime or None
        None if they do not expire.
    """

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    @property
    def lifetime_seconds(self) -> float:
        """How long they can be used from now on."""
        expiration = self.expiration_timestamp
        return float("inf") if expiration is None else expiration.timestamp() - time.time()


class _Credential(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = ""
    status: PluginCredentials | None = None


_LAST: Final[dict[tuple[bytes, bytes], PluginCredentials]] = {}


async def plugin_credentials(
    plugin: Exec, cluster: Cluster, rejected: PluginCredentials | None
) -> PluginCredentials:
    """Return the credentials of a plugin; those of its last run if they can still be used.

    All connections of a process share them, so that a login at the terminal happens once.

    Parameters
    ----------
    plugin : Exec
    cluster : Cluster
    rejected : PluginCredentials or None
        The credentials that the server does not accept.

    Raises
    ------
    ConnectionSettingsError
        The plugin cannot be run, or fails.
    """
    key = msgspec.json.encode(plugin), msgspec.json.encode(cluster)
    last = _LAST.get(key)
    if last is None or last is rejected or last.lifetime_seconds <= 0:
        _LAST[key] = await run_plugin(plugin, cluster)
    return _LAST[key]


async def run_plugin(plugin: Exec, cluster: Cluster) -> PluginCredentials:
    """Run a plugin, and return its credentials; it may write to the terminal and read from it.

    Raises
    ------
    ConnectionSettingsError
        The plugin cannot be run, or fails.
    """
    if not plugin.command:
        raise ConnectionSettingsError("exec: the plugin has no command")
    if plugin.api_version not in _VERSIONS:
        raise ConnectionSettingsError(
            f"exec: invalid apiVersion {quoted(plugin.api_version)}; supported: "
            f"{', '.join(sorted(_VERSIONS))}"
        )
    is_interactive = _is_interactive(plugin.interactive_mode)
    spec: dict[str, Any] = {"interactive": is_interactive}
    if plugin.provide_cluster_info:
        spec["cluster"] = _cluster_info(cluster)
    request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env={
                **os.environ,
                **{each.name: each.value for each in plugin.env},
                "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode(),
            },
            stdin=None if is_interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        advice = " ".join(plugin.install_hint.split()) or (
            "install the credential plugin, or correct the path in the kubeconfig"
        )
        raise ConnectionSettingsError(f"{error.strerror}: {plugin.command}; {advice}") from error
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:  # it hangs, and nobody waits for it any longer
        process.kill()
        with suppress(TimeoutError):  # its own children may keep the pipe open
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        raise
    if process.returncode:
        raise ConnectionSettingsError(
            f"exec: {plugin.command} failed with exit code {process.returncode}"
        )
    return _credentials(output, plugin)


def _credentials(output: bytes, plugin: Exec) -> PluginCredentials:
    try:
        found = msgspec.json.decode(output, type=_Credential)
    except UNDECODABLE as error:
        raise ConnectionSettingsError(
            f"exec: the output of {plugin.command} is not an ExecCredential: {error}"
        ) from error
    status = found.status
    if found.api_version != plugin.api_version:
        problem = f"returned version {quoted(found.api_version)}, not {plugin.api_version}"
    elif status is None:
        problem = "returned no status"
    elif bool(status.client_certificate_data) != bool(status.client_key_data):
        problem = "returned only a certificate or only a key, not both"
    elif not status.token and not status.client_key_data:
        problem = "returned neither a token nor a certificate"
    else:
        return status
    raise ConnectionSettingsError(f"exec: {plugin.command} {problem}")


def _is_interactive(mode: str) -> bool:
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode not in ("Never", "IfAvailable", "Always"):
        raise ConnectionSettingsError(f"exec: unknown interactiveMode {quoted(mode)}")
    if mode == "Always" and not is_terminal:
        raise ConnectionSettingsError(
            "exec: the plugin needs a terminal (interactiveMode: Always), and standard input is "
            "none"
        )
    return is_terminal and mode != "Never"


def _cluster_info(cluster: Cluster) -> dict[str, Any]:
    authority = cluster.certificate_authority_data or read_file(cluster.certificate_authority)
    found = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy_url,
        "config": next(
            (
                each.get("extension")
                for each in cluster.extensions
                if each.get("name") == _CLUSTER_EXTENSION
            ),
            None,
        ),
    }
    return {name: value for name, value in found.items() if value}
