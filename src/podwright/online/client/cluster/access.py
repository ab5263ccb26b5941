"""How a cluster is reached: its address, credentials and TLS, from a kubeconfig.

kubernetes_asyncio reads kubeconfigs (merged from several files, with contexts, exec plugins, token
files, certificates and proxies) and the service account of a pod; see
docs/decisions/0032-cluster-connection.md. Nothing else of the library is used, and a kubeconfig is
never written.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from kubernetes_asyncio import client, config

from podwright.apimachinery.objects import YamlError, nearest, quoted
from podwright.online.client.cluster.errors import ConnectionSettingsError
from podwright.online.client.cluster_connection import kubeconfig_document

# The library logs what it raises; the error says it once.
logging.getLogger("kubernetes_asyncio").setLevel(logging.CRITICAL)

_DEFAULT: Final = Path("~/.kube/config")
_DEFAULT_NAMESPACE: Final = "default"
_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ClusterAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that a command line names.

    Attributes
    ----------
    kubeconfig : str
        Files, separated as in $KUBECONFIG; "" for those of $KUBECONFIG, then ~/.kube/config, then
        the service account of the pod.
    context : str
        "" for the current context.
    server : str
        An address instead of that of the kubeconfig, such as that of `kubectl proxy`; without a
        kubeconfig, no credentials are sent.
    environment : mapping of str to str
        The environment variables that are read.
    """

    kubeconfig: str = ""
    context: str = ""
    server: str = ""
    environment: Mapping[str, str] = {}

    @property
    def files(self) -> str:
        """The kubeconfigs that are read; "" if there is none."""
        named = self.kubeconfig or self.environment.get("KUBECONFIG", "")
        if named or self.server:
            return named
        return str(_DEFAULT.expanduser()) if _DEFAULT.expanduser().is_file() else ""

    @property
    def is_in_pod(self) -> bool:
        """Whether the service account of the pod is used."""
        return not self.files and not self.server


class Access(msgspec.Struct, frozen=True):
    """A loaded configuration of kubernetes_asyncio.

    Attributes
    ----------
    configuration : kubernetes_asyncio.client.Configuration
        Address, certificates and proxy.
    authorization : str
        The header; "" for none.
    name : str
        The cluster in messages, such as `context "prod"`.
    """

    configuration: Any
    authorization: str
    name: str

    @property
    def server(self) -> str:
        """The address, without a slash at the end."""
        return str(self.configuration.host).rstrip("/")

    @property
    def tls(self) -> tuple[str | None, ...]:
        """What a connection depends on besides the header."""
        found = self.configuration
        return (found.host, found.ssl_ca_cert, found.cert_file, found.key_file, found.proxy)


async def load_access(address: ClusterAddress) -> Access:
    """Load the access to a cluster; exec plugins run, and token files are read again.

    Raises
    ------
    ConnectionSettingsError
        The kubeconfig or its credentials cannot be used.
    """
    configuration = client.Configuration()
    # The default is 127.0.0.1:80, which the kubeconfig replaces.
    name = await _load(address, configuration)
    header = await configuration.get_api_key_with_prefix("BearerToken") or ""
    if address.server:
        configuration.host = address.server
        name = address.server
    if not str(configuration.host).startswith(("http://", "https://")):
        raise ConnectionSettingsError(
            f"{name}: the server {quoted(configuration.host)} must be http://HOST:PORT or "
            "https://HOST:PORT"
        )
    return Access(configuration, " ".join(str(header).split()), name)


def namespace_of(address: ClusterAddress) -> str:
    """Return the namespace of the context; `default` if it has none.

    Raises
    ------
    ConnectionSettingsError
    """
    files = address.files
    if not files:
        return _DEFAULT_NAMESPACE
    name = address.context or _checked_context(files)
    for each in filter(None, files.split(os.pathsep)):
        path = Path(each).expanduser()
        contexts = (_document(path).get("contexts") or ()) if path.exists() else ()
        for context in contexts:
            if context.get("name") == name:
                return str((context.get("context") or {}).get("namespace") or _DEFAULT_NAMESPACE)
    return _DEFAULT_NAMESPACE


