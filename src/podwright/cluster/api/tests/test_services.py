"""Services before their allocation: addresses, families and ports that follow from the type."""

from __future__ import annotations

import pytest

from podwright.cluster.api.strategies.preparation import prepared_for_create, prepared_for_update
from podwright.cluster.api.strategies.services import family_problems, needs_node_ports
from podwright.cluster.api.versions.resources import built_in_resources

SERVICE = built_in_resources()["v1", "Service"]
CLUSTER_IP = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
              "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"type": "ExternalName"}, {"type": "ExternalName"}),
        ({}, {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}),
        ({"ipFamilyPolicy": ""}, {"ipFamilyPolicy": "", "ipFamilies": ["IPv4"]}),
        (
            {"clusterIP": "10.0.0.1"},
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilyPolicy": "SingleStack",
             "ipFamilies": ["IPv4"]},
        ),
        (
            {"clusterIP": "a", "clusterIPs": ["b"]},
            {"clusterIP": "a", "clusterIPs": ["b"], "ipFamilyPolicy": "SingleStack",
             "ipFamilies": ["IPv4"]},
        ),
        (
            {"clusterIP": "::1"},
            {"clusterIP": "::1", "clusterIPs": ["::1"], "ipFamilyPolicy": "SingleStack"},
        ),
        (
            {"clusterIP": "None"},
            {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "RequireDualStack",
             "ipFamilies": ["IPv4", "IPv6"]},
        ),
        (
            {"clusterIP": "None", "ipFamilyPolicy": "SingleStack"},
            {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "SingleStack",
             "ipFamilies": ["IPv4"]},
        ),
        (
            {"clusterIP": "None", "ipFamilies": ["IPv6"]},
            {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "RequireDualStack",
             "ipFamilies": ["IPv6", "IPv4"]},
        ),
        (
            {"clusterIP": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "PreferDualStack"},
            {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "PreferDualStack",
             "ipFamilies": ["IPv4", "IPv6"]},
        ),
        (
            {"clusterIP": "None", "ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack"},
            {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilyPolicy": "SingleStack",
             "ipFamilies": ["IPv6"]},
        ),
        (
            {"clusterIP": "None", "selector": {"a": "b"}},
            {"clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"},
             "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]},
        ),
    ],
)  # fmt: skip
def test_a_new_service(sent, stored):
    assert prepared_for_create(SERVICE, {"spec": sent, "status": {"x": 1}}, 0) == {"spec": stored}


