"""A cluster without a socket: the world and the API over one store."""

import json

import pytest

from podwright.apimachinery.objects import PodwrightError
from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import HISTORY, HttpReply, Rejection
from podwright.cluster.kubelets import default_stages
from podwright.cluster.store import ObjectStore, UnusableStore
from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.breakpoints import read_condition
from podwright.online.apiserver.cluster import _log_controller_failure
from podwright.online.apiserver.scheduling.present_scheduler import present_scheduler
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request
from podwright.scheduler.machine import ObjectPut
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.world import Apply, Patch

PODS = "/api/v1/namespaces/default/pods"
SECOND_NS = 1_000_000_000


def read(cluster, path):
    reply = cluster.handle(request("GET", path), START_NS)
    return json.loads(reply.body)


def settle(cluster, now_ns):
    while not cluster.catch_up(now_ns, lambda: False):
        pass


def test_a_slice_ends_when_the_caller_says_so():
    cluster = cluster_of()
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    steps = []

    def is_over():
        steps.append(cluster.world.now_ns)
        return True

    assert not cluster.catch_up(START_NS, is_over)
    assert len(steps) == 1


def test_the_time_of_the_world_follows_once_nothing_is_due():
    cluster = cluster_of(0)
    settle(cluster, START_NS + 5 * SECOND_NS)
    assert cluster.world.now_ns == START_NS + 5 * SECOND_NS


def test_there_is_something_to_do_after_a_write():
    cluster = cluster_of()
    settle(cluster, START_NS)
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    assert cluster.next_due_ns == START_NS


def test_without_a_scheduler_pods_stay_pending():
    cluster = cluster_of(has_scheduler=False)
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    settle(cluster, START_NS + 60 * SECOND_NS)
    assert "nodeName" not in read(cluster, f"{PODS}/web")["spec"]


def test_without_a_lifecycle_pods_do_not_run():
    cluster = cluster_of(has_lifecycle=False)
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    settle(cluster, START_NS + 60 * SECOND_NS)
    found = read(cluster, f"{PODS}/web")
    assert found["spec"]["nodeName"]
    assert found["status"]["phase"] == "Pending"


def test_the_decision_log_has_no_renewals_of_leases():
    cluster = cluster_of()
    settle(cluster, START_NS)
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    first = [each["spec"]["renewTime"] for each in read(cluster, lease)["items"]]
    settle(cluster, START_NS + 60 * SECOND_NS)
    last = [each["spec"]["renewTime"] for each in read(cluster, lease)["items"]]
    assert first
    assert all(new > old for old, new in zip(first, last, strict=True))
    entries = list(cluster.world.log.entries())
    put = {each.event.obj.kind for each in entries if isinstance(each.event, ObjectPut)}
    assert "Node" in put
    assert "Lease" not in put


def test_without_controllers_a_deployment_has_no_pods():
    cluster = cluster_of(has_controllers=False)
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    reply = cluster.handle(
        request("POST", "/apis/apps/v1/namespaces/default/deployments", deployment), START_NS
    )
    assert isinstance(reply, HttpReply)
    assert reply.status == 201
    settle(cluster, START_NS + 60 * SECOND_NS)
    assert read(cluster, PODS)["items"] == []


def test_a_cluster_continues_on_an_existing_store():
    store = ObjectStore(**HISTORY)
    first = cluster_of(store=store)
    first.handle(request("POST", PODS, pod("web")), START_NS)
    settle(first, START_NS + 10 * SECOND_NS)
    before = read(first, f"{PODS}/web")
    second = cluster_of(0, store=store)
    settle(second, START_NS + 20 * SECOND_NS)
    assert read(second, f"{PODS}/web")["spec"] == before["spec"]
    # The scheduler counts the pods that were bound before.
    big = pod(
        "big", containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": 8}}}]
    )
    for name in ("big-1", "big-2", "big-3"):
        named = big | {"metadata": {"name": name}}
        second.handle(request("POST", PODS, named), START_NS + 20 * SECOND_NS)
    settle(second, START_NS + 30 * SECOND_NS)
    nodes = [read(second, f"{PODS}/big-{i}")["spec"].get("nodeName") for i in (1, 2, 3)]
    assert len({node for node in nodes if node}) == 2
    assert nodes.count(None) == 1


def test_kubelets_run_pods_also_with_the_built_in_stages_given():
    cluster = cluster_of(stages=default_stages())
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    settle(cluster, START_NS)
    status = read(cluster, f"{PODS}/web")["status"]
    assert status["observedGeneration"] == 1
    assert status["containerStatuses"][0]["containerID"]