async def _load(address: ClusterAddress, configuration: Any) -> str:
    if address.is_in_pod:
        _load_service_account(configuration, address.environment)
        return "the cluster of this pod"
    files = address.files
    if not files:
        return address.server
    context = address.context or _checked_context(files)
    if address.context:
        _check_named(files, address.context)
    try:
        await config.load_kube_config(
            files, context, client_configuration=configuration, persist_config=False
        )
    except config.ConfigException as error:
        raise ConnectionSettingsError(f"{files}: context {quoted(context)}: {error}") from error
    except OSError as error:
        raise ConnectionSettingsError(
            f"{files}: context {quoted(context)}: {error.strerror or error}: {error.filename}; "
            "install the credential plugin, or correct the path in the kubeconfig"
        ) from error
    # The library asserts types, and YAML tags such as !!timestamp make it fail otherwise.
    except (AssertionError, KeyError, TypeError, AttributeError, ValueError) as error:
        reason = str(error) or "a field has a wrong type"
        raise ConnectionSettingsError(
            f"{files}: context {quoted(context)} is not usable: {reason}"
        ) from error
    return f"context {quoted(context)}"


def _load_service_account(configuration: Any, environment: Mapping[str, str]) -> None:
    try:
        config.load_incluster_config(
            client_configuration=configuration,
            token_filename=_SERVICE_ACCOUNT / "token",
            cert_filename=str(_SERVICE_ACCOUNT / "ca.crt"),
            environ=dict(environment),
        )
    except config.ConfigException as error:
        raise ConnectionSettingsError(
            "no kubeconfig: set $KUBECONFIG to the path of one, or create "
            f"{_DEFAULT}; this process is not in a pod with a service account either"
        ) from error


def _checked_context(files: str) -> str:
    """Return the current context."""
    current, _ = _contexts(files)
    if not current:
        raise ConnectionSettingsError(
            f"{files}: there is no current context; set one with: kubectl config use-context NAME"
        )
    _check_named(files, current)
    return current


def _check_named(files: str, context: str) -> None:
    _, names = _contexts(files)
    if context in names:
        return
    near = nearest(context, names)
    hint = f"did you mean {quoted(near)}?" if near else f"there are: {', '.join(names) or 'none'}"
    raise ConnectionSettingsError(f"{files}: context {quoted(context)} does not exist; {hint}")


def _contexts(files: str) -> tuple[str, list[str]]:
    """Return the current context, of the first file that has one, and the names of all."""
    current, names, absent = "", [], []
    for each in filter(None, files.split(os.pathsep)):
        path = Path(each).expanduser()
        if not path.exists():
            absent.append(each)
            continue
        document = _document(path)
        current = current or str(document.get("current-context") or "")
        for context in document.get("contexts") or ():
            if not isinstance(context, dict) or not isinstance(context.get("name"), str):
                raise ConnectionSettingsError(f"{path}: contexts: each needs a name")
            names.append(context["name"])
    if absent and not names and not current:
        raise ConnectionSettingsError(
            f"{', '.join(absent)}: there is no such kubeconfig; correct its path, or set "
            "$KUBECONFIG to that of another"
        )
    return current, names


def _document(path: Path) -> dict[str, Any]:
    try:
        document = kubeconfig_document(path)
    except (OSError, UnicodeDecodeError, YamlError) as error:
        text = " ".join(str(error).split())
        raise ConnectionSettingsError(f"{path}: the kubeconfig cannot be read: {text}") from error
    if not isinstance(document, dict) or not isinstance(document.get("contexts") or [], list):
        raise ConnectionSettingsError(
            f"{path}: this is not a kubeconfig: clusters, contexts and users are expected"
        )
    return document
