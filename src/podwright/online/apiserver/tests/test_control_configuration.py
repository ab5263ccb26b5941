"""The configuration and the plugins of the scheduler, over podwright's own API."""

import contextlib
import threading

import pytest

import podwright as pw
from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.cluster import ClusterOptions, new_cluster
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, cluster_of, pod
from podwright.scheduler.machine import SchedulerOptions

pytestmark = pytest.mark.usefixtures("answering")
V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PACKED = [
    {
        "schedulerName": "default-scheduler",
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated"}},
            }
        ],
    }
]


def paused(serve, cluster=None):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster_of() if cluster is None else cluster, clock)


def small(name):
    requests = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return pod(name, containers=[{"name": "main", "image": "app", **requests}])


def is_bound(found):
    return bool(found["spec"].get("nodeName"))


def test_the_configuration_is_shown_as_written_and_with_defaults(serve):
    served = paused(serve)
    status, found = served.send("GET", f"{V1}/configuration")
    assert status == 200
    assert found["written"] == {**HEAD, "profiles": [{"schedulerName": "default-scheduler"}]}
    assert found["effective"]["parallelism"] == 16
    (profile,) = found["effective"]["profiles"]
    names = [each["name"] for each in profile["plugins"]["multiPoint"]["enabled"]]
    assert "NodeResourcesFit" in names


def test_a_configuration_is_replaced_as_a_whole(serve):
    served = paused(serve)
    sent = {**HEAD, "podMaxBackoffSeconds": 7, "profiles": [{"schedulerName": "mine"}]}
    status, found = served.send("PUT", f"{V1}/configuration", sent)
    assert (status, found["written"]) == (200, sent)
    assert found["effective"]["podMaxBackoffSeconds"] == 7
    assert served.send("GET", f"{V1}/configuration") == (200, found)
    served.send("POST", PODS, pod("other"))
    served.send("POST", PODS, pod("web", schedulerName="mine"))
    served.eventually(f"{PODS}/web", is_bound)
    assert not is_bound(served.send("GET", f"{PODS}/other")[1])
    # What is left out has its default again.
    _, found = served.send("PUT", f"{V1}/configuration", HEAD)
    assert found["effective"]["podMaxBackoffSeconds"] == 10


WRONG = [
    pytest.param({"parallelism": 0}, ["parallelism"], id="a value"),
    pytest.param({"profile": []}, ["profile"], id="an unknown field"),
    pytest.param(
        {"parallelism": -1, "profile": []}, ["profile", "parallelism"], id="several fields"
    ),
    pytest.param(
        {"clientConnection": {"kubeconfig": "/etc/passwd"}},
        ["clientConnection.kubeconfig"],
        id="a kubeconfig file",
    ),
    pytest.param(
        {"extenders": [{"urlPrefix": "http://10.0.0.1:8888", "filterVerb": "filter"}]},
        ["extenders[0].urlPrefix"],
        id="an extender that is not allowed",
    ),
    pytest.param({"extenders": [None]}, ["extenders[0].urlPrefix"], id="an extender without host"),
    pytest.param(
        {
            "extenders": [
                {
                    "urlPrefix": "https://10.0.0.1",
                    "filterVerb": "filter",
                    "tlsConfig": {"caFile": "/etc/passwd"},
                }
            ]
        },
        ["extenders[0].tlsConfig.caFile", "extenders[0].urlPrefix"],
        id="an extender with a file",
    ),
    pytest.param(
        {
            "rules": {
                "name": "classic",
                "policy": {
                    "kind": "Policy",
                    "apiVersion": "v1",
                    "extenders": [{"urlPrefix": "http://10.0.0.1:8888", "filterVerb": "filter"}],
                },
            }
        },
        ["rules.policy.extenders[0].urlPrefix"],
        id="an extender of a policy",
    ),
    pytest.param(
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "Unknown"}]}}}]},
        ["profiles[0].plugins.filter"],
        id="a plugin that was not given at the start",
    ),
]


@pytest.mark.parametrize(("fields", "paths"), WRONG)
def test_a_wrong_configuration_is_a_problem_and_changes_nothing(unchanged, fields, paths):
    before = unchanged.send("GET", f"{V1}/configuration")
    status, found = unchanged.send("PUT", f"{V1}/configuration", {**HEAD, **fields})
    assert (status, found["field"]) == (422, paths[0]), found
    assert [each["field"] for each in found["errors"]][: len(paths)] == paths
    assert found["detail"].endswith("and 1 more error") == (len(found["errors"]) == 2)
    status, checked = unchanged.send("POST", f"{V1}/configuration/check", {**HEAD, **fields})
    assert (status, checked["isValid"], checked["errors"]) == (200, False, found["errors"])
    assert unchanged.send("GET", f"{V1}/configuration") == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[]", 422),
        (b"kind: KubeSchedulerConfiguration", 400),
        (b'{"configuration": ' + b'{"a": ' * 20_000, 400),
        (b'{"kind": "KubeSchedulerConfiguration", "kind": "KubeSchedulerConfiguration"}', 422),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("PUT", ""), ("POST", "/check"), ("POST", "/diff")])
def test_a_body_that_is_no_configuration_is_a_problem(unchanged, method, path, body, status):
    with contextlib.closing(unchanged.connection()) as connection:
        headers = {"content-type": "application/json"}
        connection.request(method, f"{V1}/configuration{path}", body, headers)
        response = connection.getresponse()
        text = response.read()
    if path == "/check" and body.startswith(b'{"kind"'):
        status = 200
    assert response.status == status, text


