"""Every route of kube-scheduler-simulator's API: status, headers and form of the body."""

import contextlib
import json
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest
from tests.http_servers import serving

from podwright.cluster.api.endpoints import User
from podwright.online.apiserver.kss_api.tests.conftest import ORIGIN, pod
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Status

PODS = "/api/v1/namespaces/default/pods"
PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"
KEYS = ["pods", "nodes", "pvs", "pvcs", "storageClasses", "priorityClasses", "schedulerConfig"]


def configuration(**profile):
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", **profile}],
    }


def scheduled(found):
    return "nodeName" in found["spec"]


# --------------------------------------------------------------------------- configuration


def shown_configuration(served):
    status, headers, body = served.request("GET", "/api/v1/schedulerconfiguration")
    assert (status, headers["content-type"]) == (200, "application/json")
    return json.loads(body)


def test_the_configuration_is_shown_with_all_defaults_and_may_be_sent_back(simulator):
    served = simulator()
    shown = shown_configuration(served)
    assert configuration().items() >= {k: shown[k] for k in ("apiVersion", "kind")}.items()
    (profile,) = shown["profiles"]
    assert "NodeResourcesFit" in str(profile["plugins"]["multiPoint"]["enabled"])
    assert profile["pluginConfig"]
    assert shown["parallelism"] == 16
    assert served.request("POST", "/api/v1/schedulerconfiguration", shown)[0] == 202
    assert shown_configuration(served) == shown


def test_a_new_configuration_schedules_from_then_on(simulator):
    served = simulator()
    served.kubernetes("POST", PODS, pod("mine", schedulerName="mine"))
    changed = configuration(schedulerName="mine") | {"parallelism": 3}
    reply = served.request("POST", "/api/v1/schedulerconfiguration", changed)
    assert (reply[0], reply[2]) == (202, b"")
    served.eventually(f"{PODS}/mine", scheduled)
    shown = shown_configuration(served)
    assert [each["schedulerName"] for each in shown["profiles"]] == ["mine"]
    assert shown["parallelism"] == 16, "only profiles and extenders are taken"


@pytest.mark.parametrize(
    "wrong",
    [
        b"{",
        b"[]",
        configuration(plugins={"filter": {"enabled": [{"name": "NoSuchPlugin"}]}}),
        configuration() | {"extenders": [{"urlPrefix": "http://10.0.0.1:80", "filterVerb": "f"}]},
    ],
)
def test_a_rejected_configuration_leaves_the_present_one(simulator, wrong):
    served = simulator()
    before = shown_configuration(served)
    status, headers, body = served.request("POST", "/api/v1/schedulerconfiguration", wrong)
    assert (status, headers["content-type"]) == (500, "application/json")
    assert json.loads(body) == {"message": "Internal Server Error"}
    assert shown_configuration(served) == before


def test_a_configuration_over_http_cannot_name_files(simulator):
    served = simulator(allowed_hosts=["10.0.0.1"])
    extender = {"urlPrefix": "https://10.0.0.1:80", "enableHTTPS": True, "filterVerb": "f"}
    path = "/api/v1/schedulerconfiguration"
    changed = configuration() | {"extenders": [extender]}
    assert served.request("POST", path, changed)[0] == 202
    extender["tlsConfig"] = {"caFile": "/etc/passwd"}
    assert served.request("POST", path, changed)[0] == 500


def test_an_external_scheduler_has_no_configuration(simulator):
    served = simulator(has_scheduler=False)
    status, _, body = served.request("GET", "/api/v1/schedulerconfiguration")
    assert status == 400
    assert isinstance(json.loads(body), str)
    assert json.loads(served.request("GET", "/api/v1/export")[2])["schedulerConfig"] is None


# ------------------------------------------------------------------------ export and import


