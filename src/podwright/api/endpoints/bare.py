"""The set-up without components (`--bare`): users, namespaces and what upstream creates itself.

Admission and authorization are on; there is no scheduler, no controller, and no service account
admission.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, TypedDict

from podwright.api.admission import default_plugins
from podwright.api.authorization import GROUP, bootstrap_policy
from podwright.api.bootstrap_objects import BOOTSTRAP_OBJECTS
from podwright.api.endpoints.authentication import static_tokens
from podwright.api.endpoints.server import ServerOptions
from podwright.api.endpoints.server_writes import with_server_as_owner
from podwright.api.resource_storage import ResourceStorage
from podwright.api.users import MASTERS, User
from podwright.objects import Document, timestamp_text
from podwright.schema import built_in, decode
from podwright.store import ObjectStore, kind_of

BARE_TOKENS: Final = {
    "admin-token": User("admin", "admin-uid", (MASTERS,)),
    "alice-token": User("alice", "alice-uid", ("dev",)),
    "sched-token": User("system:kube-scheduler"),
}
"""The users of the set-up, by bearer token."""

KUBERNETES_SERVICE: Final[Document] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    },
    "status": {"loadBalancer": {}},
}
"""The Service of the API itself, which upstream creates at its start."""


TOKEN_TRACKING: Final[Document] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "kube-apiserver-legacy-service-account-token-tracking",
        "namespace": "kube-system",
    },
}
"""Since when upstream tracks the use of old tokens; its data has the day of the first start.

Upstream: pkg/controlplane/controller/legacytokentracking/controller.go
"""


_ROLE: Final = "system:openshift:public-info-viewer"
_EVERYBODY: Final = ("system:authenticated", "system:unauthenticated")

RECORDED_POLICY: Final[tuple[Document, ...]] = (
    {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": _ROLE},
        "rules": [{"verbs": ["get"], "nonResourceURLs": ["/.well-known", "/.well-known/*"]}],
    },
    {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _ROLE},
        "subjects": [{"kind": "Group", "apiGroup": GROUP, "name": each} for each in _EVERYBODY],
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": _ROLE},
    },
)
"""What the server of the recordings, a downstream build, has besides upstream's policy."""


class HistoryLimits(TypedDict):
    """How much history a store keeps: options of `ObjectStore` and `open_store`."""

    window: int
    window_ns: int
    window_bytes: int


HISTORY: Final[HistoryLimits] = {
    "window": 50_000,
    "window_ns": 300 * 1_000_000_000,
    "window_bytes": 128 * 1024 * 1024,
}
"""The history of an API server: five minutes, as upstream compacts etcd, and bounded in size.

A change of a small object, such as the renewal of a lease, takes several times as much memory as
its JSON, so the number of changes is bounded as well.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/storagebackend/config.go
"""


def bare_store(now_ns: int, *, seed: int = 0, store: ObjectStore | None = None) -> ObjectStore:
    """Return a store with the objects that the server of the recordings had at its start.

    Parameters
    ----------
    now_ns : int
        The time of the start.
    seed : int
        The seed of a store in memory.
    store : ObjectStore, optional
        A store in a file, opened with `HISTORY`; one that has objects is returned as it is.
    """
    if store is None:
        store = ObjectStore(seed=seed, **HISTORY)
    if store.kinds():
        return store
    add_missing_objects(store, now_ns, RECORDED_POLICY)
    return store


def add_missing_objects(store: ObjectStore, now_ns: int, more: Iterable[Document] = ()) -> None:
    """Create the objects that an API server creates at its start, and more, unless they exist."""
    tracking = TOKEN_TRACKING | {"data": {"since": timestamp_text(now_ns)[:10]}}
    store.advance(now_ns)
    with store.batch():
        _create_missing(
            store,
            (*BOOTSTRAP_OBJECTS, KUBERNETES_SERVICE, tracking, *bootstrap_policy(), *more),
            now_ns,
        )


def _create_missing(store: ObjectStore, documents: Iterable[Document], now_ns: int) -> None:
    storage = ResourceStorage(store)
    for document in documents:
        kind = built_in().find(document["apiVersion"], document["kind"])
        assert kind is not None, f"no kind {document['kind']}"
        whole = kind.go_form(document)
        obj = decode(whole)
        if store.get(kind_of(obj), obj.key) is None:
            storage.create(decode(with_server_as_owner(kind, None, whole, now_ns)), now_ns)


def bare_options() -> ServerOptions:
    """Return the options of a server in this set-up."""
    # The warning that webhooks are not called is none of upstream's.
    admission = partial(default_plugins, disabled=("ValidatingAdmissionWebhook",))
    return ServerOptions(tokens=(static_tokens(BARE_TOKENS),), admission=admission)