def test_a_service_of_a_file_has_an_address_and_a_node_port():
    cluster = cluster_of()
    service = decode(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "team"},
            "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80}]},
        }
    )
    cluster.do(Apply(service))
    path = "/api/v1/namespaces/team/services/web"
    found = read(cluster, path)
    assert found["spec"]["clusterIP"].startswith("10.0.0.")
    assert found["spec"]["ports"][0]["nodePort"] >= 30_000
    # The same again changes nothing.
    cluster.do(Apply(service))
    assert read(cluster, path) == found
    # It is what a request would make of it, but for its name and the drawn values.
    other = service.raw | {"metadata": {"name": "other"}}
    cluster.handle(request("POST", path.removesuffix("/web"), other), START_NS)
    sent = read(cluster, f"{path.removesuffix('web')}other")
    for each in (found, sent):
        assert each["spec"]["clusterIPs"] == [each["spec"].pop("clusterIP")]
        del each["spec"]["clusterIPs"], each["spec"]["ports"][0]["nodePort"]
    assert (found["spec"], found["status"]) == (sent["spec"], sent["status"])


def test_a_service_of_a_file_that_changes_its_type_gets_a_node_port_and_keeps_its_address():
    cluster = cluster_of()
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    document = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    cluster.do(Apply(decode(document)))
    before = read(cluster, "/api/v1/namespaces/default/services/web")["spec"]
    assert "nodePort" not in before["ports"][0]
    cluster.do(Apply(decode(document | {"spec": spec | {"type": "NodePort"}})))
    after = read(cluster, "/api/v1/namespaces/default/services/web")["spec"]
    assert after["clusterIP"] == before["clusterIP"]
    assert after["ports"][0]["nodePort"] >= 30_000
    patch = {"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}}
    cluster.do(Patch(("", "Service"), "default/web", patch))
    patched = read(cluster, "/api/v1/namespaces/default/services/web")["spec"]
    assert patched["ports"] == after["ports"]
    assert patched["healthCheckNodePort"] >= 30_000


def test_a_service_whose_address_is_not_in_the_network_is_rejected():
    cluster = cluster_of()
    service = decode(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"clusterIP": "192.168.1.1", "ports": [{"port": 80}]},
        }
    )
    with pytest.raises(Rejection, match=r"192\.168\.1\.1"):
        cluster.do(Apply(service))


def test_a_request_after_an_idle_time_is_processed_at_its_time(serve):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    served = serve(cluster_of(has_controllers=False, has_lifecycle=False), clock)
    served.eventually("/podwright/v1/clock", lambda found: found["isCaughtUp"])
    clock.step(5_000_000_000)
    assert served.send("POST", PODS, pod("web"))[0] == 201
    served.eventually(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
    log = served.cluster.schedulers[0].logs[-1]
    (cycle,) = log.cycles_of("default/web")
    assert START_NS + 5_000_000_000 <= log.time_of(cycle) < START_NS + 6_000_000_000


def test_nothing_is_kept_of_objects_that_were_deleted():
    cluster = cluster_of(0)
    maps = "/api/v1/namespaces/default/configmaps"
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    for method, path, body in (("POST", maps, document), ("DELETE", f"{maps}/settings", None)):
        reply = cluster.handle(request(method, path, body), START_NS)
        assert isinstance(reply, HttpReply)
        assert reply.status < 300
    while not cluster.catch_up(START_NS, lambda: False):
        pass
    assert not cluster.world.report_observers.state()["disruptions"]["deleted_uids"]


def test_a_question_about_now_includes_the_pods_of_the_same_turn():
    cluster = cluster_of()
    settle(cluster, START_NS)
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    assert cluster.world.machine.pod("default/web") is None
    assert present_scheduler(cluster).explain("default/web").decision.node


def test_operations_of_users_are_done_at_their_times_and_rejected_ones_are_reported():
    cluster = cluster_of()
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    late, wrong, last = (
        Apply(decode(config | {"metadata": {"name": name, "namespace": namespace}}))
        for name, namespace in (("late", "default"), ("wrong", "Not a name"), ("last", "default"))
    )
    rejected = []
    inputs = [(START_NS + 5 * SECOND_NS, late), (START_NS + 6 * SECOND_NS, wrong)]
    inputs.append((START_NS + 7 * SECOND_NS, last))
    cluster.add_inputs(inputs, lambda *found: rejected.append(found))
    names = []
    for seconds in (4, 5, 7):
        settle(cluster, START_NS + seconds * SECOND_NS)
        found = read(cluster, "/api/v1/namespaces/default/configmaps")["items"]
        names.append({each["metadata"]["name"] for each in found} & {"late", "last"})
    assert names == [set(), {"late"}, {"late", "last"}]
    ((operation, error),) = rejected
    assert operation is wrong
    assert isinstance(error, PodwrightError)


def test_a_store_that_cannot_write_is_not_a_rejected_operation(monkeypatch):
    cluster = cluster_of()

    def fail(_):
        raise UnusableStore("disk full")

    monkeypatch.setattr(cluster.world, "operate", fail)
    operation = Apply(decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))
    cluster.add_inputs([(START_NS + SECOND_NS, operation)], lambda *_: None)
    with pytest.raises(UnusableStore):
        settle(cluster, START_NS + 2 * SECOND_NS)