@pytest.mark.parametrize(
    ("sent", "before", "stored"),
    [
        ({"type": "ClusterIP"}, CLUSTER_IP, CLUSTER_IP),
        # Clients that know the single address only.
        ({"type": "ClusterIP", "clusterIP": "10.0.0.1"}, CLUSTER_IP, CLUSTER_IP),
        (
            {"type": "ClusterIP", "clusterIP": "10.0.0.2"},
            CLUSTER_IP,
            CLUSTER_IP | {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]},
        ),
        (
            {"type": "ClusterIP", "clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.1"]},
            CLUSTER_IP,
            CLUSTER_IP | {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]},
        ),
        (CLUSTER_IP | {"type": "ExternalName"}, CLUSTER_IP, {"type": "ExternalName"}),
        ({"type": "ExternalName"}, CLUSTER_IP, {"type": "ExternalName"}),
        (
            CLUSTER_IP | {"type": "ExternalName", "clusterIP": "other"},
            CLUSTER_IP,
            {"type": "ExternalName", "clusterIP": "other", "clusterIPs": ["other"]},
        ),
        # Clients that know the single address only, which they remove.
        (
            {"type": "ExternalName", "clusterIPs": ["10.0.0.1"]},
            CLUSTER_IP,
            {"type": "ExternalName"},
        ),
        (
            {"type": "ExternalName", "clusterIP": "10.0.0.1"},
            CLUSTER_IP,
            {"type": "ExternalName"},
        ),
        ({"type": "ExternalName"}, {"type": "ExternalName"}, {"type": "ExternalName"}),
        (
            {"type": "ExternalName", "internalTrafficPolicy": "Local"},
            {"type": "ExternalName", "internalTrafficPolicy": "Local"},
            {"type": "ExternalName", "internalTrafficPolicy": "Local"},
        ),
        (
            CLUSTER_IP | {"type": "ExternalName", "clusterIPs": ["10.0.0.2"],
                          "ipFamilies": ["IPv6"], "internalTrafficPolicy": "Local"},
            CLUSTER_IP | {"internalTrafficPolicy": "Cluster"},
            {"type": "ExternalName", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"],
             "ipFamilies": ["IPv6"], "internalTrafficPolicy": "Local"},
        ),
        # A policy alone releases the second address.
        (
            {"type": "ClusterIP", "ipFamilyPolicy": "SingleStack", "clusterIP": "a",
             "clusterIPs": ["a", "b"], "ipFamilies": ["IPv4", "IPv6"]},
            {"type": "ClusterIP", "clusterIP": "a", "clusterIPs": ["a", "b"],
             "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"},
            {"type": "ClusterIP", "ipFamilyPolicy": "SingleStack", "clusterIP": "a",
             "clusterIPs": ["a"], "ipFamilies": ["IPv4"]},
        ),
        (
            {"type": "NodePort", "ports": [{"name": "a"}, {"name": "b", "nodePort": 7},
                                           {"name": "c"}]},
            CLUSTER_IP | {"type": "NodePort", "ports": [
                {"name": "a", "nodePort": 5}, {"name": "b", "nodePort": 6},
                {"name": "c", "nodePort": 7}]},
            CLUSTER_IP | {"type": "NodePort", "ports": [
                {"name": "a", "nodePort": 5}, {"name": "b", "nodePort": 7}, {"name": "c"}]},
        ),
        (
            {"type": "ClusterIP", "externalTrafficPolicy": "Local",
             "ports": [{"name": "a", "nodePort": 5}]},
            CLUSTER_IP | {"type": "NodePort", "externalTrafficPolicy": "Local",
                          "ports": [{"name": "a", "nodePort": 5}]},
            CLUSTER_IP | {"ports": [{"name": "a"}]},
        ),
        # A load balancer keeps its node ports when it no longer needs new ones.
        *(
            (
                {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False,
                 "ports": [{"name": "a", "nodePort": 5}]},
                CLUSTER_IP | {"type": before, "ports": [{"name": "a", "nodePort": 5}]},
                CLUSTER_IP | {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False,
                              "ports": [{"name": "a", "nodePort": 5}]},
            )
            for before in ("NodePort", "LoadBalancer")
        ),
        # It loses them with its type, as everything else of the type.
        (
            {"type": "ClusterIP", "allocateLoadBalancerNodePorts": False,
             "externalTrafficPolicy": "Local", "healthCheckNodePort": 8, "loadBalancerClass": "x",
             "ports": [{"name": "a", "nodePort": 5}, {"name": "b"}]},
            CLUSTER_IP | {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False,
                          "externalTrafficPolicy": "Local", "healthCheckNodePort": 8,
                          "loadBalancerClass": "x", "ports": [{"name": "a", "nodePort": 5}]},
            CLUSTER_IP | {"ports": [{"name": "a"}, {"name": "b"}]},
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "healthCheckNodePort": 8,
             "ports": []},
            CLUSTER_IP | {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
                          "healthCheckNodePort": 8},
            CLUSTER_IP | {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "ports": []},
        ),
        # External addresses need the policy too.
        (
            {"type": "ClusterIP", "externalTrafficPolicy": "Local", "externalIPs": ["1.2.3.4"]},
            CLUSTER_IP | {"type": "NodePort", "externalTrafficPolicy": "Local"},
            CLUSTER_IP | {"externalTrafficPolicy": "Local", "externalIPs": ["1.2.3.4"],
                          "ports": []},
        ),
        (
            {"type": "ClusterIP", "externalTrafficPolicy": "Local"},
            CLUSTER_IP | {"externalTrafficPolicy": "Local", "externalIPs": ["1.2.3.4"]},
            CLUSTER_IP,
        ),
        # Ports that are new, and what is changed, stay to be refused.
        (
            {"type": "ClusterIP", "externalTrafficPolicy": "Cluster",
             "ports": [{"name": "a", "nodePort": 6}]},
            CLUSTER_IP | {"type": "NodePort", "externalTrafficPolicy": "Local",
                          "ports": [{"name": "a", "nodePort": 5}]},
            CLUSTER_IP | {"externalTrafficPolicy": "Cluster",
                          "ports": [{"name": "a", "nodePort": 6}]},
        ),
        (
            {"type": "NodePort", "ports": [], "loadBalancerClass": "x",
             "allocateLoadBalancerNodePorts": True, "healthCheckNodePort": 9},
            CLUSTER_IP | {"type": "LoadBalancer", "loadBalancerClass": "x",
                          "allocateLoadBalancerNodePorts": True, "healthCheckNodePort": 8},
            CLUSTER_IP | {"type": "NodePort", "ports": [], "healthCheckNodePort": 9},
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [],
             "healthCheckNodePort": 9},
            CLUSTER_IP | {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
                          "healthCheckNodePort": 8},
            CLUSTER_IP | {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [],
                          "healthCheckNodePort": 9},
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": []},
            CLUSTER_IP | {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
                          "healthCheckNodePort": 8},
            CLUSTER_IP | {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [],
                          "healthCheckNodePort": 8},
        ),
    ],
)  # fmt: skip
def test_a_changed_service_keeps_what_was_allocated(sent, before, stored):
    old = {"metadata": {}, "spec": before, "status": {"y": 1}}
    new = {"metadata": {}, "spec": sent, "status": {"x": 1}}
    found = prepared_for_update(SERVICE, new, old, 0)
    assert found["spec"] == stored
    assert found["status"] == {"y": 1}