def test_an_export_has_the_eight_keys_and_no_objects_of_every_cluster(simulator):
    status, headers, body = simulator().request("GET", "/api/v1/export")
    assert (status, headers["content-type"]) == (200, "application/json")
    exported = json.loads(body)
    assert list(exported) == [*KEYS, "namespaces"]
    assert [node["metadata"]["name"] for node in exported["nodes"]] == ["node-0", "node-1"]
    assert not {"kind", "apiVersion"} & exported["nodes"][0].keys()
    assert exported["priorityClasses"] == exported["namespaces"] == []


def rich_objects(served):
    served.kubernetes("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    served.kubernetes(
        "POST",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "high"}, "value": 10},
    )
    served.kubernetes(
        "POST",
        "/apis/storage.k8s.io/v1/storageclasses",
        {"metadata": {"name": "slow"}, "provisioner": "example.com/disk"},
    )
    served.kubernetes("POST", PODS, pod("web", priorityClassName="high"))
    served.kubernetes("POST", "/api/v1/namespaces/team/pods", pod("job", nodeName="node-1"))
    served.eventually(f"{PODS}/web", lambda found: found["status"]["phase"] == "Running")
    path = "/api/v1/namespaces/team/pods/job"
    served.eventually(path, lambda found: found["status"]["phase"] == "Running")


def without_assigned_values(exported):
    """Return an export without what every cluster assigns anew."""
    for key in [*KEYS, "namespaces"]:
        for obj in exported[key] if isinstance(exported[key], list) else ():
            for name in ("uid", "resourceVersion", "managedFields"):
                obj["metadata"].pop(name, None)
    return exported


def test_an_export_that_is_imported_and_exported_again_is_the_same(simulator):
    served = simulator()
    rich_objects(served)
    first = served.request("GET", "/api/v1/export")[2]
    empty = simulator(nodes=0)
    status, _, body = empty.request("POST", "/api/v1/import", first)
    assert (status, body) == (200, b"")
    # A pod that runs after the import: kubelets and scheduler have received all objects.
    empty.kubernetes("POST", PODS, pod("later", nodeName="node-1"))
    later = empty.eventually(f"{PODS}/later", lambda found: found["status"]["phase"] == "Running")
    again = json.loads(empty.request("GET", "/api/v1/export")[2])
    again["pods"] = [each for each in again["pods"] if each["metadata"]["name"] != "later"]
    expected = without_assigned_values(json.loads(first))
    running = [each for each in expected["pods"] if each["status"]["phase"] == "Running"]
    assert len(running) == len(expected["pods"]) == 2
    assert without_assigned_values(again) == expected
    # No pod gets the address of an imported one.
    assert later["status"]["podIP"] not in {each["status"]["podIP"] for each in running}


def test_imported_pods_whose_owner_is_missing_stay(simulator):
    served = simulator()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "elsewhere"}
    custom = {"apiVersion": "example.com/v1", "kind": "App", "name": "web", "uid": "unknown"}
    pods = [pod("owned", nodeName="node-0"), pod("custom", nodeName="node-0")]
    pods[0]["metadata"]["ownerReferences"] = [owner]
    pods[1]["metadata"]["ownerReferences"] = [owner, custom]
    assert served.request("POST", "/api/v1/import", {"pods": pods})[0] == 200
    served.kubernetes("POST", PODS, pod("later", nodeName="node-0"))
    served.eventually(f"{PODS}/later", lambda found: found["status"]["phase"] == "Running")
    assert "ownerReferences" not in served.kubernetes("GET", f"{PODS}/owned")["metadata"]
    assert served.kubernetes("GET", f"{PODS}/custom")["metadata"]["ownerReferences"] == [custom]