def test_a_cluster_that_rests_does_nothing_until_it_goes_on():
    cluster = cluster_of()
    settle(cluster, START_NS)
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    cluster.is_resting = True
    assert cluster.catch_up(START_NS + SECOND_NS, lambda: False)
    assert "nodeName" not in read(cluster, f"{PODS}/web")["spec"]
    assert cluster.next_due_ns == cluster.server.next_due_ns
    assert cluster.late_steps is None
    cluster.begin_turn(START_NS + 60 * SECOND_NS)
    assert cluster.world.now_ns < START_NS + 60 * SECOND_NS
    cluster.is_resting = False
    assert cluster.next_due_ns == START_NS
    settle(cluster, START_NS + SECOND_NS)
    assert read(cluster, f"{PODS}/web")["spec"]["nodeName"]


def test_a_cluster_at_a_breakpoint_does_nothing_but_write_its_events():
    cluster = cluster_of()
    cluster.add_breakpoint(read_condition("pod=web"))
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    settle(cluster, START_NS + SECOND_NS)
    hit = cluster.breakpoints.hit
    assert hit is not None
    assert hit.pod == "default/web"
    assert cluster.next_due_ns == cluster.server.next_due_ns
    assert "nodeName" not in read(cluster, f"{PODS}/web")["spec"]
    assert not cluster.events.has_pending
    cluster.breakpoints.release()
    settle(cluster, START_NS + SECOND_NS)
    assert read(cluster, f"{PODS}/web")["spec"]["nodeName"]


def test_only_a_breakpoint_on_calls_starts_to_observe_the_plugins():
    cluster = cluster_of()
    cluster.add_breakpoint(read_condition("pod=web"))
    observed = [cluster.monitor.is_observing]
    cluster.add_breakpoint(read_condition("on=error"))
    observed.append(cluster.monitor.is_observing)
    assert observed == [False, True]
    assert {"NodeResourcesFit", "DefaultBinder"} <= cluster.plugin_names()


@pytest.mark.parametrize(
    ("error", "level", "text"),
    [
        (UserWarning("only a warning"), "WARNING", "only a warning"),
        (PodwrightError("rejected"), "WARNING", "could not sync default/web, and tries again"),
        (KeyError("defect"), "ERROR", "could not sync default/web, and tries again"),
    ],
)
def test_what_a_controller_cannot_do_is_a_line_of_the_log(error, level, text, caplog):
    _log_controller_failure("job-controller", "default/web", error)
    (record,) = caplog.records
    assert (record.levelname, text in record.getMessage()) == (level, True)
    assert bool(record.exc_info) is (level == "ERROR")


def test_an_autoscaler_takes_part_with_its_node_groups():
    group = {"name": "small", "maxSize": 3, "template": {"allocatable": {"cpu": "4", "pods": "9"}}}
    autoscaling = parse_node_groups({"groups": [group]}, "")
    cluster = cluster_of(0, autoscaling=autoscaling)
    assert cluster.autoscaling is autoscaling
    cluster.handle(request("POST", PODS, pod("web")), START_NS)
    settle(cluster, START_NS + 600 * SECOND_NS)
    (node,) = read(cluster, "/api/v1/nodes")["items"]
    assert read(cluster, f"{PODS}/web")["spec"]["nodeName"] == node["metadata"]["name"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, {"etcd-0", "controller-manager", "scheduler"}),
        ({"has_scheduler": False}, {"etcd-0", "controller-manager"}),
        ({"has_controllers": False}, {"etcd-0", "scheduler"}),
        ({"is_bare": True}, set()),
    ],
)
def test_the_components_that_run_are_shown(options, names):
    found = read(cluster_of(0, **options), "/api/v1/componentstatuses")["items"]
    assert {each["metadata"]["name"] for each in found} == names
