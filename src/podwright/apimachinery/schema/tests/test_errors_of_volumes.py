"""The errors of the volumes of pods: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.pod_errors import of_projected, of_volume


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
        (("quobyte", {"registry": "a:1,b:2", "volume": "v", "tenant": "\u00e9" * 33}),
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
        (("awsElasticBlockStore", {"volumeID": "a", "partition": 0}), []),
        (("downwardAPI", {}), []),
        (("emptyDir", {"sizeLimit": "1x"}),
         ['.emptyDir.sizeLimit: Invalid value: "1x": quantities are numbers with an optional'
          " suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        (("storageos", {"volumeName": "a", "volumeNamespace": ""}), []),
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
          ' {"Name":"a","SignerName":"b","LabelSelector":null,"Optional":null,"Path":"c"}:'
          " only one of name and signerName may be used"]),
        ([{"clusterTrustBundle": {"name": "a", "labelSelector": {}, "path": "c"}}],
         [".sources[0].clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector"
          " must be unset if name is specified"]),
        ([{"clusterTrustBundle": {"signerName": "a.b/c", "path": "c",
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
        ([{"clusterTrustBundle": {"name": "a", "path": "c"}},
         {"clusterTrustBundle": {"name": "b", "path": "d"}}],
         []),
        ([{"clusterTrustBundle": {"name": "a"}}, {"clusterTrustBundle": {"name": "b"}}],
         [".sources[0].clusterTrustBundle.path: Required value",
          ".sources[1].clusterTrustBundle.path: Required value",
          ': Invalid value: "": conflicting duplicate paths']),
        ([{"secret": {"name": "s", "items": [{"key": "a"}, {"key": "b"}]}}],
         [".sources[0].secret.items[0].path: Required value",
          ".sources[0].secret.items[1].path: Required value"]),
        ([{"secret": {"items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x"}]}}],
         [".sources[0].secret.name: Required value",
          ': Invalid value: "": conflicting duplicate paths']),
        ([{"clusterTrustBundle": {"name": "", "path": "c"}}],
         [".sources[0].clusterTrustBundle.name: Required value: must be a valid object name",
          '.sources[0].clusterTrustBundle.name: Invalid value: "": not a valid'
          " clustertrustbundlename: SUBDOMAIN"]),
        ([{"clusterTrustBundle": {"name": "A", "path": "c"}}],
         ['.sources[0].clusterTrustBundle.name: Invalid value: "A": not a valid'
          " clustertrustbundlename: SUBDOMAIN"]),
        ([{"clusterTrustBundle": {"name": "a.b:c:d", "path": "c"}}, {"clusterTrustBundle":
         {"name": "a.b:c:D", "path": "d", "labelSelector": {}}}],
         ['.sources[1].clusterTrustBundle.name: Invalid value: "a.b:c:D": not a valid'
          " clustertrustbundlename: SUBDOMAIN",
          ".sources[1].clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector"
          " must be unset if name is specified"]),
        ([{"clusterTrustBundle": {"signerName": "", "path": "c"}}],
         [".sources[0].clusterTrustBundle.signerName: Required value: must be a valid signer"
          " name",
          ".sources[0].clusterTrustBundle.signerName: Required value"]),
        ([{"clusterTrustBundle": {"signerName": "a", "path": "c"}}],
         ['.sources[0].clusterTrustBundle.signerName: Invalid value: "a": must be a fully'
          " qualified domain and path of the form 'example.com/signer-name'"]),
        ([{"podCertificate": {}}],
         [".sources[0].podCertificate.signerName: Required value",
          '.sources[0].podCertificate.keyType: Unsupported value: "": supported values:'
          ' "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
          ".sources[0].podCertificate: Required value: specify at least one of"
          " credentialBundlePath, keyPath, and certificateChainPath"]),
        ([{"podCertificate": {"signerName": "a.b/c", "keyType": "x", "userAnnotations": {"A":
         "", "": "", "a.b/-": "", "a.b/C": ""}, "keyPath": "/a", "certificateChainPath": "b",
         "credentialBundlePath": "b"}}],
         [".sources[0].podCertificate.userAnnotations: Required value",
          '.sources[0].podCertificate.userAnnotations: Invalid value: "a": must be a'
          ' domain-prefixed key (such as "acme.io/foo")',
          '.sources[0].podCertificate.userAnnotations: Invalid value: "a.b/-": NAME PART',
          '.sources[0].podCertificate.keyType: Unsupported value: "x": supported values:'
          ' "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
          '.sources[0].podCertificate.keyPath: Invalid value: "/a": must be a relative path',
          ': Invalid value: "b": conflicting duplicate paths']),
        ([{"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "keyPath": "a",
         "maxExpirationSeconds": 3599}}, {"podCertificate": {"signerName": "a.b/c", "keyType":
         "RSA3072", "certificateChainPath": "a", "maxExpirationSeconds": 7862401}}],
         [".sources[0].podCertificate.maxExpirationSeconds: Invalid value: 3599: if provided,"
          " maxExpirationSeconds must be >= 3600",
          ".sources[1].podCertificate.maxExpirationSeconds: Invalid value: 7862401: if"
          " provided, maxExpirationSeconds must be <= 7862400",
          ': Invalid value: "a": conflicting duplicate paths']),
        ([{"podCertificate": {"signerName": "a.b/c", "keyType": "RSA4096", "keyPath": "a",
         "maxExpirationSeconds": 3600}}, {"podCertificate": {"signerName": "a.b/c", "keyType":
         "ECDSAP521", "credentialBundlePath": "b", "maxExpirationSeconds": 7862400,
         "userAnnotations": {}}}],
         []),
        ([{"podCertificate": {"signerName": "kubernetes.io/c", "keyType": "ECDSAP256",
         "keyPath": "a", "maxExpirationSeconds": 86401}}, {"podCertificate": {"signerName":
         "a.kubernetes.io/c", "keyType": "ECDSAP384", "keyPath": "b", "maxExpirationSeconds":
         86400}}],
         [".sources[0].podCertificate.maxExpirationSeconds: Invalid value: 86401: if"
          " provided, maxExpirationSeconds must be <= 86400"]),
        ([{"podCertificate": {"signerName": "a.b/c", "keyType": "RSA3072", "keyPath": "a",
         "userAnnotations": {"a.b/c": "d" * (256 * 1024 - 4)}}}, {"podCertificate":
         {"signerName": "a.b/c", "keyType": "RSA3072", "keyPath": "b", "userAnnotations":
         {"a.b/c": "d" * (256 * 1024 - 5)}}}],
         [".sources[0].podCertificate.userAnnotations: Too long: may not be more than 262144"
          " bytes"]),
        ([{"podCertificate": {"signerName": "a." * 127 + "/" + "b", "keyType": "RSA3072",
         "keyPath": "a"}}],
         [".sources[0].podCertificate.signerName: Too long: may not be more than 253 bytes",
          '.sources[0].podCertificate.signerName: Invalid value: "a.*254": validating label'
          ' "": LABEL']),
        ([{"podCertificate": {"signerName": "a.b/" + "c." * 284, "keyType": "RSA3072",
         "keyPath": "a"}}],
         ['.sources[0].podCertificate.signerName: Invalid value: "c.*568": validating label'
          ' "": SUBDOMAIN',
          ".sources[0].podCertificate.signerName: Too long: may not be more than 571 bytes"]),
        ([{"podCertificate": {"signerName": "a.b/" + "c." * 283 + "c", "keyType": "RSA3072",
         "keyPath": "a"}}],
         []),
    ],
)  # fmt: skip
def test_projected_volumes(row: Any, expected: list[str]) -> None:
    assert of_projected(row) == expected
