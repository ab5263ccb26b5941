"""Kubeconfigs as data: several files as one, and the cluster and the user of a context.

A kubeconfig is never written.

Upstream: staging/src/k8s.io/client-go/tools/clientcmd/loader.go, client_config.go, validation.go
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    PodwrightError,
    YamlError,
    decoding_problem,
    nearest,
    quoted,
    read_yaml,
)


class ConnectionSettingsError(PodwrightError):
    """A kubeconfig that cannot be used: the file, the context or the credentials are wrong."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A part of a kubeconfig; unknown fields are ignored."""


class Cluster(_Part, frozen=True, kw_only=True):
    """How a server is reached."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    extensions: Sequence[Mapping[str, Any]] = ()


class Variable(msgspec.Struct, frozen=True):
    """An environment variable of a plugin."""

    name: str
    value: str = ""


class Exec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plugin that returns credentials."""

    command: str = ""
    args: Sequence[str] = ()
    env: Sequence[Variable] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class AuthProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider of tokens that clients know by its name."""

    name: str = ""
    config: Mapping[str, str] = {}


class User(_Part, frozen=True, kw_only=True):
    """Who sends requests."""

    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    impersonated: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: Sequence[str] = ()
    as_user_extra: Mapping[str, Sequence[str]] = {}
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None

    @property
    def plugin(self) -> Exec | None:
        """The plugin, which does not run for a user with other credentials."""
        others = (self.token, self.token_file, self.username, self.password, self.auth_provider)
        has_certificate = self.client_certificate or self.client_certificate_data
        return None if has_certificate or any(others) else self.exec


class Context(_Part, frozen=True, kw_only=True):
    """A cluster and a user by their names."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    context: Context = Context()


