"""Expansion: the pods of each kind of workload, and the pods that exist already."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import claims_of_pod, generated_claims
from podwright.apimachinery.objects import (
    InvalidObject,
    Pod,
    ResourceClaim,
    decode,
    encode,
    with_fields,
)
from podwright.cluster.controllers import ExpandedWorkload, expand, missing_replica_sets
from podwright.testing import make_node

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "web:1"}]},
}
JOB_TEMPLATE: dict[str, Any] = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "web"}}
VERSIONS = {
    "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1",
}  # fmt: skip


def workload(
    kind: str, name: str = "web", *, metadata: Any = None, status: Any = None, **spec: Any
) -> Any:
    if kind == "Job":
        spec = {"template": JOB_TEMPLATE} | spec
    elif kind != "CronJob":
        selector = SELECTOR["matchLabels"] if kind == "ReplicationController" else SELECTOR
        spec = {"selector": selector, "template": TEMPLATE} | spec
    return decode({
        "apiVersion": VERSIONS[kind], "kind": kind,
        "metadata": {"name": name, "namespace": "shop"} | (metadata or {}),
        "spec": spec, "status": status or {},
    })  # fmt: skip


def owned_by(kind: str, name: str):
    return {"ownerReferences": [
        {"apiVersion": VERSIONS[kind], "kind": kind, "name": name, "uid": "u", "controller": True}
    ]}  # fmt: skip


def pod_of(kind: str, owner: str, name: str, **spec: Any) -> Any:
    return decode({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"} | owned_by(kind, owner),
        "spec": TEMPLATE["spec"] | spec,
    })  # fmt: skip


SERVER = {"uid": "u-1", "resourceVersion": "17"}


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        pytest.param([workload("ReplicaSet", replicas=2)], ["web-0", "web-1"], id="a replica set"),
        pytest.param(
            [
                workload("StatefulSet", replicas=1, serviceName="web"),
                pod_of("StatefulSet", "web", "web-4"),
                pod_of("StatefulSet", "web", "web-5"),
            ],
            [],
            id="a stateful set with more pods than replicas",
        ),
        pytest.param([workload("ReplicaSet")], ["web-0"], id="one replica by default"),
        pytest.param([workload("ReplicaSet", replicas=0)], [], id="no replicas"),
        pytest.param([workload("ReplicationController", replicas=2)], ["web-0", "web-1"],
                     id="a replication controller"),
        pytest.param([workload("StatefulSet", replicas=2, ordinals={"start": 5})],
                     ["web-5", "web-6"], id="ordinals"),
        pytest.param([workload("Job", parallelism=3, completions=2)], ["web-0", "web-1"],
                     id="a job with fewer completions than its parallelism"),
        pytest.param([workload("Job", parallelism=2, completions=3, completionMode="Indexed")],
                     ["web-0-0", "web-1-0"], id="an indexed job"),
        pytest.param([workload("Job", parallelism=3, completions=3, status={"succeeded": 2})],
                     ["web-0"], id="what is left of a job"),
        pytest.param([workload("Job", suspend=True)], [], id="a suspended job"),
        pytest.param([workload("Job", parallelism=2, metadata=SERVER, status={"active": 2})], [],
                     id="a job with all its pods"),
        pytest.param([make_node("a"), make_node("b", taints=["gpu=yes:NoSchedule"]),
                      make_node("c", unschedulable=True), workload("DaemonSet")],
                     ["web-0", "web-1"], id="the nodes that a daemon set tolerates"),
        pytest.param([workload("ReplicaSet", replicas=3), pod_of("ReplicaSet", "web", "web-0")],
                     ["web-1", "web-2"], id="pods that exist"),
        pytest.param([workload("StatefulSet", replicas=3), pod_of("StatefulSet", "web", "web-1")],
                     ["web-0", "web-2"], id="ordinals that exist"),
        pytest.param([workload("Job", parallelism=3, completions=3, completionMode="Indexed"),
                      with_fields(pod_of("Job", "web", "web-1-x"), "metadata", annotations={
                          "batch.kubernetes.io/job-completion-index": "1"})],
                     ["web-0-0", "web-2-0"], id="indexes that exist"),
        pytest.param([workload("ReplicaSet", replicas=2), with_fields(
                          pod_of("ReplicaSet", "web", "web-0"), "status", phase="Failed")],
                     ["web-1", "web-2"], id="a pod that has ended does not count"),
        pytest.param([workload("ReplicaSet", replicas=2), workload("ReplicationController",
                          "web-0", replicas=0)],
                     ["web-0", "web-1"], id="another object has the name of a pod"),
        pytest.param([workload("ReplicaSet", replicas=2, status={"replicas": 2})],
                     ["web-0", "web-1"], id="a status that no server has written"),
        pytest.param([workload("ReplicaSet", replicas=3, metadata=SERVER, status={"replicas": 3})],
                     [], id="a server that has created the pods"),
        pytest.param([workload("ReplicaSet", replicas=3, metadata=SERVER, status={"replicas": 2})],
                     ["web-0"], id="a server that has yet to create one"),
    ],
)  # fmt: skip
def test_missing_pods_are_created(objects, names):
    pods = [obj for obj in expand(objects).objects if isinstance(obj, Pod)]
    assert [pod.name for pod in pods] == names
    assert {pod.namespace for pod in pods} <= {"shop"}


def test_a_deployment_gets_a_replica_set_and_its_pods():
    expansion = expand([workload("Deployment", replicas=2)])
    objects: list[Any] = [*expansion.objects]
    (found,) = expansion.workloads
    replica_set, *pods = objects
    label = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.name == f"web-{label}"
    assert [pod.name for pod in pods] == [f"web-{label}-0", f"web-{label}-1"]
    assert pods[0].metadata.labels == {"app": "web", "pod-template-hash": label}
    assert pods[0].metadata.controller.name == replica_set.name
    assert (found.kind, found.key, found.new_count) == ("Deployment", "shop/web", 2)
    assert found.pods == tuple(pod.key for pod in pods)


def test_the_pods_of_the_replica_sets_of_a_deployment_are_its_pods():
    objects = [
        workload("Deployment", replicas=3),
        workload("ReplicaSet", "web-1", replicas=3, metadata=owned_by("Deployment", "web")),
        pod_of("ReplicaSet", "web-1", "web-1-a"),
    ]
    (found,) = expand(objects).workloads
    assert found.pods == ("shop/web-1-a", "shop/web-1-0", "shop/web-1-1")


def without_template(owner: Any) -> Any:
    spec = {key: value for key, value in owner.raw["spec"].items() if key != "template"}
    return decode(owner.raw | {"spec": spec})


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([workload("ReplicaSet", replicas=2, metadata=SERVER)], id="a replica set"),
        pytest.param([workload("StatefulSet", replicas=2, metadata=SERVER)], id="a stateful set"),
        pytest.param(
            [
                workload("Deployment", replicas=2, metadata=SERVER),
                workload("ReplicaSet", metadata=owned_by("Deployment", "web") | SERVER),
            ],
            id="a deployment with a set",
        ),
    ],
)
def test_recorded_workloads_without_a_template_have_pods_without_containers(objects):
    found = expand([without_template(each) for each in objects]).objects
    pods = [obj for obj in found if isinstance(obj, Pod)]
    assert [(pod.name, pod.spec.containers) for pod in pods] == [("web-0", ()), ("web-1", ())]


def test_a_recorded_daemon_set_without_a_template_has_pods_without_containers():
    owner: Any = without_template(workload("DaemonSet", metadata=SERVER))
    (pod,) = (obj for obj in expand([make_node("a"), owner]).objects if isinstance(obj, Pod))
    assert pod.spec.containers == ()
    assert set(pod.metadata.labels) == {"controller-revision-hash", "pod-template-generation"}


def test_a_stateful_set_gets_its_claims_with_the_default_class():
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    storage_class: Any = decode({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "fast"} | default, "provisioner": "csi.example.com",
    })  # fmt: skip
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
             "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    owner = workload("StatefulSet", replicas=1, volumeClaimTemplates=[claim])
    # The annotation makes no object of another kind a class.
    other: Any = decode({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": "edge"} | default,
    })  # fmt: skip
    objects: list[Any] = [*expand([other, storage_class, owner]).objects]
    claim_object, pod = objects
    assert (claim_object.key, claim_object.spec.storage_class_name) == ("shop/data-web-0", "fast")
    assert pod.spec.volumes[0].persistent_volume_claim.claim_name == "data-web-0"


@pytest.mark.parametrize(
    ("owner", "note"),
    [
        pytest.param(
            workload("CronJob", schedule="0 3 * * *",
                     jobTemplate={"spec": {"template": JOB_TEMPLATE}}),
            'it creates jobs by its schedule "0 3 * * *"', id="a cron job",
        ),
        pytest.param(workload("Job", suspend=True), "it is suspended", id="a suspended job"),
        pytest.param(workload("Deployment", paused=True), "it is paused", id="a paused deployment"),
        pytest.param(
            workload("Job", status={"conditions": [{"type": "Complete", "status": "True"}]}),
            "it has the condition Complete", id="a finished job",
        ),
    ],
)  # fmt: skip
def test_a_workload_without_pods_now_says_why(owner, note):
    expansion = expand([owner])
    assert expansion.objects == []
    assert [(each.new_count, each.note) for each in expansion.workloads] == [(0, note)]


def test_invalid_workloads_are_rejected_together():
    wrong = [workload("Deployment", replicas=-1), workload("Job", "once", parallelism=-2)]
    with pytest.raises(InvalidObject) as raised:
        expand(wrong)
    assert [error.source for error in raised.value.errors] == [
        "Deployment shop/web",
        "Job shop/once",
    ]


GPU = "resource.k8s.io/v1"


def claim_template() -> Any:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    return decode({
        "apiVersion": GPU, "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-gpu", "namespace": "shop"},
        "spec": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
    })  # fmt: skip


def claiming_pod(name: str = "a", **spec: Any) -> Any:
    entries = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    return decode({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"},
        "spec": TEMPLATE["spec"] | {"resourceClaims": entries} | spec,
    })  # fmt: skip


def test_pods_get_the_claims_of_their_templates():
    entries = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    template = TEMPLATE | {"spec": TEMPLATE["spec"] | {"resourceClaims": entries}}
    owner = workload("ReplicaSet", replicas=2, template=template)
    lone = claiming_pod()
    expansion = expand([owner, lone, claim_template()])
    claims = [obj for obj in expansion.objects if isinstance(obj, ResourceClaim)]
    assert [claim.key for claim in claims] == [
        f"shop/{pod}-gpu-0" for pod in ("a", "web-0", "web-1")
    ]
    assert claims[0].metadata.labels == {"app": "web"}
    assert claims[0].spec.devices.requests[0].name == "r"
    objects = expansion.with_objects([owner, lone, claim_template()])
    pods = [obj for obj in objects if isinstance(obj, Pod)]
    assert [pod.key for pod in pods] == ["shop/a", "shop/web-0", "shop/web-1"]
    for pod in pods:
        claims_of_pod(
            with_fields(pod, "metadata", uid=pod.key), {each.key: each for each in claims}.get
        )


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(claiming_pod(nodeName="n"), id="a pod on a node"),
        pytest.param(
            with_fields(claiming_pod(), "status", phase="Succeeded"), id="a pod that ended"
        ),
    ],
)
def test_pods_that_are_not_pending_get_no_claims(pod):
    expansion = expand([pod, claim_template()])
    assert (expansion.objects, expansion.changed) == ([], {})


def test_a_claim_that_was_created_for_a_pod_is_used():
    pod = with_fields(claiming_pod(), "metadata", uid="u")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u", "controller": True}
    claim = decode({
        "apiVersion": GPU, "kind": "ResourceClaim", "spec": {},
        "metadata": {
            "name": "a-gpu-x7k2p", "namespace": "shop", "ownerReferences": [owner],
            "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        },
    })  # fmt: skip
    expansion = expand([pod, claim, claim_template()])
    assert expansion.objects == []
    assert generated_claims(expansion.changed["shop/a"]) == {"gpu": "a-gpu-x7k2p"}


def test_a_template_that_does_not_exist_is_reported_once():
    expansion = expand([claiming_pod(), claiming_pod("b")])
    assert (expansion.objects, expansion.changed) == ([], {})
    assert expansion.notes == [
        "there is no ResourceClaimTemplate shop/one-gpu, which 2 pods need, such as shop/a"
    ]


@pytest.mark.parametrize(
    ("is_suspended", "note"),
    [(True, "it is suspended"), (False, 'it creates jobs by its schedule "@daily"')],
)
def test_a_cron_job_gets_no_pods_now(is_suspended, note):
    cron_job = workload("CronJob", schedule="@daily", suspend=is_suspended, metadata=SERVER)
    (found,) = expand([cron_job]).workloads
    assert (found.pods, found.note) == ((), note)


def test_a_claim_of_a_stateful_set_keeps_the_class_that_its_template_names():
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "slow"}}
    owner = workload("StatefulSet", replicas=1, volumeClaimTemplates=[claim], metadata=SERVER)
    made: Any = expand([owner]).objects[0]
    assert made.spec.storage_class_name == "slow"


def test_a_daemon_set_gets_pods_on_the_nodes_that_lack_one():
    objects = [*map(make_node, "abc"), workload("DaemonSet"),
               pod_of("DaemonSet", "web", "web-x", nodeName="b")]  # fmt: skip
    made = [each for each in expand(objects).objects if isinstance(each, Pod)]
    targets = [
        term["matchFields"][0]["values"]
        for each in made
        for term in encode(each)["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
    ]
    assert targets == [["a"], ["c"]]


def revised(number: str, image: str) -> Any:
    """Return a replica set of the deployment web."""
    metadata = {"annotations": {"deployment.kubernetes.io/revision": number}}
    template = TEMPLATE | {"spec": {"containers": [{"name": "main", "image": image}]}}
    owner = owned_by("Deployment", "web")
    return workload("ReplicaSet", f"web-{number}", metadata=metadata | owner, template=template)


def test_new_pods_of_a_deployment_have_the_template_of_the_latest_revision():
    objects = [revised(number, f"web:{number}") for number in ("9", "10", "2")]
    made = [
        each
        for each in expand([*objects, workload("Deployment", replicas=1)]).objects
        if isinstance(each, Pod)
    ]
    assert [each.spec.containers[0].image for each in made] == ["web:10"]


def test_only_replica_sets_of_a_deployment_give_its_template():
    metadata = {"uid": "u", "annotations": {"deployment.kubernetes.io/revision": "1"}}
    other = [{**TEMPLATE["spec"]["containers"][0], "image": "web:2"}]
    template = TEMPLATE | {"spec": {"containers": other}}
    objects = [
        workload("Deployment", metadata={"uid": "u"}, replicas=2),
        workload("ReplicaSet", "web-1", metadata=metadata | owned_by("Deployment", "web"),
                 replicas=0, template=template),
        pod_of("Deployment", "web", "stray"),
    ]  # fmt: skip
    made = [each for each in expand(objects).objects if isinstance(each, Pod)]
    assert [each.spec.containers[0].image for each in made] == ["web:2"]


def test_an_object_of_another_kind_with_the_name_of_a_changed_pod_stays():
    claim = {"name": "gpu", "resourceClaimTemplateName": "t"}
    given = pod_of("Deployment", "none", "web", resourceClaims=[claim])
    template = decode({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "shop"},
        "spec": {"spec": {"devices": {}}},
    })  # fmt: skip
    other = workload("Deployment", replicas=0)
    # Another object has the name of the template.
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": template.raw["metadata"]}
    expansion = expand([given, template, other, decode(named)])
    assert list(expansion.changed) == ["shop/web"]
    kinds = [each.kind for each in expansion.with_objects([other, given, template])]
    assert kinds == ["Deployment", "Pod", "ResourceClaimTemplate", "ResourceClaim"]


@pytest.mark.parametrize("objects", [[], [workload("ReplicaSet", replicas=2)]])
def test_the_objects_of_an_expansion_come_behind_those_that_were_given(objects):
    node = make_node("n")
    expansion = expand([node, *objects])
    found = expansion.with_objects([node, *objects])
    assert found[: 1 + len(objects)] == [node, *objects]
    assert [each.name for each in found[1 + len(objects) :]] == ["web-0", "web-1"][
        : 2 * len(objects)
    ]


@pytest.mark.parametrize(
    ("metadata", "is_of_server"),
    [
        ({}, False),
        ({"uid": "u"}, False),
        ({"resourceVersion": "1"}, False),
        (SERVER, True),
    ],
)
def test_a_workload_of_a_server_has_its_identity_and_its_version(metadata, is_of_server):
    (found,) = expand([workload("ReplicaSet", metadata=metadata, replicas=1)]).workloads
    assert found.is_of_server is is_of_server


def test_a_workload_is_of_no_server_and_without_a_note_unless_that_is_said():
    found = ExpandedWorkload(kind="Job", key="shop/web", pods=(), new_count=0)
    assert (found.note, found.is_of_server) == ("", False)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "Job"])
def test_pods_of_an_owner_without_a_uid_name_its_key_so_that_they_can_be_read_again(kind):
    (pod,) = (obj for obj in expand([workload(kind)]).objects if isinstance(obj, Pod))
    owner = pod.metadata.controller
    assert owner is not None
    assert owner.uid == f"shop/{owner.name}"


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "Job"])
@pytest.mark.parametrize("more", [0, 1])
def test_the_pods_of_an_expansion_are_those_of_the_workload(kind, more):
    def sized(count: int) -> Any:
        is_job = kind == "Job"
        return workload(kind, parallelism=count) if is_job else workload(kind, replicas=count)

    pods = [each for each in expand([sized(2)]).objects if isinstance(each, Pod)]
    (found,) = expand([sized(2 + more), *pods]).workloads
    assert (len(found.pods), found.new_count) == (2 + more, more)


def test_the_pods_of_another_template_are_those_of_a_deployment():
    pods = [each for each in expand([workload("Deployment")]).objects if isinstance(each, Pod)]
    template = {**TEMPLATE, "spec": {"containers": [{"name": "main", "image": "web:2"}]}}
    (found,) = expand([workload("Deployment", template=template), *pods]).workloads
    assert found.new_count == 0


def pod_of_set(name: str, hash_: str, created: str = "", **more: Any) -> Any:
    """Return a pod of a replica set of the deployment web, as a server has it."""
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{hash_}",
                 "uid": f"uid-{hash_}", "controller": True}  # fmt: skip
    metadata = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [reference],
                "labels": {"app": "web", "pod-template-hash": hash_}}  # fmt: skip
    if created:
        metadata["creationTimestamp"] = f"2026-01-01T00:00:{created}Z"
    spec = {"containers": [{"name": "main", "image": "web:1"}]}
    return decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec} | more)


def test_the_replica_sets_of_a_deployment_that_are_missing_are_those_of_its_pods():
    """The youngest has the deployment's template, so that its controller creates no other one."""
    revision = {"annotations": {"deployment.kubernetes.io/revision": "7"}}
    deployment = workload("Deployment", metadata={**SERVER, **revision}, replicas=3)
    ended = pod_of_set("z", "c", "59", status={"phase": "Failed"})
    pods = [pod_of_set("a", "a", "01"), pod_of_set("b", "b", "03"), pod_of_set("c", "b", "02")]
    older, found = missing_replica_sets([deployment, *pods, pod_of_set("d", "a"), ended])
    assert (found.key, found.uid, found.metadata.is_from_server) == ("shop/web-b", "uid-b", True)
    owner = found.metadata.controller
    assert owner is not None
    assert (owner.kind, owner.name, owner.uid) == ("Deployment", "web", deployment.uid)
    document = encode(found)
    assert document["spec"]["replicas"] == 2
    labels = document["spec"]["template"]["metadata"].pop("labels")
    assert labels["pod-template-hash"] == "b"
    assert document["spec"]["template"]["spec"] == encode(deployment)["spec"]["template"]["spec"]
    assert found.metadata.annotations == revision["annotations"]
    assert (older.key, older.uid, older.metadata.annotations) == ("shop/web-a", "uid-a", {})
    assert older.metadata.controller == owner
    document = encode(older)["spec"]
    assert (document["replicas"], document["template"]["spec"]) == (2, encode(pods[0])["spec"])


