"""The defaults of kinds and the warnings about networks: a row is a part, and what is added."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import defaults_of, of_pod, policy_of, warned


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("service_warnings", {}), []),
        (("service_warnings",
         {"metadata": {"annotations": {"service.kubernetes.io/topology-aware-hints": ""}}}),
         ["annotation service.kubernetes.io/topology-aware-hints is deprecated, please use"
          " service.kubernetes.io/topology-mode instead"]),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "None",
         "loadBalancerIP": "1.1.1.1", "externalIPs": ["2.2.2.2"], "sessionAffinity":
         "ClientIP"}}),
         ["spec.loadBalancerIP is ignored for headless services",
          "spec.externalIPs is ignored for headless services",
          "spec.SessionAffinity is ignored for headless services"]),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "None",
         "sessionAffinity": "None"}}),
         []),
        (("service_warnings", {"spec": {"type": "NodePort", "clusterIP": "None",
         "externalIPs": ["2.2.2.2"]}}),
         ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"]),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "010.0.0.1",
         "clusterIPs": ["010.0.0.1", "FD00::1"]}}),
         ['spec.clusterIPs[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
          'spec.clusterIPs[1]: IPv6 address "FD00::1" should be in RFC 5952 canonical format'
          ' ("fd00::1")']),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "", "clusterIPs":
         ["010.0.0.1"]}}),
         []),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "1.1.1.1",
         "externalIPs": ["8.8.8.8", "08.8.8.8"]}}),
         ['spec.externalIPs[1]: non-standard IP address "08.8.8.8" is invalid: use "8.8.8.8"',
          "spec.externalIPs is deprecated and may no longer be implemented in some clusters"]),
        (("service_warnings", {"spec": {"type": "ExternalName", "externalIPs": ["8.8.8.8"],
         "externalName": "a"}}),
         ['spec.externalIPs is ignored when spec.type is "ExternalName"']),
        (("service_warnings", {"spec": {"type": "ClusterIP", "externalName": "a"}}),
         ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (("service_warnings", {"spec": {"type": "LoadBalancer", "loadBalancerIP": "01.1.1.1",
         "loadBalancerSourceRanges": ["10.0.0.0/8", "10.0.0.1/8"]}}),
         ['spec.loadBalancerIP: non-standard IP address "01.1.1.1" is invalid: use "1.1.1.1"',
          'spec.loadBalancerSourceRanges[1]: CIDR value "10.0.0.1/8" is ambiguous in this'
          ' context (should be "10.0.0.0/8" or "10.0.0.1/32"?)']),
        (("service_warnings", {"spec": {"trafficDistribution": "PreferClose"}}),
         ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']),
        (("service_warnings", {"spec": {"trafficDistribution": "PreferSameZone"}}), []),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "None"}}),
         ["spec.SessionAffinity is ignored for headless services"]),
        (("service_warnings", {"spec": {"type": "ClusterIP", "clusterIP": "None",
         "sessionAffinity": "None", "clusterIPs": ["010.0.0.1"], "externalIPs":
         ["010.0.0.1"]}}),
         ["spec.externalIPs is ignored for headless services",
          'spec.externalIPs[0]: non-standard IP address "010.0.0.1" is invalid: use'
          ' "10.0.0.1"']),
        (("service_warnings", {"spec": {"type": "ExternalName", "externalName": "a",
         "externalIPs": []}}),
         []),
        (("service_warnings", {"spec": {"type": "ExternalName", "clusterIP": "010.0.0.1",
         "clusterIPs": ["010.0.0.1"], "trafficDistribution": "a"}}),
         ['spec.clusterIPs[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"']),
        (("service_warnings", {"metadata": {}, "spec": {"clusterIP": "1.1.1.1"}}), []),
    ],
)  # fmt: skip
def test_warnings_about_services(row: Any, expected: list[str]) -> None:
    assert warned(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("load_balancer_warnings", {"status": {"loadBalancer": {"ingress": [{"hostname":
         "a"}, {"ip": "01.1.1.1"}]}}}),
         ['status.loadBalancer.ingress[1]: non-standard IP address "01.1.1.1" is invalid: use'
          ' "1.1.1.1"']),
        (("ingress_warnings", {"metadata": {"annotations": {"kubernetes.io/ingress.class":
         "a"}}}),
         ['annotation "kubernetes.io/ingress.class" is deprecated, please use'
          " 'spec.ingressClassName' instead"]),
        (("ingress_warnings", {"metadata": {"annotations": {"kubernetes.io/ingress.class":
         "a"}}}, {}),
         []),
        (("ingress_warnings", {"metadata": {"annotations": {"kubernetes.io/ingress.class":
         "a"}}, "spec": {"ingressClassName": "b"}}),
         []),
        (("ingress_warnings", {"metadata": {"annotations": {"a": "b"}}}), []),
        (("network_policy_warnings", {"spec": {"ingress": [{}, {"from": [{}, {"ipBlock":
         {"cidr": "10.0.0.1/8", "except": ["10.1.0.0/16", "10.1.0.1/16"]}}]}], "egress":
         [{"to": [{"ipBlock": {"cidr": "FD00::/8"}}]}]}}),
         ['spec.ingress[1].from[1].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this'
          ' context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
          'spec.ingress[1].from[1].ipBlock.except[1]: CIDR value "10.1.0.1/16" is ambiguous'
          ' in this context (should be "10.1.0.0/16" or "10.1.0.1/32"?)',
          'spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value "FD00::/8" should be in RFC'
          ' 5952 canonical format ("fd00::/8")']),
        (("endpoints_warnings", {"subsets": [{}, {"addresses": [{}, {"ip": "01.1.1.1"}],
         "notReadyAddresses": [{"ip": "FD00::1"}]}]}),
         ['subsets[1].addresses[1].ip: non-standard IP address "01.1.1.1" is invalid: use'
          ' "1.1.1.1"',
          'subsets[1].notReadyAddresses[0].ip: IPv6 address "FD00::1" should be in RFC 5952'
          ' canonical format ("fd00::1")']),
        (("endpoints_warnings", {"subsets": [{"addresses": [{"ip": "01.1.1.1"}]}], "metadata":
          {"labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}}}),
         []),
        (("endpoints_warnings", {"subsets": [{"addresses": [{"ip": "01.1.1.1"}]}], "metadata":
          {"labels": {"endpoints.kubernetes.io/managed-by": "a"}}}),
         ['subsets[0].addresses[0].ip: non-standard IP address "01.1.1.1" is invalid: use'
          ' "1.1.1.1"']),
        (("endpoint_slice_warnings", {"addressType": "FQDN"}),
         ["spec.addressType: FQDN endpoints are deprecated"]),
        (("endpoint_slice_warnings", {"addressType": "FQDN"}, {}), []),
        (("endpoint_slice_warnings", {"addressType": "IPv4", "endpoints": [{"addresses":
         ["1.1.1.1"]}, {"addresses": ["1.1.1.1", "01.1.1.1"]}]}),
         ['endpoints[1].addresses[1]: non-standard IP address "01.1.1.1" is invalid: use'
          ' "1.1.1.1"']),
        (("endpoint_slice_warnings", {"addressType": "FQDN", "endpoints": [{"addresses":
         ["01.1.1.1"]}], "metadata": {"labels": {"endpointslice.kubernetes.io/managed-by":
         "endpointslice-controller.k8s.io"}}}),
         ["spec.addressType: FQDN endpoints are deprecated"]),
        (("endpoint_slice_warnings", {"endpoints": [{"addresses": ["01.1.1.1"]}], "metadata":
         {"labels": {"endpointslice.kubernetes.io/managed-by":
         "endpointslicemirroring-controller.k8s.io"}}}),
         []),
        (("driver_warnings", {"spec": {"tokenRequests": [{"audience": "a"}]}}),
         ["spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set"
          " to true to prevent possible logging of tokens in volume attributes"]),
        (("driver_warnings", {"spec": {"tokenRequests": [{"audience": "a"}]}}, {"spec":
         {"tokenRequests": [{"audience": "a"}]}}),
         []),
        (("driver_warnings", {"spec": {"tokenRequests": [{"audience": "a"}]}}, {"spec":
         {"tokenRequests": [{"audience": "b"}]}}),
         ["spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set"
          " to true to prevent possible logging of tokens in volume attributes"]),
        (("driver_warnings", {"spec": {"tokenRequests": [{}], "serviceAccountTokenInSecrets":
         False}}),
         []),
        (("driver_warnings", {"spec": {"tokenRequests": []}}), []),
        (("node_warnings", {"spec": {"podCIDRs": ["10.0.0.0/8", "10.0.0.1/8"]}}),
         ['spec.podCIDRs[1]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be'
          ' "10.0.0.0/8" or "10.0.0.1/32"?)']),
        (("runtime_class_warnings", {"scheduling": {"nodeSelector": dict.fromkeys(
         ["beta.kubernetes.io/arch", "beta.kubernetes.io/os",
         "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
         "beta.kubernetes.io/instance-type", "app.kubernetes.io/created-by",
         "scheduler.alpha.kubernetes.io/preferAvoidPods", "node-role.kubernetes.io/master"],
         "")}}),
         ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead',
          'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
          "scheduling.nodeSelector: deprecated since v1.17; use"
          ' "topology.kubernetes.io/region" instead',
          'scheduling.nodeSelector: deprecated since v1.17; use "topology.kubernetes.io/zone"'
          " instead",
          "scheduling.nodeSelector: deprecated since v1.17; use"
          ' "node.kubernetes.io/instance-type" instead',
          "scheduling.nodeSelector: deprecated since v1.9",
          "scheduling.nodeSelector: deprecated since v1.22; use Taints and Tolerations"
          " instead",
          'scheduling.nodeSelector: use "node-role.kubernetes.io/control-plane" instead']),
        (("runtime_class_warnings", {"scheduling": {}}), []),
        (("runtime_class_warnings", {}), []),
        (("volume_warnings", {"spec": {"cephfs": {}, "photonPersistentDisk": {}, "scaleIO":
         {}, "storageos": {}, "glusterfs": {}, "rbd": {}, "nfs": {}}}),
         ["spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
          "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
          "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
          "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
          "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
          "spec.rbd: deprecated in v1.28, non-functional in v1.31+"]),
        (("volume_warnings", {"spec": {"nodeAffinity": {"required": {}}}, "metadata": {}}), []),
        (("volume_warnings", {"spec": {"nodeAffinity": {}}}), []),
        (("class_warnings", {"allowedTopologies": [{"matchLabelExpressions": [{}]}]}), []),
        (("class_warnings", {}), []),
        (("capacity_warnings", {}), []),
        (("capacity_warnings", {"nodeTopology": {"matchExpressions": [{}, {"key":
         "beta.kubernetes.io/os", "values": ["-"]}]}}),
         ["nodeTopology.matchExpressions[1].key: beta.kubernetes.io/os is deprecated since"
          ' v1.14; use "kubernetes.io/os" instead']),
        (("driver_warnings", {}), []),
        (("driver_warnings", {"spec": {"tokenRequests": [{"audience": "a"}]}}, {}),
         ["spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set"
          " to true to prevent possible logging of tokens in volume attributes"]),
        (("node_warnings", {"spec": {"configSource": {}, "externalID": "a"}}),
         ["spec.configSource: the feature is removed",
          "spec.externalID: this field is deprecated, and is unused by Kubernetes"]),
        (("node_warnings", {"spec": {}}), []),
        (("service_account_warnings", {"metadata": {"annotations":
         {"kubernetes.io/enforce-mountable-secrets": "a"}}}, {"metadata": {}}),
         ["metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in"
          " v1.32+; prefer separate namespaces to isolate access to mounted secrets"]),
        (("service_account_warnings", {"metadata": {}}, {}), []),
        (("slice_warnings", {}), []),
        (("slice_warnings", {"spec": {"driver": "aB"}}),
         ['spec.driver: driver names should be lowercase; "aB" contains uppercase characters']),
        (("admission_warnings", {}), []),
        (("quota_warnings", {}), []),
        (("quota_warnings", {"spec": {"hard": {"requests.storage": "2", "limits.storage": "1",
         "requests.cpu": "1", "limits.cpu": "1"}}}),
         ["ResourceQuota requests.storage (2) should be less than limits.storage (1)"]),
        (("secret_warnings", {"type": "kubernetes.io/tls"}),
         ["tls: failed to find any PEM data in certificate input"]),
        (("secret_warnings", {"type": "kubernetes.io/tls", "data": {"tls.crt": 1}}),
         ["tls: failed to find any PEM data in certificate input"]),
        (("secret_warnings", {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ"}}),
         ["tls: failed to find any PEM data in certificate input"]),
        (("secret_warnings", {"type": "a"}), []),
        (("load_balancer_warnings", {"status": {"loadBalancer": {}}}), []),
        (("load_balancer_warnings", {}), []),
        (("ingress_warnings", {"metadata": {}}), []),
        (("network_policy_warnings", {"spec": {"ingress": [{"from": [{"ipBlock": {}}]}]}}), []),
        (("network_policy_warnings", {"spec": {}}), []),
        (("endpoints_warnings", {"subsets": [{"addresses": [{}]}]}), []),
        (("endpoints_warnings", {"metadata": {}}), []),
        (("endpoint_slice_warnings", {"addressType": "IPv4", "endpoints": [{}]}), []),
        (("endpoint_slice_warnings", {"metadata": {"labels": {}}, "endpoints": [{"addresses":
         ["::ffff:1.2.3.4", "::FFFF:1.2.3.4", "1.2.3.4.5", "00.0.0.0", "1.2.3.040", "::1"]}]}),
         ['endpoints[0].addresses[0]: non-standard IP address "::ffff:1.2.3.4" is invalid:'
          ' use "1.2.3.4"',
          'endpoints[0].addresses[1]: non-standard IP address "::FFFF:1.2.3.4" is invalid:'
          ' use "1.2.3.4"',
          'endpoints[0].addresses[3]: non-standard IP address "00.0.0.0" is invalid: use'
          ' "0.0.0.0"',
          'endpoints[0].addresses[4]: non-standard IP address "1.2.3.040" is invalid: use'
          ' "1.2.3.40"']),
        (("node_warnings", {"spec": {"podCIDRs": ["::ffff:1.2.3.0/120", "::ffff:1.2.3.4/120",
         "010.0.0.1/08", "10.0.0.0/00", "fd00:0::/64", "1.2.3.4/32", "::1/128", "a/b",
         "10.0.0.0/33", "FD00::1/64"]}}),
         ['spec.podCIDRs[0]: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use'
          ' "1.2.3.0/24"',
          'spec.podCIDRs[1]: CIDR value "::ffff:1.2.3.4/120" is ambiguous in this context'
          ' (should be "1.2.3.0/24" or "1.2.3.4/128"?)',
          'spec.podCIDRs[1]: non-standard CIDR value "::ffff:1.2.3.4/120" is invalid: use'
          ' "1.2.3.0/24"',
          'spec.podCIDRs[2]: CIDR value "010.0.0.1/08" is ambiguous in this context (should'
          ' be "10.0.0.0/8" or "10.0.0.1/32"?)',
          'spec.podCIDRs[2]: non-standard CIDR value "010.0.0.1/08" is invalid: use'
          ' "10.0.0.0/8"',
          'spec.podCIDRs[3]: CIDR value "10.0.0.0/00" is ambiguous in this context (should be'
          ' "0.0.0.0/0" or "10.0.0.0/32"?)',
          'spec.podCIDRs[3]: non-standard CIDR value "10.0.0.0/00" is invalid: use'
          ' "0.0.0.0/0"',
          'spec.podCIDRs[4]: IPv6 CIDR value "fd00:0::/64" should be in RFC 5952 canonical'
          ' format ("fd00::/64")',
          'spec.podCIDRs[9]: CIDR value "FD00::1/64" is ambiguous in this context (should be'
          ' "fd00::/64" or "fd00::1/128"?)']),
    ],
)  # fmt: skip
def test_warnings_about_networks(row: Any, expected: list[str]) -> None:
    assert warned(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("Service", {}),
         ["spec.internalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinity = 'None'",
          "spec.type = 'ClusterIP'"]),
        (("Service", {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 81,
         "protocol": "UDP", "targetPort": "a"}]}}),
         ["spec.allocateLoadBalancerNodePorts = True",
          "spec.internalTrafficPolicy = 'Cluster'",
          "spec.externalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinity = 'None'",
          "spec.ports[0].targetPort = 80",
          "spec.ports[0].protocol = 'TCP'"]),
        (("Service", {"spec": {"type": "NodePort", "ports": [{}], "externalTrafficPolicy":
         "Local"}}),
         ["spec.internalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinity = 'None'",
          "spec.ports[0].protocol = 'TCP'",
          "no spec.ports[0]"]),
        (("Service", {"spec": {"type": "ExternalName", "sessionAffinity": "None",
         "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 1}}}}),
         ["no spec.sessionAffinityConfig.clientIP.timeoutSeconds"]),
        (("Service", {"spec": {"type": "ClusterIP", "externalIPs": ["8.8.8.8"],
         "sessionAffinity": "ClientIP"}}),
         ["spec.internalTrafficPolicy = 'Cluster'",
          "spec.externalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinityConfig.clientIP.timeoutSeconds = 10800"]),
        (("Service", {"spec": {"type": "ClusterIP", "sessionAffinity": "ClientIP",
         "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
         "internalTrafficPolicy": "Local"}}),
         []),
        (("Service", {"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts":
         False}, "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}, {"hostname": "a"},
          {"ip": "2.2.2.2", "ipMode": "Proxy"}]}}}),
         ["spec.internalTrafficPolicy = 'Cluster'",
          "spec.externalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinity = 'None'",
          "status.loadBalancer.ingress[0].ipMode = 'VIP'"]),
        (("Service", {"spec": {"type": "ClusterIP"}, "status": {"loadBalancer": {"ingress":
         [{"ip": "1.1.1.1"}]}}}),
         ["spec.internalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinity = 'None'"]),
        (("Node", {"spec": {"podCIDR": "10.0.0.0/24"}}), ["spec.podCIDRs[0] = '10.0.0.0/24'"]),
        (("Node", {"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}}),
         ["spec.podCIDR = '10.0.0.0/24'"]),
        (("Node", {"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.0.0/24"]}}),
         ["spec.podCIDRs[0] = '10.0.1.0/24'"]),
        (("Node", {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}), []),
        (("Node", {"spec": {"podCIDR": "", "podCIDRs": ["10.0.0.0/24"]}}), []),
        (("Node", {"status": {"capacity": {"cpu": "1", "memory": "1Gi"}, "allocatable":
         {"cpu": "500m"}}}),
         []),
        (("Secret", {}), ["type = 'Opaque'"]),
        (("ConfigMap", {"data": {"a": "b"}}), []),
        (("PersistentVolume", {"spec": {"hostPath": {"path": "/a"}}}),
         ["status.phase = 'Pending'",
          "spec.volumeMode = 'Filesystem'",
          "spec.persistentVolumeReclaimPolicy = 'Retain'",
          "spec.hostPath.type = ''"]),
        (("PersistentVolumeClaim", {"spec": {}}),
         ["status.phase = 'Pending'",
          "spec.volumeMode = 'Filesystem'",
          "no spec"]),
    ],
)  # fmt: skip
def test_defaults(row: Any, expected: list[str]) -> None:
    assert defaults_of(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, []),
        ({"volumes": [{"name": "v"}]}, ["volumes[0].emptyDir = {}"]),
        ({"volumes": [{"name": "v", "image": {"reference": "a"}}, {"name": "w", "image":
         {"reference": "a:b"}}, {"name": "x", "image": {"pullPolicy": "Never"}}, {"name": "y",
          "image": {}}]},
         ["volumes[0].image.pullPolicy = 'Always'",
          "volumes[1].image.pullPolicy = 'IfNotPresent'",
          "volumes[3].image.pullPolicy = 'IfNotPresent'",
          "no spec.volumes[3].image"]),
        ({"volumes": [{"name": "v", "secret": {}}, {"name": "w", "configMap": {}}, {"name":
         "x", "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "b"}}]}}]},
         ["volumes[0].secret.defaultMode = 420",
          "volumes[1].configMap.defaultMode = 420",
          "volumes[2].downwardAPI.defaultMode = 420",
          "volumes[2].downwardAPI.items[0].fieldRef.apiVersion = 'v1'",
          "no spec.volumes[0].secret",
          "no spec.volumes[1].configMap"]),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}},
         {"downwardAPI": {"items": [{"fieldRef": {}}]}}]}}]},
         ["volumes[0].projected.defaultMode = 420",
          "volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds = 3600",
          "volumes[0].projected.sources[1].downwardAPI.items[0].fieldRef.apiVersion = 'v1'",
          "no spec.volumes[0].projected.sources[0].serviceAccountToken",
          "no spec.volumes[0].projected.sources[1].downwardAPI.items[0].fieldRef"]),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/a"}}, {"name": "w", "iscsi": {}},
         {"name": "x", "rbd": {}}, {"name": "y", "azureDisk": {}}, {"name": "z", "scaleIO":
         {}}]},
         ["volumes[0].hostPath.type = ''",
          "volumes[1].iscsi.iscsiInterface = 'default'",
          "volumes[2].rbd.pool = 'rbd'",
          "volumes[2].rbd.user = 'admin'",
          "volumes[2].rbd.keyring = '/etc/ceph/keyring'",
          "volumes[3].azureDisk.cachingMode = 'ReadWrite'",
          "volumes[3].azureDisk.fsType = 'ext4'",
          "volumes[3].azureDisk.readOnly = False",
          "volumes[3].azureDisk.kind = 'Shared'",
          "volumes[4].scaleIO.storageMode = 'ThinProvisioned'",
          "volumes[4].scaleIO.fsType = 'xfs'",
          "no spec.volumes[1].iscsi",
          "no spec.volumes[2].rbd",
          "no spec.volumes[3].azureDisk",
          "no spec.volumes[4].scaleIO"]),
        ({"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec":
         {"resources": {"requests": {"storage": "1"}}}}}}]},
         ["volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode = 'Filesystem'"]),
        ({"containers": [{"name": "c", "image": "a:b", "imagePullPolicy": "Never", "ports":
         [{ "containerPort": 1}], "env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}]},
         ["containers[0].ports[0].protocol = 'TCP'",
          "containers[0].env[0].valueFrom.fieldRef.apiVersion = 'v1'",
          "no spec.containers[0].env[0].valueFrom.fieldRef"]),
        ({"containers": [{"name": "c", "image": "a:b", "imagePullPolicy": "Never",
         "livenessProbe": {"httpGet": {"port": 1}}, "readinessProbe": {"grpc": {"port": 1},
         "periodSeconds": 5}}]},
         ["containers[0].livenessProbe.timeoutSeconds = 1",
          "containers[0].livenessProbe.periodSeconds = 10",
          "containers[0].livenessProbe.successThreshold = 1",
          "containers[0].livenessProbe.failureThreshold = 3",
          "containers[0].livenessProbe.httpGet.path = '/'",
          "containers[0].livenessProbe.httpGet.scheme = 'HTTP'",
          "containers[0].readinessProbe.timeoutSeconds = 1",
          "containers[0].readinessProbe.successThreshold = 1",
          "containers[0].readinessProbe.failureThreshold = 3",
          "containers[0].readinessProbe.grpc.service = ''"]),
        ({"containers": [{"name": "c", "image": "a:b", "imagePullPolicy": "Never",
         "lifecycle": {"preStop": {"httpGet": {"port": 1}}, "postStart": {"httpGet": {"path":
         "/b", "scheme": "HTTPS"}}}}]},
         ["containers[0].lifecycle.preStop.httpGet.path = '/'",
          "containers[0].lifecycle.preStop.httpGet.scheme = 'HTTP'"]),
        ({"containers": [{"name": "c", "image": "a", "resources": {"limits": {"cpu": "1", "x":
          "2"}, "requests": {"cpu": "0"}}}], "initContainers": [{"name": "i", "image": "a"}]},
         ["containers[0].imagePullPolicy = 'Always'",
          "initContainers[0].resources = {}",
          "initContainers[0].terminationMessagePath = '/dev/termination-log'",
          "initContainers[0].terminationMessagePolicy = 'File'",
          "initContainers[0].imagePullPolicy = 'Always'"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a:b"}]},
         ["ephemeralContainers[0].resources = {}",
          "ephemeralContainers[0].terminationMessagePath = '/dev/termination-log'",
          "ephemeralContainers[0].terminationMessagePolicy = 'File'",
          "ephemeralContainers[0].imagePullPolicy = 'IfNotPresent'"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [{"name": "c", "resources":
         {"limits": {"hugepages-2Mi": "4Mi", "hugepages-1Gi": "1Gi", "memory": "1Gi"}},
         "image": "a:b", "imagePullPolicy": "Never"}]},
         ["resources.limits.hugepages-1Gi = '1Gi'",
          "resources.limits.hugepages-2Mi = '4Mi'",
          "resources.requests.memory = '1Gi'",
          "resources.requests.cpu = '1'",
          "resources.requests.hugepages-1Gi = '1Gi'",
          "resources.requests.hugepages-2Mi = '4Mi'"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [{"name": "c", "resources":
         {"requests": {"memory": "1000", "cpu": "1.5"}}, "image": "a:b", "imagePullPolicy":
         "Never"}]},
         ["resources.requests.cpu = '1500m'",
          "resources.requests.memory = '1k'"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [{"name": "c", "resources":
         {"requests": {"memory": "2048", "cpu": "0", "a/b": "1"}}, "image": "a:b",
         "imagePullPolicy": "Never"}]},
         ["resources.requests.cpu = '0'",
          "resources.requests.memory = '2048'"]),
        ({"resources": {"requests": {"cpu": "1"}}}, []),
        ({"resources": {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}}, "containers":
         [{"name": "c", "resources": {"limits": {"hugepages-2Mi": "2Mi"}}, "image": "a:b",
         "imagePullPolicy": "Never"}]},
         []),
        ({"resources": {"limits": {"a/b": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}}},
         ["resources.requests.memory = '1Gi'",
          "resources.requests.hugepages-2Mi = '2Mi'"]),
        ({"containers": [{"name": "c", "image": "a:b", "imagePullPolicy": "Never", "env":
         [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "a"}}}]}]},
         ["containers[0].env[0].valueFrom.fileKeyRef.optional = False"]),
    ],
)  # fmt: skip
def test_defaults_of_pods(row: Any, expected: list[str]) -> None:
    assert of_pod(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("a", ["Always"]),
        ("a:latest", ["Always"]),
        ("a:b", ["IfNotPresent"]),
        ("a@sha256:" + "0" * 64, ["IfNotPresent"]),
        ("a:latest@sha256:" + "0" * 64, ["Always"]),
        ("a:b@sha256:" + "0" * 64, ["IfNotPresent"]),
        ("a:latest@sha256:" + "0" * 63, ["IfNotPresent"]),
        ("a:latest@sha256:" + "A" * 64, ["IfNotPresent"]),
        ("a:latest@sha512:" + "0" * 128, ["Always"]),
        ("a:latest@md5:" + "0" * 32, ["IfNotPresent"]),
        ("A", ["IfNotPresent"]),
        ("", ["IfNotPresent"]),
        ("a.b/c", ["Always"]),
        ("localhost/a:latest", ["Always"]),
        ("localhost:5000/a", ["Always"]),
        ("a:5000/b:c", ["IfNotPresent"]),
        ("a/" + "b" * 253, ["Always"]),
        ("a/" + "b" * 254, ["IfNotPresent"]),
        ("a.b/" + "c" * 255, ["Always"]),
        ("a.b/" + "c" * 256, ["IfNotPresent"]),
        ("x" * 247, ["Always"]),
        ("x" * 248, ["IfNotPresent"]),
        ("localhost/" + "c" * 255, ["Always"]),
        ("localhost/" + "c" * 256, ["IfNotPresent"]),
        ("a:5/" + "c" * 255, ["Always"]),
        ("a:5/" + "c" * 256, ["IfNotPresent"]),
        ("a" + ".a" * 123 + "a", ["IfNotPresent"]),
    ],
)  # fmt: skip
def test_pull_policies(row: Any, expected: list[str]) -> None:
    assert policy_of(row) == expected
