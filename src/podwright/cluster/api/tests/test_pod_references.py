"""The objects to which a pod refers by name."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.pods.pod_references import (
    claim_names,
    config_map_names,
    referenced_resource,
    secret_names,
)

ENVIRONMENT = {
    "envFrom": [{"secretRef": {"name": "s-all"}}, {"configMapRef": {"name": "m-all"}}],
    "env": [
        {"name": "a", "value": "b"},
        {"name": "b", "valueFrom": {"secretKeyRef": {"name": "s-key", "key": "k"}}},
        {"name": "c", "valueFrom": {"configMapKeyRef": {"name": "m-key", "key": "k"}}},
        {"name": "d", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ],
}


@pytest.mark.parametrize("field", ["initContainers", "containers", "ephemeralContainers"])
def test_the_environment_of_each_container_refers_to_secrets_and_config_maps(field):
    spec = {field: [{"name": "c", **ENVIRONMENT}]}
    assert list(secret_names(spec)) == ["s-all", "s-key"]
    assert list(config_map_names(spec)) == ["m-all", "m-key"]


def projected(*sources):
    return {"name": "v", "projected": {"sources": list(sources)}}


NO_SECRETS: list[dict[str, Any]] = [{}, {"secretRef": None}, {"secretRef": {}}]
NO_SOURCES: list[dict[str, Any]] = [
    {}, {"secret": {}}, {"secret": None}, {"configMap": {}}, {"configMap": None},
]  # fmt: skip


@pytest.mark.parametrize(
    ("volume", "secrets", "config_maps"),
    [
        ({"secret": {"secretName": "s"}}, ["s"], []),
        ({"azureFile": {"secretName": "s", "shareName": "x"}}, ["s"], []),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}, ["s"], []),
        ({"csi": {"driver": "d"}}, [], []),
        *(({source: {"secretRef": {"name": "s"}}}, ["s"], [])
          for source in ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")),
        *(({source: fields}, [], []) for fields in NO_SECRETS
          for source in ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")),
        *(({source: {}}, [], []) for source in ("secret", "azureFile", "configMap", "projected")),
        *((projected(each), [], []) for each in NO_SOURCES),
        ({"csi": {"nodePublishSecretRef": {}}}, [], []),
        ({"secret": None}, [], []),
        ({"nfs": {"secretRef": {"name": "s"}}}, [], []),
        (projected({"secret": {"name": "s"}}, {"configMap": {"name": "m"}}), ["s"], ["m"]),
        ({"configMap": {"name": "m"}}, [], ["m"]),
        ({"emptyDir": {}}, [], []),
    ],
)  # fmt: skip
def test_a_volume_refers_to_secrets_and_config_maps(volume, secrets, config_maps):
    spec = {"volumes": [{"name": "v", **volume}]}
    assert list(secret_names(spec)) == secrets
    assert list(config_map_names(spec)) == config_maps


def test_a_pod_pulls_images_with_secrets_and_uses_claims():
    spec = {
        "imagePullSecrets": [{"name": "pull"}, {}],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
            {"name": "none", "emptyDir": {}},
        ],
    }
    assert list(secret_names(spec)) == ["pull"]
    assert list(claim_names({"metadata": {"name": "p"}, "spec": spec})) == ["c", "p-scratch"]
    assert list(claim_names({})) == []


@pytest.mark.parametrize(
    ("spec", "resource"),
    [
        ({}, None),
        ({"serviceAccountName": "a"}, "serviceaccounts"),
        ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
        ({"containers": [{"envFrom": [{"configMapRef": {"name": "m"}}]}]}, "configmaps"),
        ({"resourceClaims": [{"name": "r"}]}, "resourceclaims"),
        ({"volumes": [{"name": "v", "csi": {"driver": "d"}}]}, "csidrivers (via CSI volumes)"),
        ({"volumes": [{"name": "v", "glusterfs": {}}]}, "endpoints (via glusterFS volumes)"),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
         "persistentvolumeclaims"),
        ({"volumes": [{"name": "v", "ephemeral": {}}]},
         "persistentvolumeclaims (via ephemeral volumes)"),
        ({"volumes": [{"name": "v", "azureFile": {}}]}, "secrets (via azureFile volumes)"),
        ({"volumes": [projected({"serviceAccountToken": {}})]},
         "serviceaccounts (via projected volumes)"),
        ({"volumes": [projected({"clusterTrustBundle": {}})]}, "clustertrustbundles"),
        ({"volumes": [projected({"podCertificate": {}})]}, "podcertificates"),
        ({"volumes": [projected({"downwardAPI": {}}), {"name": "w", "emptyDir": {}}]}, None),
    ],
)  # fmt: skip
def test_a_mirror_pod_may_refer_to_none_of_these(spec, resource):
    assert referenced_resource({"spec": spec}) == resource