@pytest.mark.parametrize(
    ("kind", "balancer"),
    [
        ("LoadBalancer", {"ingress": [{"ip": "1.2.3.4"}]}),
        ("NodePort", {}),
        ("ClusterIP", {}),
        ("ExternalName", {}),
    ],
)
def test_a_service_of_another_type_has_no_load_balancer(kind, balancer):
    status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}, "conditions": []}
    old = {"metadata": {}, "spec": CLUSTER_IP | {"type": "LoadBalancer"}, "status": status}
    found = prepared_for_update(SERVICE, {"metadata": {}, "spec": {"type": kind}}, old, 0)
    assert found["status"] == {"loadBalancer": balancer, "conditions": []}


@pytest.mark.parametrize(
    ("spec", "has_ports"),
    [
        ({"type": "NodePort", "allocateLoadBalancerNodePorts": False}, True),
        ({"type": "LoadBalancer"}, True),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True}, True),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, False),
        ({"type": "ClusterIP"}, False),
        ({}, False),
    ],
)
def test_services_with_node_ports(spec, has_ports):
    assert needs_node_ports(spec) is has_ports


DUAL = {"clusterIPs": ["a", "b"], "ipFamilies": ["IPv4", "IPv6"]}
AT = "spec.ipFamilyPolicy"


@pytest.mark.parametrize(
    ("spec", "stored", "problems"),
    [
        ({"type": "ExternalName", "ipFamilyPolicy": "RequireDualStack"}, None, []),
        ({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}, None, []),
        (
            {"ipFamilyPolicy": "SingleStack", **DUAL},
            None,
            [
                (AT, 'Invalid value: "SingleStack": must be \'RequireDualStack\' or'
                 " 'PreferDualStack' when multiple cluster IPs are specified"),
                (AT, 'Invalid value: "SingleStack": must be \'RequireDualStack\' or'
                 " 'PreferDualStack' when multiple IP families are specified"),
            ],
        ),
        (
            {"ipFamilyPolicy": "PreferDualStack", "clusterIPs": ["a"], "ipFamilies": ["IPv4"]},
            DUAL,
            [
                (AT, 'Invalid value: "PreferDualStack": must be \'SingleStack\' to release the'
                 " secondary cluster IP"),
                (AT, 'Invalid value: "PreferDualStack": must be \'SingleStack\' to release the'
                 " secondary IP family"),
            ],
        ),
        (
            {"ipFamilyPolicy": "PreferDualStack", "clusterIPs": ["b"], "ipFamilies": ["IPv4"]},
            {"clusterIPs": ["a", "b"], "ipFamilies": ["IPv4"]},
            [],
        ),
        (
            {"ipFamilyPolicy": "PreferDualStack", "clusterIPs": ["::1"]},
            None,
            [("spec.clusterIPs[0]",
              'Invalid value: ["::1"]: IPv6 is not configured on this cluster')],
        ),
        (
            {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]},
            None,
            [
                (AT, 'Invalid value: "RequireDualStack": this cluster is not configured for'
                 " dual-stack services"),
                ("spec.ipFamilies[1]",
                 'Invalid value: "IPv6": not configured on this cluster'),
            ],
        ),
        ({"ipFamilyPolicy": "RequireDualStack", "clusterIP": "None"}, None, []),
        (
            {"ipFamilyPolicy": "RequireDualStack", "clusterIP": "None", "selector": {"a": "b"}},
            None,
            [(AT, 'Invalid value: "RequireDualStack": this cluster is not configured for'
              " dual-stack services")],
        ),
    ],
)  # fmt: skip
def test_what_a_cluster_of_one_family_refuses(spec, stored, problems):
    assert [(path, text) for path, text, _ in family_problems(spec, stored)] == problems
