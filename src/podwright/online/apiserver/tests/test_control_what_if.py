"""What-if over HTTP: differences after changes that are not made."""

import contextlib
import json

import pytest

from podwright.apimachinery.objects import InputError
from podwright.online.apiserver import ClusterClock, new_cluster
from podwright.online.apiserver.control.scheduling.what_if import with_weights
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, cluster_of, pod
from podwright.scheduler.assembly import prepare
from podwright.scheduler.config import read_configuration
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.usefixtures("answering")
V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ARGS = {"scoringStrategy": {"type": "MostAllocated"}}
PACKING = {"pluginConfig": [{"name": "NodeResourcesFit", "args": ARGS}]}
PACKED = {**KIND, "profiles": [PACKING]}


def cluster_with(*objects):
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=SERVER)
    cluster.world.add(*objects)
    return cluster


def paused(serve, cluster=None):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster or cluster_of(), clock)


def requesting(name, cpu, **spec):
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return pod(name, containers=[{"name": "main", "image": "app", **requests}], **spec)


def is_tried(found):
    conditions = found["status"].get("conditions", ())
    return any(each["type"] == "PodScheduled" for each in conditions)


def what_if(served, **body):
    status, found = served.send("POST", f"{V1}/what-if", body)
    assert status == 200, found
    return found


def node_named(name, cpu="8", **options):
    return make_node(name, cpu=cpu, **options)


@pytest.fixture(scope="module")
def tainted(serve_unchanged):
    """A server with a full node, a tainted one, and a pod that fits only there."""
    cluster = cluster_with(
        node_named("small", cpu="2"), node_named("large", taints=["team=a:NoSchedule"])
    )
    served = paused(serve_unchanged, cluster)
    assert served.send("POST", PODS, requesting("app", "4"))[0] == 201
    served.eventually(f"{PODS}/app", is_tried)
    return served


def test_a_node_without_a_taint_takes_the_pod(tainted):
    found = what_if(tainted, withoutTaints=[{"node": "large", "key": "team"}])
    (only,) = found["pods"]
    assert (only["pod"], only["change"]) == ("default/app", "noLongerPending")
    assert only["before"]["node"] is None
    assert only["before"]["message"].startswith("0/2 nodes are available")
    assert only["after"]["node"] == "large"
    assert only["reasons"]["before"]["rule"] == "TaintToleration"
    assert found["summary"]["changes"] == {"noLongerPending": 1}


def test_a_changed_pod_is_scheduled_as_it_would_be(tainted):
    toleration = {"key": "team", "operator": "Exists"}
    name = {"kind": "Pod", "name": "default/app"}
    for patch, node in (
        ({"spec": {"tolerations": [toleration]}}, "large"),
        (
            {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}},
            "small",
        ),
    ):
        found = what_if(tainted, patches=[{**name, "patch": patch}], pod="default/app")
        assert found["pod"]["after"]["node"] == node
        assert found["pod"]["before"]["node"] is None


def test_a_manifest_replaces_an_object_or_adds_one(tainted):
    manifest = requesting("app", "1")
    found = what_if(tainted, objects=[manifest])
    assert found["pods"][0]["after"]["node"] == "small"
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "new"},
        "status": {"capacity": {"cpu": "16", "memory": "16Gi", "pods": "110"}},
    }
    found = what_if(tainted, objects=[node, requesting("second", "15")])
    places = {each["pod"]: each["after"]["node"] for each in found["pods"]}
    assert places == {"default/app": "new"} or places["default/second"] == "new"
    assert found["nodes"]["added"] == ["new"]
    assert "default/second" in {each["pod"] for each in found["pods"]}


def test_a_pod_with_a_node_is_scheduled_again_on_both_sides(serve):
    cluster = cluster_with(node_named("a"), node_named("b"))
    served = paused(serve, cluster)
    served.send("POST", PODS, requesting("app", "4"))
    found = served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    node = found["spec"]["nodeName"]
    (other,) = {"a", "b"} - {node}
    same = what_if(served, pod="default/app")
    assert same["pods"] == []
    assert same["pod"]["before"]["node"] == same["pod"]["after"]["node"]
    moved = what_if(served, removed=[{"kind": "Node", "name": node}], pod="default/app")
    assert moved["pod"]["after"]["node"] == other
    left = what_if(served, removed=[{"kind": "Node", "name": node}])
    (only,) = left["pods"]
    assert (only["change"], only["before"]["node"], only["after"]["node"]) == ("moved", node, other)


