"""Resource claims are made from templates, reserved, and freed when their pods are done."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import KubernetesObject, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, DeleteObject, RecordEvent, UpdateObject
from podwright.cluster.controllers import Lister
from podwright.cluster.controllers.devices.resource_claim import ResourceClaimController
from podwright.cluster.controllers.interface import ReportedWrite

_POD = "pod:default/a"
_NOW_NS = 0


def _pod(node: str = "n", **status: Any) -> KubernetesObject:
    claims = [{"name": "gpu", "resourceClaimName": "c"}]
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": "default", "uid": "a"},
            "spec": {
                "nodeName": node,
                "resourceClaims": claims,
                "containers": [{"name": "c", "image": "app"}],
            },
            "status": status,
        }
    )


def _claim(*users: str, is_allocated: bool = True) -> ResourceClaim:
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "d0"}
    status: dict[str, Any] = {
        "reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users]
    }
    if is_allocated:
        status["allocation"] = {"devices": {"results": [result]}}
    claim = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default", "uid": "c"},
            "spec": {},
            "status": status,
        }
    )
    assert isinstance(claim, ResourceClaim)
    return claim


class _Cluster:
    """A lister with one controller."""

    def __init__(self, *objects: KubernetesObject) -> None:
        self.lister = Lister()
        self.controller = ResourceClaimController(self.lister)
        for obj in objects:
            self.put(obj)

    def put(self, obj: KubernetesObject) -> list[str]:
        """Change an object; return the keys that are to be synced."""
        return list(self.controller.observe(self.lister.put(obj), obj))

    def reserved(self) -> list[str]:
        """Sync the pod; return the users of the claim as written, [] without a write."""
        written = self.controller.sync(_POD, _NOW_NS)
        return [
            user.name
            for action in written
            if isinstance(action, UpdateObject) and isinstance(action.obj, ResourceClaim)
            for user in action.obj.status.reserved_for
        ]


def test_an_allocated_claim_is_reserved_for_a_bound_pod() -> None:
    cluster = _Cluster(_claim("b"))
    assert cluster.put(_pod()) == [_POD]
    assert cluster.reserved() == ["b", "a"]


@pytest.mark.parametrize("first", [None, _claim(is_allocated=False)])
def test_a_bound_pod_is_visited_again_when_its_claim_is_allocated(
    first: KubernetesObject | None,
) -> None:
    cluster = _Cluster(_pod(), *(() if first is None else (first,)))
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim())
    assert cluster.reserved() == ["a"]


def test_a_pod_that_was_visited_waits_until_the_claim_is_allocated() -> None:
    cluster = _Cluster(_pod())
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim(is_allocated=False))
    assert cluster.reserved() == []
    restored = ResourceClaimController(cluster.lister)
    restored.restore(cluster.controller.state())
    cluster.controller = restored
    assert _POD in cluster.put(_claim())
    assert cluster.reserved() == ["a"]


def test_a_claim_with_256_users_is_reserved_when_one_leaves() -> None:
    users = [f"p{number}" for number in range(256)]
    cluster = _Cluster(_claim(*users), _pod())
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim(*users[1:]))
    assert cluster.reserved() == [*users[1:], "a"]


def test_a_reservation_that_is_removed_is_made_again() -> None:
    cluster = _Cluster(_pod(), _claim("a"))
    assert cluster.reserved() == []
    assert _POD in cluster.put(_claim())
    assert cluster.reserved() == ["a"]


def test_a_pod_without_a_node_reserves_nothing_and_does_not_wait() -> None:
    cluster = _Cluster(_pod(node=""), _claim(is_allocated=False))
    assert cluster.reserved() == []
    assert _POD not in cluster.put(_claim())
    assert cluster.reserved() == []


# ------------------------------------------------------------------------------ users that left


def _user(name: str, uid: str = "", **other: str) -> dict[str, Any]:
    return {"resource": "pods", "name": name, "uid": uid or name, **other}


def _used_claim(*users: dict[str, Any], owner_uid: str = "", **metadata: Any) -> ResourceClaim:
    claim = _claim().raw
    finalizers = ["resource.kubernetes.io/delete-protection"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": owner_uid, "controller": True}
    owners = {"ownerReferences": [owner]} if owner_uid else {}
    found = decode(
        {
            **claim,
            "metadata": {**claim["metadata"], "finalizers": finalizers, **owners, **metadata},
            "status": {**claim["status"], "reservedFor": list(users)},
        }
    )
    assert isinstance(found, ResourceClaim)
    return found


def _writes_of_claim(*objects: KubernetesObject) -> list[str]:
    """Sync the claim; return what is written: users that stay, `freed`, and so on."""
    found: list[str] = []
    for action in _Cluster(*objects).controller.sync("claim:default/c", _NOW_NS):
        match action:
            case UpdateObject(obj=ResourceClaim() as claim, scope="status"):
                has_devices = claim.status.allocation is not None
                users = ",".join(user.uid for user in claim.status.reserved_for)
                found.append(f"users {users}" if has_devices else "freed")
            case UpdateObject(obj=claim):
                found.append("protected" if claim.metadata.finalizers else "unprotected")
            case DeleteObject(uid=uid):
                found.append(f"deleted {uid}")
            case other:
                raise AssertionError(other)
    return found


FREED = ["freed", "unprotected"]


@pytest.mark.parametrize(
    ("claim", "pod", "writes"),
    [
        pytest.param(_used_claim(_user("a")), _pod(), [], id="its pod runs"),
        pytest.param(_used_claim(_user("a")), None, FREED, id="its pod is gone"),
        pytest.param(_used_claim(_user("a")), _pod(phase="Failed"), FREED, id="its pod has failed"),
        pytest.param(
            _used_claim(_user("a", "before")), _pod(), FREED, id="another pod has the name"
        ),
        pytest.param(
            _used_claim(_user("b"), _user("a")), _pod(), ["users a"], id="one of two is gone"
        ),
        pytest.param(
            _used_claim(_user("b", resource="jobs")), None, [], id="other users are not checked"
        ),
        pytest.param(
            _used_claim(_user("b", apiGroup="x.io")), None, [], id="nor those of other groups"
        ),
        pytest.param(
            _used_claim(deletionTimestamp="2026-01-01T00:00:00Z"), None, FREED, id="it is deleted"
        ),
        pytest.param(
            _used_claim(_user("a"), deletionTimestamp="2026-01-01T00:00:00Z"),
            _pod(),
            [],
            id="it is deleted while it is used",
        ),
        pytest.param(
            _used_claim(owner_uid="a"), _pod(phase="Succeeded"), ["deleted c"], id="made for a pod"
        ),
        pytest.param(
            _used_claim(owner_uid="before"), _pod(), ["deleted c"], id="made for an earlier pod"
        ),
        pytest.param(_used_claim(owner_uid="a"), _pod(), [], id="made for a pod that runs"),
        pytest.param(_used_claim(), _pod(phase="Succeeded"), [], id="made for no pod"),
    ],
)
def test_a_claim_is_freed_when_its_users_are_gone(
    claim: ResourceClaim, pod: KubernetesObject | None, writes: list[str]
) -> None:
    assert _writes_of_claim(claim, *([] if pod is None else [pod])) == writes


# ------------------------------------------------------------------------------------ templates


def _template(name: str = "t") -> KubernetesObject:
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"metadata": {"labels": {"of": name}}, "spec": {}},
        }
    )


def _templated_pod(**statuses: str | None) -> KubernetesObject:
    """Return a pod without a node whose status has the claims of entries, None for none."""
    written = [
        {"name": entry} | ({} if name is None else {"resourceClaimName": name})
        for entry, name in statuses.items()
    ]
    pod = _pod(node="", resourceClaimStatuses=written).raw
    entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
    return decode({**pod, "spec": {**pod["spec"], "resourceClaims": [entry]}})


def _made(**metadata: Any) -> ResourceClaim:
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    return _used_claim(owner_uid="a", annotations=annotations, **metadata)


def _writes_of_pod(*objects: KubernetesObject) -> list[Any]:
    """Sync the pod; return the labels of new claims, the names in its status, and reasons."""
    found: list[Any] = []
    for action in _Cluster(*objects).controller.sync(_POD, _NOW_NS):
        match action:
            case ReportedWrite(request=CreateObject(obj=claim)):
                found.append(claim.metadata.labels)
            case UpdateObject(obj=pod):
                statuses = pod.raw["status"]["resourceClaimStatuses"]
                found.append([each["resourceClaimName"] for each in statuses])
            case RecordEvent(reason=reason):
                found.append(reason)
            case other:
                raise AssertionError(other)
    return found


@pytest.mark.parametrize(
    ("objects", "writes"),
    [
        pytest.param([_templated_pod(), _template()], [{"of": "t"}], id="none is there"),
        pytest.param([_templated_pod()], ["FailedResourceClaimCreation"], id="no template"),
        pytest.param([_templated_pod(), _template(), _made()], [["c"]], id="it is made"),
        pytest.param([_templated_pod(gpu="c"), _template(), _made()], [], id="it is known"),
        pytest.param(
            [_templated_pod(gpu="gone"), _template()], [{"of": "t"}], id="it is known and gone"
        ),
        pytest.param([_templated_pod(gpu=None), _template()], [], id="none is needed"),
        pytest.param(
            [
                _templated_pod(gpu="c"),
                _template(),
                _made(deletionTimestamp="2026-01-01T00:00:00Z"),
            ],
            [],
            id="it is being deleted",
        ),
    ],
)
def test_a_pod_gets_a_claim_from_its_template(
    objects: list[KubernetesObject], writes: list[Any]
) -> None:
    assert _writes_of_pod(*objects) == writes


def test_a_claim_that_cannot_be_created_is_reported() -> None:
    """Upstream: controller.go, syncPod and handleClaim"""
    (write,) = _Cluster(_templated_pod(), _template()).controller.sync(_POD, _NOW_NS)
    assert isinstance(write, ReportedWrite)
    events: list[RecordEvent] = []
    assert write.execute(lambda _: None, events.append) is None
    assert events == []
    write.execute(lambda _: ValueError("full"), events.append)
    assert [(each.type, each.reason, each.note, each.source) for each in events] == [
        (
            "Warning",
            "FailedResourceClaimCreation",
            "PodResourceClaim gpu: create ResourceClaim : full",
            "resource_claim",
        )
    ]


def test_a_pod_waits_for_its_template() -> None:
    cluster = _Cluster(_templated_pod())
    cluster.controller.sync(_POD, _NOW_NS)
    assert cluster.put(_template("other")) == []
    assert cluster.put(_template()) == [_POD]
    assert cluster.put(_template()) == []
