"""The version of a server and what a difference to podwright's means; the identity of a cluster."""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.online.client.cluster.errors import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.read_connection import ReadConnection

_OWN_ENDPOINTS: Final = "/api/v1/namespaces/default/endpoints/kubernetes"


class ServerVersion(msgspec.Struct, frozen=True):
    """The version of an API server.

    Attributes
    ----------
    text : str
        Such as v1.36.0.
    minor : int
    """

    text: str
    minor: int

    def warning(self, supported: str) -> str:
        """Return what to know about another version than podwright's; "" for the same.

        Parameters
        ----------
        supported : str
            The release that podwright follows, such as v1.36.0.
        """
        ours = _minor(supported)
        if self.minor == ours:
            return ""
        if self.minor > ours:
            effect = "fields and kinds that are newer are kept, and have no effect"
        else:
            effect = "kinds that it does not serve are left out"
        return (
            f"the server runs {self.text}, and podwright follows {supported}: {effect}; compare "
            "the decisions before you rely on them"
        )


class _Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    git_version: str


async def server_version(connection: ReadConnection) -> ServerVersion:
    """Return the version of the server.

    Raises
    ------
    UnreachableCluster
        It cannot be reached, or is not a Kubernetes API server.
    RejectedRequest
    """
    other_server = UnreachableCluster(
        f"{connection.access.server} is not a Kubernetes API server: it has no /version",
        "check its address in the command line or the kubeconfig",
        is_passing=False,
    )
    try:
        found = msgspec.json.decode(await connection.get("/version"), type=_Version)
        return ServerVersion(found.git_version, _minor(found.git_version))
    except (msgspec.DecodeError, ValueError, IndexError) as error:
        raise other_server from error
    except RejectedRequest as error:
        if error.status == 404:
            raise other_server from error
        raise


class _NamespaceMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str
    creation_timestamp: str


class _Namespace(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _NamespaceMeta


async def cluster_identity(connection: ReadConnection) -> str:
    """Return what identifies a cluster at all its addresses: uid and age of kube-system.

    The uid alone is not enough: clusters of `podwright up` with one seed have the same uids.

    Raises
    ------
    UnreachableCluster, RejectedRequest
    """
    body = await connection.get("/api/v1/namespaces/kube-system")
    try:
        found = msgspec.json.decode(body, type=_Namespace).metadata
    except msgspec.DecodeError as error:
        raise UnreachableCluster(
            f"{connection.access.server} is not a Kubernetes API server: its namespace "
            "kube-system has no uid",
            "check the address in the command line or the kubeconfig",
            is_passing=False,
        ) from error
    return f"{found.uid} {found.creation_timestamp}"


async def is_same_cluster(one: ReadConnection, other: ReadConnection) -> bool:
    """Whether two connections lead to the same cluster, also by different addresses.

    Clusters of `podwright up` that were started in the same second have the same identity; they
    differ in the address that the Service `kubernetes` leads to.

    Raises
    ------
    UnreachableCluster, RejectedRequest
    """
    if await cluster_identity(one) != await cluster_identity(other):
        return False
    subsets = []
    for connection in (one, other):
        try:
            body = await connection.get(_OWN_ENDPOINTS)
        except RejectedRequest:
            return True  # there is no right to read it: the identity decides
        subsets.append(msgspec.json.decode(body).get("subsets"))
    return bool(subsets[0] == subsets[1])


def _minor(text: str) -> int:
    return int(text.removeprefix("v").split(".")[1])
