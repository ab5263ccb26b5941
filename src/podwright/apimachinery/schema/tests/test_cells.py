"""Each cell of kubectl's tables from the parts of a document, as upstream's printers write it.

Upstream: pkg/printers/internalversion/printers.go
"""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.schema.printing import configuration, networking, workloads
from podwright.apimachinery.schema.printing.cells import (
    age,
    labels_text,
    marked_name,
    selector_text,
    shortened,
)

NOW_NS = 1_800_000_000 * 10**9
HOUR_AGO, TWO_HOURS_AGO = "2027-01-15T07:00:00Z", "2027-01-15T06:00:00Z"


def true(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": "True", **more}


def false(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": "False", **more}


def status(**fields: Any) -> dict[str, Any]:
    return {"status": fields}


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def in_state(*conditions: Any, **fields: Any) -> dict[str, Any]:
    return {"status": {"conditions": list(conditions), **fields}}


DELETED: Any = {"metadata": {"deletionTimestamp": HOUR_AGO}}
OWNER = {"kind": "StatefulSet", "apiVersion": "apps/v1", "name": "db"}

WORKLOADS: list[tuple[Any, dict[str, Any], Any]] = [
    (workloads.ready, {}, "0/0"),
    (workloads.ready, {"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}, "2/3"),
    (workloads.controller, {}, "<none>"),
    (workloads.controller, {"metadata": {"ownerReferences": [OWNER]}}, "<none>"),
    (workloads.controller, {"metadata": {"ownerReferences": [
        OWNER, OWNER | {"controller": True, "name": "x"}]}}, "statefulset.apps/x"),
    (workloads.controller, {"metadata": {"ownerReferences": [
        {"kind": "Pod", "apiVersion": "v1", "name": "p", "controller": True}]}}, "pod/p"),
    (workloads.controller, {"metadata": {"ownerReferences": [{"controller": True}]}}, "/"),
    (workloads.job_status, {}, "Running"),
    (workloads.job_status, in_state(true("Complete"), true("Failed")), "Complete"),
    (workloads.job_status, in_state(true("Failed"), true("FailureTarget")), "Failed"),
    (workloads.job_status, in_state(false("Complete"), true("Suspended")), "Suspended"),
    (workloads.job_status, in_state(true("FailureTarget")), "FailureTarget"),
    (workloads.job_status, in_state(true("SuccessCriteriaMet")), "SuccessCriteriaMet"),
    (workloads.job_status, DELETED | in_state(true("Suspended")), "Terminating"),
    (workloads.job_status, DELETED | in_state(true("Failed")), "Failed"),
    (workloads.job_status, in_state(false("Failed"), true("Failed")), "Running"),
    (workloads.job_completions, {}, "0/1"),
    (workloads.job_completions, spec(completions=0), "0/0"),
    (workloads.job_completions, spec(completions=5, parallelism=2) | status(succeeded=3), "3/5"),
    (workloads.job_completions, spec(parallelism=1) | status(succeeded=1), "1/1"),
    (workloads.job_completions, spec(parallelism=2), "0/1 of 2"),
    (workloads.scale_target, {}, "/"),
    (workloads.scale_target, spec(scaleTargetRef={"kind": "Deployment", "name": "web"}),
     "Deployment/web"),
    (workloads.pod_cpu_metrics, {}, ""),
    (workloads.pod_cpu_metrics, {"containers": [{}, {"usage": {"memory": "1Gi"}}]}, ""),
    (workloads.pod_cpu_metrics, {"containers": [{"usage": {"cpu": "100m"}},
                                                {"usage": {"cpu": "1"}}]}, "1100m"),
    (workloads.pod_memory_metrics, {"containers": [{"usage": {"memory": "1Ki", "cpu": "1"}},
                                                   {"usage": {"memory": "1Ki"}}]}, "2Ki"),
    (workloads.count, {}, 1),
    (workloads.count, {"count": 4}, 4),
    (workloads.count, {"deprecatedCount": 5}, 5),
    (workloads.count, {"series": {}, "count": 4}, 0),
    (workloads.count, {"series": {"count": 6}}, 6),
    (workloads.subject, {}, ""),
    (workloads.subject, {"involvedObject": {"kind": "Pod", "name": "p"}}, "pod/p"),
    (workloads.subject, {"regarding": {"kind": "Node"}}, "node"),
    (workloads.subobject, {}, ""),
    (workloads.subobject, {"involvedObject": {"fieldPath": "spec.x"}}, "spec.x"),
    (workloads.subobject, {"regarding": {"fieldPath": "spec.y"}}, "spec.y"),
    (workloads.source, {}, ""),
    (workloads.source, {"source": {"component": "kubelet", "host": "n1"}}, "kubelet, n1"),
    (workloads.source, {"source": {"component": "a"}, "reportingComponent": "b"}, "a"),
    (workloads.source, {"reportingComponent": "b", "reportingInstance": "i"}, "b, i"),
    (workloads.source, {"reportingController": "c"}, "c"),
    (workloads.source, {"deprecatedSource": {"host": "h"}, "reportingInstance": "i"}, ", h"),
    (workloads.message, {}, ""),
    (workloads.message, {"message": " a b \n"}, "a b"),
    (workloads.message, {"note": "n"}, "n"),
    (workloads.group_policy, {}, "Basic"),
    (workloads.group_policy, spec(schedulingPolicy={"basic": {}}), "Basic"),
    (workloads.group_policy, spec(schedulingPolicy={"gang": {}}), "Gang"),
    (workloads.group_workload, {}, "<none>"),
    (workloads.group_workload, spec(podGroupTemplateRef={}), ""),
    (workloads.group_workload, spec(podGroupTemplateRef={"workload": {"workloadName": "w"}}), "w"),
    (workloads.group_status, {}, "Pending"),
    (workloads.group_status, in_state(true("PodGroupScheduled")), "Scheduled"),
    (workloads.group_status, in_state(false("PodGroupScheduled")), "Unschedulable"),
    (workloads.group_status, in_state(true("PodGroupScheduled"),
                                      true("DisruptionTarget", reason="Preempted")), "Preempted"),
    (workloads.pool_request_state, {}, "Pending"),
    (workloads.pool_request_state, in_state(true("Complete")), "Complete"),
    (workloads.pool_request_state, in_state(true("Complete"), pools=[{}], poolCount=1), "Complete"),
    (workloads.pool_request_state, in_state(true("Complete"), pools=[{}], poolCount=2),
     "Complete (1/2 pools)"),
    (workloads.pool_request_state, in_state(true("Failed"), poolCount=2), "Failed"),
    (workloads.pool_request_state, in_state(false("Failed"), true("Other")), "Pending"),
    (workloads.pool_count, {}, 0),
    (workloads.pool_count, status(poolCount=3), 3),
    (workloads.pool_errors, {}, "-"),
    (workloads.pool_errors, in_state(true("Failed")), "-"),
    (workloads.pool_errors, status(pools=[{"validationError": ""}, {}, {"validationError": "x"}]),
     "2"),
    (workloads.pool_errors, {"status": {}}, "0"),
    (workloads.total_devices, {"status": {"pools": [{}]}}, "0"),
    (workloads.total_devices, {}, "-"),
    (workloads.total_devices, in_state(true("Failed"), pools=[{"totalDevices": 1}]), "-"),
    *(
        (cell, status(pools=[{name: 2}, {name: 3}, {"other": 9}]), "5")
        for cell, name in (
            (workloads.total_devices, "totalDevices"),
            (workloads.available_devices, "availableDevices"),
            (workloads.allocated_devices, "allocatedDevices"),
            (workloads.unavailable_devices, "unavailableDevices"),
        )
    ),
]  # fmt: skip

TIMED: list[tuple[Any, dict[str, Any], str]] = [
    (workloads.job_duration, {}, ""),
    (workloads.job_duration, status(startTime=HOUR_AGO), "60m"),
    (workloads.job_duration, status(startTime=TWO_HOURS_AGO, completionTime=HOUR_AGO), "60m"),
    (workloads.job_duration, status(completionTime=HOUR_AGO), ""),
    (workloads.last_seen, {}, "<unknown>"),
    (workloads.last_seen, {"lastTimestamp": HOUR_AGO, "firstTimestamp": TWO_HOURS_AGO}, "60m"),
    (workloads.last_seen, {"deprecatedLastTimestamp": HOUR_AGO}, "60m"),
    (workloads.last_seen, {"firstTimestamp": TWO_HOURS_AGO}, "120m"),
    (workloads.last_seen, {"eventTime": TWO_HOURS_AGO}, "120m"),
    (workloads.last_seen, {"series": {}, "lastTimestamp": HOUR_AGO}, "<unknown>"),
    (workloads.last_seen, {"series": {"lastObservedTime": HOUR_AGO}}, "60m"),
    (workloads.first_seen, {"eventTime": HOUR_AGO, "firstTimestamp": TWO_HOURS_AGO}, "120m"),
    (workloads.first_seen, {"deprecatedFirstTimestamp": HOUR_AGO}, "60m"),
    (workloads.pool_request_completion, {}, "<none>"),
    (workloads.pool_request_completion,
     in_state(true("Complete", lastTransitionTime=HOUR_AGO)), "60m"),
    (workloads.pool_request_completion,
     in_state(true("Failed", lastTransitionTime=HOUR_AGO)), "<none>"),
    (workloads.pool_request_completion, in_state(true("Complete")), "<unknown>"),
]  # fmt: skip


def a_metric(kind: str, target: Any, **source: Any) -> dict[str, Any]:
    return {"type": kind, kind[0].lower() + kind[1:]: {"target": target, **source}}


def a_value(kind: str, **current: Any) -> dict[str, Any]:
    return {"type": kind, kind[0].lower() + kind[1:]: {"current": current}}


CPU: Any = {"name": "cpu"}
METRICS: list[tuple[list[Any], list[Any], str]] = [
    ([], [], "<none>"),
    ([{"type": "Other"}], [], "<unknown type>"),
    ([a_metric("Resource", {"averageUtilization": 80}, **CPU)], [], "cpu: <unknown>/80%"),
    ([a_metric("Resource", {"averageUtilization": 80}, **CPU)],
     [a_value("Resource", averageUtilization=7)], "cpu: 7%/80%"),
    ([a_metric("Resource", {}, **CPU)], [a_value("Resource")], "cpu: <unknown>/<auto>"),
    ([a_metric("Resource", {"averageValue": "1000m"}, **CPU)], [], "cpu: <unknown>/1"),
    ([a_metric("Resource", {"averageValue": "2"}, **CPU)],
     [a_value("Resource", averageValue="500m")], "cpu: 500m/2"),
    ([a_metric("Resource", {"averageValue": "2"}, **CPU)], [a_value("Resource")], "cpu: <nil>/2"),
    ([a_metric("ContainerResource", {"averageUtilization": 8}, name="memory")],
     [a_value("ContainerResource", averageUtilization=5)], "memory: 5%/8%"),
    ([a_metric("Pods", {"averageValue": "10"})], [], "<unknown>/10"),
    ([a_metric("Pods", {"averageValue": "10"})], [a_value("Pods", averageValue="3")], "3/10"),
    ([a_metric("Object", {"value": "10"})], [], "<unknown>/10"),
    ([a_metric("Object", {"value": "10"})], [a_value("Object", value="4")], "4/10"),
    ([a_metric("Object", {"averageValue": "10"})], [a_value("Object", averageValue="4")],
     "4/10 (avg)"),
    ([a_metric("Object", {"averageValue": "10"})], [a_value("Object")], "<unknown>/10 (avg)"),
    ([a_metric("External", {"value": "1k"})], [a_value("External")], "<nil>/1k"),
    ([a_metric("External", {"averageValue": "1k"})], [], "<unknown>/1k (avg)"),
    ([a_metric("External", {"averageValue": "1000"})],
     [a_value("External", averageValue="2000m")], "2/1k (avg)"),
    ([a_metric("Pods", {"averageValue": "1000m"})], [{"type": "Pods", "pods": {}}], "<nil>/1"),
    ([a_metric("Pods", {"averageValue": "1"})], [a_value("Pods", averageValue="0")], "0/1"),
    ([a_metric("Object", {})], [{"object": {}}], "<nil>/<nil>"),
    ([{"type": "Pods"}, {"type": "Resource"}], [{}], "<unknown>/<nil>, : <unknown>/<auto>"),
    ([a_metric("Pods", {"averageValue": "1"}), a_metric("Object", {"value": "2"})],
     [a_value("Pods", averageValue="5")], "5/1, <unknown>/2"),
    ([a_metric("Pods", {"averageValue": str(n)}) for n in range(1, 4)], [],
     "<unknown>/1, <unknown>/2 + 1 more..."),
]  # fmt: skip


def check(rows: list[tuple[Any, dict[str, Any], Any]]) -> None:
    for cell, document, expected in rows:
        found = cell(document)
        name = getattr(cell, "__name__", cell)
        assert (found, type(found)) == (expected, type(expected)), f"{name} of {document}"


def test_the_cells_of_workloads_events_and_groups() -> None:
    check(WORKLOADS)


def test_the_cells_that_depend_on_the_time() -> None:
    for cell, document, expected in TIMED:
        assert cell(document, NOW_NS) == expected, f"{cell.__name__} of {document}"
    assert (age(None, NOW_NS), age(HOUR_AGO, NOW_NS)) == ("<unknown>", "60m")


def test_the_metrics_of_an_autoscaler() -> None:
    for metrics, current, expected in METRICS:
        document = {"spec": {"metrics": metrics}, "status": {"currentMetrics": current}}
        assert workloads.metrics(document) == expected, metrics
    assert workloads.metrics({}) == "<none>"


# ---------------------------------------------------------------------- configuration

A_SELECTOR = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}, {}],
}
QUOTA = status(hard={"pods": "10", "limits.cpu": "4000m", "a": "1"}, used={"pods": "3", "a": "1"})
SUBJECTS = {
    "subjects": [
        {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"},
        {"kind": "User", "name": "v"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "ServiceAccount"},
    ]
}  # fmt: skip
LABELED: Any = {"metadata": {"labels": {
    "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "agent", "x": "y",
    "node-role.kubernetes.io/": "z",
}}}  # fmt: skip
ADDRESSES = status(addresses=[
    {"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"},
    {"type": "InternalIP", "address": "10.0.0.2"}, {"type": "ExternalIP"},
])  # fmt: skip
BOUND = {"volumeName": "v"}

CONFIGURATION: list[tuple[Any, dict[str, Any], Any]] = [
    (configuration.config_map_size, {}, 0),
    (configuration.config_map_size, {"data": {"a": "", "b": ""}, "binaryData": {"c": ""}}, 3),
    (configuration.component_status, {}, "Unknown"),
    (configuration.component_status, {"conditions": [true("Healthy")]}, "Healthy"),
    (configuration.component_status, {"conditions": [true("Other"), false("Healthy")]},
     "Unhealthy"),
    (configuration.component_message, {}, ""),
    (configuration.component_message, {"conditions": [true("Healthy", message="ok", error="e")]},
     "ok"),
    (configuration.component_error, {"conditions": [true("Healthy", message="ok", error="e")]},
     "e"),
    (configuration.service_of_api, {}, "Local"),
    (configuration.service_of_api, spec(service={}), "/"),
    (configuration.service_of_api, spec(service={"namespace": "n", "name": "s"}), "n/s"),
    (configuration.availability_of_api, {}, "Unknown"),
    (configuration.availability_of_api, in_state(true("Available", reason="Local")), "True"),
    (configuration.availability_of_api, in_state(false("Available", reason="Gone")),
     "False (Gone)"),
    (configuration.availability_of_api, in_state(false("Available")), "False"),
    (configuration.quota_requests, {}, ""),
    (configuration.quota_requests, QUOTA, "a: 1/1, pods: 3/10"),
    (configuration.quota_limits, QUOTA, "limits.cpu: 0/4"),
    (configuration.role, {}, "/"),
    (configuration.role, {"roleRef": {"kind": "Role", "name": "r"}}, "Role/r"),
    (configuration.users, {}, ""),
    (configuration.users, SUBJECTS, "u, v"),
    (configuration.groups, SUBJECTS, "g"),
    (configuration.service_accounts, SUBJECTS, "n/s, /"),
    (configuration.signing_condition, {}, "Pending"),
    (configuration.signing_condition, in_state(true("Approved")), "Approved"),
    (configuration.signing_condition, in_state(true("Approved"), true("Denied")), "Denied"),
    (configuration.signing_condition, in_state(true("Approved"), true("Failed")),
     "Approved,Failed"),
    (configuration.signing_condition, in_state(true("Approved"), certificate="x"),
     "Approved,Issued"),
    (configuration.pod_request_state, {}, "Pending"),
    (configuration.pod_request_state, in_state(true("Issued"), true("Other")), "Issued"),
    (configuration.pod_request_state, in_state(true("Issued"), true("Failed")), "Failed"),
    (configuration.pod_request_state, in_state(true("Denied")), "Denied"),
    (configuration.migrated_resource, {}, ""),
    (configuration.migrated_resource, spec(resource={"resource": "pods", "group": ""}), "pods"),
    (configuration.migrated_resource, spec(resource={"resource": "jobs", "group": "batch"}),
     "jobs.batch"),
    (configuration.migration_state, {}, "Unknown"),
    (configuration.migration_state, in_state(true("Running"), true("Other")), "Running"),
    (configuration.migration_state, in_state(true("Running"), false("Failed")), "Running"),
    (configuration.migration_state, in_state(true("Running"), true("Succeeded")), "Succeeded"),
    (configuration.parameter_kind, {}, "<unset>"),
    (configuration.parameter_kind, spec(paramKind={}), "/"),
    (configuration.parameter_kind, spec(paramKind={"apiVersion": "a/v1", "kind": "K"}), "a/v1/K"),
    (configuration.parameter_reference, {}, "<unset>"),
    (configuration.parameter_reference, spec(paramRef={"name": "p"}), "*/p"),
    (configuration.parameter_reference, spec(paramRef={"name": "p", "namespace": "n"}), "n/p"),
    (configuration.parameter_reference, spec(paramRef={"selector": A_SELECTOR}),
     "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:"
     "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},"
     "LabelSelectorRequirement{Key:,Operator:,Values:[],},},}"),
    (configuration.missing_priority_level, {}, "?"),
    (configuration.missing_priority_level, in_state(false("Dangling")), "False"),
    (configuration.storage_versions, {}, "<unset>"),
    (configuration.storage_versions,
     status(storageVersions=[{"apiServerID": f"s{n}", "encodingVersion": "v1"} for n in range(4)]),
     "s0=v1,s1=v1,s2=v1 + 1 more..."),
    (configuration.capacity_share, {}, "<none>"),
    (configuration.capacity_share, spec(limited={}), 0),
    (configuration.capacity_share, spec(limited={"nominalConcurrencyShares": 30}), 30),
    (configuration.claim_state, {}, "pending"),
    (configuration.claim_state, status(allocation={}), "allocated"),
    (configuration.claim_state, status(allocation={}, reservedFor=[{}]), "allocated,reserved"),
    (configuration.claim_state, DELETED, "deleted"),
    (configuration.claim_state, DELETED | status(allocation={}), "deleted,allocated"),
    (configuration.status, {}, "Unknown"),
    (configuration.status, in_state(true("Ready")), "Ready"),
    (configuration.status, in_state(true("Ready"), false("Ready")), "NotReady"),
    (configuration.status, in_state(true("Other")), "Unknown"),
    (configuration.status, spec(unschedulable=True) | in_state(true("Ready")),
     "Ready,SchedulingDisabled"),
    (configuration.roles, {}, "<none>"),
    (configuration.roles, LABELED, "agent,worker"),
    (configuration.kernel_version, {}, "<unknown>"),
    (configuration.kernel_version, status(nodeInfo={"kernelVersion": "6"}), "6"),
    (configuration.kernel_version, status(nodeInfo={"architecture": "arm64"}),
     "<unknown> (arm64)"),
    (configuration.internal_ip, {}, "<none>"),
    (configuration.internal_ip, ADDRESSES, "10.0.0.1"),
    (configuration.external_ip, ADDRESSES, ""),
    (configuration.phase, {}, ""),
    (configuration.phase, status(phase="Bound"), "Bound"),
    (configuration.phase, DELETED | status(phase="Bound"), "Terminating"),
    (configuration.storage_class, {}, ""),
    (configuration.storage_class, spec(storageClassName="fast"), "fast"),
    (configuration.storage_class, spec(storageClassName="fast") | {"metadata": {"annotations": {
        "volume.beta.kubernetes.io/storage-class": "old"}}}, "old"),
    (configuration.volume_capacity, {}, "0"),
    (configuration.volume_capacity, spec(capacity={"storage": "1024Mi"}), "1Gi"),
    (configuration.volume_modes, {}, ""),
    (configuration.volume_modes, spec(accessModes=[
        "ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce", "Other"]),
     "RWO,ROX,RWX,RWOP"),
    (configuration.claim_of_volume, {}, ""),
    (configuration.claim_of_volume, spec(claimRef={}), "/"),
    (configuration.claim_of_volume, spec(claimRef={"namespace": "n", "name": "c"}), "n/c"),
    (configuration.claim_capacity, status(capacity={"storage": "1Gi"}), ""),
    (configuration.claim_capacity, spec(**BOUND) | status(capacity={"storage": "1Gi"}), "1Gi"),
    (configuration.claim_capacity, spec(**BOUND), "0"),
    (configuration.claim_modes, status(accessModes=["ReadWriteOnce"]), ""),
    (configuration.claim_modes, spec(**BOUND) | status(accessModes=["ReadWriteOnce"]), "RWO"),
    (configuration.token_audiences, {}, "<unset>"),
    (configuration.token_audiences, spec(tokenRequests=[{"audience": "a"}, {}]), "a,"),
    (configuration.lifecycle_modes, {}, "<none>"),
    (configuration.lifecycle_modes, spec(volumeLifecycleModes=["Persistent", "Ephemeral"]),
     "Persistent,Ephemeral"),
]  # fmt: skip


def test_the_cells_of_configuration_nodes_and_storage() -> None:
    check(CONFIGURATION)


def test_a_name_is_marked_by_its_annotation() -> None:
    def named(**annotations: str) -> dict[str, Any]:
        return {"metadata": {"name": "x", "annotations": annotations}}

    rows = [({}, ""), (named(), "x"), (named(a="true"), "x (default)"), (named(b="true"),
            "x (default)"), (named(a="false"), "x"), (named(c="true"), "x")]  # fmt: skip
    assert [marked_name(each, ("a", "b")) for each, _ in rows] == [text for _, text in rows]
    classes = (
        (configuration.class_name, "storageclass.kubernetes.io/is-default-class"),
        (configuration.class_name, "storageclass.beta.kubernetes.io/is-default-class"),
    )
    for cell, annotation in classes:
        assert cell({"metadata": {"name": "x", "annotations": {annotation: "true"}}}) == (
            "x (default)"
        )


def test_lists_labels_and_selectors() -> None:
    assert shortened([], 2) == "<unset>"
    assert shortened([], 2, empty="-") == "-"
    assert [shortened("abc", most) for most in (3, 2, 1)] == [
        "a,b,c", "a,b + 1 more...", "a + 2 more...",
    ]  # fmt: skip
    assert shortened("ab", 2, separator=" ") == "a b"
    assert labels_text({"b": "1", "a": ""}) == "a=,b=1"
    assert (labels_text(None), labels_text({}), selector_text(None)) == ("<none>",) * 3
    expressions = [
        {"key": "d", "operator": "In", "values": ["y", "x"]},
        {"key": "c", "operator": "NotIn", "values": ["z"]},
        {"key": "b", "operator": "Exists"},
        {"key": "a", "operator": "DoesNotExist"},
    ]
    found = selector_text({"matchLabels": {"e": "1"}, "matchExpressions": expressions})
    assert found == "!a,b,c notin (z),d in (x,y),e=1"


# ------------------------------------------------------------------------- networking


def balanced(*ingress: Any, **fields: Any) -> dict[str, Any]:
    return {"spec": {"type": "LoadBalancer", **fields},
            "status": {"loadBalancer": {"ingress": list(ingress)}}}  # fmt: skip


def with_subsets(*subsets: Any) -> dict[str, Any]:
    return {"subsets": [
        {"addresses": [{"ip": ip} for ip in ips], "ports": [{"port": port} for port in ports]}
        for ips, ports in subsets
    ]}  # fmt: skip


NETWORKING: list[tuple[Any, dict[str, Any], Any]] = [
    (networking.cluster_ip, {}, "<none>"),
    (networking.cluster_ip, spec(clusterIPs=["10.0.0.1", "fd00::1"]), "10.0.0.1"),
    (networking.external_ip, {}, "<unknown>"),
    (networking.external_ip, spec(type="ClusterIP"), "<none>"),
    (networking.external_ip, spec(type="NodePort", externalIPs=["1.2.3.4", "1.2.3.5"]),
     "1.2.3.4,1.2.3.5"),
    (networking.external_ip, spec(type="ExternalName", externalName="example.com"), "example.com"),
    (networking.external_ip, spec(type="ExternalName"), ""),
    (networking.external_ip, spec(type="LoadBalancer"), "<pending>"),
    (networking.external_ip, balanced({"ip": "5.6.7.8"}, externalIPs=["1.2.3.4"]),
     "5.6.7.8,1.2.3.4"),
    (networking.external_ip, balanced({"hostname": "lb"}), "lb"),
    (networking.service_ports, {}, "<none>"),
    (networking.service_ports, spec(ports=[{"port": 80, "protocol": "TCP"},
                                           {"port": 53, "nodePort": 30053, "protocol": "UDP"},
                                           {}]), "80/TCP,53:30053/UDP,0/"),
    (networking.endpoints, {}, "<none>"),
    (networking.endpoints, with_subsets((["1.1.1.1", "1.1.1.2"], [80])), "1.1.1.1:80,1.1.1.2:80"),
    (networking.endpoints, with_subsets((["1.1.1.1"], [80, 443])), "1.1.1.1:80,1.1.1.1:443"),
    (networking.endpoints, with_subsets((["1.1.1.1"], [])), "1.1.1.1"),
    (networking.endpoints, with_subsets((["fd00::1"], [80])), "[fd00::1]:80"),
    (networking.endpoints, with_subsets(([], [80])), ""),
    (networking.endpoints, with_subsets((["1.1.1.1"], [80]), (["1.1.1.2"], [1, 2, 3])),
     "1.1.1.1:80,1.1.1.2:1,1.1.1.2:2 + 1 more..."),
    (networking.slice_ports, {}, "<unset>"),
    (networking.slice_ports, {"ports": [{"port": 80, "name": "web"}, {"name": "x"}, {},
                                        {"port": 0}]}, "80,x,* + 1 more..."),
    (networking.slice_addresses, {}, "<unset>"),
    (networking.slice_addresses,
     {"endpoints": [{"addresses": ["1.1.1.1", "1.1.1.2"]}, {}, {"addresses": ["1.1.1.3"]}]},
     "1.1.1.1,1.1.1.2,1.1.1.3"),
    (networking.ingress_hosts, {}, "*"),
    (networking.ingress_hosts, spec(rules=[{"host": "a"}, {}, {"host": "b"}]), "a,b"),
    (networking.ingress_hosts, spec(rules=[{"host": "a"}, {"host": "b"}, {"host": "c"}, {}]),
     "a,b,c + 1 more..."),
    (networking.ingress_hosts, spec(rules=[{}, {"host": "a"}, {"host": "b"}, {"host": "c"}]),
     "a,b,c"),
    (networking.ingress_address, {}, ""),
    (networking.ingress_address,
     balanced({"ip": "2.2.2.2"}, {"ip": "1.1.1.1", "hostname": "x"}, {"ip": "2.2.2.2"}, {}),
     "1.1.1.1,2.2.2.2"),
    (networking.ingress_ports, {}, "80"),
    (networking.ingress_ports, spec(tls=[{}]), "80, 443"),
    (networking.class_name, {"metadata": {"name": "x", "annotations": {
        "ingressclass.kubernetes.io/is-default-class": "true"}}}, "x (default)"),
    (networking.class_parameters, {}, "<none>"),
    (networking.class_parameters, spec(parameters={"kind": "K", "name": "n"}), "K/n"),
    (networking.class_parameters, spec(parameters={"kind": "K", "apiGroup": "g", "name": "n"}),
     "K.g/n"),
    (networking.class_parameters, spec(parameters={"apiGroup": ""}), "./"),
    (networking.address_parent, {}, "<none>"),
    (networking.address_parent, spec(parentRef={"resource": "services", "namespace": "n",
                                                "name": "s"}), "services/n/s"),
    (networking.address_parent, spec(parentRef={"resource": "Gateways", "group": "g.io",
                                                "name": "s"}), "gateways.g.io/s"),
    (networking.address_parent, spec(parentRef={}), "/"),
    (networking.address_parent, spec(parentRef={"resource": "services", "namespace": ""}),
     "services/"),
    (networking.endpoints, {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {}], "ports": [{}]}, {}]},
     "1.1.1.1:0,:0"),
]  # fmt: skip


def test_the_cells_of_services_endpoints_and_ingresses() -> None:
    check(NETWORKING)
