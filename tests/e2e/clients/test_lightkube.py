"""lightkube: objects, watches, apply, scaling and custom resources."""

from __future__ import annotations

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import Deployment as DeploymentModel
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node, Pod
from lightkube.types import PatchType
from tests.e2e.clients.conftest import definition, deployment, pod


@pytest.fixture(scope="module")
def client(kubeconfig):
    with Client(config=KubeConfig.from_file(kubeconfig), namespace="default") as made:
        yield made


def test_pods_are_created_watched_changed_and_deleted(client):
    created = client.create(Pod.from_dict(pod("lightkube")))
    for _, found in client.watch(
        Pod,
        fields={"metadata.name": "lightkube"},
        resource_version=created.metadata.resourceVersion,
    ):
        if found.status.phase == "Running":
            break
    changed = client.patch(
        Pod, "lightkube", {"metadata": {"labels": {"tier": "web"}}}, patch_type=PatchType.MERGE
    )
    assert changed.metadata.labels["tier"] == "web"
    (found,) = client.list(Pod, labels={"tier": ["web", "database"], "app": "lightkube"})
    assert found.spec.nodeName
    with pytest.raises(ApiError) as refused:
        list(client.log("lightkube"))
    assert "simulated" in str(refused.value)
    client.delete(Pod, "lightkube", grace_period=0)
    with pytest.raises(ApiError) as gone:
        client.get(Pod, "lightkube")
    assert gone.value.status.code == 404


def test_deployments_are_scaled_and_waited_for(client):
    client.create(Deployment.from_dict(deployment("lightkube", 1)))
    scale = Deployment.Scale(metadata=ObjectMeta(name="lightkube"), spec=ScaleSpec(replicas=3))
    assert client.replace(scale, "lightkube").spec.replicas == 3
    client.wait(Deployment, "lightkube", for_conditions=["Available"])
    assert isinstance(client.get(Deployment, "lightkube"), DeploymentModel)
    client.delete(Deployment, "lightkube")


def test_apply_has_owners_of_fields(client):
    applied = ConfigMap(
        apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name="lightkube"), data={"a": "1"}
    )
    assert client.apply(applied, field_manager="one").data == {"a": "1"}
    applied.data = {"a": "2"}
    with pytest.raises(ApiError) as conflict:
        client.apply(applied, field_manager="two")
    assert conflict.value.status.code == 409
    assert client.apply(applied, field_manager="two", force=True).data == {"a": "2"}
    client.delete(ConfigMap, "lightkube")


def test_lists_come_in_pages(client):
    assert len(list(client.list(Node, chunk_size=2))) == 3


def test_custom_resources_are_defined_and_used(client):
    group = "lightkube.example.com"
    defined = CustomResourceDefinition.from_dict(definition("tins", "Tin", group))
    client.create(defined)
    client.wait(CustomResourceDefinition, f"tins.{group}", for_conditions=["Established"])
    tin = create_namespaced_resource(group, "v1", "Tin", "tins")
    client.create(tin(metadata=ObjectMeta(name="one"), spec={"size": 1}))
    client.patch(tin, "one", {"spec": {"size": 2}}, patch_type=PatchType.MERGE)
    assert client.get(tin, "one").spec == {"size": 2}
    client.delete(tin, "one")
    client.delete(CustomResourceDefinition, f"tins.{group}")
