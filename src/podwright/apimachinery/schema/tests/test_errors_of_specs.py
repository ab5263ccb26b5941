"""The errors of specs of volumes, services and workloads: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import TEMPLATE, of_spec


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PersistentVolume", {}), []),
        (("PersistentVolume", {"accessModes": []}), ["spec.accessModes: Required value"]),
        (("PersistentVolume", {"accessModes": ["x", "ReadWriteOncePod"]}),
         ['spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany",'
          ' "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"']),
        (("PersistentVolume", {"accessModes": ["ReadOnlyMany", "ReadWriteOncePod"]}),
         ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"]),
        (("PersistentVolume", {"capacity": {}}),
         ["spec.capacity: Required value",
          'spec.capacity: Unsupported value: {}: supported values: "storage"']),
        (("PersistentVolume", {"capacity": {"storage": "0"}}),
         ['spec.capacity[storage]: Invalid value: "0": must be greater than zero']),
        (("PersistentVolume", {"capacity": {"storage": "-1Gi"}}),
         ["spec.capacity[storage]: Invalid value: -1073741824: must be a valid resource"
          " quantity",
          'spec.capacity[storage]: Invalid value: "-1Gi": must be greater than zero']),
        (("PersistentVolume", {"capacity": {"storage": "1", "cpu": "1"}}),
         ['spec.capacity: Unsupported value: {"storage":"1","cpu":"1"}: supported values:'
          ' "storage"']),
        (("PersistentVolume", {"persistentVolumeReclaimPolicy": "x"}),
         ['spec.persistentVolumeReclaimPolicy: Unsupported value: "x": supported values:'
          ' "Delete", "Recycle", "Retain"']),
        (("PersistentVolume", {"hostPath": {"path": "/a/../"},
         "persistentVolumeReclaimPolicy": "Recycle"}),
         ["spec.hostPath.path: Invalid value: \"/a/../\": must not contain '..'",
          "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath"
          " mount of '/'"]),
        (("PersistentVolume", {"hostPath": {"path": "//"},
         "persistentVolumeReclaimPolicy": "Recycle"}),
         ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath"
          " mount of '/'"]),
        (("PersistentVolume", {"hostPath": {"path": "/"},
         "persistentVolumeReclaimPolicy": "Retain"}),
         []),
        (("PersistentVolume", {"hostPath": None}),
         ["spec: Required value: must specify a volume type"]),
        (("PersistentVolume", {"nodeAffinity": {}}),
         ["spec.nodeAffinity.required: Required value: must specify required node constraints"]),
        (("PersistentVolume", {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}),
         ["spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least"
          " one node selector term"]),
        (("PersistentVolume", {"hostPath": None, "local": {"path": "/a"}}),
         ["spec.nodeAffinity: Required value: Local volume requires node affinity"]),
        (("PersistentVolume", {"hostPath": None, "local": {"path": "../a"},
         "csi": {"driver": "a", "volumeHandle": "b"}}),
         ["spec.local.path: Invalid value: \"../a\": must not contain '..'",
          "spec.nodeAffinity: Required value: Local volume requires node affinity",
          "spec.csi: Forbidden: may not specify more than 1 volume type"]),
        (("PersistentVolume", {"nfs": {"server": "a", "path": "/b"},
         "local": {"path": "/a"}}),
         ["spec.nfs: Forbidden: may not specify more than 1 volume type",
          "spec.local: Forbidden: may not specify more than 1 volume type"]),
        (("PersistentVolume", {"hostPath": None, "csi": {}}),
         ["spec.csi.driver: Required value",
          "spec.csi.volumeHandle: Required value"]),
        (("PersistentVolume", {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b",
         "nodeStageSecretRef": {}, "nodeExpandSecretRef": {},
         "controllerPublishSecretRef": {"name": "A", "namespace": "B"},
         "controllerExpandSecretRef": {"name": "a"},
         "nodePublishSecretRef": {"namespace": "b"}}}),
         ['spec.csi.controllerPublishSecretRef.name: Invalid value: "A": SUBDOMAIN',
          'spec.csi.controllerPublishSecretRef.namespace: Invalid value: "B": LABEL',
          "spec.csi.controllerExpandSecretRef.namespace: Required value",
          "spec.csi.nodePublishSecretRef.name: Required value",
          "spec.csi.nodeExpandSecretRef.name: Required value",
          "spec.csi.nodeExpandSecretRef.namespace: Required value"]),
        (("PersistentVolume", {"storageClassName": "A", "volumeMode": "x"}),
         ['spec.storageClassName: Invalid value: "A": SUBDOMAIN',
          'spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"']),
        (("PersistentVolume", {"volumeAttributesClassName": ""}),
         ["spec.volumeAttributesClassName: Required value: an empty string is disallowed",
          "spec.csi: Required value: has to be specified when using volumeAttributesClassName"]),
        (("PersistentVolume", {"volumeAttributesClassName": "A"}),
         ['spec.volumeAttributesClassName: Invalid value: "A": SUBDOMAIN',
          "spec.csi: Required value: has to be specified when using volumeAttributesClassName"]),
        (("PersistentVolume", {"volumeAttributesClassName": "a", "hostPath": None,
         "csi": {"driver": "a", "volumeHandle": "b"}}),
         []),
    ],
)  # fmt: skip
def test_specs_of_volumes(row: Any, expected: list[str]) -> None:
    assert of_spec(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PersistentVolumeClaim", {}), []),
        (("PersistentVolumeClaim", {"accessModes": []}),
         ["spec.accessModes: Required value: at least 1 access mode is required"]),
        (("PersistentVolumeClaim", {"accessModes": ["x"]}),
         ['spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany",'
          ' "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"']),
        (("PersistentVolumeClaim", {"selector": {"matchLabels": {"-": "-"}}}),
         ['spec.selector.matchLabels: Invalid value: "-": NAME PART',
          'spec.selector.matchLabels: Invalid value: "-": a valid label must be an empty'
          " string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
          " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
          " regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"]),
        (("PersistentVolumeClaim", {"resources": {}}),
         ["spec.resources[storage]: Required value"]),
        (("PersistentVolumeClaim", {"resources": {"requests": {"storage": "0"}}}),
         ['spec.resources[storage]: Invalid value: "0": must be greater than zero']),
        (("PersistentVolumeClaim", {"resources": {"requests": {"storage": "-1"}}}),
         ['spec.resources[storage]: Invalid value: "-1": must be greater than zero']),
        (("PersistentVolumeClaim", {"storageClassName": "A", "volumeMode": "x",
         "volumeAttributesClassName": "B"}),
         ['spec.storageClassName: Invalid value: "A": SUBDOMAIN',
          'spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"',
          'spec.volumeAttributesClassName: Invalid value: "B": SUBDOMAIN']),
        (("PersistentVolumeClaim", {"storageClassName": "", "volumeMode": "Block",
         "volumeAttributesClassName": ""}),
         []),
        (("PersistentVolumeClaim", {"dataSource": {}}),
         ["spec.dataSource.name: Required value",
          "spec.dataSource.kind: Required value",
          "spec.dataSource: Invalid value: \"\": must be 'PersistentVolumeClaim' when"
          " referencing the default apiGroup"]),
        (("PersistentVolumeClaim", {"dataSource": {"name": "a",
         "kind": "PersistentVolumeClaim"}}),
         []),
        (("PersistentVolumeClaim", {"dataSource": {"name": "a", "kind": "b",
         "apiGroup": "C"}}),
         ['spec.dataSource.apiGroup: Invalid value: "C": SUBDOMAIN']),
        (("PersistentVolumeClaim", {"dataSourceRef": {"name": "a", "kind": "b",
         "apiGroup": "c", "namespace": "D"}}),
         ['spec.dataSourceRef.namespace: Invalid value: "D": LABEL']),
        (("PersistentVolumeClaim", {"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"},
          "dataSourceRef": {"name": "a", "kind": "b", "apiGroup": "d"}}),
         ["spec: Invalid value: {}: must match dataSourceRef"]),
        (("PersistentVolumeClaim", {"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"},
          "dataSourceRef": {"name": "a", "kind": "b", "apiGroup": "c"}}),
         []),
        (("PersistentVolumeClaim", {"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"},
          "dataSourceRef": {"name": "a", "kind": "b", "apiGroup": "c", "namespace": "n"}}),
         ["spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is"
          " specified"]),
    ],
)  # fmt: skip
def test_specs_of_claims(row: Any, expected: list[str]) -> None:
    assert of_spec(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("Service", {}), []),
        (("Service", {"ports": []}), ["spec.ports: Required value"]),
        (("Service", {"ports": [], "clusterIP": "None", "clusterIPs": ["None"]}), []),
        (("Service", {"ports": [], "type": "ExternalName", "externalName": "a.b."}), []),
        (("Service", {"type": "ExternalName"}), ["spec.externalName: Required value"]),
        (("Service", {"type": "ExternalName", "externalName": "A", "clusterIP": "10.0.0.1",
         "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}),
         ["spec.clusterIPs: Forbidden: may not be set for ExternalName services",
          "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
          "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
          'spec.externalName: Invalid value: "A": SUBDOMAIN']),
        (("Service", {"type": "x"}),
         ['spec.type: Unsupported value: "x": supported values: "ClusterIP", "ExternalName",'
          ' "LoadBalancer", "NodePort"']),
        (("Service", {"type": "NodePort", "clusterIP": "None"}),
         ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort"
          " services"]),
        (("Service", {"type": "LoadBalancer", "clusterIP": "None"}),
         ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for"
          " LoadBalancer services"]),
        (("Service", {"ports": [{"port": 0, "protocol": "x", "targetPort": 0,
         "appProtocol": "-"}]}),
         ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
          'spec.ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP",'
          ' "UDP"',
          "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
          'spec.ports[0].appProtocol: Invalid value: "-": NAME PART']),
        (("Service", {"ports": [{"port": 65536, "targetPort": "-", "name": "A"}]}),
         ['spec.ports[0].name: Invalid value: "A": LABEL',
          "spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive",
          'spec.ports[0].targetPort: Invalid value: "-": must contain at least one letter'
          " (a-z)",
          'spec.ports[0].targetPort: Invalid value: "-": must not begin or end with a hyphen']),
        (("Service", {"ports": [{"port": 80, "name": "a"}, {"port": 81}]}),
         ["spec.ports[1].name: Required value"]),
        (("Service", {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]}),
         ['spec.ports[1].name: Duplicate value: "a"']),
        (("Service", {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}),
         ["spec.ports[1]: Duplicate value:"
          ' {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort'
          '":0}']),
        (("Service", {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b",
         "protocol": "UDP"}]}),
         []),
        (("Service", {"ports": [{"port": 80, "nodePort": 30000}]}),
         ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]),
        (("Service", {"type": "NodePort", "ports": [{"port": 80, "name": "a",
         "nodePort": 30000}, {"port": 81, "name": "b", "nodePort": 30000}]}),
         ["spec.ports[1].nodePort: Duplicate value: 30000"]),
        (("Service", {"type": "NodePort", "ports": [{"port": 80, "name": "a",
         "nodePort": 30000}, {"port": 81, "name": "b", "nodePort": 30000,
         "protocol": "UDP"}]}),
         []),
        (("Service", {"selector": {"-": "-"}}),
         ['spec.selector: Invalid value: "-": NAME PART',
          'spec.selector: Invalid value: "-": a valid label must be an empty string or'
          " consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
          " an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex"
          " used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"]),
        (("Service", {"sessionAffinity": "x"}),
         ['spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"']),
        (("Service", {"sessionAffinity": "ClientIP",
         "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}),
         ["spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be"
          " greater than 0 and less than 86400"]),
        (("Service", {"sessionAffinity": "ClientIP",
         "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}}),
         ["spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be"
          " greater than 0 and less than 86400"]),
        (("Service", {"sessionAffinity": "ClientIP",
         "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86400}}}),
         []),
        (("Service", {"sessionAffinity": "None",
         "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}),
         []),
        (("Service", {"externalIPs": ["a", "0.0.0.0", "127.0.0.1", "169.254.0.1", "224.0.0.1",
          "8.8.8.8"]}),
         ['spec.externalIPs[0]: Invalid value: "a": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'spec.externalIPs[1]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
          'spec.externalIPs[2]: Invalid value: "127.0.0.1": may not be in the loopback range'
          " (127.0.0.0/8, ::1/128)",
          'spec.externalIPs[3]: Invalid value: "169.254.0.1": may not be in the link-local'
          " range (169.254.0.0/16, fe80::/10)",
          'spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local'
          " multicast range (224.0.0.0/24, ff02::/10)"]),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]}),
         ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`']),
        (("Service", {"clusterIPs": ["10.0.0.2"]}),
         ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: must be empty when `clusterIP` is'
          " not specified"]),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]}),
         ['spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than'
          " one IP for each IP family"]),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1",
         "fd00::2"]}),
         ['spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","fd00::2"]: may only hold up'
          " to 2 values"]),
        (("Service", {"clusterIP": "None", "clusterIPs": ["None", "10.0.0.1"]}),
         ["spec.clusterIPs: Invalid value: [\"None\",\"10.0.0.1\"]: 'None' must be the first and"
          " only value"]),
        (("Service", {"clusterIP": "a", "clusterIPs": ["a", "None"]}),
         ['spec.clusterIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)",
          'spec.clusterIPs[1]: Invalid value: "None": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)"]),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
         "ipFamilies": ["IPv6"]}),
         ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated'
          " by `ipFamilies[0]`"]),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"],
         "ipFamilies": ["IPv4", "IPv6"]}),
         []),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
         "ipFamilies": ["x"]}),
         ['spec.ipFamilies[0]: Unsupported value: "x": supported values: "IPv4", "IPv6"']),
        (("Service", {"ipFamilies": ["IPv4", "IPv4", "x"], "ipFamilyPolicy": "y"}),
         ['spec.ipFamilies[1]: Duplicate value: "IPv4"',
          'spec.ipFamilies[2]: Unsupported value: "x": supported values: "IPv4", "IPv6"',
          'spec.ipFamilyPolicy: Unsupported value: "y": supported values: "PreferDualStack",'
          ' "RequireDualStack", "SingleStack"']),
        (("Service", {"loadBalancerSourceRanges": ["10.0.0.0/8"]}),
         ["spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is"
          " 'LoadBalancer'"]),
        (("Service", {"type": "LoadBalancer", "loadBalancerSourceRanges": [" 10.0.0.0/8 ",
         "10.0.0.0", "a/b"]}),
         ['spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.0": must be a valid CIDR'
          " value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
          'spec.LoadBalancerSourceRanges[2]: Invalid value: "a/b": must be a valid CIDR'
          " value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]),
        (("Service", {"allocateLoadBalancerNodePorts": False}),
         ["spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is"
          " 'LoadBalancer'"]),
        (("Service", {"loadBalancerClass": "a"}),
         ["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"]),
        (("Service", {"type": "LoadBalancer", "loadBalancerClass": "-",
         "allocateLoadBalancerNodePorts": False}),
         ['spec.loadBalancerClass: Invalid value: "-": NAME PART']),
        (("Service", {"externalTrafficPolicy": "Local"}),
         ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for'
          " externally-accessible services"]),
        (("Service", {"externalTrafficPolicy": "Local", "externalIPs": ["8.8.8.8"]}), []),
        (("Service", {"type": "NodePort", "externalTrafficPolicy": "x"}),
         ['spec.externalTrafficPolicy: Unsupported value: "x": supported values: "Cluster",'
          ' "Local"']),
        (("Service", {"type": "ExternalName", "externalName": "a",
         "externalTrafficPolicy": "Local", "externalIPs": ["8.8.8.8"]}),
         ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for'
          " externally-accessible services"]),
        (("Service", {"type": "NodePort", "externalTrafficPolicy": "Local",
         "healthCheckNodePort": 30000}),
         ["spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is"
          " 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"]),
        (("Service", {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster",
         "healthCheckNodePort": 30000}),
         ["spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is"
          " 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"]),
        (("Service", {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
         "healthCheckNodePort": 65536}),
         ["spec.healthCheckNodePort: Invalid value: 65536: must be between 1 and 65535,"
          " inclusive"]),
        (("Service", {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
         "healthCheckNodePort": 30000}),
         []),
        (("Service", {"internalTrafficPolicy": "x", "trafficDistribution": "y"}),
         ['spec.internalTrafficPolicy: Unsupported value: "x": supported values: "Cluster",'
          ' "Local"',
          'spec.trafficDistribution: Unsupported value: "y": supported values: "PreferClose",'
          ' "PreferSameZone", "PreferSameNode"']),
        (("Service", {"internalTrafficPolicy": "Local",
         "trafficDistribution": "PreferSameNode"}),
         []),
    ],
)  # fmt: skip
def test_specs_of_services(row: Any, expected: list[str]) -> None:
    assert of_spec(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("Job", {"completionMode": "x"}),
         ['spec.completionMode: Unsupported value: "x": supported values: "NonIndexed",'
          ' "Indexed"']),
        (("Job", {"backoffLimitPerIndex": 1, "maxFailedIndexes": 2}),
         ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
          "spec.maxFailedIndexes: Invalid value: 2: requires indexed completion mode"]),
        (("Job", {"completionMode": "Indexed"}), []),
        (("Job", {"completionMode": "Indexed", "completions": 0}), []),
        (("Job", {"completionMode": "Indexed", "completions": 2, "parallelism": 100001}),
         ["spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when"
          " completion mode is Indexed"]),
        (("Job", {"completionMode": "Indexed", "completions": 2, "parallelism": 100000}), []),
        (("Job", {"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 1}),
         ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"]),
        (("Job", {"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 3,
         "backoffLimitPerIndex": 1}),
         ["spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions"]),
        (("Job", {"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 2,
         "backoffLimitPerIndex": 1}),
         []),
        (("Job", {"completionMode": "Indexed", "completions": 10**6,
         "maxFailedIndexes": 100001}),
         ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
          "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000"]),
        (("Job", {"completionMode": "Indexed", "completions": 100001,
         "backoffLimitPerIndex": 1}),
         ["spec.maxFailedIndexes: Required value: must be specified when completions is above"
          " 100000"]),
        (("Job", {"completionMode": "Indexed", "completions": 100001,
         "backoffLimitPerIndex": 1, "maxFailedIndexes": 10001, "parallelism": 10001}),
         ["spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when"
          " completions are above 100000 and used with backoff limit per index",
          "spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000"
          " when completions are above 100000 and used with backoff limit per index"]),
        (("Job", {"completionMode": "Indexed", "completions": 100001,
         "backoffLimitPerIndex": 1, "maxFailedIndexes": 10000, "parallelism": 10000}),
         []),
        (("Job", {"completionMode": "Indexed", "completions": 100000,
         "backoffLimitPerIndex": 1, "maxFailedIndexes": 10001, "parallelism": 10001}),
         []),
        (("Job", {"parallelism": -1, "completions": -1, "backoffLimit": -1,
         "activeDeadlineSeconds": -1, "ttlSecondsAfterFinished": -1, "maxFailedIndexes": -1,
         "backoffLimitPerIndex": -1}),
         ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
          "spec.completions: Invalid value: -1: must be greater than or equal to 0",
          "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
          "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
          "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
          "spec.backoffLimitPerIndex: Invalid value: -1: must be greater than or equal to 0",
          "spec.maxFailedIndexes: Invalid value: -1: must be greater than or equal to 0",
          "spec.backoffLimitPerIndex: Invalid value: -1: requires indexed completion mode",
          "spec.maxFailedIndexes: Invalid value: -1: requires indexed completion mode"]),
        (("Job", {"manualSelector": True}),
         ["spec.selector: Required value",
          'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("Job", {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}), []),
        (("Job", {"manualSelector": True, "selector": {"matchLabels": {"a": "c"}}}),
         ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("Job", {"manualSelector": True, "selector": {"matchLabels": {"-": "c"}}}),
         ['spec.selector.matchLabels: Invalid value: "-": NAME PART']),
        (("Job", {"managedBy": "x"}),
         ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as'
          ' "acme.io/foo")']),
        (("Job", {"managedBy": "a/b"}), []),
        (("Job", {"managedBy": "a/" + "b" * 64}),
         ["spec.managedBy: Too long: may not be more than 63 bytes"]),
        (("Job", {"successPolicy": {"rules": [{"succeededCount": 1}]}}),
         ["spec.successPolicy: Invalid value:"
          ' {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed'
          " completion mode"]),
        (("Job", {"successPolicy": {}, "completionMode": "Indexed", "completions": 2}),
         ["spec.successPolicy.rules: Required value: at least one rules must be specified"
          " when the successPolicy is specified"]),
        (("Job", {"successPolicy": {"rules": [{}, {"succeededCount": -1},
         {"succeededIndexes": "a"}, {"succeededIndexes": "0-1", "succeededCount": 3},
         {"succeededCount": 3}, {"succeededIndexes": "1,0"}, {"succeededIndexes": "2"},
         {"succeededIndexes": "0,1", "succeededCount": 2}]}, "completionMode": "Indexed",
         "completions": 2}),
         ["spec.successPolicy.rules[0]: Required value: at least one of succeededCount or"
          " succeededIndexes must be specified",
          "spec.successPolicy.rules[1].succeededCount: Invalid value: -1: must be greater"
          " than or equal to 0",
          'spec.successPolicy.rules[2].succeededIndexes: Invalid value: "a": error parsing'
          ' succeededIndexes: cannot convert string to integer for index: "a"',
          "spec.successPolicy.rules[3].succeededCount: Invalid value: 3: must be less than or"
          " equal to 2 (the number of specified completions)",
          "spec.successPolicy.rules[3].succeededCount: Invalid value: 3: must be less than or"
          " equal to 2 (the number of indexes in the specified succeededIndexes field)",
          "spec.successPolicy.rules[4].succeededCount: Invalid value: 3: must be less than or"
          " equal to 2 (the number of specified completions)",
          'spec.successPolicy.rules[5].succeededIndexes: Invalid value: "1,0": error parsing'
          " succeededIndexes: non-increasing order, previous: 1, current: 0",
          'spec.successPolicy.rules[6].succeededIndexes: Invalid value: "2": error parsing'
          ' succeededIndexes: too large index: "2"']),
        (("Job", {"podFailurePolicy": {"rules": [{}]}}),
         ['spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count"'
          ' "FailIndex" "FailJob" "Ignore"]',
          "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and"
          " OnPodConditions is required"]),
        (("Job", {"podFailurePolicy": {"rules": [{"action": "x",
         "onExitCodes": {"operator": "In", "values": [0]}, "onPodConditions": [{}]}]}}),
         ['spec.podFailurePolicy.rules[0].action: Unsupported value: "x": supported values:'
          ' "Count", "FailIndex", "FailJob", "Ignore"',
          "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not"
          " be 0 for the In operator",
          'spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "": name'
          " part must be non-empty",
          'spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "": NAME'
          " PART",
          "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and"
          " OnPodConditions is not supported"]),
        (("Job", {"podFailurePolicy": {"rules": [{"action": "FailIndex",
         "onExitCodes": {"operator": "NotIn", "values": [0, 2, 1, 1],
         "containerName": "x"}}]}}),
         ['spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the'
          " backoffLimitPerIndex to be set",
          'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must'
          " be one of the container or initContainer names in the pod template",
          "spec.podFailurePolicy.rules[0].onExitCodes.values[3]: Duplicate value: 1",
          "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [0,2,1,1]: must"
          " be ordered"]),
        (("Job", {"podFailurePolicy": {"rules": [{"action": "Ignore",
         "onPodConditions": [{"type": "-", "status": "x"}, {"type": "a",
         "status": "True"}]}]}}),
         ['spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "-": NAME'
          " PART",
          'spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported value: "x":'
          ' supported values: "False", "True", "Unknown"']),
        (("Job", {"podFailurePolicy": {"rules": []},
         "podReplacementPolicy": "TerminatingOrFailed"}),
         ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported'
          ' values: "Failed"']),
        (("Job", {"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "Failed"}), []),
        (("Job", {"podReplacementPolicy": "x"}),
         ['spec.podReplacementPolicy: Unsupported value: "x": supported values: "Failed",'
          ' "TerminatingOrFailed"']),
    ],
)  # fmt: skip
def test_specs_of_jobs(row: Any, expected: list[str]) -> None:
    assert of_spec(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("DaemonSet", {}), []),
        (("DaemonSet", {"selector": None}),
         ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("DaemonSet", {"selector": {}}),
         ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"]),
        (("DaemonSet", {"selector": {"matchLabels": {"a": "c"}}}),
         ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("DaemonSet", {"selector": {"matchLabels": {"-": "c"}}}),
         ['spec.selector.matchLabels: Invalid value: "-": NAME PART']),
        (("DaemonSet", {"template": {}}),
         ["spec.template.metadata.labels: Invalid value: null: `selector` does not match"
          " template `labels`",
          "spec.template.spec.containers: Required value"]),
        (("DaemonSet", {"minReadySeconds": -1}),
         ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
        (("DaemonSet",
         {"template": TEMPLATE | {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never",
         "activeDeadlineSeconds": 1}}}),
         ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values:'
          ' "Always"',
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in"
          " DaemonSet is not Supported"]),
        (("DaemonSet", {"updateStrategy": {"type": "x"}}),
         ['spec.updateStrategy: Unsupported value: {"Type":"x","RollingUpdate":null}:'
          ' supported values: "RollingUpdate", "OnDelete"']),
        (("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0,
         "maxSurge": 0}}}),
         ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when"
          " maxSurge is 0"]),
        (("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1,
         "maxSurge": 1}}}),
         ["spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when"
          " maxUnavailable is non-zero"]),
        (("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "101%",
         "maxSurge": "a"}}}),
         ['spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "a": a valid percent'
          " string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%',"
          " regex used for validation is '[0-9]+%')",
          'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not'
          " be greater than 100%"]),
        (("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}), []),
        (("DaemonSet", {"template": {"metadata": {"labels": {"a": "b"}, "annotations":
         {"controller.kubernetes.io/pod-deletion-cost": "x",
         "seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}, "spec": TEMPLATE["spec"] |
         {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}}}),
         ["spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid"
          ' value: "x": must be a 32bit integer',
          "spec.template.spec.securityContext.seccompProfile.type: Forbidden: seccomp type in"
          " annotation and field must match"]),
        (("DaemonSet", {"template": TEMPLATE | {"spec": {"hostNetwork": True, "containers":
         [{"name": "c", "image": "a", "ports": [{"containerPort": 1}, {"containerPort": 2,
         "hostPort": 3}, {"hostPort": 4}]}]}}}),
         ["spec.template.spec.containers[0].ports[2].containerPort: Required value",
          "spec.template.spec.containers[0].ports[1].hostPort: Invalid value: 3: must match"
          " `containerPort` when `hostNetwork` is true",
          "spec.template.spec.containers[0].ports[2].hostPort: Invalid value: 4: must match"
          " `containerPort` when `hostNetwork` is true"]),
        (("DaemonSet", {"template": TEMPLATE | {"spec": TEMPLATE["spec"] | {"volumes":
         [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes":
         ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}}},
         {"name": "w", "persistentVolumeClaim": {"claimName": "-v"}}]}}}),
         []),
    ],
)  # fmt: skip
def test_specs_of_daemon_sets(row: Any, expected: list[str]) -> None:
    assert of_spec(*row) == expected