def test_the_pods_of_all_nodes_are_scheduled_again_with_another_configuration(serve):
    cluster = cluster_with(*(node_named(f"n{number}") for number in range(4)))
    served = paused(serve, cluster)
    for number in range(4):
        served.send("POST", PODS, requesting(f"app-{number}", "2"))
        served.eventually(f"{PODS}/app-{number}", lambda found: found["spec"].get("nodeName"))
    assert what_if(served, configuration=PACKED)["pods"] == []
    found = what_if(served, configuration=PACKED, reschedule=True)
    assert found["summary"]["changes"].keys() == {"moved"}
    assert found["nodes"]["used"] == {"before": 4, "after": 1}
    assert {each["reasons"]["after"]["scores"][0]["rule"] for each in found["pods"]} == {
        "NodeResourcesFit"
    }


def test_a_weight_changes_the_node_and_is_the_reason(serve):
    labels = {"disk": "ssd"}
    cluster = cluster_with(node_named("busy", cpu="8", labels=labels), node_named("idle", cpu="8"))
    cluster.world.add(make_pod("filler", cpu="6", node="busy"))
    served = paused(serve, cluster)
    preferred = {
        "weight": 1,
        "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
    }
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
    served.send("POST", PODS, requesting("app", "1", affinity=affinity))
    found = served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    assert found["spec"]["nodeName"] == "busy"
    found = what_if(served, weights={"NodeAffinity": 1, "NodeResourcesFit": 90}, pod="default/app")
    (only,) = found["pods"]
    assert (only["before"]["node"], only["after"]["node"]) == ("busy", "idle")
    assert only["reasons"]["after"]["scores"][0]["rule"] == "NodeResourcesFit"


def test_the_matrix_of_both_sides_is_added(tainted):
    found = what_if(
        tainted,
        withoutTaints=[{"node": "large", "key": "team", "effect": "NoSchedule"}],
        pod="default/app",
        matrix=True,
    )
    before, after = found["matrix"]["before"], found["matrix"]["after"]
    assert before["nodes"] == after["nodes"] == ["small", "large"]
    assert before["rejectedBy"] == ["NodeResourcesFit", "TaintToleration"]
    assert after["rejectedBy"] == ["NodeResourcesFit", None]
    assert (before["node"], after["node"]) == (None, "large")


def test_a_pod_of_another_scheduler_is_compared_by_its_rules(serve):
    packing = read_configuration(
        {**KIND, "profiles": [{**PACKING, "schedulerName": "packing"}]}, source="test"
    )
    cluster = new_cluster(
        SchedulerOptions(),
        (SchedulerOptions(configuration=packing), None),
        now_ns=START_NS,
        server_options=SERVER,
    )
    cluster.world.add(node_named("busy"), node_named("idle"))
    cluster.world.add(make_pod("filler", cpu="6", node="busy"))
    served = paused(serve, cluster)
    served.send("POST", PODS, requesting("app", "1", schedulerName="packing"))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    found = what_if(served, pod="default/app")
    assert found["pod"]["before"] == found["pod"]["after"]
    assert found["pod"]["after"]["node"] == "busy"


# Only a copy sends an error whose parts are nested too deeply as well.
@pytest.mark.parametrize("answering", ["in a copy"], indirect=True)
def test_a_body_that_is_nested_too_deeply_is_a_problem(tainted):
    patch = '{"a":' * 900 + "1" + "}" * 900
    text = f'{{"patches": [{{"kind": "Node", "name": "large", "patch": {patch}}}]}}'
    with contextlib.closing(tainted.connection()) as connection:
        connection.request("POST", f"{V1}/what-if", text, {"content-type": "application/json"})
        response = connection.getresponse()
        found = json.loads(response.read())
    assert response.status in (400, 422), found
    assert found["status"] == response.status