def test_an_imported_volume_refers_to_the_imported_claim(simulator):
    volume = {
        "metadata": {"name": "disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp"},
            "claimRef": {"namespace": "default", "name": "data", "uid": "of-another-cluster"},
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "metadata": {"name": "data", "namespace": "default", "uid": "of-another-cluster"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "disk",
        },
    }
    served = simulator()
    default = {
        "metadata": {
            "name": "usual",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "example.com/disk",
    }
    served.kubernetes("POST", "/apis/storage.k8s.io/v1/storageclasses", default)
    assert served.request("POST", "/api/v1/import", {"pvs": [volume], "pvcs": [claim]})[0] == 200
    found = served.kubernetes("GET", "/api/v1/namespaces/default/persistentvolumeclaims/data")
    assert "storageClassName" not in found["spec"]
    disk = served.kubernetes("GET", "/api/v1/persistentvolumes/disk")
    assert disk["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]


@pytest.mark.parametrize("wrong", [b"{", b"[]", b'{"\xff":1}', {"pods": 1}, {"pods": [{}]}])
def test_an_undecodable_snapshot_is_a_bad_request(simulator, wrong):
    status, _, body = simulator().request("POST", "/api/v1/import", wrong)
    assert (status, json.loads(body)) == (400, {"message": "Bad Request"})


def test_a_snapshot_with_an_invalid_object_is_an_error(simulator):
    snapshot = {"pods": [{"metadata": {"name": "No Name"}, "spec": {"containers": []}}]}
    status, _, body = simulator().request("POST", "/api/v1/import", snapshot)
    assert status == 400
    assert 'Invalid value: "No Name"' in json.loads(body)["message"]


def test_an_older_configuration_is_imported_with_warnings(simulator, caplog):
    older = {
        "healthzBindAddress": "0.0.0.0:10251",
        "profiles": [
            {
                "schedulerName": "mine",
                "plugins": {"filter": {"enabled": [{"name": "EBSLimits"}, {"name": "NodeName"}]}},
            }
        ],
    }
    served = simulator()
    assert served.request("POST", "/api/v1/import", {"schedulerConfig": older})[0] == 200
    shown = json.loads(served.request("GET", "/api/v1/export")[2])["schedulerConfig"]
    assert [each["schedulerName"] for each in shown["profiles"]] == ["mine"]
    assert "it has no apiVersion and kind" in caplog.text
    assert "healthzBindAddress" in caplog.text
    assert "removed are ignored: EBSLimits" in caplog.text


def contents(served):
    """Return all objects and the configuration, without the versions of objects."""
    found = {}
    for path in ("/api/v1/namespaces", "/api/v1/nodes", PODS, "/api/v1/serviceaccounts"):
        items = served.kubernetes("GET", path)["items"]
        found[path] = {each["metadata"]["uid"]: each["metadata"]["name"] for each in items}
    found["export"] = without_assigned_values(
        json.loads(served.request("GET", "/api/v1/export")[2])
    )
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"metadata": {"name": "No Name"}, "spec": {}}, id="found before"),
        pytest.param(
            {
                "metadata": {"name": "second", "namespace": "team"},
                "spec": {"containers": [{"name": "main", "image": "app"}]},
            },
            id="found while importing",
        ),
    ],
)
def test_an_import_that_fails_changes_nothing(simulator, wrong):
    served = simulator()
    rich_objects(served)
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "2"}}}
    quotas = "/api/v1/namespaces/team/resourcequotas"
    served.kubernetes("POST", quotas, quota)
    served.eventually(f"{quotas}/one", lambda found: found.get("status", {}).get("used"))
    before = contents(served)
    snapshot = {
        "namespaces": [{"metadata": {"name": "new"}}],
        "priorityClasses": [{"metadata": {"name": "high", "labels": {"a": "b"}}, "value": 10}],
        "pods": [
            pod("web", priorityClassName="high") | {"metadata": {"name": "web", "labels": {}}},
            {**pod("first"), "metadata": {"name": "first", "namespace": "team"}},
            pod("other") | {"metadata": {"name": "other", "namespace": "new"}},
            wrong,
        ],
        "nodes": [{"metadata": {"name": "node-9"}}],
        "schedulerConfig": configuration(schedulerName="other"),
    }
    snapshot["pods"][0]["spec"] = served.kubernetes("GET", f"{PODS}/web")["spec"]
    assert served.request("POST", "/api/v1/import", snapshot)[0] == 400
    assert contents(served) == before
    served.kubernetes("POST", PODS, pod("later"))
    served.eventually(f"{PODS}/later", lambda found: found["status"]["phase"] == "Running")


