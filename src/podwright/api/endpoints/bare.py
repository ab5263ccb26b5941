"""The set-up without components (`--bare`): users, namespaces and what upstream creates itself.

Admission and authorization are on; there is no scheduler, no controller, and no service account
admission.
"""

from __future__ import annotations

from typing import Final

from podwright.api.bootstrap_objects import BOOTSTRAP_OBJECTS
from podwright.api.endpoints.authentication import MASTERS, static_tokens
from podwright.api.endpoints.request import User
from podwright.api.endpoints.server import ServerOptions
from podwright.api.resource_storage import ResourceStorage
from podwright.objects import Document, timestamp_text
from podwright.schema import built_in, decode
from podwright.store import ObjectStore

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


def bare_store(now_ns: int, *, seed: int = 0) -> ObjectStore:
    """Return a store with the objects that an API server creates at its first start."""
    store = ObjectStore(seed=seed)
    storage = ResourceStorage(store)
    tracking = TOKEN_TRACKING | {"data": {"since": timestamp_text(now_ns)[:10]}}
    for document in (*BOOTSTRAP_OBJECTS, KUBERNETES_SERVICE, tracking):
        kind = built_in().find(document["apiVersion"], document["kind"])
        assert kind is not None, f"no kind {document['kind']}"
        storage.create(decode(kind.go_form(document)), now_ns)
    return store


def bare_options() -> ServerOptions:
    """Return the options of a server in this set-up."""
    return ServerOptions(tokens=(static_tokens(BARE_TOKENS),))