def test_nothing_of_the_server_changes(tainted):
    cluster = tainted.cluster
    version, events = cluster.store.resource_version, len(cluster.world.log)
    _, before = tainted.send("GET", PODS)
    what_if(
        tainted,
        configuration=PACKED,
        objects=[requesting("new", "1")],
        withoutTaints=[{"node": "large", "key": "team"}],
        reschedule=True,
    )
    assert (cluster.store.resource_version, len(cluster.world.log)) == (version, events)
    assert tainted.send("GET", PODS)[1] == before
    assert tainted.send("GET", f"{V1}/configuration")[1]["written"] != PACKED


EXTENDER = {"urlPrefix": "http://192.0.2.7:8080", "filterVerb": "filter"}
NO_FILES = {**EXTENDER, "tlsConfig": {"certFile": "/etc/passwd"}}
UNKNOWN_PLUGIN = {"plugins": {"filter": {"enabled": [{"name": "MyPlugin"}]}}}
APP = {"kind": "Pod", "name": "default/app"}
TAINT = {"taints": [{"key": "a", "effect": "NoSchedul"}]}


@pytest.mark.parametrize(
    ("body", "field", "detail"),
    [
        ({"pods": []}, "pods", 'unknown field "pods"; did you mean "pod"?'),
        ({"configuration": {**KIND, "profile": []}}, "configuration.profile", "unknown field"),
        (
            {"configuration": {**KIND, "extenders": [EXTENDER]}},
            "configuration.extenders[0].urlPrefix",
            "--allow-extender",
        ),
        (
            {"configuration": {**KIND, "extenders": [NO_FILES]}},
            "configuration.extenders[0].tlsConfig.certFile",
            "cannot name files",
        ),
        (
            {"configuration": {**KIND, "profiles": [UNKNOWN_PLUGIN]}},
            "configuration.profiles[0].plugins.filter",
            "MyPlugin",
        ),
        ({"weights": {"NodeAfinity": 3}}, "weights.NodeAfinity", "did you mean NodeAffinity?"),
        ({"weights": {"NodeAffinity": 0}}, "weights", ">= 1"),
        ({"objects": [{"kind": "Pod"}]}, "objects[0].apiVersion", "Required value"),
        (
            {"objects": [requesting("app", "1", nodename="a")]},
            "objects[0].spec.nodename",
            "nodeName",
        ),
        (
            {"objects": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]},
            "objects[0].kind",
            "the scheduler does not read",
        ),
        (
            {"objects": [{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}}]},
            "objects[0].kind",
            "does not read objects of apps/v1 Deployment",
        ),
        (
            {"objects": [{**requesting("app", "1"), "metadata": {"generateName": "app-"}}]},
            "objects[0].metadata.name",
            "Required value",
        ),
        ({"patches": [{**APP, "patch": {"spec": {"nodeNames": 1}}}]}, "patches[0].patch.spec", ""),
        (
            {"patches": [{"kind": "Node", "name": "large", "patch": {"spec": TAINT}}]},
            "patches[0].patch.",
            "NoSchedule",
        ),
        ({"patches": [{**APP, "name": "default/ap", "patch": {}}]}, "patches[0].name", "app?"),
        ({"patches": [{**APP, "kind": "Pods", "patch": {}}]}, "patches[0].kind", "mean Pod?"),
        (
            {"patches": [{**APP, "patch": {"metadata": {"name": "b"}}}]},
            "patches[0].patch.metadata",
            "cannot be changed",
        ),
        ({"removed": [{"kind": "Node", "name": "larg"}]}, "removed[0].name", "mean large?"),
        ({"withoutTaints": [{"node": "x", "key": "k"}]}, "withoutTaints[0].node", "no Node x"),
        (
            {"withoutTaints": [{"node": "large", "key": "k"}]},
            "withoutTaints[0].key",
            "it has team:NoSchedule",
        ),
        ({"pod": "default/other"}, "pod", "there is no pod default/other"),
        ({"pod": "default/app", "reschedule": True}, "pod", "not both"),
        ({"matrix": True}, "matrix", "needs pod"),
        ({"schedulerName": "mine"}, "schedulerName", "there are default-scheduler"),
    ],
)
def test_wrong_changes_are_problems_with_their_paths(tainted, body, field, detail):
    status, found = tainted.send("POST", f"{V1}/what-if", body)
    assert status == 422, found
    assert found.get("field", "").startswith(field), found
    assert detail in found["detail"], found