def test_pods_keep_their_priority_where_another_class_is_the_default(simulator):
    served = simulator()
    served.kubernetes("POST", PODS, pod("web"))
    served.eventually(f"{PODS}/web", scheduled)
    default = {"metadata": {"name": "usual"}, "value": 1000, "globalDefault": True}
    served.kubernetes("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", default)
    served.kubernetes("POST", PODS, pod("later"))
    exported = served.request("GET", "/api/v1/export")[2]
    assert served.request("PUT", "/api/v1/reset")[0] == 202
    for _ in range(2):
        assert served.request("POST", "/api/v1/import", exported)[0] == 200
        for name, expected in (("web", (0, None)), ("later", (1000, "usual"))):
            spec = served.kubernetes("GET", f"{PODS}/{name}")["spec"]
            assert (spec["priority"], spec.get("priorityClassName")) == expected


def test_a_snapshot_with_a_refused_extender_says_what_allows_it(simulator):
    extender = {"urlPrefix": "http://10.0.0.1:80", "filterVerb": "filter"}
    snapshot = {"schedulerConfig": configuration() | {"extenders": [extender]}}
    status, _, body = simulator().request("POST", "/api/v1/import", snapshot)
    assert status == 400
    assert "--allow-extender 10.0.0.1:80" in json.loads(body)["message"]


def test_reset_restores_objects_and_configuration_of_the_start(simulator):
    served = simulator()
    rich_objects(served)
    served.kubernetes("DELETE", "/api/v1/nodes/node-0")
    served.request("POST", "/api/v1/schedulerconfiguration", configuration(schedulerName="other"))
    status, _, body = served.request("PUT", "/api/v1/reset")
    assert (status, body) == (202, b"")
    exported = json.loads(served.request("GET", "/api/v1/export")[2])
    assert [node["metadata"]["name"] for node in exported["nodes"]] == ["node-0", "node-1"]
    assert exported["pods"] == exported["namespaces"] == exported["priorityClasses"] == []
    assert exported["schedulerConfig"] == configuration()
    served.kubernetes("POST", PODS, pod("web"))
    served.eventually(f"{PODS}/web", lambda found: found["status"]["phase"] == "Running")


# ----------------------------------------------------------------------------------- stream


def test_the_stream_begins_with_all_objects(simulator):
    with simulator().stream() as next_event:
        events = [next_event() for _ in range(2)]
        found = {(e["Kind"], e["EventType"], e["Obj"]["metadata"]["name"]) for e in events}
    names = {"nodes": ["node-0", "node-1"]}
    expected = {("nodes", "ADDED", name) for name in names["nodes"]}
    # Events of different kinds are in any order.
    assert found <= expected | {
        (kind, "ADDED", name)
        for kind, name in (
            ("namespaces", "default"),
            ("namespaces", "kube-system"),
            ("namespaces", "kube-public"),
            ("namespaces", "kube-node-lease"),
            ("priorityclasses", "system-node-critical"),
            ("priorityclasses", "system-cluster-critical"),
        )
    }


def test_the_stream_sends_changes_with_the_results_of_scheduling(simulator):
    served = simulator()
    parameters = (
        "podsLastResourceVersion=1&nodesLastResourceVersion=1&pvsLastResourceVersion=1"
        "&pvcsLastResourceVersion=1&scsLastResourceVersion=1&pcsLastResourceVersion=1"
        "&namespaceLastResourceVersion=1"
    )
    version = served.kubernetes("GET", PODS)["metadata"]["resourceVersion"]
    # The documentation of kube-scheduler-simulator writes a small l.
    for query in (parameters, parameters.replace("Last", "last")):
        name = f"web-{'last' in query}".lower()
        with served.stream("?" + query.replace("=1", f"={version}")) as next_event:
            served.kubernetes("POST", PODS, pod(name))
            event = next_event()
            while not (event["Kind"] == "pods" and event["Obj"]["spec"].get("nodeName")):
                event = next_event()
                assert not {"kind", "apiVersion"} & event["Obj"].keys()
            annotations = event["Obj"]["metadata"]["annotations"]
            assert annotations[f"{PREFIX}selected-node"] == event["Obj"]["spec"]["nodeName"]
            assert json.loads(annotations[f"{PREFIX}filter-result"])