def test_the_latest_replica_set_is_that_of_the_youngest_pod():
    revision = {"annotations": {"deployment.kubernetes.io/revision": "7"}}
    pods = [pod_of_set("a", "a", "01"), pod_of_set("b", "a", "05"), pod_of_set("c", "b", "03")]
    found = missing_replica_sets([workload("Deployment", metadata={**SERVER, **revision}), *pods])
    annotations = {each.key: each.metadata.annotations for each in found}
    assert annotations == {"shop/web-a": revision["annotations"], "shop/web-b": {}}


def test_the_template_of_an_older_set_is_like_its_first_pod():
    def pod(name: str, created: str, image: str) -> Any:
        spec = {"containers": [{"name": "main", "image": image}]}
        placed = {"nodeName": "n", "hostname": name}
        return pod_of_set(name, "a", created, spec=spec | placed)

    pods = [pod("a", "01", "web:0"), pod("b", "02", "web:x"), pod_of_set("c", "b", "03")]
    older, _ = missing_replica_sets([workload("Deployment", metadata=SERVER), *pods])
    containers = [{"name": "main", "image": "web:0"}]
    assert encode(older)["spec"]["template"]["spec"] == {"containers": containers}


def test_new_pods_of_a_deployment_are_those_of_its_missing_replica_set():
    pods = [pod_of_set("a", "b")]
    expansion = expand([workload("Deployment", replicas=3), *pods])
    new = [each for each in expansion.objects if isinstance(each, Pod)]
    controllers = [each.metadata.controller for each in new]
    owners = {(owner.name, owner.uid) for owner in controllers if owner is not None}
    assert (len(new), owners) == (2, {("web-b", "uid-b")})


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="no deployment"),
        pytest.param([("ReplicaSet", {"name": "web-b"})], id="no deployment and the set"),
        pytest.param(
            [("Deployment", {}), ("ReplicaSet", {"name": "web-b"})], id="the set without an owner"
        ),
        pytest.param(
            [("Deployment", {}), ("ReplicaSet", {"name": "web-x", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u",
                 "controller": True}]})],
            id="another set of the deployment",
        ),
        pytest.param([("Deployment", {"namespace": "other"})], id="of another namespace"),
        pytest.param([("Deployment", {"name": "db"})], id="of another name"),
    ],
)  # fmt: skip
def test_no_replica_set_is_missing(others):
    objects = [workload(kind, metadata=metadata) for kind, metadata in others]
    assert missing_replica_sets([*objects, pod_of_set("a", "b")]) == []


def test_a_pod_that_a_deployment_itself_controls_is_of_no_replica_set():
    document = encode(pod_of_set("a", "b"))
    document["metadata"]["ownerReferences"][0] |= {"kind": "Deployment", "name": "web"}
    del document["metadata"]["labels"]["pod-template-hash"]
    deployment = workload("Deployment", replicas=3)
    assert missing_replica_sets([deployment, decode(document)]) == []
    assert expand([deployment, decode(document)]).workloads[0].new_count == 2