def test_a_valid_configuration_is_checked_and_not_applied(serve):
    served = paused(serve)
    sent = {**HEAD, "parallelism": 3, "profiles": PACKED}
    status, found = served.send("POST", f"{V1}/configuration/check", sent)
    assert (status, found["isValid"], found["errors"]) == (200, True, [])
    assert found["effective"]["parallelism"] == 3
    _, shown = served.send("GET", f"{V1}/configuration")
    assert shown["effective"]["parallelism"] == 16


def test_settings_without_effect_are_named(serve):
    plugins = {"score": {"disabled": [{"name": "NodeNam"}]}}
    sent = {**HEAD, "profiles": [{"plugins": plugins}]}
    _, found = paused(serve).send("POST", f"{V1}/configuration/check", sent)
    assert found["isValid"]
    assert "NodeNam" in " ".join(found["warnings"])


def test_another_configuration_is_compared_on_the_present_pods(serve):
    served = paused(serve)
    for index in range(4):
        served.send("POST", PODS, small(f"web-{index}"))
    for index in range(4):
        served.eventually(f"{PODS}/web-{index}", is_bound)
    events = len(served.cluster.world.log)
    sent = {"configuration": {**HEAD, "profiles": PACKED}}
    status, found = served.send("POST", f"{V1}/configuration/diff", sent)
    assert status == 200, found
    assert found["summary"]["same"]  # the pods have nodes
    status, found = served.send("POST", f"{V1}/configuration/diff", {**sent, "reschedule": True})
    assert status == 200, found
    assert found["summary"]["changes"]["moved"] >= 1
    assert found["nodes"]["used"] == {"before": 2, "after": 1}
    reason = next(each for each in found["pods"] if each["change"] == "moved")["reasons"]["before"]
    assert reason["kind"] == "priority"
    assert len(served.cluster.world.log) == events
    wrong = {"configuration": {**HEAD, "parallelism": 0}}
    status, found = served.send("POST", f"{V1}/configuration/diff", wrong)
    assert (status, found["field"]) == (422, "configuration.parallelism")


def test_plugins_are_listed_with_their_settings(serve):
    class Named(pw.Plugin):
        """Named: prefers nothing."""

        name = "Named"

        def __init__(self, weight: int = 3) -> None:
            self.weight = weight

        def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
            return self.weight

    class Silent(pw.Plugin):
        name = "Silent"

        def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
            return 0

    cluster = new_cluster(
        SchedulerOptions(plugins=(Named, Silent)),
        now_ns=START_NS,
        options=ClusterOptions(),
        server_options=SERVER,
    )
    status, found = paused(serve, cluster).send("GET", f"{V1}/plugins")
    assert status == 200
    plugins = {each["name"]: each for each in found["plugins"]}
    assert plugins["Named"]["origin"] == "own"
    assert plugins["Named"]["summary"] == "prefers nothing."
    (fit,) = plugins["NodeResourcesFit"]["profiles"]
    assert (fit["schedulerName"], fit["weight"]) == ("default-scheduler", 1)
    assert fit["args"]["scoringStrategy"]["type"] == "LeastAllocated"
    assert "filter" in fit["points"]
    assert plugins["NodeName"] == {
        "name": "NodeName",
        "origin": "in-tree",
        "summary": plugins["NodeName"]["summary"],
        "points": ["filter"],
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "points": ["filter"],
                "weight": None,
                "args": None,
            }
        ],
        "page": plugins["NodeName"]["page"],
    }
    assert plugins["NodeName"]["page"].endswith("#nodename")
    assert plugins["Named"]["page"] == ""
    points = ["filter", "placementScore", "preFilter", "preScore", "score"]
    assert plugins["NodeResourcesFit"]["points"] == points
    assert list(plugins) == sorted(plugins)
    assert plugins["Coscheduling"]["profiles"] == []
    assert [name for name, each in plugins.items() if not each["summary"]] == ["Silent"]


def test_without_a_scheduler_there_is_no_configuration(serve):
    served = paused(serve, cluster_of(has_scheduler=False))
    for method, path, body in (
        ("GET", "configuration", None),
        ("PUT", "configuration", HEAD),
        ("POST", "configuration/check", HEAD),
        ("POST", "configuration/diff", {"configuration": HEAD}),
        ("GET", "plugins", None),
    ):
        status, found = served.send(method, f"{V1}/{path}", body)
        assert (status, found["status"]) == (409, 409), path


def test_pods_that_a_workload_has_not_created_are_not_compared(serve):
    served = paused(serve, cluster_of(has_controllers=False))
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": small("web")["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert served.send("POST", path, deployment)[0] == 201
    served.send("POST", PODS, small("alone"))
    sent = {"configuration": {**HEAD, "profiles": PACKED}, "reschedule": True}
    status, found = served.send("POST", f"{V1}/configuration/diff", sent)
    assert (status, found["summary"]["pods"]) == (200, 1), found


def test_the_server_goes_on_while_a_configuration_is_compared(serve):
    served = paused(serve, cluster_of(40))
    for index in range(40):
        served.send("POST", PODS, small(f"web-{index}"))
    statuses = []

    def compare():
        sent = {"configuration": {**HEAD, "profiles": PACKED}, "reschedule": True}
        statuses.append(served.send("POST", f"{V1}/configuration/diff", sent)[0])

    thread = threading.Thread(target=compare)
    thread.start()
    assert served.send("GET", f"{V1}/queue")[0] == 200
    thread.join(timeout=60)
    assert statuses == [200]
