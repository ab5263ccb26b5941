"""The errors of new objects of several kinds: a row is a part of a spec, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import (
    AVOIDED,
    AVOIDED_PODS,
    ROUND_TRIP,
    TAINTS,
    TEMPLATE,
    of_new,
    of_spec,
)


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
    ],
)  # fmt: skip
def test_specs_of_daemon_sets(row: Any, expected: list[str]) -> None:
    assert of_spec(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PriorityClass", {"value": 10**9}), []),
        (("PriorityClass", {"value": 10**9 + 1}),
         ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
        (("PriorityClass", {"value": 1, "preemptionPolicy": ""}),
         ["preemptionPolicy: Required value"]),
        (("PriorityClass", {"value": 1, "preemptionPolicy": "x"}),
         ['preemptionPolicy: Unsupported value: "x": supported values:'
          ' "PreemptLowerPriority", "Never"']),
        (("PriorityClass", {"metadata": {"name": "system-x"}, "value": 1}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"
          " for system use only. error: system-x is not a known system priority class"]),
        (("PriorityClass", {"metadata": {"name": "system-node-critical"}, "value": 1}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"
          " for system use only. error: value of system-node-critical PriorityClass must be"
          " 2000001000"]),
        (("PriorityClass", {"metadata": {"name": "system-node-critical"},
         "value": 2000001000}),
         []),
        (("PriorityClass", {"metadata": {"name": "system-cluster-critical"},
         "value": 2000000000, "globalDefault": True}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"
          " for system use only. error: globalDefault of system-cluster-critical"
          " PriorityClass must be false"]),
        (("StorageClass", {}), ["provisioner: Required value"]),
        (("StorageClass", {"provisioner": "A.b/C", "reclaimPolicy": "Recycle",
         "volumeBindingMode": "x"}),
         ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
          'volumeBindingMode: Unsupported value: "x": supported values: "Immediate",'
          ' "WaitForFirstConsumer"']),
        (("StorageClass", {"provisioner": "-", "parameters": {"": "a"}}),
         ['provisioner: Invalid value: "-": NAME PART',
          'parameters: Invalid value: "": field can not be empty.']),
        (("StorageClass", {"provisioner": "a", "parameters": {"a": "b" * (256 * 1024)}}),
         ["parameters: Too long: may not be more than 262144 bytes"]),
        (("StorageClass", {"provisioner": "a", "parameters": {"a": "b" * (256 * 1024 - 1)}}), []),
        (("StorageClass", {"provisioner": "a",
         "parameters": {str(number): "" for number in range(513)}}),
         ["parameters: Too long: may not be more than 512 bytes"]),
        (("StorageClass", {"provisioner": "a",
         "parameters": {str(number): "" for number in range(512)}}),
         []),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": [{}]}),
         ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""']),
        (("StorageClass", {"provisioner": "a",
         "allowedTopologies": [{"matchLabelExpressions": [ {"key": "-"}, {"key": "a",
         "values": ["b", "b"]}, {"key": "a", "values": ["c"]}]}]}),
         ["allowedTopologies[0].matchLabelExpressions[0].values: Required value",
          'allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "-": NAME PART',
          'allowedTopologies[0].matchLabelExpressions[1].values[1]: Duplicate value: "b"',
          'allowedTopologies[0].matchLabelExpressions[2].key: Duplicate value: "a"']),
        (("StorageClass", {"provisioner": "a",
         "allowedTopologies": [{"matchLabelExpressions": [ {"key": "a", "values": ["b",
         "c"]}]}, {"matchLabelExpressions": [{"key": "a", "values": ["c", "b"]}]}]}),
         ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""']),
        (("StorageClass", {"provisioner": "a",
         "allowedTopologies": [{"matchLabelExpressions": [ {"key": "a", "values": ["b"]}]},
         {"matchLabelExpressions": [{"key": "a", "values": ["c"]}]}]}),
         []),
        (("VolumeAttributesClass", {}),
         ["driverName: Required value",
          "parameters: Required value: must contain at least one key/value pair"]),
        (("VolumeAttributesClass", {"driverName": "A", "parameters": {"a": "b"}}), []),
        (("CSIStorageCapacity", {"capacity": "-1",
         "nodeTopology": {"matchLabels": {"-": ""}}}),
         ['nodeTopology.matchLabels: Invalid value: "-": NAME PART',
          'storageClassName: Invalid value: "": SUBDOMAIN',
          'capacity: Invalid value: "-1": must be greater than or equal to 0']),
        (("CSIStorageCapacity", {"storageClassName": "A", "capacity": "0"}),
         ['storageClassName: Invalid value: "A": SUBDOMAIN']),
        (("CSINode", {"spec": {"drivers": [{}, {"name": "a", "nodeID": "b" * 257,
         "allocatable": {"count": -1}}, {"name": "a", "nodeID": "b", "topologyKeys": ["", "c",
          "c", "-"]}]}}),
         ["spec.drivers[0].name: Required value",
          "spec.drivers[0].nodeID: Required value",
          'spec.drivers[1].nodeID: Invalid value: "bb*256b": must be 256 characters or less',
          "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or"
          " equal to 0",
          'spec.drivers[2].name: Duplicate value: "a"',
          "spec.drivers[2]: Required value",
          'spec.drivers[2]: Invalid value: "": name part must be non-empty',
          'spec.drivers[2]: Invalid value: "": NAME PART',
          'spec.drivers[2]: Duplicate value: "c"',
          'spec.drivers[2]: Invalid value: "-": NAME PART']),
        (("ConfigMap", {"data": {"a b": "", "..": "", "c": ""}, "binaryData": {"c": "",
         "...": ""}}),
         ["data[..]: Invalid value: \"..\": must not be '..'",
          'data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric'
          " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',"
          " regex used for validation is '[-._a-zA-Z0-9]+')",
          'data[c]: Invalid value: "c": duplicate of key present in binaryData',
          "binaryData[...]: Invalid value: \"...\": must not start with '..'"]),
        (("ConfigMap", {"data": {"a": "b" * 2**20}, "binaryData": {"b": ""}}), []),
        (("ConfigMap", {"data": {"a": "b" * 2**20}, "binaryData": {"b": "YQ=="}}),
         ["[]: Too long: may not be more than 1048576 bytes"]),
        (("Secret", {"data": {"a b": ""}, "stringData": {"..": ""}}),
         ["data[..]: Invalid value: \"..\": must not be '..'",
          'data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric'
          " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',"
          " regex used for validation is '[-._a-zA-Z0-9]+')"]),
        (("Secret", {"type": "kubernetes.io/tls"}),
         ["data[tls.crt]: Required value",
          "data[tls.key]: Required value"]),
        (("Secret", {"type": "kubernetes.io/ssh-auth"}), ["data[ssh-privatekey]: Required value"]),
        (("Secret", {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": "YQ=="}}), []),
        (("Secret", {"type": "kubernetes.io/basic-auth"}),
         ["data[username]: Required value",
          "data[password]: Required value"]),
        (("Secret", {"type": "kubernetes.io/basic-auth", "data": {"password": ""}}), []),
        (("Secret", {"type": "kubernetes.io/service-account-token"}),
         ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]),
        (("Lease", {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1,
         "preferredHolder": "a"}}),
         ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
          "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
          "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"]),
        (("Lease", {"spec": {"leaseDurationSeconds": 1, "leaseTransitions": 0,
         "preferredHolder": "a", "strategy": "OldestEmulationVersion"}}),
         []),
        (("ResourceQuota", {"spec": {"hard": {"a": "1", "cpu": "-1", "pods": "1.5"},
         "scopes": ["x"]}, "status": {"hard": {"b": "1"}, "used": {"memory": "-1"}}}),
         ['spec.hard[a]: Invalid value: "a": must be a standard resource type or fully'
          " qualified",
          'spec.hard[a]: Invalid value: "a": must be a standard resource for quota',
          'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'spec.hard[pods]: Invalid value: "1500m": must be an integer',
          'spec.scopes: Invalid value: ["x"]: unsupported scope',
          'status.hard[b]: Invalid value: "b": must be a standard resource type or fully'
          " qualified",
          'status.hard[b]: Invalid value: "b": must be a standard resource for quota',
          'status.used[memory]: Invalid value: "-1": must be greater than or equal to 0']),
        (("Node", {"metadata": {"annotations": {AVOIDED: "x"}}}),
         ["metadata.annotations.AvoidPods: Invalid value:"
          " \"scheduler.alpha.kubernetes.io/preferAvoidPods\": invalid character 'x' looking"
          " for beginning of value"]),
        (("Node", {"metadata": {"annotations": {AVOIDED: "[]"}}}), []),
        (("Node", {"metadata": {"annotations": {AVOIDED: AVOIDED_PODS}}}),
         ["metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature"
          ": Required value",
          "metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[1].PodSignature"
          ": Required value",
          "metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[2].PodSignature"
          ".PodController.Controller: Invalid value: false: must point to a controller"]),
        (("Node", {"metadata": {"annotations": {TAINTS: "x"}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints":'
          " invalid character 'x' looking for beginning of value"]),
        (("Node", {"metadata": {"annotations": {TAINTS: '[{"key": "a", "effect": "x"}]'}}}),
         ["metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Unsupported"
          ' value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"']),
        (("Node", {"metadata": {"annotations": {TAINTS: '{"key": "a"}'}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": json:'
          " cannot unmarshal object into Go value of type []core.Taint"]),
        (("Node", {"metadata": {"annotations": {TAINTS: '[null, 1.5]'}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": json:'
          " cannot unmarshal number into Go value of type core.Taint"]),
        (("Node", {"metadata": {"annotations": {TAINTS: '[{"value": true}]'}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": json:'
          " cannot unmarshal bool into Go struct field Taint.Value of type string"]),
        (("Node", {"metadata": {"annotations": {TAINTS: 'null'}}}), []),
        (("Node", {"spec": {"taints": [{}, {"key": "a", "value": "-", "effect": "NoSchedule"},
          {"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]}}),
         ['metadata.taints[0].key: Invalid value: "": name part must be non-empty',
          'metadata.taints[0].key: Invalid value: "": NAME PART',
          "metadata.taints[0].effect: Required value",
          'metadata.taints[1].value: Invalid value: "-": a valid label must be an empty'
          " string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
          " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
          " regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          "metadata.taints[2]: Duplicate value:"
          ' {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be'
          " unique by key and effect pair"]),
        (("Node", {"status": {"capacity": {"cpu": "-1"}, "allocatable": {"x y": "1"},
         "declaredFeatures": ["B", "A", "A", "a", "A" * 254, "C/d", "D/", "E/1"]}}),
         ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
          'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
          'status.declaredFeatures[2]: Duplicate value: "A"',
          'status.declaredFeatures[3]: Invalid value: "a": invalid feature name "a": must'
          " start with an UpperCamelCase segment, with subsequent segments separated by '/'"
          " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric"
          " characters and slashes",
          'status.declaredFeatures[4]: Invalid value: "AA*254": list must be sorted'
          " alphabetically",
          'status.declaredFeatures[4]: Invalid value: "AA*254": invalid feature name'
          ' "AA*254": must be no more than 253 characters',
          'status.declaredFeatures[6]: Invalid value: "D/": invalid feature name "D/": must'
          " start with an UpperCamelCase segment, with subsequent segments separated by '/'"
          " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric"
          " characters and slashes",
          'status.declaredFeatures[7]: Invalid value: "E/1": invalid feature name "E/1": must'
          " start with an UpperCamelCase segment, with subsequent segments separated by '/'"
          " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric"
          " characters and slashes"]),
        (("Node", {"status": {"addresses": [{"type": "a", "address": "b"}] * 2}}), []),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a",
         "name": "b"}}}),
         ["spec.maxReplicas: Required value: must be set and greater than 0",
          "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
          'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API'
          " group"]),
        (("HorizontalPodAutoscaler",
         {"spec": {"scaleTargetRef": {"kind": "ReplicationController", "name": "b"},
         "maxReplicas": 1}}),
         []),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name": "b",
         "apiVersion": "c/d/e"}, "maxReplicas": 1, "minReplicas": 2}}),
         ["spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`",
          'spec.scaleTargetRef.apiVersion: Invalid value: "c/d/e": unexpected GroupVersion'
          " string: c/d/e"]),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name": "b",
         "apiVersion": "c/d"}, "maxReplicas": 1, "metrics": [{}, {"type": "x"},
         {"type": "Pods"}, {"type": "Resource", "pods": {}}, {"type": "Resource",
         "resource": {"name": "cpu", "target": {}}}]}}),
         ["spec.metrics[0].type: Required value: must specify a metric source type",
          'spec.metrics[0].type: Unsupported value: "": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          'spec.metrics[0].type: Unsupported value: "": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          'spec.metrics[1].type: Unsupported value: "x": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          'spec.metrics[1].type: Unsupported value: "x": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          "spec.metrics[2].pods: Required value: must populate information for the given"
          " metric source",
          "spec.metrics[3].pods.metric.name: Required value: must specify a metric name",
          "spec.metrics[3].pods.target.type: Required value: must specify a metric target type",
          'spec.metrics[3].pods.target.type: Invalid value: "": must be either Utilization,'
          " Value, or AverageValue",
          "spec.metrics[3].pods.target.averageValue: Required value: must specify a positive"
          " target averageValue",
          "spec.metrics[3].resource: Required value: must populate information for the given"
          " metric source",
          "spec.metrics[4].resource.target.type: Required value: must specify a metric target"
          " type",
          'spec.metrics[4].resource.target.type: Invalid value: "": must be either'
          " Utilization, Value, or AverageValue",
          "spec.metrics[4].resource.target.averageUtilization: Required value: must set"
          " either a target raw value or a target utilization"]),
        (("FlowSchema", {}),
         ["spec.priorityLevelConfiguration.name: Required value: must reference a priority"
          " level"]),
        (("PriorityLevelConfiguration", {"spec": {"type": "Exempt"}}),
         ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is"
          " 'exempt'"]),
        (("PriorityLevelConfiguration", {"metadata": {"name": "exempt"},
         "spec": {"type": "Limited"}}),
         ["spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is"
          " 'exempt'",
          "spec.limited: Required value: must not be empty when type is Limited",
          'spec: Invalid value: {"Type":"Limited","Limited":null,"Exempt":null}: spec of'
          " 'exempt' except the 'spec.exempt' field must equal the fixed value"]),
        (("PriorityLevelConfiguration", {"spec": {"type": "Limited",
         "limited": {"limitResponse": {"type": "Queue", "queuing": {"queueLengthLimit": 0,
         "queues": 0, "handSize": 0}}}}}),
         []),
        (("PriorityLevelConfiguration", {"spec": {"type": "Limited",
         "limited": {"limitResponse": {"type": "Queue", "queuing": {"queueLengthLimit": 1,
         "queues": 4, "handSize": 5}}}}}),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be"
          " greater than queues (4)"]),
        (("PriorityLevelConfiguration", {"spec": {"type": "Limited",
         "limited": {"limitResponse": {"type": "Queue", "queuing": {"queueLengthLimit": 1,
         "queues": 512, "handSize": 8}}}}}),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy"
          " bits of deckSize 512 and handSize 8 should not be greater than 60"]),
        (("PriorityLevelConfiguration", {"metadata": {"annotations": {ROUND_TRIP: ""}},
         "spec": {"type": "x"}}),
         ["metadata.annotations: Forbidden: annotation"
          " 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden",
          'spec.type: Unsupported value: "x": supported values: "Exempt", "Limited"']),
        (("LocalSubjectAccessReview", {"spec": {"user": "a"}}),
         ["spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes"
          " or resourceAttributes must be specified",
          'metadata: Invalid value: {"name":"x","namespace":"d"}: must be empty except for'
          " namespace"]),
        (("LocalSubjectAccessReview", {"spec": {"resourceAttributes": {"namespace": "e"}}}),
         ['spec.user: Invalid value: "": at least one of user or group must be specified',
          'metadata: Invalid value: {"name":"x","namespace":"d"}: must be empty except for'
          " namespace",
          'spec.resourceAttributes.namespace: Invalid value: "e": must match'
          " metadata.namespace"]),
        (("LocalSubjectAccessReview", {"spec": {"user": "a",
         "resourceAttributes": {"namespace": "d"}, "nonResourceAttributes": {"path": "/a"}}}),
         ['spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":""}: cannot be'
          " specified in combination with resourceAttributes",
          'metadata: Invalid value: {"name":"x","namespace":"d"}: must be empty except for'
          " namespace",
          'spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":""}: disallowed on'
          " this kind of request"]),
        (("LocalSubjectAccessReview", {"metadata": {"name": "", "labels": {"a": "b"}},
         "spec": {"groups": ["a"], "resourceAttributes": {"namespace": "d"}}}),
         ['metadata: Invalid value: {"name":"","namespace":"d","labels":{"a":"b"}}: must be'
          " empty except for namespace"]),
    ],
)  # fmt: skip
def test_other_kinds(row: Any, expected: list[str]) -> None:
    assert of_new(*row) == expected
