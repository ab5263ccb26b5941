"""Leases and heartbeats of nodes, images and files of a node, and kubelets that start again."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import PREPARE_DELAY, slice_name
from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, PatchObject
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehavior
from podwright.cluster.kubelets.kubelet.kubelet_node import NodeLeases
from podwright.cluster.kubelets.kubelet.sandbox import PrepareError, prepared_claims
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    NEVER,
    KubeletDriver,
    Objects,
    container,
    pod_of,
    pod_with_status,
    run_of,
)
from podwright.cluster.kubelets.kubelet.tests.test_device_claims import KIND, claim
from podwright.cluster.kubelets.pod_statuses import RUN_DELAY, RUN_JITTER
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_node, at

READY = {"type": "Ready", "status": "True"}
PLAIN = {"type": "Mine", "status": "True"}


@pytest.mark.parametrize(
    ("has_namespace", "has_lease", "verbs"),
    [
        pytest.param(True, False, [CreateObject], id="a new lease"),
        pytest.param(True, True, [PatchObject], id="its lease"),
        pytest.param(False, False, [], id="no namespace for leases yet"),
    ],
)
def test_a_kubelet_renews_the_lease_of_its_node(has_namespace, has_lease, verbs):
    reader = Objects()
    if has_namespace:
        reader.add("Namespace", "kube-node-lease")
    if has_lease:
        namespace = {"namespace": "kube-node-lease"}
        reader.add("Lease", "n1", group="coordination.k8s.io", metadata=namespace)
        ((kind, _), lease) = reader.found.popitem()
        reader.found[kind, "kube-node-lease/n1"] = lease
    renewal: Any = NodeLeases(reader).renew(a_node(), NOW)
    assert [type(each) for each in renewal.requests] == verbs
    for each in renewal.requests:
        body = each.obj.raw if isinstance(each, CreateObject) else each.patch
        assert body["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
        if isinstance(each, CreateObject):
            owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1"}
            assert body["metadata"]["ownerReferences"] == [owner]
            assert (body["spec"]["holderIdentity"], body["spec"]["leaseDurationSeconds"]) == (
                "n1", 40,
            )  # fmt: skip


@pytest.mark.parametrize(
    ("ages_s", "is_beat"),
    [
        pytest.param([], False, id="conditions that nobody beats"),
        pytest.param([0, 299], False, id="all within five minutes"),
        pytest.param([0, 300], True, id="one of five minutes ago"),
    ],
)
def test_the_conditions_of_a_node_get_a_heartbeat_every_five_minutes(ages_s, is_beat):
    own = [{**READY, "lastHeartbeatTime": at(-age)} for age in ages_s]
    node = a_node(status={"conditions": [PLAIN, *own]})
    requests: list[Any] = NodeLeases(Objects()).renew(node, NOW).requests
    if not is_beat:
        assert requests == []
        return
    (patch,) = requests
    assert (patch.object_kind, patch.key, patch.scope) == (("", "Node"), "n1", "status")
    beaten = {**READY, "lastHeartbeatTime": at(0)}
    assert patch.patch == {"status": {"conditions": [PLAIN, beaten, beaten]}}


@pytest.mark.parametrize(
    ("capacity", "allocatable", "changed"),
    [
        pytest.param({"x.io/a": "4", "cpu": "1"}, {"cpu": "1"}, {"x.io/a": "4"}, id="advertised"),
        pytest.param({"x.io/b": "4", "x.io/a": "2"}, {"x.io/b": "3"}, {"x.io/a": "2"}, id="one"),
        pytest.param({"hugepages-2Mi": "1", "kubernetes.io/b": "2"}, {}, None, id="not extended"),
        pytest.param({"x.io/a": "4"}, {"x.io/a": "3"}, None, id="reserved by another"),
        pytest.param({}, {"x.io/a": "3"}, None, id="allocatable alone"),
    ],
)
def test_extended_resources_of_the_capacity_are_allocatable(capacity, allocatable, changed):
    status = {"capacity": capacity, "allocatable": allocatable}
    requests: list[Any] = NodeLeases(Objects()).renew(a_node(status=status), NOW).requests
    statuses = [{"status": {"allocatable": changed}}] if changed else []
    assert [each.patch for each in requests] == statuses


def test_extended_resources_are_listed_by_name():
    names = [f"x.io/{letter}" for letter in "gcaebdf"]
    node = a_node(status={"capacity": dict.fromkeys(names, "1"), "allocatable": {}})
    (request,) = NodeLeases(Objects()).renew(node, NOW).requests
    assert isinstance(request, PatchObject)
    assert isinstance(request.patch, dict)
    assert list(request.patch["status"]["allocatable"]) == sorted(names)


def test_what_was_advertised_follows_the_capacity():
    leases = NodeLeases(Objects())

    def changes(*amounts: dict[str, str]) -> list[Any]:
        status = dict(zip(("capacity", "allocatable"), amounts, strict=True))
        requests: list[Any] = leases.renew(a_node(status=status), NOW).requests
        return [each.patch["status"]["allocatable"] for each in requests]

    assert changes({"x.io/a": "4"}, {"cpu": "1"}) == [{"x.io/a": "4"}]
    assert changes({"x.io/a": "4"}, {"x.io/a": "4"}) == []
    assert changes({"x.io/a": "6", "x.io/b": "1"}, {"x.io/a": "4"}) == [
        {"x.io/a": "6", "x.io/b": "1"}
    ]
    assert changes({}, {"x.io/a": "6"}) == [{"x.io/a": None}]
    assert changes({}, {}) == []


def test_a_lease_is_renewed_every_ten_seconds_at_a_time_of_its_node():
    leases = NodeLeases(Objects())
    times = {}
    for name in ("n1", "n2", "n3", "n4"):
        due: list[int] = [NOW + 3 * SECOND]
        for _ in range(3):
            due.append(leases.renew(a_node(name), due[-1]).due_ns)
        first, *rest = due[1:]
        assert NOW + 3 * SECOND < first <= NOW + 13 * SECOND
        assert rest == [first + 10 * SECOND, first + 20 * SECOND]
        times[name] = first
    assert len(set(times.values())) > 1, "not all at once"
    # They stay where they were recorded.
    assert [(times[name] - NOW) // SECOND for name in times] == [6, 12, 4, 13]


def test_an_image_that_is_not_there_and_may_not_be_pulled_is_an_error():
    driver = KubeletDriver(images=[ImageBehavior(image="*", pull_error="not found")])
    driver.put(pod_of(container(imagePullPolicy="Never")))
    driver.run(100)
    text = 'Container image "nginx:1" is not present with pull policy of Never'
    assert driver.state() == {"waiting": {"reason": "ErrImageNeverPull", "message": text}}
    assert driver.notes[-2:] == [
        f"Warning ErrImageNeverPull: {text}", "Warning Failed: Error: ErrImageNeverPull",
    ]  # fmt: skip


def test_pods_of_a_node_share_the_files_of_a_host_path():
    driver = KubeletDriver()
    source = {"path": "/data/", "type": "DirectoryOrCreate"}
    volumes = [{"name": "v", "hostPath": source}]
    mount: Any = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    scripts = {
        "writer": "echo hi > /v/x", "reader": 'read a < /v/x && [ "$a" = hi ]',
        "other": "[ ! -e /v/x ]",
    }  # fmt: skip
    for name, script in scripts.items():
        node = {"nodeName": "n2"} if name == "other" else {}
        pod = pod_of(container("c", script, **mount), name=name, volumes=volumes, **NEVER, **node)
        driver.put(pod)
        driver.run(100)
        assert driver.state("c", f"default/{name}")["terminated"]["exitCode"] == 0


def test_the_path_in_a_volume_may_have_variables():
    volumes = [{"name": "v", "emptyDir": {}}]
    mounts = [
        {"name": "v", "mountPath": "/own", "subPathExpr": "of/$(NAME)"},
        {"name": "v", "mountPath": "/all"},
    ]
    script = 'echo hi > /own/x; read a < /all/of/web/x && [ "$a" = hi ]'
    one = container("c", script, volumeMounts=mounts, env=[{"name": "NAME", "value": "web"}])
    driver = run_of(pod_of(one, volumes=volumes, **NEVER), 100)
    assert driver.state("c")["terminated"]["exitCode"] == 0


@pytest.mark.parametrize(
    ("delay", "jitter", "seconds"),
    [
        pytest.param("10s", None, 10, id="a delay"),
        pytest.param("10s", "5s", 5, id="a maximum below it"),
        pytest.param("10s", "10s", 10, id="no choice"),
        pytest.param("-10s", None, 0, id="a negative delay is none"),
        pytest.param("soon", None, 0, id="a text that is not a duration"),
        pytest.param("0s", "90s", 50, id="a draw of the pod"),
    ],
)
def test_a_container_runs_for_the_annotated_time(delay, jitter, seconds):
    annotations = {RUN_DELAY: delay} | ({RUN_JITTER: jitter} if jitter else {})
    driver = run_of(pod_of(container(), **NEVER, __annotations=annotations), 100)
    assert driver.state()["terminated"]["finishedAt"] == at(seconds)


@pytest.mark.parametrize("delay", ["0s", "-1ns", "soon", ""])
def test_a_container_without_an_annotated_time_ends_at_once(delay):
    annotations = {RUN_DELAY: delay}
    driver = run_of(pod_of(container(), **NEVER, __annotations=annotations))
    assert driver.status()["phase"] == "Succeeded"


def user(scheduled_s: int | None = None) -> Pod:
    pod = pod_of(container(), resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])
    if scheduled_s is not None:
        scheduled = {"type": "PodScheduled", "status": "True"}
        conditions = [scheduled | {"lastTransitionTime": at(scheduled_s)}]
        pod = pod_with_status(pod, {"conditions": conditions})
    assert isinstance(pod, Pod)
    return pod


@pytest.mark.parametrize(
    ("of_claim", "of_slice", "scheduled_s", "due_s"),
    [
        pytest.param(None, None, -2, 0, id="at once"),
        pytest.param(None, None, None, 0, id="at once, if it is not known when"),
        pytest.param("0s", "7s", None, 0, id="no delay of the claim"),
        pytest.param("5s", None, -2, 3, id="since the binding"),
        pytest.param("5s", None, None, 5, id="since now, if it is not known when"),
        pytest.param("5s", None, -9, 0, id="a delay that is over"),
        pytest.param("-5s", None, 0, 0, id="a negative one"),
        pytest.param(None, "7s", -2, 5, id="that of the driver's slices"),
        pytest.param("1s", "7s", 0, 1, id="that of the claim first"),
    ],
)
def test_drivers_take_their_time_since_the_binding(of_claim, of_slice, scheduled_s, due_s):
    reader = Objects()
    annotations = {} if of_claim is None else {PREPARE_DELAY: of_claim}
    found = claim(annotations=annotations)
    reader.found[KIND, found.key] = found
    if of_slice is not None:
        name = slice_name("n", "gpu.example.com", 0)
        kind = ("resource.k8s.io", "ResourceSlice")
        reader.found[kind, name] = a_node(name, metadata={"annotations": {PREPARE_DELAY: of_slice}})
    preparation = prepared_claims(user(scheduled_s), reader, NOW)
    assert preparation.due_ns == NOW + due_s * SECOND
    assert bool(preparation.writes) is (due_s == 0)


def test_a_delay_of_drivers_that_is_no_duration_is_an_error():
    reader = Objects()
    found = claim(annotations={PREPARE_DELAY: "soon"})
    reader.found[KIND, found.key] = found
    text = f'ResourceClaim c: {PREPARE_DELAY}: "soon" is not a duration such as 5s'
    with pytest.raises(PrepareError, match=text):
        prepared_claims(user(), reader, NOW)


def test_init_containers_before_one_that_started_do_not_start_again():
    """Upstream: kuberuntime_container.go, computeInitContainerActions"""
    lost = {"state": {"waiting": {"reason": "ContainerCreating"}}, "restartCount": 0}
    runs = {"state": {"running": {"startedAt": at(0)}}, "started": True, "ready": True}
    inits = [container("first", "exit 0"), container("second", "sleep 9")]
    for name, phase in (("second", "Pending"), ("main", "Running")):
        statuses = [
            {"name": "first", **lost},
            {"name": "second", **(runs if name == "second" else lost)},
        ]
        status = {
            "phase": phase, "podIP": "10.1.1.1", "startTime": at(0),
            "initContainerStatuses": statuses,
            "containerStatuses": [{"name": "main", **(runs if name == "main" else lost)}],
        }  # fmt: skip
        driver = run_of(pod_with_status(pod_of(container(), initContainers=inits), status), 1)
        assert "running" in driver.state(name)
        assert driver.notes == []


def probe(command: str, **fields: Any) -> dict[str, Any]:
    return {"exec": {"command": ["sh", "-c", command]}, "periodSeconds": 10, **fields}


@pytest.mark.parametrize(
    ("kind", "restarts"),
    [
        pytest.param("livenessProbe", True, id="a container that is not alive restarts"),
        pytest.param("readinessProbe", False, id="one that is not ready does not"),
    ],
)
def test_probes_are_executed_again_by_a_kubelet_that_starts_again(kind, restarts):
    driver = run_of(pod_of(container() | {kind: probe("exit 0")}), 5)
    assert driver.container()["ready"]
    # It starts with the pod as it was written, whose container fails its probe from then on.
    failing = driver.objects["default/web"].raw
    (one,) = failing["spec"]["containers"]
    spec = {**failing["spec"], "containers": [{**one, kind: probe("exit 1", failureThreshold=2)}]}
    again = KubeletDriver()
    again.heap.advance(NOW + 5 * SECOND)
    again.put(decode({**failing, "spec": spec}, source="test"))
    again.run(8)
    assert again.container()["ready"], "what was ready stays so until its probe fails"
    again.run(60)
    assert (again.container()["restartCount"] > 0) is restarts
    assert again.container()["ready"] is False


def test_the_back_off_of_a_pull_doubles_up_to_five_minutes():
    """Upstream: pkg/kubelet/images/image_manager.go"""
    driver = KubeletDriver(images=[ImageBehavior(image="*", pull_error="not found")])
    driver.put(pod_of(container()))
    pulls = 0
    for until_s, count in ((9, 1), (11, 2), (29, 2), (31, 3), (69, 3), (71, 4), (2_000, 11)):
        driver.run(until_s)
        pulls = sum("Pulling: " in each for each in driver.notes)
        assert pulls == count, until_s


def test_a_change_of_a_node_renews_its_lease_no_sooner():
    driver = KubeletDriver()
    driver.cluster.add("Namespace", "kube-node-lease")
    driver.put(a_node("n1", status={"conditions": [{"type": "Ready", "status": "True"}]}))
    driver.run(0)
    before = len(driver.heap), len(driver.story)
    for label in "ab":
        metadata = {"labels": {"x": label}}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        driver.put(a_node("n1", metadata=metadata, status=status))
        driver.run(0)
    assert (len(driver.heap), len(driver.story)) == before