class _File(_Part, frozen=True, kw_only=True):
    clusters: Sequence[_NamedCluster] = ()
    users: Sequence[_NamedUser] = ()
    contexts: Sequence[_NamedContext] = ()
    current_context: str = ""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a context of a kubeconfig names.

    Attributes
    ----------
    context : str
        Its name.
    namespace : str
        "" for none.
    cluster : Cluster
        Its paths are absolute, as are those of the user.
    user : User
    """

    context: str
    namespace: str
    cluster: Cluster
    user: User


def choose(files: str, context: str = "") -> Choice:
    """Return what a context names.

    Parameters
    ----------
    files : str
        Paths, separated as in $KUBECONFIG. The first file that has a name decides what it means.
    context : str, optional
        The current context if left out.

    Raises
    ------
    ConnectionSettingsError
        A file cannot be read, or the context cannot be used.
    """
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    for path, found in _read_all(files):
        base = path.parent.absolute()
        for cluster in found.clusters:
            clusters.setdefault(cluster.name, _absolute(cluster.cluster, base, _CLUSTER_PATHS))
        for user in found.users:
            users.setdefault(user.name, _absolute_user(user.user, base))
        for each in found.contexts:
            contexts.setdefault(each.name, each.context)
        context = context or found.current_context
    if not context:
        raise ConnectionSettingsError(
            f"{files}: there is no current context; set one with: kubectl config use-context NAME"
        )
    chosen = _named(contexts, context, f"{files}: context")
    where = f"{files}: context {quoted(context)}"
    if not chosen.cluster:
        raise ConnectionSettingsError(f"{where} names no cluster")
    cluster_of = _named(clusters, chosen.cluster, f"{where}: cluster")
    # A context without a user is that of an anonymous one.
    user_of = _named(users, chosen.user, f"{where}: user") if chosen.user else User()
    for problem in (*_cluster_problems(cluster_of, chosen.cluster), *_user_problems(user_of)):
        raise ConnectionSettingsError(f"{where}: {problem}")
    return Choice(context=context, namespace=chosen.namespace, cluster=cluster_of, user=user_of)


def _named(found: Mapping[str, Any], name: str, what: str) -> Any:
    if name in found:
        return found[name]
    near = nearest(name, list(found))
    hint = f"did you mean {quoted(near)}?" if near else f"available: {', '.join(found) or 'none'}"
    raise ConnectionSettingsError(f"{what} {quoted(name)} does not exist; {hint}")


def _cluster_problems(cluster: Cluster, name: str) -> Sequence[str]:
    if not cluster.server:
        return (f"cluster {quoted(name)} has no server",)
    if cluster.insecure_skip_tls_verify and (
        cluster.certificate_authority or cluster.certificate_authority_data
    ):
        return (
            f"cluster {quoted(name)} has a certificate authority and insecure-skip-tls-verify; "
            "remove one of them",
        )
    return _given_twice(cluster, "certificate-authority")


def _user_problems(user: User) -> Sequence[str]:
    twice = (*_given_twice(user, "client-certificate"), *_given_twice(user, "client-key"))
    if twice:
        return twice
    if user.token and (user.username or user.password):
        return ("the user has a token and a name or password; remove one of them",)
    has_certificate = user.client_certificate or user.client_certificate_data
    if has_certificate and not (user.client_key or user.client_key_data):
        return ("client-certificate needs client-key or client-key-data",)
    if (user.as_uid or user.as_groups or user.as_user_extra) and not user.impersonated:
        return ("as-uid, as-groups and as-user-extra need a user in the field as",)
    return ()


def _given_twice(part: Cluster | User, field: str) -> Sequence[str]:
    """Return the problem of a file whose contents are given as well.

    Notes
    -----
    Upstream: staging/src/k8s.io/client-go/tools/clientcmd/validation.go, validateAuthInfo,
    validateClusterInfo
    """
    name = field.replace("-", "_")
    is_twice = getattr(part, name) and getattr(part, f"{name}_data")
    return (f"{field} and {field}-data: specify one of them, not both",) if is_twice else ()


_CLUSTER_PATHS = ("certificate_authority",)
_USER_PATHS = ("client_certificate", "client_key", "token_file")


def _absolute(part: Any, base: Path, names: Sequence[str]) -> Any:
    """Resolve paths as relative to the folder of their kubeconfig."""
    paths = {name: getattr(part, name) for name in names}
    return msgspec.structs.replace(
        part, **{name: str(base / path) for name, path in paths.items() if path}
    )


def _absolute_user(user: User, base: Path) -> User:
    plugin = user.exec
    if plugin is not None and os.sep in plugin.command:  # others are looked up in $PATH
        user = msgspec.structs.replace(user, exec=_absolute(plugin, base, ("command",)))
    found: User = _absolute(user, base, _USER_PATHS)
    return found


def _read_all(files: str) -> list[tuple[Path, _File]]:
    """Return the files that exist; at least one has to."""
    found, absent = [], []
    for each in filter(None, files.split(os.pathsep)):
        path = Path(each).expanduser()
        if path.exists():
            found.append((path, _read(path)))
        else:
            absent.append(each)
    if not found:
        raise ConnectionSettingsError(
            f"{', '.join(absent)}: there is no such kubeconfig; correct its path, or set "
            "$KUBECONFIG to that of another"
        )
    return found


def _read(path: Path) -> _File:
    try:
        documents = read_yaml(path.read_text(encoding="utf-8"), allow_duplicates=True)
        document = next((each.value for each in documents), None)
    except (OSError, UnicodeDecodeError, YamlError) as error:
        text = " ".join(str(error).split())
        raise ConnectionSettingsError(f"{path}: the kubeconfig cannot be read: {text}") from error
    try:
        return msgspec.convert({} if document is None else _without_nulls(document), _File)
    except msgspec.ValidationError as error:
        field, message = decoding_problem(error)
        where = f"{field}: " if field else ""
        raise ConnectionSettingsError(
            f"{path}: this is not a kubeconfig, or one with a wrong value: {where}{message}"
        ) from error


def _without_nulls(value: Any) -> Any:
    """Leave out fields that are null, and the line breaks of Base64, as Go does."""
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "".join(each.split())
        if isinstance(each, str) and str(key).endswith("-data")
        else _without_nulls(each)
        for key, each in value.items()
        if each is not None
    }


def pem_text(data: bytes) -> str:
    """Return certificates in PEM as ASCII, as `ssl` takes them: comments may have any bytes."""
    return data.decode("ascii", "backslashreplace")


def read_file(path: str) -> bytes:
    """Return the content of a file that a kubeconfig names; nothing without a path.

    Raises
    ------
    ConnectionSettingsError
    """
    try:
        return Path(path).read_bytes() if path else b""
    except OSError as error:
        raise ConnectionSettingsError(
            f"{error.strerror}: {path}; correct the path in the kubeconfig"
        ) from error
