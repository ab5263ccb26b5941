"""How a cluster is reached: its address, credentials and TLS.

They come from a kubeconfig or from the service account of a pod; see
docs/decisions/0046-own-kubeconfigs.md.

Upstream: staging/src/k8s.io/client-go/tools/clientcmd/client_config.go;
staging/src/k8s.io/client-go/rest/config.go, `InClusterConfig`
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import msgspec

from podwright.apimachinery.objects import quoted
from podwright.online.client.cluster.exec_plugin import PluginCredentials, plugin_credentials
from podwright.online.client.cluster.proxies import checked_proxy, is_local, proxy_of
from podwright.online.client.kubeconfig import (
    AuthProvider,
    Choice,
    Cluster,
    ConnectionSettingsError,
    User,
    choose,
    read_file,
)

_DEFAULT: Final = Path("~/.kube/config")
_DEFAULT_NAMESPACE: Final = "default"
_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FOREVER: Final = float("inf")

FILE_SECONDS: Final = 60.0
"""How long the content of files is used: client-go reads token files as often."""


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


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The certificates of a connection, in PEM; empty ones for none.

    Attributes
    ----------
    authority : bytes
        None are those of the system.
    certificate, key : bytes
        Of the client.
    is_verified : bool
        Whether the server's certificate is checked.
    """

    authority: bytes = b""
    certificate: bytes = b""
    key: bytes = b""
    is_verified: bool = True


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a cluster and the credentials for it.

    Attributes
    ----------
    server : str
        Without a slash at the end.
    name : str
        The cluster in messages, such as `context "prod"`.
    context : str
        Of the kubeconfig; "" without one.
    authorization : str
        The header; "" for none.
    impersonation : sequence of (str, str)
        The headers that name the user for whom requests are sent.
    tls : TlsSettings
    server_name : str
        The name in the server's certificate; "" for that of the address.
    proxy : str
        "" for that of the environment variables.
    lifetime_seconds : float
        After how long the credentials have to be loaded again.
    plugin : PluginCredentials or None
        What a plugin returned.
    """

    server: str
    name: str
    context: str = ""
    authorization: str = ""
    impersonation: Sequence[tuple[str, str]] = ()
    tls: TlsSettings = TlsSettings()
    server_name: str = ""
    proxy: str = ""
    lifetime_seconds: float = _FOREVER
    plugin: PluginCredentials | None = None


async def load_access(address: ClusterAddress, rejected: Access | None = None) -> Access:
    """Load the access to a cluster; an exec plugin runs, and files are read.

    Parameters
    ----------
    address : ClusterAddress
    rejected : Access, optional
        The access that the server does not accept any more.

    Raises
    ------
    ConnectionSettingsError
        The kubeconfig or its credentials cannot be used.
    """
    name, choice = _chosen(address)
    cluster, user = choice.cluster, choice.user
    if not _is_address(cluster.server):
        raise ConnectionSettingsError(
            f"{name}: the server {quoted(cluster.server)} must be http://HOST:PORT or "
            "https://HOST:PORT"
        )
    if cluster.server.startswith("http:") and not is_local(cluster.server):
        user = User()  # upstream sends no credentials over plain HTTP
    try:
        plugin, seconds = None, FILE_SECONDS if user.auth_provider is None else _FOREVER
        if user.plugin is not None:
            stale = None if rejected is None else rejected.plugin
            plugin = await plugin_credentials(user.plugin, cluster, stale)
            seconds = plugin.lifetime_seconds
            user = msgspec.structs.replace(
                user,
                token=plugin.token,
                client_certificate_data=plugin.client_certificate_data.encode(),
                client_key_data=plugin.client_key_data.encode(),
            )
        header = await _authorization(user)
        impersonation = _impersonation(user)
        _check_headers(header, *(text for _, text in impersonation))
        return Access(
            server=cluster.server.rstrip("/"),
            name=name,
            context=choice.context,
            authorization=header,
            impersonation=impersonation,
            tls=_tls(cluster, user),
            server_name=cluster.tls_server_name,
            proxy=checked_proxy(cluster.proxy_url or proxy_of(cluster.server, os.environ)),
            lifetime_seconds=seconds,
            plugin=plugin,
        )
    except ConnectionSettingsError as error:
        where = f"{address.files}: {name}" if address.files else name
        raise ConnectionSettingsError(f"{where}: {error}") from error


def namespace_of(address: ClusterAddress) -> str:
    """Return the namespace of the context, or that of the pod; `default` if it has none.

    Raises
    ------
    ConnectionSettingsError
    """
    if address.files:
        return choose(address.files, address.context).namespace or _DEFAULT_NAMESPACE
    if address.server:
        return _DEFAULT_NAMESPACE
    try:
        found = (_SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        found = ""
    return address.environment.get("POD_NAMESPACE") or found or _DEFAULT_NAMESPACE


def _chosen(address: ClusterAddress) -> tuple[str, Choice]:
    """Return the name of the cluster in messages, and how it is reached."""
    if address.is_in_pod:
        return "the cluster of this pod", _service_account(address.environment)
    if address.files:
        choice = choose(address.files, address.context)
        name = f"context {quoted(choice.context)}"
    else:
        choice, name = Choice(context="", namespace="", cluster=Cluster(), user=User()), ""
    if address.server:
        # The name in the certificate is that of another address.
        cluster = msgspec.structs.replace(choice.cluster, server=address.server, tls_server_name="")
        choice, name = msgspec.structs.replace(choice, cluster=cluster), address.server
    return name, choice


def _is_address(server: str) -> bool:
    try:
        url = urlsplit(server)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # the port, or an address of IPv6
        return False


def _service_account(environment: Mapping[str, str]) -> Choice:
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    token, authority = _SERVICE_ACCOUNT / "token", _SERVICE_ACCOUNT / "ca.crt"
    if not host or not port or not token.is_file():
        raise ConnectionSettingsError(
            "no kubeconfig: set $KUBECONFIG to the path of one, or create "
            f"{_DEFAULT}; this process is not in a pod with a service account either"
        )
    cluster = Cluster(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        certificate_authority=str(authority) if authority.is_file() else "",
    )
    return Choice(context="", namespace="", cluster=cluster, user=User(token_file=str(token)))


async def _authorization(user: User) -> str:
    """Return the header."""
    if user.token or user.token_file:
        return f"Bearer {_token(user)}"
    if user.username or user.password:
        text = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return f"Basic {text}"
    return "" if user.auth_provider is None else await _provided(user.auth_provider)


def _token(user: User) -> str:
    """Return the token; one in a file may have been renewed since the kubeconfig was written."""
    token = user.token.strip()
    try:
        found = read_file(user.token_file).decode(errors="replace").strip()
    except ConnectionSettingsError:
        if token:
            return token
        raise
    if not found and not token:
        raise ConnectionSettingsError(f"the token file {user.token_file} is empty")
    return found or token


async def _provided(provider: AuthProvider) -> str:
    """Return the header of the auth provider oidc; kubernetes_asyncio renews its tokens.

    Upstream has no other provider either.
    """
    if provider.name != "oidc":
        raise ConnectionSettingsError(
            f"the auth provider {quoted(provider.name)} is not supported; use an exec plugin"
        )
    from kubernetes_asyncio import client, config

    name = "c"
    document = {
        "clusters": [{"name": name, "cluster": {"server": "http://c"}}],
        "users": [{"name": name, "user": {"auth-provider": msgspec.to_builtins(provider)}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    configuration = client.Configuration()
    try:
        await config.load_kube_config_from_dict(document, name, configuration)
        header = await configuration.get_api_key_with_prefix("BearerToken")
    except (config.ConfigException, LookupError, TypeError, ValueError, OSError) as error:
        raise ConnectionSettingsError(f"auth provider oidc: {error}") from error
    return str(header)


def _impersonation(user: User) -> Sequence[tuple[str, str]]:
    """Upstream: staging/src/k8s.io/client-go/transport/round_trippers.go."""
    if not user.impersonated:
        return ()
    return (
        ("Impersonate-User", user.impersonated),
        *((("Impersonate-Uid", user.as_uid),) if user.as_uid else ()),
        *(("Impersonate-Group", group) for group in user.as_groups),
        *(
            (f"Impersonate-Extra-{quote(key, safe=_HEADER_CHARACTERS)}", value)
            for key, values in user.as_user_extra.items()
            for value in values
        ),
    )


_HEADER_CHARACTERS: Final = "!#$&'*+^`|"


def _check_headers(*texts: str) -> None:
    if not all(text.isprintable() for text in texts):
        raise ConnectionSettingsError("the token or a name of the user has control characters")


def _tls(cluster: Cluster, user: User) -> TlsSettings:
    """Read the certificates, which are within the kubeconfig or in files."""
    if not cluster.server.startswith("https:"):
        return TlsSettings()
    return TlsSettings(
        authority=cluster.certificate_authority_data or read_file(cluster.certificate_authority),
        certificate=user.client_certificate_data or read_file(user.client_certificate),
        key=user.client_key_data or read_file(user.client_key),
        is_verified=not cluster.insecure_skip_tls_verify,
    )
