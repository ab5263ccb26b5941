"""The set-up without components (`--bare`): users, namespaces and what upstream creates itself.

Admission and authorization are on; there is no scheduler, no controller, and no service account
admission.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, TypedDict

from podwright.apimachinery.objects import Document, timestamp_text
from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.authorization import GROUP, bootstrap_policy, reconciled
from podwright.cluster.api.bootstrap_objects import BOOTSTRAP_OBJECTS, flow_control
from podwright.cluster.api.endpoints.access.authentication import static_tokens
from podwright.cluster.api.endpoints.served.kept_objects import (
    address_object,
    api_services,
    default_network,
)
from podwright.cluster.api.endpoints.served.server_writes import create_missing
from podwright.cluster.api.endpoints.server import ServerOptions
from podwright.cluster.api.gated_fields import COMPARISONS, SELINUX_MOUNT
from podwright.cluster.api.pipeline import bare_parts
from podwright.cluster.api.users import MASTERS, SCHEDULER_USER, User
from podwright.cluster.api.versions.resources import DEFAULT_GROUP_VERSIONS, GATED_RESOURCES
from podwright.cluster.store import ObjectStore

BARE_TOKENS: Final = {
    "admin-token": User("admin", "admin-uid", (MASTERS,)),
    "alice-token": User("alice", "alice-uid", ("dev",)),
    "sched-token": User(SCHEDULER_USER),
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


_FLOW_CONTROL: Final = "api-priority-and-fairness-config-"
_NETWORK_CONTROLLER: Final = "kubernetes-service-cidr-controller"


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


OFF_BY_DEFAULT: Final = frozenset(GATED_RESOURCES) | {
    COMPARISONS,
    SELINUX_MOUNT,
    "ClusterTrustBundleProjection",
    "CrossNamespaceVolumeDataSource",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAWorkloadResourceClaims",
    "TopologyAwareWorkloadScheduling",
    "VolumeLimitScaling",
    "WorkloadAwarePreemption",
    "WorkloadWithJob",
}
"""The feature gates with effects here that kube-apiserver has off by default."""


def bare_store(
    now_ns: int,
    *,
    seed: int = 0,
    store: ObjectStore | None = None,
    disabled_gates: frozenset[str] = OFF_BY_DEFAULT,
) -> ObjectStore:
    """Return a store with the objects that the server of the recordings had at its start.

    Parameters
    ----------
    now_ns : int
        The time of the start.
    seed : int
        The seed of a store in memory.
    store : ObjectStore, optional
        A store in a file, opened with `HISTORY`; one that has objects is returned as it is.
    disabled_gates : frozenset of str
        The feature gates that are off.
    """
    if store is None:
        store = ObjectStore(seed=seed, **HISTORY)
    if store.kinds():
        return store
    add_missing_objects(store, now_ns, RECORDED_POLICY, disabled_gates=disabled_gates)
    return store


def add_missing_objects(
    store: ObjectStore,
    now_ns: int,
    more: Iterable[Document] = (),
    *,
    group_versions: Iterable[str] = DEFAULT_GROUP_VERSIONS,
    disabled_gates: frozenset[str] = OFF_BY_DEFAULT,
) -> None:
    """Create the objects that an API server creates at its start, and more, unless they exist.

    Existing roles and bindings of the policy get what they lack.

    Parameters
    ----------
    group_versions : iterable of str
        What the server serves.
    disabled_gates : frozenset of str
        The feature gates that are off.
    """
    tracking = TOKEN_TRACKING | {"data": {"since": timestamp_text(now_ns)[:10]}}
    store.advance(now_ns)
    parts = bare_parts(store)
    levels, schemas = flow_control(now_ns)
    policy = bootstrap_policy(disabled_gates)
    with store.batch():
        create_missing(parts, (*BOOTSTRAP_OBJECTS, KUBERNETES_SERVICE, tracking), now_ns)
        create_missing(parts, (*policy, *more), now_ns, reconciled=reconciled)
        address, metadata = KUBERNETES_SERVICE["spec"]["clusterIP"], KUBERNETES_SERVICE["metadata"]
        own = address_object(address, metadata["namespace"], metadata["name"])
        create_missing(parts, (own, *api_services(group_versions, now_ns)), now_ns)
        create_missing(parts, levels, now_ns, manager=f"{_FLOW_CONTROL}producer-v1")
        create_missing(
            parts,
            schemas,
            now_ns,
            manager=f"{_FLOW_CONTROL}producer-v1",
            status_manager=f"{_FLOW_CONTROL}consumer-v1",
        )
        network = default_network(now_ns)
        create_missing(parts, (network,), now_ns, status_manager=_NETWORK_CONTROLLER)


def bare_options() -> ServerOptions:
    """Return the options of a server in this set-up."""
    # The warning that webhooks are not called is none of upstream's.
    admission = partial(default_plugins, disabled=("ValidatingAdmissionWebhook",))
    return ServerOptions(
        tokens=(static_tokens(BARE_TOKENS),),
        admission=admission,
        disabled_gates=OFF_BY_DEFAULT,
    )
