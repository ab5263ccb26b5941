"""Which changes concern a deployment, and what one sync of it requests.

What upstream decides about whole clusters is recorded: see `test_recorded_decisions`.

Upstream: pkg/controller/deployment/deployment_controller.go, sync.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.cluster.controllers.apps.deployment import DeploymentController
from podwright.cluster.controllers.interface import ReportedWrite
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, at, document

LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
BY = "by deployment-controller:"


def a_deployment(status: Any = None, *, uid: str = "du", metadata: Any = None, **spec: Any) -> Any:
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE} | spec
    return document(
        "Deployment", "web", api="apps/v1", namespace="shop", spec=spec, status=status or {},
        metadata={"uid": uid, "generation": 1, **(metadata or {})},
    )  # fmt: skip


def owned_by(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid}
    return [reference | {"controller": True}]


def a_set(name: str = "web-1", owner: str = "Deployment", **metadata: Any) -> Any:
    owners = owned_by(owner, "web", "du") if owner else []
    return document(
        "ReplicaSet", name, api="apps/v1", namespace="shop",
        metadata={"uid": f"{name}-uid", "labels": LABELS, "ownerReferences": owners, **metadata},
        spec={"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
    )  # fmt: skip


def a_pod(phase: str = "Running", owner: str = "ReplicaSet", of: str = "web-1") -> Any:
    return document(
        "Pod", "p", namespace="shop", spec=TEMPLATE["spec"], status={"phase": phase},
        metadata={"uid": "pu", "labels": LABELS,
                  "ownerReferences": owned_by(owner, of, "x") if owner else []},
    )  # fmt: skip


RECREATE: Any = {"strategy": {"type": "Recreate"}}
WEB = ["shop/web"]


@pytest.mark.parametrize(
    ("objects", "pod", "keys"),
    [
        pytest.param([a_deployment(**RECREATE), a_set()], a_pod(), WEB, id="of a recreation"),
        pytest.param([a_deployment(), a_set()], a_pod(), [], id="of a rolling update"),
        pytest.param([a_deployment(**RECREATE)], a_pod(), [], id="of no replica set"),
        pytest.param([a_set()], a_pod(), [], id="of no deployment"),
        pytest.param([a_deployment(**RECREATE), a_set(owner="")], a_pod(), [],
                     id="of a replica set of nobody"),
        pytest.param([a_deployment(**RECREATE), a_set(owner="Other")], a_pod(), [],
                     id="of a replica set of something else"),
        pytest.param([a_deployment(**RECREATE), a_set()], a_pod(owner="Other"), [],
                     id="of another kind"),
        pytest.param([a_deployment(**RECREATE), a_set()], a_pod(owner=""), [], id="of nobody"),
    ],
)  # fmt: skip
def test_the_end_of_an_old_pod_concerns_a_deployment_that_recreates(objects, pod, keys) -> None:
    bench = SingleSync(DeploymentController, *objects)
    assert bench.put(pod) == []
    assert bench.remove(pod) == keys
    bench.put(pod)
    ended = document(
        "Pod", "p", namespace="shop", metadata=pod.raw["metadata"], spec=pod.raw["spec"],
        status={"phase": "Failed"},
    )  # fmt: skip
    assert bench.put(ended) == keys


def test_which_changes_concern_a_deployment() -> None:
    bench = SingleSync(DeploymentController)
    assert bench.put(a_deployment()) == WEB
    assert bench.put(a_deployment({"replicas": 1})) == []
    assert bench.put(a_deployment(replicas=2)) == WEB
    assert bench.put(a_set()) == WEB
    assert bench.put(a_set(owner="Other")) == WEB, "its owner until now"
    assert bench.remove(a_set(owner="Other")) == []
    assert bench.put(a_set("orphan", owner="")) == WEB
    assert bench.remove(a_deployment(replicas=2)) == []
    assert bench.put(a_set("late", owner="")) == []
    assert bench.sync("shop/web") == []


def test_a_selector_that_does_not_match_the_template_is_reported() -> None:
    other = {"matchLabels": {"app": "other"}}
    event = f"Warning Deployment shop/web SelectingAll {BY} "
    assert SingleSync(DeploymentController, a_deployment(selector=other)).sync("shop/web") == [
        event + "This deployment does not select its own pods."
    ]
    assert SingleSync(DeploymentController, a_deployment(selector={})).sync("shop/web") == [
        event + "This deployment is selecting all pods. A non-empty selector is required."
    ]


def test_replica_sets_are_adopted_and_released_before_anything_else() -> None:
    last, foreign = (a_set(name, labels={"app": "other"}) for name in ("last", "foreign"))
    bench = SingleSync(
        DeploymentController, a_deployment(), a_set("orphan", owner=""), last, foreign
    )
    adoption, release, other = bench.sync("shop/web")
    assert other == "update ReplicaSet shop/last main: -metadata.ownerReferences"
    assert adoption.startswith("update ReplicaSet shop/orphan main: metadata.ownerReferences=")
    assert release == "update ReplicaSet shop/foreign main: -metadata.ownerReferences"
    going = {"deletionTimestamp": at(0), "finalizers": ["x"]}
    bench.put(a_deployment(metadata=going))
    assert not any("ownerReferences=" in each for each in bench.sync("shop/web"))


def test_a_new_replica_set_is_progress() -> None:
    """Upstream: sync.go, getNewReplicaSet"""
    found = SingleSync(DeploymentController, a_deployment(progressDeadlineSeconds=9)).sync(
        "shop/web"
    )
    (status,) = [each for each in found if "Deployment shop/web status" in each]
    assert '"reason": "NewReplicaSetCreated"' in status
    assert found[-1] == "sync shop/web at 10"
    (status,) = [
        each
        for each in SingleSync(
            DeploymentController, a_deployment(progressDeadlineSeconds=2**31 - 1)
        ).sync("shop/web")
        if "Deployment shop/web status" in each
    ]
    assert "Progressing" not in status


@pytest.mark.parametrize(
    ("spec", "syncs"),
    [
        pytest.param({}, ["sync shop/web at 11"], id="a second after its deadline"),
        pytest.param({"paused": True}, [], id="not while it is paused"),
    ],
)
def test_a_deployment_is_synced_when_its_progress_times_out(spec, syncs) -> None:
    """Upstream: progress.go, requeueStuckDeployment"""
    condition = {
        "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
        "lastUpdateTime": at(-5), "lastTransitionTime": at(-5), "message": "",
    }  # fmt: skip
    deployment = a_deployment({"conditions": [condition]}, progressDeadlineSeconds=10, **spec)
    bench = SingleSync(DeploymentController, deployment)
    assert [each for each in bench.sync("shop/web") if each.startswith("sync")] == syncs


@pytest.mark.parametrize(
    ("deadline", "condition"),
    [(600, ("Progressing", "False", "ReplicaSetCreateError")), (2**31 - 1, None)],
)
def test_a_rejected_replica_set_is_reported_and_is_a_condition(deadline, condition) -> None:
    """Upstream: sync.go, getNewReplicaSet"""
    bench = SingleSync(DeploymentController, a_deployment(progressDeadlineSeconds=deadline))
    (creation, *_) = bench.controller.sync("shop/web", NOW)
    assert isinstance(creation, ReportedWrite)
    name = creation.request.obj.name  # type: ignore[union-attr]  # a creation
    events: list[Any] = []
    creation.execute(lambda _: ValueError("full"), events.append)
    text = f'Failed to create new replica set "{name}": full'
    assert [bench.text(each) for each in events] == [
        f"Warning Deployment shop/web ReplicaSetCreateError {BY} {text}"
    ]
    assert bench.controller.on_create_rejected("shop/web", "full") == ("shop/web",)
    found = bench.controller.sync("shop/web", NOW)
    conditions = [
        (each["type"], each["status"], each["reason"])
        for action in found
        for each in (getattr(action, "obj", None) or a_set()).raw.get("status", {}).get(
            "conditions", ()
        )
        if each["message"] == text
    ]  # fmt: skip
    assert conditions == ([] if condition is None else [condition])
    assert any(isinstance(each, ReportedWrite) for each in bench.controller.sync("shop/web", NOW))
    bench.controller.on_create_rejected("shop/web", "full")
    bench.remove(a_deployment())
    assert bench.controller.state() == {"rejections": {}}


@pytest.mark.parametrize(
    ("deployment", "size", "deleted"),
    [
        pytest.param({}, "1", ["web-0"], id="complete"),
        pytest.param({"paused": True}, "1", ["web-0"], id="paused"),
        pytest.param({"revisionHistoryLimit": 1}, "1", [], id="within the limit"),
        pytest.param({}, "2", [], id="while it is being scaled"),
        pytest.param(
            {"metadata": {"deletionTimestamp": at(0), "finalizers": ["x"]}},
            "1",
            [],
            id="while it is being deleted",
        ),
    ],
)
def test_old_sets_are_deleted_when_a_rollout_is_complete(deployment, size, deleted) -> None:
    """Upstream: deployment_controller.go, syncDeployment; sync.go, cleanupDeployment"""
    ready = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}
    new = a_set(generation=1, annotations={"deployment.kubernetes.io/desired-replicas": size})
    old = a_set("web-0", generation=1)
    old_spec = old.raw["spec"] | {"replicas": 0, "template": {"spec": {"containers": []}}}
    bench = SingleSync(
        DeploymentController,
        a_deployment({"replicas": 1}, **{"revisionHistoryLimit": 0} | deployment),
        decode(new.raw | {"status": ready}),
        decode(old.raw | {"spec": old_spec, "status": {"replicas": 0, "observedGeneration": 1}}),
    )
    deletions = [each for each in bench.sync("shop/web") if each.startswith("delete")]
    assert deletions == [f"delete ReplicaSet shop/{name}" for name in deleted]


PAUSED = ("Unknown", "DeploymentPaused", "Deployment is paused")
RESUMED = ("Unknown", "DeploymentResumed", "Deployment is resumed")


@pytest.mark.parametrize(
    ("present", "paused", "resumed"),
    [
        pytest.param(None, PAUSED, None, id="no condition"),
        pytest.param(("True", "ReplicaSetUpdated", "m"), PAUSED, None, id="progress"),
        pytest.param(PAUSED, None, RESUMED, id="it is paused"),
        pytest.param(("True", "DeploymentPaused", "m"), None, RESUMED, id="paused, of another"),
        pytest.param(RESUMED, PAUSED, None, id="it was resumed"),
        pytest.param(("False", "ProgressDeadlineExceeded", "m"), None, None, id="too late"),
    ],
)
@pytest.mark.parametrize("deadline", [600, 2**31 - 1])
def test_a_pause_and_its_end_are_conditions(present, paused, resumed, deadline) -> None:
    """Upstream: sync.go, checkPausedConditions: not without a deadline."""
    for is_paused, expected in ((True, paused), (False, resumed)):
        conditions = []
        if present is not None:
            status, reason, message = present
            conditions = [
                {"type": "Progressing", "status": status, "reason": reason, "message": message,
                 "lastUpdateTime": at(-5), "lastTransitionTime": at(-5)}
            ]  # fmt: skip
        deployment = a_deployment(
            {"conditions": conditions}, paused=is_paused, progressDeadlineSeconds=deadline
        )
        found = [
            (each["status"], each["reason"], each["message"])
            for action in SingleSync(DeploymentController, deployment, a_set()).controller.sync(
                "shop/web", NOW
            )
            for each in (getattr(action, "obj", None) or a_set()).raw.get("status", {}).get(
                "conditions", ()
            )
            if each["reason"] in (PAUSED[1], RESUMED[1]) and each["lastUpdateTime"] == at(0)
        ]  # fmt: skip
        has_deadline = deadline == 600
        assert found == ([expected] if expected and has_deadline else []), is_paused
