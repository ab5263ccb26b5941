"""Cells of kubectl's tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import (
    Column,
    Kind,
    Schema,
    Table,
    built_in,
    built_in_table,
    human_duration,
)
from podwright.apimachinery.schema.printing.cells import cell_function
from podwright.apimachinery.schema.printing.configuration import printed_selector

SECOND_NS = 10**9
HOUR = 3_600
DAY = 24 * HOUR
NOW_NS = 1_800_000_000 * SECOND_NS
AN_HOUR_AGO = "2027-01-15T07:00:00Z"
ANSWER = {
    "poolCount": 2,
    "pools": [{"totalDevices": 3, "validationError": "x"}],
    "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": AN_HOUR_AGO}],
}


def kind(api_version: str, name: str) -> Kind:
    found = built_in().find(api_version, name)
    assert found is not None
    return found


def cell(api_version: str, name: str, column: str, document: dict[str, Any]) -> Any:
    of = kind(api_version, name)
    index = [each.name for each in of.row.columns].index(column)
    return of.cells(document, NOW_NS)[index]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"), (-1.5, "0s"), (0.9, "0s"), (119, "119s"), (120, "2m"), (121, "2m1s"),
        (599, "9m59s"), (600, "10m"), (3 * HOUR - 1, "179m"), (3 * HOUR, "3h"),
        (3 * HOUR + 60, "3h1m"), (8 * HOUR, "8h"), (2 * DAY - 1, "47h"), (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"), (8 * DAY, "8d"), (730 * DAY - 1, "729d"), (730 * DAY, "2y"),
        (731 * DAY, "2y1d"), (8 * 365 * DAY, "8y"), (10 * 365 * DAY + DAY, "10y"),
        (601, "10m"), (3 * HOUR - 60, "179m"), (8 * HOUR - 60, "7h59m"), (8 * HOUR + 60, "8h"),
        (8 * DAY - HOUR, "7d23h"), (8 * DAY + HOUR, "8d"), (8 * 365 * DAY - DAY, "7y364d"),
        (8 * 365 * DAY + DAY, "8y"),
    ],
)  # fmt: skip
def test_a_duration_has_two_or_three_figures(seconds: float, text: str) -> None:
    assert human_duration(int(seconds * SECOND_NS)) == text


# -------------------------------------------------------------------------- the form of cells


@pytest.mark.parametrize(
    ("text", "column_type", "document", "expected"),
    [
        pytest.param(".a.b", "string", {"a": {"b": "x"}}, "x", id="a field"),
        pytest.param(".a.b", "string", {"a": None}, "", id="an absent text"),
        pytest.param(".a", "integer", {}, 0, id="an absent number"),
        pytest.param(".a", "boolean", {}, False, id="an absent truth value"),
        pytest.param(".a|<none>", "string", {"a": ""}, "<none>", id="an empty text"),
        pytest.param(".a|<none>", "string", {"a": 0}, 0, id="zero is present"),
        pytest.param(".a|true", "string", {}, True, id="a default in JSON"),
        pytest.param("text .a|N/A", "string", {"a": 0}, "0", id="a number as text"),
        pytest.param("text .a|N/A", "string", {}, "N/A", id="a default of a conversion"),
        pytest.param("count .a", "string", {}, 0, id="the length of nothing"),
        pytest.param("age .a", "string", {}, "<unknown>", id="the age of nothing"),
        pytest.param("age .a|", "string", {}, "", id="an empty default"),
        pytest.param("age .a", "string", {"a": AN_HOUR_AGO}, "60m", id="an age"),
        pytest.param("boolean .a", "boolean", {"a": False}, "False", id="a truth value as text"),
        pytest.param("boolean .a", "boolean", {}, "<unset>", id="no truth value"),
        pytest.param("labels .a", "string", {"a": {"b": "1", "a": "2"}}, "a=2,b=1", id="labels"),
        pytest.param("join .a", "string", {"a": ["x", "y"]}, "x,y", id="a list"),
        pytest.param("duration .a", "string", {"a": 7200}, "120m", id="seconds"),
        pytest.param("names .a", "string", {"a": [{"name": "x"}, {}]}, "x,", id="names"),
        pytest.param("images .a", "string", {"a": [{"image": "x"}]}, "x", id="images"),
        pytest.param("names .a", "string", {}, "", id="no names"),
        pytest.param("count .a", "string", {"a": {"b": 1}}, 1, id="the size of a map"),
        pytest.param("age .a|x", "string", {"a": ""}, "x", id="no time"),
        pytest.param("text .a", "string", {}, "", id="no text"),
        pytest.param("join .a|x", "string", {"a": ""}, "x", id="an empty value of a conversion"),
        pytest.param(".a.b", "string", {"a": "x"}, "", id="a part of a text"),
        pytest.param(".a", "number", {}, 0.0, id="an absent fraction"),
    ],
)  # fmt: skip
def test_a_cell_is_computed_as_its_text_says(
    text: str, column_type: str, document: dict[str, Any], expected: Any
) -> None:
    found = cell_function(text, column_type)(document, NOW_NS)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param(None, "<none>", id="none"),
        pytest.param({}, "<none>", id="empty"),
        pytest.param({"matchLabels": {"b": "1", "a": "2"}}, "a=2,b=1", id="labels"),
        pytest.param(
            {"matchLabels": {"c": "1"}, "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["y", "x"]},
                {"key": "b", "operator": "NotIn", "values": ["z"]},
                {"key": "d", "operator": "Exists"}, {"key": "e", "operator": "DoesNotExist"}]},
            "a in (x,y),b notin (z),c=1,d,!e",
            id="expressions",
        ),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "Is"}]}, "<error>",
                     id="an unknown operator"),
    ],
)  # fmt: skip
def test_a_selector_is_written_as_on_the_command_line(selector: Any, text: str) -> None:
    document = {"spec": {"podSelector": selector}}
    assert cell("networking.k8s.io/v1", "NetworkPolicy", "Pod-Selector", document) == text


def test_every_kind_that_can_be_listed_has_columns_and_cells_for_an_empty_object() -> None:
    for each in built_in():
        row = each.row
        if "list" not in row.verbs:
            continue
        # Upstream's columns of migrations have no formats.
        formats = [column.format for column in row.columns]
        assert ("name" in formats) == (row.kind != "StorageVersionMigration"), row.kind
        assert all(column.description for column in row.columns)
        assert {column.type for column in row.columns} <= {"string", "integer", "boolean", "date"}
        # Bookmarks have such rows.
        assert len(each.cells({}, NOW_NS)) == len(row.columns)
        empty: dict[str, Any] = {
            "metadata": {},
            "spec": {},
            "status": {},
            "data": None,
            "subsets": [],
        }
        if row.kind == "ResourcePoolStatusRequest":
            # An answer without pools is not the same as none.
            del empty["status"]
        assert each.cells(empty, NOW_NS) == each.cells({}, NOW_NS)


def test_columns_of_a_new_kind_are_data() -> None:
    built = built_in_table()
    row = next(row for row in built.kinds.values() if row.kind == "ConfigMap")
    columns = (
        Column("Name", "string", "name", 0, ".metadata.name", "Name."),
        Column("Sizes", "integer", "", 1, "count .sizes", "Number of sizes."),
    )
    widget = msgspec.structs.replace(row, group="example.com", kind="Widget", columns=columns)
    schema = Schema(Table(built.kinds | {"example.com/v1/Widget": widget}, built.types, {}))
    found = schema.find("example.com/v1", "Widget")
    assert found is not None
    assert found.cells({"metadata": {"name": "a"}, "sizes": {"x": "1"}}, NOW_NS) == ["a", 1]


# ------------------------------------------------------------------------------------- pods


def container(name: str = "c", **status: Any) -> dict[str, Any]:
    return {"name": name, "state": {}, "restartCount": 0, "ready": False} | status


def pod(
    *statuses: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **status: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "creationTimestamp": AN_HOUR_AGO},
        "spec": {
            "containers": [{"name": each["name"]} for each in statuses] or [{"name": "c"}],
            "initContainers": [
                {"name": each["name"]} | ({"restartPolicy": "Always"} if "sidecar" in each else {})
                for each in init
            ],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": list(statuses),
            "initContainerStatuses": list(init),
        } | status,
    }  # fmt: skip


RUNNING = container("r", state={"running": {}}, ready=True)
ENDED = container("e", state={"terminated": {"exitCode": 0, "reason": "Completed"}})
FAILED = container("f", state={"terminated": {"exitCode": 2, "reason": "Error"}})
READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("document", "ready", "status"),
    [
        pytest.param(pod(phase="Pending"), "0/1", "Pending", id="the phase"),
        pytest.param(pod(reason="Evicted", phase="Failed"), "0/1", "Evicted", id="the reason"),
        pytest.param(pod(RUNNING, RUNNING), "2/2", "Running", id="running"),
        pytest.param(
            pod(container(state={"waiting": {"reason": "CrashLoopBackOff"}}), RUNNING),
            "1/2", "CrashLoopBackOff", id="a waiting container"),
        pytest.param(
            pod(container(state={"terminated": {"exitCode": 137, "signal": 9}})),
            "0/1", "Signal:9", id="ended by a signal"),
        pytest.param(
            pod(container(state={"terminated": {"exitCode": 3}})), "0/1", "ExitCode:3",
            id="ended with an exit code"),
        pytest.param(pod(ENDED, RUNNING, conditions=READY), "1/2", "Running",
                     id="one container has ended, the pod is ready"),
        pytest.param(pod(ENDED, RUNNING), "1/2", "NotReady",
                     id="one container has ended, the pod is not ready"),
        pytest.param(pod(ENDED, FAILED), "0/2", "Error", id="one of two has failed"),
        pytest.param(pod(ENDED, phase="Succeeded"), "0/1", "Completed", id="completed"),
        pytest.param(
            pod(phase="Pending", conditions=[
                {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]),
            "0/1", "SchedulingGated", id="gated"),
        pytest.param(
            pod(RUNNING) | {"metadata": {"deletionTimestamp": AN_HOUR_AGO}},
            "1/1", "Terminating", id="being deleted"),
        pytest.param(
            pod(ENDED, phase="Succeeded") | {"metadata": {"deletionTimestamp": AN_HOUR_AGO}},
            "0/1", "Completed", id="being deleted after it has ended"),
        pytest.param(
            pod(RUNNING, reason="NodeLost") | {"metadata": {"deletionTimestamp": AN_HOUR_AGO}},
            "1/1", "Unknown", id="being deleted on a lost node"),
        pytest.param(
            pod(container(), init=(container("i"), container("j"))), "0/1", "Init:0/2",
            id="the first init container has not ended"),
        pytest.param(
            pod(container(), init=(ENDED, container("j"))), "0/1", "Init:1/2",
            id="the second init container has not ended"),
        pytest.param(
            pod(container(), init=(FAILED,)), "0/1", "Init:Error", id="an init container failed"),
        pytest.param(
            pod(container(), init=(container(state={"terminated": {"exitCode": 1}}),)),
            "0/1", "Init:ExitCode:1", id="an init container failed without a reason"),
        pytest.param(
            pod(container(), init=(container(state={"waiting": {"reason": "ErrImagePull"}}),)),
            "0/1", "Init:ErrImagePull", id="an init container waits"),
        pytest.param(
            pod(container(), init=(container(state={"waiting": {"reason": "PodInitializing"}}),)),
            "0/1", "Init:0/1", id="an init container waits for its turn"),
        pytest.param(
            pod(RUNNING, init=(container("s", ready=True, started=True, sidecar=True),)),
            "2/2", "Running", id="a sidecar counts"),
        pytest.param(
            pod(container(), init=(container("s", started=False, sidecar=True),)),
            "0/2", "Init:0/1", id="a sidecar that has not started"),
        pytest.param(
            pod(RUNNING, init=(container("i"),),
                conditions=[{"type": "Initialized", "status": "True"}]),
            "1/1", "Init:0/1", id="initialized, though a status is outdated"),
        pytest.param(pod(RUNNING, reason="NodeLost"), "1/1", "NodeLost", id="on a lost node"),
        pytest.param(
            pod(RUNNING, init=(container("s", started=True, sidecar=True),)),
            "1/2", "Running", id="a sidecar that is not ready"),
        pytest.param(
            pod(RUNNING, init=(container("s", ready=True, started=True, sidecar=True),
                               container("t", ready=True, started=True, sidecar=True))),
            "3/3", "Running", id="two sidecars"),
        pytest.param(
            pod(container(), init=(container("s", ready=True, started=True, sidecar=True),
                                   container("i"))),
            "1/2", "Init:1/2", id="an init container behind a sidecar"),
        pytest.param({}, "0/0", "", id="nothing"),
        pytest.param({"spec": {"containers": [{}]}, "status": {"containerStatuses": [{}]}},
                     "0/1", "", id="no state"),
        pytest.param(
            pod(container(state={"terminated": {}}), container(state={"running": {}}),
                container(ready=True)),
            "0/3", "ExitCode:0", id="ended without a code, running but not ready"),
        pytest.param(
            pod(phase="Pending", conditions=[
                {"type": "Ready", "reason": "SchedulingGated"},
                {"type": "PodScheduled", "reason": "Unschedulable"}]),
            "0/1", "Pending", id="not gated"),
    ],
)  # fmt: skip
def test_the_status_of_a_pod_is_that_of_its_containers(
    document: dict[str, Any], ready: str, status: str
) -> None:
    assert cell("v1", "Pod", "Ready", document) == ready
    assert cell("v1", "Pod", "Status", document) == status


def restarted(name: str, count: int, minute: int, **more: Any) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": 1, "finishedAt": f"2027-01-15T07:{minute}:00Z"}}
    return container(name, restartCount=count, lastState=ended, **more)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        pytest.param(pod(container(restartCount=3)), "3", id="no time is known"),
        pytest.param(pod(restarted("c", 0, 30)), "0", id="none"),
        pytest.param(pod({"name": "c"}), "0", id="no number"),
        pytest.param(pod(restarted("c", 2, 30), container("d", restartCount=1)), "3 (30m ago)",
                     id="a container without a time"),
        pytest.param(pod(restarted("c", 2, 50), restarted("d", 1, 30)), "3 (10m ago)",
                     id="the last one is that of the first container"),
        pytest.param(pod(restarted("c", 2, 30)), "2 (30m ago)", id="with the time"),
        pytest.param(pod(restarted("c", 2, 30), restarted("d", 1, 50)), "3 (10m ago)",
                     id="the last of two containers"),
        pytest.param(pod(restarted("c", 2, 30), init=(restarted("i", 1, 50, state={
            "terminated": {"exitCode": 0}}),)), "2 (30m ago)",
            id="init containers do not count afterwards"),
        pytest.param(pod(restarted("c", 2, 30), init=(restarted("i", 1, 50),)), "1 (10m ago)",
                     id="init containers count before"),
        pytest.param(
            pod(restarted("c", 2, 30), init=(restarted("s", 4, 50, started=True, sidecar=True),)),
            "6 (10m ago)", id="sidecars count"),
    ],
)  # fmt: skip
def test_restarts_have_the_time_of_the_last_one(document: dict[str, Any], text: str) -> None:
    assert cell("v1", "Pod", "Restarts", document) == text


def test_wide_columns_of_a_pod() -> None:
    document = pod(
        RUNNING,
        podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        nominatedNodeName="n2",
        conditions=[{"type": "example.com/a", "status": "True"}],
    )
    document["spec"] |= {
        "nodeName": "n1",
        "readinessGates": [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}],
    }
    assert kind("v1", "Pod").cells(document, NOW_NS) == [
        "web", "1/1", "Running", "0", "60m", "10.0.0.1", "n1", "n2", "1/2",
    ]  # fmt: skip


# ------------------------------------------------------------------------------ other kinds

JOB = {"spec": {"parallelism": 3}, "status": {"succeeded": 1}}
STARTED = "2027-01-15T07:30:00Z"
METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}


@pytest.mark.parametrize(
    ("api_version", "name", "column", "document", "expected"),
    [
        pytest.param("v1", "Node", "Status", {"status": {"conditions": [
            {"type": "Ready", "status": "Unknown"}]}, "spec": {"unschedulable": True}},
            "NotReady,SchedulingDisabled", id="a node without heartbeats, cordoned"),
        pytest.param("v1", "Node", "Roles", {"metadata": {"labels": {
            "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/": "",
            "kubernetes.io/role": "edge"}}}, "edge,worker", id="roles"),
        pytest.param("v1", "Node", "Kernel-Version", {"status": {"nodeInfo": {
            "kernelVersion": "6.1"}}}, "6.1", id="a kernel without architecture"),
        pytest.param("v1", "Node", "External-IP", {"status": {"addresses": [
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "ExternalIP", "address": "203.0.113.1"}]}}, "203.0.113.1", id="an address"),
        pytest.param("v1", "PersistentVolume", "Claim", {"spec": {"claimRef": {
            "namespace": "shop", "name": "data"}}}, "shop/data", id="the claim of a volume"),
        pytest.param("v1", "PersistentVolume", "Access Modes", {"spec": {"accessModes": [
            "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany"]}},
            "RWO,ROX,RWX,RWOP", id="access modes"),
        pytest.param("v1", "PersistentVolume", "Status", {"metadata": {"deletionTimestamp": "x"},
            "status": {"phase": "Bound"}}, "Terminating", id="a volume that is being deleted"),
        pytest.param("v1", "PersistentVolume", "Capacity", {"spec": {"capacity": {
            "storage": "1024Mi"}}}, "1Gi", id="the capacity of a volume"),
        pytest.param("rbac.authorization.k8s.io/v1", "RoleBinding", "Role", {"roleRef": {
            "kind": "ClusterRole", "name": "view"}}, "ClusterRole/view", id="a role"),
        pytest.param("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "Role", {"roleRef": {}},
            "/", id="a role without a name"),
        pytest.param("v1", "PersistentVolumeClaim", "Capacity", {"spec": {"volumeName": "v"},
            "status": {"capacity": {"storage": "1024Mi"}}}, "1Gi", id="a bound claim"),
        pytest.param("v1", "PersistentVolumeClaim", "Access Modes", {"status": {
            "accessModes": ["ReadWriteOnce"]}}, "", id="an unbound claim"),
        pytest.param("v1", "PersistentVolumeClaim", "StorageClass", {"metadata": {"annotations": {
            "volume.beta.kubernetes.io/storage-class": "old"}}, "spec": {
            "storageClassName": "new"}}, "old", id="the old annotation of the class"),
        pytest.param("storage.k8s.io/v1", "StorageClass", "Name", {"metadata": {"name": "fast",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
            "fast (default)", id="the default class"),
        pytest.param("storage.k8s.io/v1", "VolumeAttributesClass", "Name", {"metadata": {
            "name": "fast", "annotations": {
                "volumeattributesclass.alpha.kubernetes.io/is-default-class": "true"}}},
            "fast", id="a class of attributes, of which none is the default"),
        pytest.param("storage.k8s.io/v1", "CSIDriver", "AttachRequired", {"spec": {
            "attachRequired": False}}, False, id="a driver that does not attach"),
        pytest.param("storage.k8s.io/v1", "CSIDriver", "TokenRequests", {"spec": {
            "tokenRequests": [{"audience": "a"}, {"audience": "b"}]}}, "a,b", id="tokens"),
        pytest.param("storage.k8s.io/v1", "CSIDriver", "Modes", {"spec": {
            "volumeLifecycleModes": ["Persistent", "Ephemeral"]}}, "Persistent,Ephemeral",
            id="life cycles"),
        pytest.param("v1", "Service", "External-IP", {"spec": {"type": "ClusterIP"}}, "<none>",
            id="a service inside the cluster"),
        pytest.param("v1", "Service", "External-IP", {"spec": {"type": "LoadBalancer"}},
            "<pending>", id="a load balancer without an address"),
        pytest.param("v1", "Service", "External-IP", {"spec": {"type": "LoadBalancer",
            "externalIPs": ["203.0.113.9"]}, "status": {"loadBalancer": {"ingress": [
                {"hostname": "lb.example.com"}, {"ip": "203.0.113.1"}]}}},
            "203.0.113.1,lb.example.com,203.0.113.9", id="a load balancer"),
        pytest.param("v1", "Service", "External-IP", {"spec": {"type": "ExternalName",
            "externalName": "db.example.com"}}, "db.example.com", id="an external name"),
        pytest.param("v1", "Service", "Port(s)", {"spec": {"ports": [
            {"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}},
            "80:30080/TCP,53/UDP", id="ports"),
        pytest.param("v1", "Endpoints", "Endpoints", {"subsets": [{"addresses": [
            {"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 443}]}]},
            "10.0.0.1:80,[fd00::1]:80,10.0.0.1:443 + 1 more...", id="endpoints"),
        pytest.param("v1", "Endpoints", "Endpoints", {"subsets": [{"addresses": [
            {"ip": "10.0.0.1"}]}]}, "10.0.0.1", id="endpoints without ports"),
        pytest.param("v1", "Endpoints", "Endpoints", {}, "<none>", id="no endpoints"),
        pytest.param("discovery.k8s.io/v1", "EndpointSlice", "Ports", {"ports": [
            {"port": 80}, {"name": "x"}, {}, {"port": 1}]}, "80,x,* + 1 more...",
            id="ports of a slice"),
        pytest.param("discovery.k8s.io/v1", "EndpointSlice", "Endpoints", {"endpoints": [
            {"addresses": ["10.0.0.1"]}]}, "10.0.0.1", id="addresses of a slice"),
        pytest.param("discovery.k8s.io/v1", "EndpointSlice", "Endpoints", {}, "<unset>",
            id="no addresses of a slice"),
        pytest.param("networking.k8s.io/v1", "Ingress", "Hosts", {"spec": {"rules": [
            {"host": "a"}, {}, {"host": "b"}, {"host": "c"}, {"host": "d"}]}},
            "a,b,c + 2 more...", id="many hosts"),
        pytest.param("networking.k8s.io/v1", "Ingress", "Hosts", {"spec": {"rules": [{}]}}, "*",
            id="every host"),
        pytest.param("networking.k8s.io/v1", "Ingress", "Ports", {"spec": {"tls": [{}]}},
            "80, 443", id="an ingress with TLS"),
        pytest.param("networking.k8s.io/v1", "IngressClass", "Parameters", {"spec": {
            "parameters": {"apiGroup": "example.com", "kind": "Params", "name": "p"}}},
            "Params.example.com/p", id="parameters of an ingress class"),
        pytest.param("networking.k8s.io/v1", "IPAddress", "ParentRef", {"spec": {"parentRef": {
            "resource": "services", "namespace": "default", "name": "web"}}},
            "services/default/web", id="the owner of an address"),
        pytest.param("apps/v1", "ControllerRevision", "Controller", {"metadata": {
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d",
                                 "controller": True}]}}, "daemonset.apps/d", id="a controller"),
        pytest.param("apps/v1", "Deployment", "Up-to-date", {}, 0, id="a number in a text column"),
        pytest.param("batch/v1", "CronJob", "Suspend", {"spec": {"suspend": False}}, "False",
            id="a cron job that is not suspended"),
        pytest.param("batch/v1", "CronJob", "Last Schedule", {}, "<none>",
            id="a cron job that never ran"),
        pytest.param("batch/v1", "Job", "Completions", JOB, "1/1 of 3", id="a work queue"),
        pytest.param("batch/v1", "Job", "Completions", {"spec": {"completions": 4}}, "0/4",
            id="fixed completions"),
        pytest.param("batch/v1", "Job", "Duration", {"status": {"startTime": STARTED}}, "30m",
            id="a running job"),
        pytest.param("batch/v1", "Job", "Duration", {"status": {"startTime": STARTED,
            "completionTime": "2027-01-15T07:31:00Z"}}, "60s", id="a completed job"),
        pytest.param("batch/v1", "Job", "Status", {"status": {"conditions": [
            {"type": "FailureTarget", "status": "True"}, {"type": "Suspended"}]}},
            "FailureTarget", id="a job that is about to fail"),
        pytest.param("batch/v1", "Job", "Status", {"status": {"conditions": [
            {"type": "Complete", "status": "True"}]}, "metadata": {"deletionTimestamp": "x"}},
            "Complete", id="a complete job that is being deleted"),
        pytest.param("batch/v1", "Job", "Status", {"metadata": {"deletionTimestamp": "x"}},
            "Terminating", id="a job that is being deleted"),
        pytest.param("autoscaling/v2", "HorizontalPodAutoscaler", "Targets", {"spec": {
            "metrics": [METRIC]}}, "cpu: <unknown>/80%", id="a metric without a value"),
        pytest.param("autoscaling/v2", "HorizontalPodAutoscaler", "Targets", {"spec": {
            "metrics": [METRIC, {"type": "Pods", "pods": {"target": {"averageValue": "1k"}}},
                        METRIC]}, "status": {"currentMetrics": [
                {"type": "Resource", "resource": {"current": {"averageUtilization": 50}}},
                {"type": "Pods", "pods": {"current": {"averageValue": "500"}}}]}},
            "cpu: 50%/80%, 500/1k + 1 more...", id="three metrics"),
        pytest.param("autoscaling/v2", "HorizontalPodAutoscaler", "Targets", {"spec": {
            "metrics": [{"type": "External", "external": {"target": {"averageValue": "5"}}},
                        {"type": "Object", "object": {"target": {"value": "7"}}}]},
            "status": {"currentMetrics": [{}, {"object": {"current": {"value": "3"}}}]}},
            "<unknown>/5 (avg), 3/7", id="metrics from outside and of an object"),
        pytest.param("autoscaling/v2", "HorizontalPodAutoscaler", "Targets", {"spec": {
            "metrics": [{"type": "ContainerResource", "containerResource": {
                "name": "memory", "target": {"averageValue": "1Gi"}}}, {"type": "X"}]}},
            "memory: <unknown>/1Gi, <unknown type>", id="a metric of a container"),
        pytest.param("autoscaling/v2", "HorizontalPodAutoscaler", "MinPods", {}, "<unset>",
            id="no lowest number"),
        pytest.param("v1", "ConfigMap", "Data", {"data": {"a": ""}, "binaryData": {"b": ""}}, 2,
            id="keys of a ConfigMap"),
        pytest.param("v1", "ResourceQuota", "Request", {"status": {"hard": {"pods": "10",
            "limits.cpu": "4", "cpu": "2000m"}, "used": {"pods": "3"}}},
            "cpu: 0/2, pods: 3/10", id="a quota"),
        pytest.param("v1", "ResourceQuota", "Limit", {"status": {"hard": {"pods": "10",
            "limits.cpu": "4"}, "used": {"limits.cpu": "1"}}}, "limits.cpu: 1/4",
            id="limits of a quota"),
        pytest.param("rbac.authorization.k8s.io/v1", "RoleBinding", "Role", {"roleRef": {
            "kind": "Role", "name": "reader"}}, "Role/reader", id="the role of a binding"),
        pytest.param("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "ServiceAccounts", {
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount",
                "namespace": "n", "name": "a"}]}, "n/a", id="accounts of a binding"),
        pytest.param("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "Users", {
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "User", "name": "v"},
                         {"kind": "Group", "name": "g"}]}, "u, v", id="users of a binding"),
        pytest.param("certificates.k8s.io/v1", "CertificateSigningRequest", "Condition", {
            "status": {"conditions": [{"type": "Approved"}], "certificate": "YQ=="}},
            "Approved,Issued", id="an issued certificate"),
        pytest.param("certificates.k8s.io/v1", "CertificateSigningRequest", "Condition", {
            "status": {"conditions": [{"type": "Denied"}, {"type": "Failed"}]}},
            "Denied,Failed", id="a denied certificate"),
        pytest.param("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "ParamKind", {
            "spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}}, "v1/ConfigMap",
            id="parameters of a policy"),
        pytest.param("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
            "ParamRef", {"spec": {"paramRef": {"name": "p"}}}, "*/p", id="an object of parameters"),
        pytest.param("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding",
            "ParamRef", {"spec": {"paramRef": {"selector": {"matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}}}},
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:"
            "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},"
            "},}", id="a selector of parameters"),
        pytest.param("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "MissingPL", {"status": {
            "conditions": [{"type": "Dangling", "status": "False"}]}}, "False",
            id="a flow schema with its priority level"),
        pytest.param("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration",
            "NominalConcurrencyShares", {"spec": {"limited": {"nominalConcurrencyShares": 0}}}, 0,
            id="a priority level without a share"),
        pytest.param("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration",
            "Queues", {"spec": {"limited": {}}}, "<none>", id="a priority level without queues"),
        pytest.param("internal.apiserver.k8s.io/v1alpha1", "StorageVersion", "StorageVersions", {
            "status": {"storageVersions": [{"apiServerID": "a", "encodingVersion": "v1"}]}}, "a=v1",
            id="a storage version"),
        pytest.param("certificates.k8s.io/v1beta1", "PodCertificateRequest", "State", {"status": {
            "conditions": [{"type": "Issued"}]}}, "Issued", id="a request of a pod"),
        pytest.param("certificates.k8s.io/v1beta1", "PodCertificateRequest", "State", {}, "Pending",
            id="a request of a pod without answer"),
        pytest.param("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", "Resource", {
            "spec": {"resource": {"group": "apps", "resource": "deployments"}}},
            "deployments.apps", id="what is migrated"),
        pytest.param("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", "Status", {
            "status": {"conditions": [{"type": "Running", "status": "False"}, {
            "type": "Failed", "status": "True"}]}}, "Failed", id="a failed migration"),
        pytest.param("scheduling.k8s.io/v1alpha2", "PodGroup", "Policy", {"spec": {
            "schedulingPolicy": {"gang": {"minCount": 2}}}}, "Gang", id="a gang"),
        pytest.param("scheduling.k8s.io/v1alpha2", "PodGroup", "Workload", {"spec": {
            "podGroupTemplateRef": {"workload": {"workloadName": "w"}}}}, "w",
            id="the workload of a group"),
        pytest.param("scheduling.k8s.io/v1alpha2", "PodGroup", "Status", {}, "Pending",
            id="a group that was not tried"),
        pytest.param("scheduling.k8s.io/v1alpha2", "PodGroup", "Status", {"status": {
            "conditions": [{"type": "PodGroupScheduled", "status": "True"}]}}, "Scheduled",
            id="a scheduled group"),
        pytest.param("scheduling.k8s.io/v1alpha2", "PodGroup", "Status", {"status": {
            "conditions": [{"type": "DisruptionTarget", "reason": "Preempted"}]}}, "Preempted",
            id="a disrupted group"),
        pytest.param("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "Status",
            {"status": ANSWER}, "Complete (1/2 pools)", id="an answer with a part of the pools"),
        pytest.param("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "Total",
            {"status": ANSWER}, "3", id="the devices of pools"),
        pytest.param("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "Completed",
            {"status": ANSWER}, "60m", id="the age of an answer"),
        pytest.param("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "Errors",
            {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, "-",
            id="a request that failed"),
        pytest.param("apiregistration.k8s.io/v1", "APIService", "Available", {"status": {
            "conditions": [{"type": "Available", "status": "False", "reason": "Missing"}]}},
            "False (Missing)", id="an API that is not available"),
        pytest.param("apiregistration.k8s.io/v1", "APIService", "Service", {"spec": {"service": {
            "namespace": "kube-system", "name": "metrics"}}}, "kube-system/metrics",
            id="the service of an API"),
        pytest.param("v1", "ComponentStatus", "Status", {"conditions": [
            {"type": "Healthy", "status": "False"}]}, "Unhealthy", id="an unhealthy component"),
        pytest.param("resource.k8s.io/v1", "ResourceClaim", "State", {"status": {
            "allocation": {}, "reservedFor": [{}]}}, "allocated,reserved", id="a claim in use"),
        pytest.param("resource.k8s.io/v1", "ResourceClaim", "State", {"metadata": {
            "deletionTimestamp": "x"}}, "deleted", id="a deleted claim"),
        pytest.param("resource.k8s.io/v1beta2", "DeviceTaintRule", "TimeAdded", {"spec": {
            "taint": {"timeAdded": AN_HOUR_AGO}}}, "60m", id="a device taint"),
        pytest.param("policy/v1", "PodDisruptionBudget", "Min Available", {"spec": {
            "minAvailable": 2}}, "2", id="a number of pods"),
        pytest.param("v1", "Event", "Last Seen", {"firstTimestamp": AN_HOUR_AGO}, "60m",
            id="an event that occurred once"),
        pytest.param("v1", "Event", "Last Seen", {"firstTimestamp": AN_HOUR_AGO, "series": {
            "lastObservedTime": "2027-01-15T07:59:00.000000Z"}}, "60s", id="a series"),
        pytest.param("events.k8s.io/v1", "Event", "Count", {"series": {"count": 7}}, 7,
            id="the count of a series"),
        pytest.param("events.k8s.io/v1", "Event", "Count", {}, 1, id="a single event"),
        pytest.param("events.k8s.io/v1", "Event", "Source", {"reportingController": "s",
            "reportingInstance": "s-1"}, "s, s-1", id="the reporter of an event"),
        pytest.param("events.k8s.io/v1", "Event", "Object", {"regarding": {"kind": "Node"}},
            "node", id="an event about a kind"),
    ],
)  # fmt: skip
def test_a_cell_of_a_kind(
    api_version: str, name: str, column: str, document: dict[str, Any], expected: Any
) -> None:
    found = cell(api_version, name, column, document)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("selector", "labels", "expressions"),
    [
        ({}, "", ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a: 1,b: 2,", ""),
        (
            {"matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}, {}]},
            "",
            "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},"
            "LabelSelectorRequirement{Key:,Operator:,Values:[],},",
        ),
    ],
)
def test_a_selector_is_printed_as_go_prints_it(selector, labels, expressions):
    assert printed_selector(selector) == (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
