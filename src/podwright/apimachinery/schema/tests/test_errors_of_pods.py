"""The errors of volumes, annotations and the rest of pods: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.pod_errors import (
    CLAIM,
    COST,
    MIRROR,
    TOLERATIONS,
    files,
    host,
    least,
    most,
    of_notes,
    of_projected,
    of_spec,
    of_volume,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("x", {}), [": Required value: must specify a volume type"]),
        (("awsElasticBlockStore", {}), [".awsElasticBlockStore.volumeID: Required value"]),
        (("awsElasticBlockStore", {"volumeID": "a", "partition": 256}),
         [".awsElasticBlockStore.partition: Invalid value: 256: must be between 1 and 255,"
          " inclusive"]),
        (("awsElasticBlockStore", {"volumeID": "a", "partition": 255}), []),
        (("azureDisk", {}),
         [".azureDisk.diskName: Required value",
          ".azureDisk.diskURI: Required value",
          '.azureDisk.diskURI: Unsupported value: "": supported values:'
          ' "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"']),
        (("azureDisk", {"diskName": "a", "diskURI": "b", "cachingMode": "x", "kind": "y"}),
         ['.azureDisk.cachingMode: Unsupported value: "x": supported values: "None",'
          ' "ReadOnly", "ReadWrite"',
          '.azureDisk.kind: Unsupported value: "y": supported values: "Dedicated", "Managed",'
          ' "Shared"',
          '.azureDisk.diskURI: Unsupported value: "b": supported values:'
          ' "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"']),
        (("azureDisk", {"diskName": "a", "diskURI": "b", "kind": "Managed"}),
         ['.azureDisk.diskURI: Unsupported value: "b": supported values:'
          ' "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/'
          'disks/{disk-id}"']),
        (("azureDisk", {"diskName": "a", "diskURI": "/subscriptions/a", "kind": "Managed"}), []),
        (("azureDisk", {"diskName": "a", "diskURI": "/subscriptions/a", "kind": "Shared"}),
         ['.azureDisk.diskURI: Unsupported value: "/subscriptions/a": supported values:'
          ' "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"']),
        (("azureDisk", {"diskName": "a", "diskURI": "https://a", "kind": "Dedicated"}), []),
        (("azureFile", {}),
         [".azureFile.secretName: Required value",
          ".azureFile.shareName: Required value"]),
        (("cephfs", {}), [".cephfs.monitors: Required value"]),
        (("cinder", {}), [".cinder.volumeID: Required value"]),
        (("fc", {}),
         [".fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not"
          " both"]),
        (("fc", {"targetWWNs": ["a"]}),
         [".fc.lun: Required value: lun is required if targetWWNs is specified"]),
        (("fc", {"targetWWNs": ["a"], "lun": 256}),
         [".fc.lun: Invalid value: 256: must be between 0 and 255, inclusive"]),
        (("fc", {"targetWWNs": ["a"], "lun": -1}),
         [".fc.lun: Invalid value: -1: must be between 0 and 255, inclusive"]),
        (("fc", {"targetWWNs": ["a"], "lun": 255}), []),
        (("fc", {"targetWWNs": ["a"], "lun": 0, "wwids": ["b"]}),
         ['.fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified'
          " simultaneously"]),
        (("fc", {"wwids": ["b"], "lun": 300}), []),
        (("flexVolume", {"options": {"kubernetes.io/a": "", "a.K8S.io/b": "", "k8s.io": "",
         "ak8s.io/c": ""}}),
         [".flexVolume.driver: Required value",
          '.flexVolume.options[a.K8S.io/b]: Invalid value: "a.K8S.io/b": kubernetes.io and'
          " k8s.io namespaces are reserved",
          '.flexVolume.options[k8s.io]: Invalid value: "k8s.io": kubernetes.io and k8s.io'
          " namespaces are reserved",
          '.flexVolume.options[kubernetes.io/a]: Invalid value: "kubernetes.io/a":'
          " kubernetes.io and k8s.io namespaces are reserved"]),
        (("flocker", {}),
         [".flocker: Required value: one of datasetName and datasetUUID is required"]),
        (("flocker", {"datasetName": "a/b"}),
         [".flocker.datasetName: Invalid value: \"a/b\": must not contain '/'"]),
        (("flocker", {"datasetName": "a", "datasetUUID": "b"}),
         ['.flocker: Invalid value: "resource": datasetName and datasetUUID can not be'
          " specified simultaneously"]),
        (("flocker", {"datasetUUID": "b"}), []),
        (("gcePersistentDisk", {"partition": -1}),
         [".persistentDisk.pdName: Required value",
          ".persistentDisk.partition: Invalid value: -1: must be between 1 and 255, inclusive"]),
        (("gitRepo", {"directory": "/a"}),
         [".gitRepo.repository: Required value",
          '.gitRepo.directory: Invalid value: "/a": must be a relative path']),
        (("gitRepo", {"repository": "a", "directory": "a"}), []),
        (("glusterfs", {}),
         [".glusterfs.endpoints: Required value",
          ".glusterfs.path: Required value"]),
        (("hostPath", {"type": "x"}), [".hostPath.path: Required value"]),
        (("hostPath", {"path": "a/../b", "type": "Socket"}),
         [".hostPath.path: Invalid value: \"a/../b\": must not contain '..'"]),
        (("hostPath", {"path": "/a", "type": "x"}),
         ['.hostPath.type: Unsupported value: "x": supported values: "", "BlockDevice",'
          ' "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"']),
        (("iscsi", {}),
         [".iscsi.targetPortal: Required value",
          ".iscsi.iqn: Required value"]),
        (("iscsi", {"targetPortal": "a", "iqn": "x"}),
         ['.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa']),
        (("iscsi", {"targetPortal": "a", "iqn": "iqn.2001-04.a:b", "initiatorName": "x",
         "lun": 256}),
         ['.iscsi.initiatorname: Invalid value: "x": must be valid format starting with iqn,'
          " eui, or naa",
          ".iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive"]),
        (("iscsi", {"targetPortal": "a", "iqn": "iqn.2001-4.a:b", "initiatorName": "eui.1"}),
         ['.iscsi.iqn: Invalid value: "iqn.2001-4.a:b": must be valid format',
          '.iscsi.initiatorname: Invalid value: "eui.1": must be valid format']),
        (("iscsi", {"targetPortal": "a", "iqn": "eui.0123456789abcdef",
         "initiatorName": "naa.1"}),
         ['.iscsi.initiatorname: Invalid value: "naa.1": must be valid format']),
        (("iscsi", {"targetPortal": "a", "iqn": "naa." + "0" * 32,
         "chapAuthDiscovery": True}),
         [".iscsi.secretRef: Required value"]),
        (("iscsi", {"targetPortal": "a", "iqn": "iqn.2001-04.a:b", "chapAuthSession": True}),
         [".iscsi.secretRef: Required value"]),
        (("iscsi", {"targetPortal": "a", "iqn": "iqn.2001-04.a:b", "chapAuthSession": True,
         "secretRef": {}}),
         []),
        (("nfs", {}),
         [".nfs.server: Required value",
          ".nfs.path: Required value",
          '.nfs.path: Invalid value: "": must be an absolute path']),
        (("nfs", {"server": "a", "path": "b"}),
         ['.nfs.path: Invalid value: "b": must be an absolute path']),
        (("persistentVolumeClaim", {}), [".persistentVolumeClaim.claimName: Required value"]),
        (("photonPersistentDisk", {}), [".photonPersistentDisk.pdID: Required value"]),
        (("portworxVolume", {}), [".portworxVolume.volumeID: Required value"]),
        (("quobyte", {}),
         [".quobyte.registry: Required value: must be a host:port pair or multiple pairs"
          " separated by commas",
          ".quobyte.volume: Required value"]),
        (("quobyte", {"registry": "a:1,b", "volume": "v"}),
         ['.quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or multiple'
          " pairs separated by commas"]),
        (("quobyte", {"registry": "a:1,b:2", "volume": "v", "tenant": "a" * 65}),
         [".quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64"
          " characters"]),
        (("quobyte", {"registry": "a:1,b:2", "volume": "v", "tenant": "a" * 64}), []),
        (("rbd", {}),
         [".rbd.monitors: Required value",
          ".rbd.image: Required value"]),
        (("scaleIO", {}),
         [".scaleIO.gateway: Required value",
          ".scaleIO.system: Required value",
          ".scaleIO.volumeName: Required value"]),
        (("storageos", {}), [".storageos.volumeName: Required value"]),
        (("storageos", {"volumeName": "A", "volumeNamespace": "B"}),
         ['.storageos.volumeName: Invalid value: "A": LABEL',
          '.storageos.volumeNamespace: Invalid value: "B": LABEL']),
        (("vsphereVolume", {}), [".vsphereVolume.volumePath: Required value"]),
        (("csi", {}), [".csi.driver: Required value"]),
        (("csi", {"driver": "A.b", "nodePublishSecretRef": {}}),
         [".csi.nodePublishSecretRef.name: Required value"]),
        (("csi", {"driver": "a_b", "nodePublishSecretRef": {"name": "A"}}),
         ['.csi.driver: Invalid value: "a_b": SUBDOMAIN',
          '.csi.name: Invalid value: "A": SUBDOMAIN']),
        (("csi", {"driver": "a" * 64}), [".csi.driver: Too long: may not be more than 63 bytes"]),
        (("csi", {"driver": "a" * 63, "nodePublishSecretRef": {"name": "a"}}), []),
        (("emptyDir", {"sizeLimit": "-1"}),
         [".emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"]),
        (("emptyDir", {"sizeLimit": "1", "medium": "HugePages-x"}), []),
        (("secret", {"secretName": "", "defaultMode": 512}),
         [".secret.secretName: Required value",
          ".secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777"
          " (octal), both inclusive"]),
        (("secret", {"secretName": "a", "items": [{}, {"key": "a", "path": "/a",
         "mode": -1}]}),
         [".secret.items[0].key: Required value",
          ".secret.items[0].path: Required value",
          '.secret.items[1].path: Invalid value: "/a": must be a relative path',
          ".secret.items[1].mode: Invalid value: -1: must be a number between 0 and 0777"
          " (octal), both inclusive"]),
        (("configMap", {"items": [{"key": "a", "path": "../a"}], "defaultMode": -1}),
         [".configMap.name: Required value",
          ".configMap.defaultMode: Invalid value: -1: must be a number between 0 and 0777"
          " (octal), both inclusive",
          ".configMap.items[0].path: Invalid value: \"../a\": must not contain '..'"]),
        (("configMap", {"name": "a", "items": [{"key": "a", "path": "b..c", "mode": 511}]}), []),
        (("downwardAPI", {"defaultMode": 512, "items": [{}]}),
         [".downwardAPI.defaultMode: Invalid value: 512: must be a number between 0 and 0777"
          " (octal), both inclusive",
          ".downwardAPI.path: Required value",
          ".downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"]),
        (("downwardAPI", {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"},
         "mode": 512}]}),
         ['.downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported'
          ' values: "metadata.annotations", "metadata.labels", "metadata.name",'
          ' "metadata.namespace", "metadata.uid"',
          ".downwardAPI.mode: Invalid value: 512: must be a number between 0 and 0777"
          " (octal), both inclusive"]),
        (("downwardAPI", {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"},
         "resourceFieldRef": {"resource": "limits.cpu"}}]}),
         ['.downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be'
          " specified simultaneously"]),
        (("downwardAPI", {"items": [{"path": "a",
         "resourceFieldRef": {"resource": "limits.cpu"}}]}),
         [".downwardAPI.resourceFieldRef.containerName: Required value"]),
        (("downwardAPI", {"items": [{"path": "a", "resourceFieldRef": {"resource": "x",
         "containerName": "c"}}]}),
         ['.downwardAPI.resourceFieldRef.resource: Unsupported value: "x": supported values:'
          " RESOURCES"]),
        (("ephemeral", {}), [".ephemeral.volumeClaimTemplate: Required value"]),
        (("ephemeral", {"volumeClaimTemplate": {}}),
         [".ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access"
          " mode is required",
          ".ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"]),
        (("ephemeral", {"volumeClaimTemplate": {"metadata": {"name": "a",
         "labels": {"-": ""}}}}),
         ['.ephemeral.volumeClaimTemplate.metadata.labels: Invalid value: "-": NAME PART',
          ".ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
          ".ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access"
          " mode is required",
          ".ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"]),
        (("image", {}), [".image.reference: Required value"]),
        (("image", {"reference": "a", "pullPolicy": "x"}),
         ['.image.pullPolicy: Unsupported value: "x": supported values: "Always",'
          ' "IfNotPresent", "Never"']),
        (("image", {"reference": " a", "pullPolicy": "Never"}), []),
    ],
)  # fmt: skip
def test_sources_of_volumes(row: Any, expected: list[str]) -> None:
    assert of_volume(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([], []),
        ([{}], []),
        ([{"secret": {}, "configMap": {}}],
         [".sources[0].secret.name: Required value",
          ".sources[0].configMap.name: Required value",
          ".sources[0]: Forbidden: may not specify more than 1 volume type per source"]),
        ([{"secret": {"name": "s", "items": [{"key": "a", "path": "x"}]}},
         {"configMap": {"name": "m", "items": [{"key": "a", "path": "x"}, {"key": "b",
         "path": "y"}]}}],
         [': Invalid value: "m": conflicting duplicate paths']),
        ([{"configMap": {"name": "m", "items": [{"path": "/a", "mode": 512}]}}],
         [".sources[0].configMap.items[0].key: Required value",
          '.sources[0].configMap.items[0].path: Invalid value: "/a": must be a relative path',
          ".sources[0].configMap.items[0].mode: Invalid value: 512: must be a number between"
          " 0 and 0777 (octal), both inclusive"]),
        ([{"downwardAPI": {"items": [{"path": "x",
         "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "x",
         "fieldRef": {"fieldPath": "metadata.uid"}}]}}],
         [': Invalid value: "x": conflicting duplicate paths']),
        ([{"downwardAPI": {"items": [{}]}}],
         [".sources[0].downwardAPI.path: Required value",
          ".sources[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is"
          " required"]),
        ([{"serviceAccountToken": {}}],
         [".path: Required value",
          ".sources[0].serviceAccountToken: Forbidden: must not be specified when"
          " serviceAccountName is not set"]),
        ([{"serviceAccountToken": {"path": "a", "expirationSeconds": 599}}],
         [".sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not"
          " specify a duration less than 10 minutes",
          ".sources[0].serviceAccountToken: Forbidden: must not be specified when"
          " serviceAccountName is not set"]),
        ([{"serviceAccountToken": {"path": "a", "expirationSeconds": 600}}],
         [".sources[0].serviceAccountToken: Forbidden: must not be specified when"
          " serviceAccountName is not set"]),
        ([{"serviceAccountToken": {"path": "../a", "expirationSeconds": 4294967297}}],
         [".sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may"
          " not specify a duration larger than 2^32 seconds",
          ".path: Invalid value: \"../a\": must not contain '..'",
          ".sources[0].serviceAccountToken: Forbidden: must not be specified when"
          " serviceAccountName is not set"]),
        ([{"clusterTrustBundle": {}}],
         [".sources[0].clusterTrustBundle: Required value: either name or signerName must be"
          " specified",
          ".sources[0].clusterTrustBundle.path: Required value"]),
        ([{"clusterTrustBundle": {"name": "a", "signerName": "b", "path": "c"}}],
         [".sources[0].clusterTrustBundle: Invalid value:"
          ' {"name":"a","signerName":"b","path":"c"}: only one of name and signerName may be'
          " used"]),
        ([{"clusterTrustBundle": {"name": "a", "labelSelector": {}, "path": "c"}}],
         [".sources[0].clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector"
          " must be unset if name is specified"]),
        ([{"clusterTrustBundle": {"signerName": "a/b", "path": "c",
         "labelSelector": {"matchLabels": {"-": ""}}}}],
         ['.sources[0].clusterTrustBundle.labelSelector.matchLabels: Invalid value: "-": NAME'
          " PART"]),
        ([{"clusterTrustBundle": {"name": "a", "path": "c"}},
         {"clusterTrustBundle": {"name": "b", "path": "c"}}],
         [': Invalid value: "c": conflicting duplicate paths']),
        ([{"serviceAccountToken": {"path": "a"}, "downwardAPI": {}}],
         [".sources[0]: Forbidden: may not specify more than 1 volume type per source",
          ".sources[0].serviceAccountToken: Forbidden: must not be specified when"
          " serviceAccountName is not set"]),
    ],
)  # fmt: skip
def test_projected_volumes(row: Any, expected: list[str]) -> None:
    assert of_projected(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({MIRROR: "a"}, {}),
         ['[kubernetes.io/config.mirror]: Invalid value: "a": must set spec.nodeName if'
          " mirror pod annotation is set"]),
        (({MIRROR: "a"}, {"nodeName": "n"}), []),
        (({MIRROR: "a"}, {"nodeName": "n", "resourceClaims": [{"name": "r",
         "resourceClaimName": "c"}]}),
         [": Forbidden: static pods do not support resource claims"]),
        (({COST: "x"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "x": must be a 32bit'
          " integer"]),
        (({COST: "2147483648"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "2147483648": must be'
          " a 32bit integer"]),
        (({COST: "-2147483648"}, {}), []),
        (({COST: "+1"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit'
          " integer"]),
        (({COST: "01"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "01": must be a 32bit'
          " integer"]),
        (({TOLERATIONS: "x"}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": invalid character'
          " 'x' looking for beginning of value"]),
        (({TOLERATIONS: "null"}, {}), []),
        (({TOLERATIONS: "true"}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal bool into Go value of type []core.Toleration"]),
        (({TOLERATIONS: "[1]"}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal number into Go value of type core.Toleration"]),
        (({TOLERATIONS: '[null, {"key": "a", "operator": 1}]'}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal number into Go struct field Toleration.Operator of type"
          " core.TolerationOperator"]),
        (({TOLERATIONS: '[{"key": "a", "operator": "Exists", "tolerationSeconds": "1"}]'},
         {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal string into Go struct field Toleration.TolerationSeconds of type int64"]),
        (({TOLERATIONS: '[{"key": "a", "effect": [], "value": {}}]'}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal object into Go struct field Toleration.Value of type string"]),
        (({TOLERATIONS: '[{"operator": "x"}]'}, {}),
         ['.scheduler.alpha.kubernetes.io/tolerations[0].operator: Invalid value: "x":'
          ' operator must be Exists when `key` is empty, which means "match all values and'
          ' all keys"',
          '.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: "x":'
          ' supported values: "Equal", "Exists"']),
        (({TOLERATIONS: '[{"key": "a", "operator": "Exists"}]'}, {}), []),
    ],
)  # fmt: skip
def test_annotations_of_pods(row: Any, expected: list[str]) -> None:
    assert of_notes(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"resourceClaims": [{}, {"name": "A"}]},
         ["resourceClaims[0].name: Required value",
          "resourceClaims[0]: Invalid value:"
          ' {"Name":"","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must'
          " specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
          'resourceClaims[1].name: Invalid value: "A": LABEL',
          "resourceClaims[1]: Invalid value:"
          ' {"Name":"A","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must'
          " specify one of: `resourceClaimName`, `resourceClaimTemplateName`"]),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "b"}] * 2},
         ['resourceClaims[1].name: Duplicate value: "a"']),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "b",
         "resourceClaimTemplateName": "c"}]},
         ["resourceClaims[0]: Invalid value:"
          ' {"Name":"a","ResourceClaimName":"b","ResourceClaimTemplateName":"c"}: at most one'
          " of `resourceClaimName` or `resourceClaimTemplateName` may be specified"]),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "B"}, {"name": "b",
         "resourceClaimTemplateName": "C"}]},
         ['resourceClaims[0].resourceClaimName: Invalid value: "B": SUBDOMAIN',
          'resourceClaims[1].resourceClaimTemplateName: Invalid value: "C": SUBDOMAIN']),
        ({"os": {"name": "windows"}, "resources": {"limits": {"cpu": "1"}}},
         ["resources: Forbidden: may not be set for a windows pod"]),
        ({"resources": {"claims": [], "limits": {"cpu": "1"}}},
         ["resources.claims: Forbidden: claims may not be set for Resources at pod-level"]),
        ({"resources": {"requests": {"cpu": "1"}}, "containers": [least("a", cpu="600m"),
         least("b", cpu="500m")]},
         ['resources.requests[cpu]: Invalid value: "1": must be greater than or equal to'
          " aggregate container requests of 1100m"]),
        ({"resources": {"requests": {"cpu": "1"}}, "containers": [least("a", cpu="600m"),
         least("b", cpu="400m")]},
         []),
        ({"resources": {"requests": {"memory": "1Gi"}}, "containers": [least("a",
         memory="2Gi")]},
         ['resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2Gi"]),
        ({"resources": {"requests": {"memory": "1Gi"}}, "containers": [least("a")],
         "initContainers": [least("b", memory="2G")]},
         ['resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2G"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [most("a", cpu="2"), most("b",
         cpu="1")]},
         ['resources.requests: Invalid value: "3": must be less than or equal to cpu limit of'
          " 1",
          'resources.containers[0][cpu].limits: Invalid value: "2": must be less than or'
          " equal to pod limits of 1"]),
        ({"resources": {"limits": {"cpu": "2"}}, "containers": [most("a", cpu="2"), most("b",
         cpu="1")]},
         ['resources.requests: Invalid value: "3": must be less than or equal to cpu limit of'
          " 2"]),
        ({"resources": {"limits": {"x": "1", "cpu": "-1"}, "requests": {"a/b": "1"}}},
         ['resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'resources.limits[x]: Invalid value: "x": must be a standard resource type or fully'
          " qualified",
          'resources.requests[a/b]: Unsupported value: "a/b": supported values: "cpu",'
          ' "hugepages-", "memory"',
          "resources.limits: Required value: Limit must be set for non overcommitable"
          " resources",
          'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True},
         ["hostNetwork: Forbidden: when `hostUsers` is false",
          "HostPID: Forbidden: when `hostUsers` is false",
          "HostIPC: Forbidden: when `hostUsers` is false"]),
        ({"hostUsers": False, "hostPID": True}, ["HostPID: Forbidden: when `hostUsers` is false"]),
        ({"hostUsers": True, "hostPID": True}, []),
        ({"hostnameOverride": "a", "setHostnameAsFQDN": True, "hostNetwork": True},
         ["hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
          "hostnameOverride: Forbidden: may not be specified when hostNetwork is true"]),
        ({"hostnameOverride": "A"}, ['hostnameOverride: Invalid value: "A": SUBDOMAIN']),
        ({"os": {}}, ["os.name: Required value"]),
        ({"os": {"name": "x"}},
         ['os: Unsupported value: "x": supported values: "linux", "windows"']),
        ({"os": {"name": "linux"}, **host(value=False)},
         ["securityContext.windowsOptions: Forbidden: windows options cannot be set for a"
          " linux pod"]),
        ({"os": {"name": "windows"}, "hostPID": True, "hostIPC": False, "hostUsers": False,
         "shareProcessNamespace": False, "securityContext": {"runAsUser": 0, "fsGroup": 1,
         "seLinuxOptions": {}, "supplementalGroups": []}},
         ["HostPID: Forbidden: when `hostUsers` is false",
          "securityContext.seLinuxOptions: Forbidden: cannot be set for a windows pod",
          "hostUsers: Forbidden: cannot be set for a windows pod",
          "hostPID: Forbidden: cannot be set for a windows pod",
          "securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
          "shareProcessNamespace: Forbidden: cannot be set for a windows pod",
          "securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
          "securityContext.supplementalGroups: Forbidden: cannot be set for a windows pod"]),
        ({"os": {"name": "windows"}, "containers": [{"name": "c", "image": "a",
         "securityContext": { "privileged": False, "capabilities": {}, "runAsUser": 1,
         "procMount": "Default"}}]},
         ["containers[0].securityContext.capabilities: Forbidden: cannot be set for a windows"
          " pod",
          "containers[0].securityContext.privileged: Forbidden: cannot be set for a windows"
          " pod",
          "containers[0].securityContext.procMount: Forbidden: cannot be set for a windows pod",
          "containers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod"]),
        ({"schedulingGroup": {}},
         ["schedulingGroup.podGroupName: Invalid value: null: must specify one of:"
          " `podGroupName`"]),
        ({"schedulingGroup": {"podGroupName": "A"}},
         ['schedulingGroup.podGroupName: Invalid value: "A": SUBDOMAIN']),
        ({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w",
         "configMap": {"name": "m"}}], "containers": [{"name": "c", "image": "a", **files("v",
          "w", "x")}]},
         ['containers[0].env[1].valueFrom.fileKeyRef.volumeName: Invalid value: "w":'
          " referenced volume must be of type emptyDir",
          'containers[0].env[2].valueFrom.fileKeyRef.volumeName: Not found: "x"']),
        ({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}},
         {"emptyDir": {}}]},
         ['volumes[1].name: Duplicate value: "a"',
          "volumes[2].name: Required value"]),
        ({"volumes": [{"name": "a"}, {"name": "B", "emptyDir": {},
         "hostPath": {"path": "/a"}}]},
         ["volumes[1].hostPath: Forbidden: may not specify more than 1 volume type",
          'volumes[1].name: Invalid value: "B": LABEL']),
        ({"volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": CLAIM}},
         {"name": "b", "persistentVolumeClaim": {"claimName": "x-a"}}]},
         ['volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-a": must not'
          " reference a PVC that gets created for an ephemeral volume"]),
        ({"volumes": [{"name": "a" * 63, "ephemeral": {"volumeClaimTemplate": CLAIM}}]}, []),
        ({"ephemeralContainers": [{"name": "c", "image": "a"}]},
         ['ephemeralContainers[0].name: Duplicate value: "c"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": " a ", "targetContainerName": "x"}]},
         ['ephemeralContainers[0].image: Invalid value: " a ": must not have leading or'
          " trailing whitespace",
          'ephemeralContainers[0].targetContainerName: Not found: "x"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "targetContainerName": "c",
         "ports": [], "resources": {"limits": {"cpu": "1"}}, "lifecycle": {},
         "livenessProbe": None}]},
         ["ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
          "ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral"
          " Container",
          "ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral"
          " Container",
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "volumeMounts": [{"name": "v",
         "mountPath": "/a", "subPath": "b", "subPathExpr": "c"}]}], "volumes": [{"name": "v",
         "emptyDir": {}}]},
         ['ephemeralContainers[0].volumeMounts[0].subPathExpr: Invalid value: "c":'
          " subPathExpr and subPath are mutually exclusive",
          "ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an"
          " Ephemeral Container",
          "ephemeralContainers[0].volumeMounts[0].subPathExpr: Forbidden: cannot be set for"
          " an Ephemeral Container",
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a"}, {"name": "e", "image": "a"}]},
         ['ephemeralContainers[1].name: Duplicate value: "e"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"initContainers": [{"name": "c", "image": "a"}, {"name": "i", "image": "a",
         "lifecycle": { "preStop": {"exec": {"command": ["a"]}}},
         "livenessProbe": {"tcpSocket": {"port": 1}}}]},
         ['initContainers[0].name: Duplicate value: "c"',
          "initContainers[1].lifecycle: Forbidden: may not be set for init containers without"
          " restartPolicy=Always",
          "initContainers[1].livenessProbe: Forbidden: may not be set for init containers"
          " without restartPolicy=Always"]),
        ({"initContainers": [{"name": "i", "image": "a", "restartPolicy": "Always",
         "readinessProbe": { "tcpSocket": {"port": 0}}}, {"name": "j", "image": "a",
         "restartPolicy": "Never"}]},
         ["initContainers[0].readinessProbe.tcpSocket.port: Invalid value: 0: must be between"
          " 1 and 65535, inclusive"]),
        ({"containers": []}, ["containers: Required value"]),
        ({"restartPolicy": "x", "dnsPolicy": "y", "terminationGracePeriodSeconds": -1},
         ['restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure",'
          ' "Never"',
          'dnsPolicy: Unsupported value: "y": supported values: "ClusterFirstWithHostNet",'
          ' "ClusterFirst", "Default", "None"']),
        ({"activeDeadlineSeconds": 0, "hostname": "A", "subdomain": "B", "nodeName": "C"},
         ['nodeName: Invalid value: "C": SUBDOMAIN',
          "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647,"
          " inclusive",
          'hostname: Invalid value: "A": LABEL',
          'subdomain: Invalid value: "B": LABEL']),
        ({"activeDeadlineSeconds": 2**31, "serviceAccountName": "A",
         "priorityClassName": "B"},
         ['serviceAccountName: Invalid value: "A": SUBDOMAIN',
          "activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and"
          " 2147483647, inclusive",
          'priorityClassName: Invalid value: "B": SUBDOMAIN']),
        ({"dnsPolicy": "None"},
         ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        ({"dnsConfig": {"nameservers": ["a", "1.1.1.1", "1", "2"], "searches": ["-"],
         "options": [{}]}},
         ['dnsConfig.nameservers: Invalid value: ["a","1.1.1.1","1","2"]: must not have more'
          " than 3 nameservers",
          'dnsConfig.nameservers[0]: Invalid value: "a": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'dnsConfig.nameservers[2]: Invalid value: "1": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'dnsConfig.nameservers[3]: Invalid value: "2": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'dnsConfig.searches[0]: Invalid value: "-": a lowercase RFC 1123 subdomain must'
          " consist of lower case alphanumeric characters, '_', '-' or '.', and must start"
          " and end with an alphanumeric character (e.g. 'example.com', regex used for"
          " validation is"
          " '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
          "dnsConfig.options[0]: Required value: must not be empty"]),
        ({"hostAliases": [{"ip": "a", "hostnames": ["A"]}, {"hostnames": ["a"]}]},
         ['hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)",
          'hostAliases[0].hostnames[0]: Invalid value: "A": SUBDOMAIN',
          'hostAliases[1].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)"]),
        ({"readinessGates": [{}, {"conditionType": "-"}], "imagePullSecrets": [{},
         {"name": "A"}]},
         ['readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
          'readinessGates[0].conditionType: Invalid value: "": NAME PART',
          'readinessGates[1].conditionType: Invalid value: "-": NAME PART']),
        ({"schedulingGates": [{"name": ""}, {"name": "a"}, {"name": "a"}, {"name": "-"}]},
         ['schedulingGates[0]: Invalid value: "": name part must be non-empty',
          'schedulingGates[0]: Invalid value: "": NAME PART',
          'schedulingGates[2]: Duplicate value: "a"',
          'schedulingGates[3]: Invalid value: "-": NAME PART']),
        ({"overhead": {"cpu": "-1", "x": "1"}, "runtimeClassName": "A",
         "preemptionPolicy": "x"},
         ['runtimeClassName: Invalid value: "A": SUBDOMAIN',
          'preemptionPolicy: Unsupported value: "x": supported values:'
          ' "PreemptLowerPriority", "Never"',
          'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'overhead.limits[x]: Invalid value: "x": must be a standard resource type or fully'
          " qualified",
          'overhead.limits[x]: Invalid value: "x": must be a standard resource for containers']),
        ({"tolerations": [{"key": "-"}, {"operator": "Equal"}, {"operator": "Exists",
         "value": "a", "key": "a"}, {"key": "a", "operator": "x"}, {"key": "a",
         "effect": "x"}]},
         ['tolerations[0].key: Invalid value: "-": NAME PART',
          'tolerations[1].operator: Invalid value: "Equal": operator must be Exists when'
          ' `key` is empty, which means "match all values and all keys"',
          'tolerations[2].operator: Invalid value: "a": value must be empty when `operator`'
          " is 'Exists'",
          'tolerations[3].operator: Unsupported value: "x": supported values: "Equal",'
          ' "Exists"',
          'tolerations[4].effect: Unsupported value: "x": supported values: "NoSchedule",'
          ' "PreferNoSchedule", "NoExecute"']),
        ({"tolerations": [{"key": "a", "value": "-"}, {"key": "a", "tolerationSeconds": 1},
         {"key": "a", "tolerationSeconds": 1, "effect": "NoExecute"}]},
         ['tolerations[0].operator: Invalid value: "-": a valid label must be an empty string'
          " or consist of alphanumeric characters, '-', '_' or '.', and must start and end"
          " with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
          " regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          "tolerations[1].effect: Invalid value: \"\": effect must be 'NoExecute' when"
          " `tolerationSeconds` is set"]),
        ({"topologySpreadConstraints": [{}, {"maxSkew": 0, "topologyKey": "-",
         "whenUnsatisfiable": "x"}]},
         ["topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
          "topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
          'topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported'
          ' values: "DoNotSchedule", "ScheduleAnyway"',
          "topologySpreadConstraints[1].maxSkew: Invalid value: 0: must be greater than zero",
          'topologySpreadConstraints[1].whenUnsatisfiable: Unsupported value: "x": supported'
          ' values: "DoNotSchedule", "ScheduleAnyway"']),
        ({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a",
         "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0, "nodeAffinityPolicy": "x",
         "nodeTaintsPolicy": "y", "matchLabelKeys": ["a"]}] * 2},
         ["topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value:"
          ' "{a, ScheduleAnyway}"',
          "topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than"
          " zero",
          "topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains"
          " if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
          'topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "x": supported'
          ' values: "Honor", "Ignore"',
          'topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "y": supported'
          ' values: "Honor", "Ignore"',
          "topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when"
          " labelSelector is not set",
          "topologySpreadConstraints[1].minDomains: Invalid value: 0: must be greater than"
          " zero",
          "topologySpreadConstraints[1].minDomains: Invalid value: 0: can only use minDomains"
          " if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
          'topologySpreadConstraints[1].nodeAffinityPolicy: Unsupported value: "x": supported'
          ' values: "Honor", "Ignore"',
          'topologySpreadConstraints[1].nodeTaintsPolicy: Unsupported value: "y": supported'
          ' values: "Honor", "Ignore"',
          "topologySpreadConstraints[1].matchLabelKeys: Forbidden: must not be specified when"
          " labelSelector is not set"]),
        ({"nodeSelector": {"-": "-"}},
         ['nodeSelector: Invalid value: "-": NAME PART',
          'nodeSelector: Invalid value: "-": a valid label must be an empty string or consist'
          " of alphanumeric characters, '-', '_' or '.', and must start and end with an"
          " alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
          " for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"]),
    ],
)  # fmt: skip
def test_the_rest_of_pods(row: Any, expected: list[str]) -> None:
    assert of_spec(row) == expected