def test_a_plugin_that_resembles_none_has_no_suggestion(tainted):
    status, found = tainted.send("POST", f"{V1}/what-if", {"weights": {"Quux": 3}})
    assert (status, found["detail"]) == (422, "no profile scores with Quux")


def test_all_errors_are_named(tainted):
    body = {
        "objects": [requesting("app", "many")],
        "removed": [{"kind": "Node", "name": "none"}],
    }
    status, found = tainted.send("POST", f"{V1}/what-if", body)
    assert status == 422
    assert [each["field"] for each in found["errors"]] == [
        "objects[0].spec.containers[0].resources.requests[cpu]",
        "removed[0].name",
    ]


def lines_of(served, **body):
    """Return the status and the lines of a comparison with progress."""
    with contextlib.closing(served.connection()) as connection:
        given = json.dumps({"reschedule": True, "progress": True} | body)
        connection.request("POST", f"{V1}/what-if", given, {"content-type": "application/json"})
        reply = connection.getresponse()
        return reply.status, [json.loads(line) for line in reply.read().splitlines()]


def test_a_comparison_with_progress_ends_with_the_reply(serve, monkeypatch):
    monkeypatch.setattr(
        "podwright.online.apiserver.control.scheduling.progress.PROGRESS_SECONDS", 0.0
    )
    pods = [make_pod(name, cpu="1", node="n1") for name in ("a", "b")]
    served = paused(serve, cluster_with(node_named("n1"), node_named("n2"), *pods))
    status, (*progress, last) = lines_of(served, weights={"NodeResourcesFit": 5})
    assert status == 200
    assert last == what_if(served, reschedule=True, weights={"NodeResourcesFit": 5})
    assert last["summary"]["pods"] == 2
    # The first side is scheduled again only for reasons of differences.
    assert progress == [{"done": done, "total": 6} for done in range(1, len(progress) + 1)]
    assert len(progress) in {4, 6}


def test_a_comparison_with_progress_that_is_not_valid_has_the_status_of_the_error(serve):
    status, (problem,) = lines_of(paused(serve), removed=[{"kind": "Node", "name": "none"}])
    assert status == 422
    assert "none" in problem["detail"]


def test_weights_change_all_profiles_that_score_with_the_plugin_and_nothing_else():
    score = {"enabled": [{"name": "NodeAffinity", "weight": 4}, {"name": "ImageLocality"}]}
    profiles = [
        {"schedulerName": "a", "plugins": {"score": score}},
        {"schedulerName": "b", "plugins": {"multiPoint": {"enabled": [{"name": "NodeAffinity"}]}}},
        {"schedulerName": "c"},
    ]
    configuration = read_configuration({**KIND, "profiles": profiles}, source="test")
    options = SchedulerOptions(configuration=configuration, source="test")
    assert with_weights(options, {}) is options
    changed = with_weights(options, {"NodeAffinity": 9})

    def weights(options):
        profiles = prepare(options)[0].profiles
        return [dict(each.plugins["score"]) for each in profiles]

    before, after = weights(options), weights(changed)
    assert [each["NodeAffinity"] for each in after] == [9, 9, 9]
    for side in (*before, *after):
        side.pop("NodeAffinity")
    assert before == after


def test_the_rules_of_1_16_have_no_weights_and_too_large_ones_are_wrong():
    rules = read_configuration({**KIND, "rules": {"name": "classic"}}, source="test")
    with pytest.raises(InputError, match=r"v1\.16 rules have priorities of a policy instead"):
        with_weights(SchedulerOptions(configuration=rules), {"NodeAffinity": 2})
    with pytest.raises(InputError) as raised:
        with_weights(SchedulerOptions(), {"NodeAffinity": 1, "NodeAfinity": 1, "Other": 1})
    assert [each.path for each in raised.value.errors] == ["NodeAfinity", "Other"]
    with pytest.raises(InputError):
        with_weights(SchedulerOptions(), {"NodeAffinity": 10**18, "ImageLocality": 10**18})