def test_the_stream_ends_if_a_version_is_gone(simulator):
    served = simulator()
    with served.stream("?podsLastResourceVersion=oldest") as next_event:
        events = []
        with contextlib.suppress(json.JSONDecodeError):  # the end of the stream
            while True:
                events.append(next_event())
    assert "pods" not in {event["Kind"] for event in events}


# -------------------------------------------------------------------------------- extenders


class Extender(BaseHTTPRequestHandler):
    """Allows the second node, and scores it 7."""

    def do_POST(self):
        arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = arguments.get("NodeNames") or []
        filtered: dict[str, object] = {"NodeNames": names[-1:], "FailedNodes": {}, "Error": ""}
        nodes = arguments.get("Nodes")
        if nodes is not None:
            names = [node["metadata"]["name"] for node in nodes["items"]]
            filtered |= {"NodeNames": None, "Nodes": {"items": nodes["items"][-1:]}}
        scored = [{"Host": name, "Score": 7} for name in names]
        body = json.dumps(scored if self.path == "/prioritize" else filtered).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def extender():
    with serving(Extender) as address:
        yield address


def with_extender(url):
    settings = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 2,
        "nodeCacheCapable": True,
    }
    return {**configuration(), "extenders": [settings]}


def test_calls_of_extenders_are_forwarded_and_recorded(simulator, extender):
    served = simulator(with_extender(extender), has_scheduler=False)
    served.kubernetes("POST", PODS, pod("web"))
    arguments = {
        "Pod": {"metadata": {"name": "web", "namespace": "default"}},
        "NodeNames": ["a", "b"],
    }
    status, _, body = served.request("POST", "/api/v1/extender/filter/0", arguments)
    assert (status, json.loads(body)["NodeNames"]) == (200, ["b"])
    status, _, body = served.request("POST", "/api/v1/extender/prioritize/0", arguments)
    # Weighted, and scaled to the scores of plugins.
    assert (status, json.loads(body)) == (200, [{"Host": n, "Score": 140} for n in "ab"])
    with served.stream() as next_event:
        event = next_event()
        while event["Kind"] != "pods":
            event = next_event()
    recorded = event["Obj"]["metadata"]["annotations"][f"{PREFIX}extender-filter-result"]
    assert json.loads(recorded)[extender]["NodeNames"] == ["b"]


@pytest.mark.parametrize("nodes", [{"nodeCacheCapable": True}, {"nodeCacheCapable": False}])
def test_pods_that_an_extender_filters_have_their_results(simulator, extender, nodes):
    settings = with_extender(extender)
    settings["extenders"][0] |= nodes
    served = simulator(allowed_hosts=["127.0.0.1"])
    path = "/api/v1/schedulerconfiguration"
    assert served.request("POST", path, settings)[0] == 202
    with served.stream() as next_event:
        served.kubernetes("POST", PODS, pod("web"))
        event = next_event()
        while not (event["Kind"] == "pods" and scheduled(event["Obj"])):
            event = next_event()
    found = event["Obj"]["metadata"]["annotations"]
    assert found[f"{PREFIX}selected-node"] == "node-1"
    replied = json.loads(found[f"{PREFIX}extender-filter-result"])[extender]
    kept = replied["NodeNames"] or [each["metadata"]["name"] for each in replied["Nodes"]["items"]]
    assert kept == ["node-1"]


class Moody(Plugin):
    """Depends on what is not in the log, so that its attempts cannot be replayed."""

    name = "Moody"
    is_refusing: ClassVar[bool] = False

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        """Pass all nodes or none."""
        return Status.unschedulable("bad mood") if self.is_refusing else Status.OK


