"""The kubeconfig of a cluster: a separate file, readable by its owner only."""

from __future__ import annotations

import base64
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from podwright._private_files import make_private_folder, write_private
from podwright.apimachinery.objects import PodwrightError, write_yaml

CONTEXT: Final = "podwright"
_COMMENT: Final = "# Written by `podwright up`; replaced at its next start.\n"


class KubeconfigError(PodwrightError):
    """A kubeconfig that cannot be written; the text says why."""


class TlsData(msgspec.Struct, frozen=True, kw_only=True):
    """What a client needs for TLS, in PEM.

    Attributes
    ----------
    authority : bytes
        The certificates that the client trusts.
    certificate, key : bytes
        The client's own; empty without one.
    server_name : str
        The name in the server's certificate, if it is not that of the address.
    """

    authority: bytes
    certificate: bytes = b""
    key: bytes = b""
    server_name: str = ""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""


class _Entries(msgspec.Struct, frozen=True, kw_only=True):
    """The names in a kubeconfig; kubectl writes null for an empty list."""

    clusters: list[_Entry] | None = None
    contexts: list[_Entry] | None = None
    users: list[_Entry] | None = None


def kubeconfig(server: str, token: str, tls: TlsData | None = None) -> dict[str, Any]:
    """Return the kubeconfig of a server.

    Parameters
    ----------
    server : str
        The address, such as `http://127.0.0.1:8180`.
    token : str
        The bearer token of the user.
    tls : TlsData, optional
        For a server with TLS.
    """
    cluster = {"server": server}
    user = {"token": token}
    if tls is not None:
        cluster["certificate-authority-data"] = _base64(tls.authority)
        if tls.server_name:
            cluster["tls-server-name"] = tls.server_name
        if tls.certificate:
            user["client-certificate-data"] = _base64(tls.certificate)
            user["client-key-data"] = _base64(tls.key)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        "current-context": CONTEXT,
    }


def check_kubeconfig(path: Path) -> None:
    """Check that a kubeconfig can replace the file of this name, without a change to it.

    Raises
    ------
    KubeconfigError
        The file was written by something else, or cannot be read.
    """
    try:
        is_foreign = path.exists() and not _is_own(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _unwritable(path, error) from error
    if is_foreign:
        raise KubeconfigError(
            f"{path}: the file exists and was not written by podwright; name another one with"
            " --kubeconfig"
        )


def _is_own(text: str) -> bool:
    """Whether podwright wrote a kubeconfig, or kubectl changed one that podwright wrote.

    kubectl drops the comment, for example when it sets the namespace of the context.
    """
    if text.startswith(_COMMENT):
        return True
    try:
        found = msgspec.yaml.decode(text, type=_Entries)
    except msgspec.MsgspecError:
        return False
    lists = (found.clusters, found.contexts, found.users)
    return {each.name for entries in lists for each in entries or ()} == {CONTEXT}


def write_kubeconfig(path: Path, document: dict[str, Any]) -> None:
    """Write a kubeconfig; a file that podwright did not write is not replaced.

    Raises
    ------
    KubeconfigError
        The file was written by something else, or cannot be written.
    """
    check_kubeconfig(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        make_private_folder(path.parent)
        partial.unlink(missing_ok=True)
        text = _COMMENT + write_yaml(document)
        write_private(partial, text.encode())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError | UnicodeDecodeError) -> KubeconfigError:
    reason = getattr(error, "strerror", None) or error
    return KubeconfigError(f"{path}: the kubeconfig cannot be written: {reason}")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