def test_a_pod_whose_attempts_cannot_be_replayed_is_sent_without_results(
    simulator, monkeypatch, caplog
):
    served = simulator(plugins=[Moody])
    served.kubernetes("POST", PODS, pod("web"))
    served.eventually(f"{PODS}/web", lambda found: found["status"]["phase"] == "Running")
    monkeypatch.setattr(Moody, "is_refusing", True)
    with served.stream() as next_event:
        event = next_event()
        while event["Kind"] != "pods":
            event = next_event()
    assert "annotations" not in event["Obj"]["metadata"]
    assert "pod default/web is sent without its results: the actions of event" in caplog.text


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("filter/none", {}, 400),
        ("filter/7", {}, 400),
        ("bind/0", {}, 400),
        ("filter/0", b"no json", 500),
        ("tickle/0", {}, 404),
    ],
)
def test_calls_that_cannot_be_forwarded(simulator, extender, path, body, expected):
    served = simulator(with_extender(extender))
    status, _, found = served.request("POST", f"/api/v1/extender/{path}", body)
    assert status == expected
    assert list(json.loads(found)) == ["message"]


def test_a_scheduler_without_a_configuration_forwards_no_calls(simulator, caplog):
    status, _, found = simulator().request("POST", "/api/v1/extender/filter/3", {})
    assert (status, list(json.loads(found))) == (400, ["message"])
    assert "there is no extenders[3]: the configuration has none" in caplog.text


# --------------------------------------------------------------------- errors and browsers


def test_unknown_paths_and_methods(simulator):
    served = simulator()
    status, _, body = served.request("GET", "/api/v1/nothing")
    assert (status, json.loads(body)) == (404, {"message": "Not Found"})
    status, _, body = served.request("DELETE", "/api/v1/export")
    assert (status, json.loads(body)) == (405, {"message": "Method Not Allowed"})


def test_pages_of_the_allowed_origins_only(simulator):
    served = simulator()
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    status, found, _ = served.request("OPTIONS", "/api/v1/import", headers=headers)
    assert status == 200
    assert found["access-control-allow-origin"] == ORIGIN
    assert found["access-control-allow-credentials"] == "true"
    status, found, _ = served.request("GET", "/api/v1/export", headers={"Origin": ORIGIN})
    assert (status, found["access-control-allow-origin"]) == (200, ORIGIN)
    evil = {"Origin": "https://evil.example"}
    assert served.request("GET", "/api/v1/export", headers=evil)[0] == 403
    assert served.request("GET", "/api/v1/export", headers={"Host": "evil.example"})[0] == 403
    neighbor = {"Origin": "http://localhost:3001", "Content-Type": "application/json"}
    for method, path in (("POST", "import"), ("PUT", "reset"), ("POST", "schedulerconfiguration")):
        assert served.request(method, f"/api/v1/{path}", {}, headers=neighbor)[0] == 403
        form = {"Origin": ORIGIN, "Content-Type": "text/plain"}
        assert served.request(method, f"/api/v1/{path}", {}, headers=form)[0] == 415


# --------------------------------------------------------------------------- users


@pytest.mark.parametrize("anonymous", ["system:anonymous", "reader"])
def test_users_need_the_rights_that_its_routes_use(simulator, anonymous):
    # RBAC lets `reader` get what is below /api, as every authenticated user.
    groups = ("system:authenticated",) if anonymous == "reader" else ("system:unauthenticated",)
    served = simulator(anonymous=User(anonymous, groups=groups))
    status, _, body = served.request("GET", "/api/v1/export")
    assert status == 403
    path = "/podwright/kss/export"
    assert json.loads(body)["message"] == (
        f'forbidden: User "{anonymous}" cannot get path "{path}"'
    )
    assert served.request("PUT", "/api/v1/reset")[0] == 403
    admin = {"Authorization": "Bearer secret"}
    assert served.request("GET", "/api/v1/export", headers=admin)[0] == 200
    assert served.request("GET", "/api/v1/export", headers={"Authorization": "Bearer x"})[0] == 401
