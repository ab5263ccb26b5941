"""What is observed of a run, the events of loads, and the form of the documents."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.documents import decode
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    with_fields,
    with_node_name,
)
from podwright.cluster.api import DeleteObject, EvictPod, Rejection
from podwright.simulation.scenarios import (
    document,
    is_scenario,
    kep140,
    load_scenario,
    read_scenario,
)
from podwright.simulation.scenarios.document import Expectation, Load, NodeGroup, pod_of
from podwright.simulation.scenarios.expectations import (
    CheckedRun,
    ObservedPod,
    RunObserver,
    expectation_names,
    found_by,
    same_placement,
)
from podwright.simulation.scenarios.kep140 import kep140_path
from podwright.simulation.scenarios.load import load_lines
from podwright.simulation.scenarios.scenario_file import _node
from podwright.simulation.scenarios.tests.test_scenarios import (
    HEAD,
    KEP_140,
    errors_of,
    nothing,
    scenario,
)
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000

# ------------------------------------------------------------------------- what is observed


def observed(name="a", *, uid="u", **fields):
    return with_fields(make_pod(name, **fields), "metadata", uid=uid)


def test_a_pod_is_observed_from_its_creation_to_its_end():
    seen = RunObserver()
    pod = observed(labels={"app": "web"})
    bound = with_node_name(pod, "n1")
    seen.changed(None, pod, 10)
    (found,) = seen.pods.values()
    assert (found.key, found.labels, found.created_ns) == ("default/a", {"app": "web"}, 10)
    assert (found.node, found.scheduled_ns, found.never_scheduled) == ("", None, True)
    seen.changed(pod, bound, 30)
    seen.changed(bound, bound, 35)
    assert (found.node, found.scheduled_ns, found.never_scheduled) == ("n1", 30, False)
    assert (found.wait_ns(100), found.has_completed) == (20, False)
    seen.changed(bound, with_fields(bound, "status", phase="Succeeded"), 40)
    assert found.has_completed
    seen.changed(bound, None, 50)
    assert (found.ended_ns, found.wait_ns(100)) == (50, 20)
    # Another pod of the name is another pod.
    seen.changed(None, observed(uid="v"), 60)
    assert [each.created_ns for each in seen.pods.values()] == [10, 60]


@pytest.mark.parametrize(
    ("scheduled_ns", "ended_ns", "wait_ns", "never"),
    [(None, None, 90, True), (None, 40, 30, False), (25, 40, 15, False), (10, None, 0, False)],
)
def test_a_pod_waits_until_it_has_a_node_is_gone_or_the_run_ends(
    scheduled_ns, ended_ns, wait_ns, never
):
    pod = ObservedPod(
        key="default/a", labels={}, priority_class="", created_ns=10,
        scheduled_ns=scheduled_ns, ended_ns=ended_ns,
    )  # fmt: skip
    assert (pod.wait_ns(100), pod.never_scheduled) == (wait_ns, never)


def rejection(*names):
    return Rejection(429, "TooManyRequests", "disruption budget", about=names)


def test_nodes_are_those_that_are_there_with_their_present_labels():
    seen = RunObserver()
    first, second = make_node("n1", labels={"a": "b"}), make_node("n2")
    seen.changed(None, first, 0)
    seen.changed(None, second, 0)
    seen.changed(first, make_node("n1", labels={"a": "c"}), 1)
    seen.changed(second, None, 2)
    assert {name: labels.get("a") for name, labels in seen.nodes.items()} == {"n1": "c"}


def test_a_budget_blocks_from_the_first_rejection_of_an_eviction_to_its_end():
    seen = RunObserver()
    pods = [observed(name, uid=name) for name in "abc"]
    for pod in pods:
        seen.changed(None, pod, 0)
    for at_ns, pod, names in (
        (10, pods[0], ["x"]),
        (20, pods[0], ["x", "y"]),
        (30, pods[1], ["x"]),
    ):
        seen.removal_handled(pod, EvictPod(pod.key, pod.uid, "user"), rejection(*names), at_ns)
    seen.removal_handled(pods[0], EvictPod(pods[0].key, "a", "user"), None, 60)
    assert seen.blocked_ns == {"default/x": 50, "default/y": 40}
    seen.changed(pods[1], None, 70)  # deleted by something else
    assert seen.blocked_ns["default/x"] == 50, "the longest counts"
    seen.removal_handled(pods[2], EvictPod(pods[2].key, "c", "user"), rejection("z"), 80)
    seen.removal_handled(pods[2], EvictPod(pods[2].key, "c", "user"), KeyError("x"), 85)
    seen.end(100)
    assert seen.blocked_ns == {"default/x": 50, "default/y": 40, "default/z": 20}


@pytest.mark.parametrize(
    ("user", "error", "is_victim"),
    [("system:kube-scheduler", None, True), ("system:kube-scheduler", KeyError(), False),
     ("kim", None, False)],
)  # fmt: skip
def test_a_victim_is_a_pod_that_the_scheduler_has_deleted(user, error, is_victim):
    seen = RunObserver()
    pod = observed()
    seen.changed(None, pod, 0)
    seen.removal_handled(pod, DeleteObject("", "Pod", pod.key, pod.uid, user), error, 5)
    assert seen.pods[pod.uid].is_victim is is_victim


class Result:
    """The parts of a run that expectations read."""

    def __init__(self, **parts: Any) -> None:
        self.end_ns = 100 * SECOND_NS
        self.pending = parts.get("pending", {})
        self.node_of = parts.get("node_of", {})


def checked(*pods, nodes=None, **parts):
    seen = RunObserver()
    seen.pods = {str(number): pod for number, pod in enumerate(pods)}
    seen.nodes = nodes or {}
    seen.blocked_ns = parts.pop("blocked_ns", {})
    result: Any = Result(**parts)
    return CheckedRun(result, seen)


def waited(name, seconds=None, **fields):
    at: dict[str, Any] = (
        {} if seconds is None else {"scheduled_ns": seconds * SECOND_NS, "node": "n1"}
    )
    given: Any = {"labels": {}, "priority_class": "", "created_ns": 0} | at | fields
    return ObservedPod(key=f"default/{name}", **given)


def expect(**fields):
    return msgspec.convert(fields, Expectation)


def test_pods_of_an_expectation_are_selected_by_all_that_is_given():
    pods = [
        waited("a", labels={"app": "web"}, priority_class="high"),
        waited("b", labels={"app": "web"}),
        waited("c", labels={"app": "db"}, priority_class="high"),
        ObservedPod(key="default2/d", labels={"app": "web"}, priority_class="high", created_ns=0),
    ]
    run = checked(*pods)

    def names(**fields):
        return "".join(pod.key[-1] for pod in run.pods(expect(pendingAtMost=0, **fields)))

    assert names() == "abcd"
    assert names(pods="app=web") == "abd"
    assert names(pods="app=web", namespace="default") == "ab"
    assert names(priorityClass="high") == "acd"
    assert names(pods="app=web", namespace="default", priorityClass="high") == "a"


@pytest.mark.parametrize(
    ("expectation", "run", "expected"),
    [
        pytest.param(
            {"scheduledWithin": "10s"}, checked(waited("a", 10), waited("b", 3)),
            (True, "2 pods; longest wait 10s"), id="exactly in time",
        ),
        pytest.param(
            {"scheduledWithin": "9s"}, checked(waited("a", 10), waited("b", 3)),
            (False, "1 of 2 pods: default/a; longest wait 10s"), id="late",
        ),
        pytest.param(
            {"scheduledWithin": "1h"}, checked(waited("a")),
            (False, "1 of 1 pods: default/a; longest wait 1m40s"), id="never",
        ),
        pytest.param(
            {"pendingAtMost": 1}, checked(waited("a"), waited("b"), pending={
                "default/a": "no room", "default/b": "no room"}),
            (False, "2 of 2 pods are pending: default/a, default/b; no room"), id="one too many",
        ),
        pytest.param(
            {"pendingAtMost": 1}, checked(waited("a"), waited("b", has_completed=True)),
            (True, "1 of 2 pods are pending: default/a"), id="one, without a reason",
        ),
        pytest.param(
            {"noPreemptionOf": "low"}, checked(waited("a", priority_class="low", is_victim=True),
                                               waited("b", priority_class="low")),
            (False, "1 of 2 pods were preempted: default/a"), id="a victim",
        ),
        pytest.param(
            {"noPreemptionOf": "low"}, checked(waited("a", is_victim=True)),
            (False, "no pod has the priority class low"), id="no pod of the class",
        ),
        pytest.param(
            {"budgetBlocked": {"budget": "default/x", "atMost": "5s"}},
            checked(blocked_ns={"default/x": 5 * SECOND_NS}),
            (True, "default/x blocked an eviction for 5s"), id="a budget, just as long",
        ),
        pytest.param(
            {"budgetBlocked": {"budget": "default/x", "atMost": "4s"}},
            checked(blocked_ns={"default/x": 5 * SECOND_NS}),
            (False, "default/x blocked an eviction for 5s"), id="a budget, for too long",
        ),
        pytest.param(
            {"budgetBlocked": {"budget": "default/x"}}, checked(),
            (True, "default/x blocked an eviction never"), id="a budget, never",
        ),
        pytest.param(
            {"placed": {"pod": "default/a", "nodes": ["n1", "n2"]}},
            checked(node_of={"default/a": "n2"}), (True, "default/a is on n2"), id="one of two",
        ),
        pytest.param(
            {"placed": {"pod": "default/a", "nodes": ["n1"]}},
            checked(node_of={"default/a": "n2"}), (False, "default/a is on n2"), id="another node",
        ),
        pytest.param(
            {"placed": {"pod": "default/a"}}, checked(node_of={"default/a": "n2"}),
            (False, "default/a is on n2"), id="no node is expected",
        ),
        pytest.param(
            {"placed": {"pod": "default/a"}}, checked(pending={"default/a": "why"}),
            (True, "default/a is pending: why"), id="it is pending as expected",
        ),
        pytest.param(
            {"placed": {"pod": "default/a", "nodes": ["n1"]}}, checked(),
            (False, "pod default/a does not exist at the end"), id="no such pod",
        ),
    ],
)  # fmt: skip
def test_an_expectation_is_met_or_not(expectation, run, expected):
    assert found_by(expect(**expectation), run) == expected


ZONES = {f"n{zone}": {"zone": zone} for zone in "abc"}


@pytest.mark.parametrize(
    ("nodes", "skew", "expected"),
    [
        (["na", "na", "nb", "nc"], 1, (True, "skew 1: a 2, b 1, c 1")),
        (["na", "na", "nb"], 1, (False, "skew 2: a 2, b 1, c 0")),
        (["na", "na", "nb"], 2, (True, "skew 2: a 2, b 1, c 0")),
        (["na", "gone"], 1, (True, "skew 1: a 1, b 0, c 0")),
    ],
)
def test_pods_are_spread_over_all_domains_of_the_nodes(nodes, skew, expected):
    pods = [waited(str(number), 1, node=node) for number, node in enumerate(nodes)]
    left = [waited("x", 1, node="na", ended_ns=5), waited("y", 1, node="na", has_completed=True)]
    run = checked(*pods, *left, waited("z"), nodes={**ZONES, "other": {}})
    spread = {"topologyKey": "zone", "maxSkew": skew}
    assert found_by(expect(spread=spread), run) == expected
    assert found_by(expect(spread=spread), checked(*left, nodes=ZONES)) == (False, "no pod matches")
    missing = {"topologyKey": "rack"}
    assert found_by(expect(spread=missing), run) == (False, "no node has the label rack")


def test_runs_that_place_pods_differently_are_named_with_the_first_of_them():
    one = checked(waited("a", 1, node="n1"), waited("b", 1, node="n1"), waited("c"))
    other = checked(
        waited("a", 1, node="n1"), waited("b", 1, node="n1", ended_ns=5), waited("c", 1, node="n2")
    )
    assert same_placement(one, one) == (True, "3 pods are placed the same")
    assert same_placement(one, other) == (
        False, "2 of 3 pods are placed differently, first default/b: n1 and no such pod",
    )  # fmt: skip
    assert same_placement(checked(waited("c")), other)[1].endswith(
        "first default/a: no such pod and n1"
    )
    third = checked(waited("a", 1, node="n1"), waited("b"), waited("c"))
    assert same_placement(one, third)[1].endswith("first default/b: n1 and no node")


def test_replicas_of_a_controller_are_alike():
    def replicas(**nodes: str) -> CheckedRun:
        pods = [waited(name, 1, node=node, controller="Job x") for name, node in nodes.items()]
        found: CheckedRun = checked(*pods, waited("alone", 1, node="n1"))
        return found

    one = replicas(a="n1", b="n2", c="n2")
    assert same_placement(one, replicas(c="n1", d="n2", a="n2"))[0]
    assert same_placement(one, replicas(d="n1", e="n1", a="n2")) == (
        False, "1 of 4 pods are placed differently, first default/c: n2 and n1",
    )  # fmt: skip


def test_an_expectation_has_its_name_or_one_of_its_place_and_kind():
    given = [expect(name="mine", pendingAtMost=0), expect(scheduledWithin="1s"),
             expect(noPreemptionOf="x")]  # fmt: skip
    assert list(expectation_names(given)) == ["mine", "1-scheduled-within", "2-no-preemption-of"]


# -------------------------------------------------------------------------------- loads


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team"}}


def lines(end_s=None, seed=1, **fields):
    load = msgspec.convert({"name": "web", "object": POD} | fields, Load)
    return load_lines(load, seed, None if end_s is None else end_s * SECOND_NS)


def times(found):
    return [line["at"] for line in found if "apply" in line]


@pytest.mark.parametrize(
    ("arrivals", "end_s", "expected"),
    [
        ({"count": 3}, None, ["0s", "10s", "20s"]),
        ({"count": 5, "burst": 2}, None, ["0s", "0s", "10s", "10s", "20s"]),
        ({"start": "5s", "until": "25s"}, None, ["5s", "15s", "25s"]),
        ({"start": "5s", "until": "24s"}, None, ["5s", "15s"]),
        ({}, 20, ["0s", "10s", "20s"]),
        ({"until": "10s"}, 20, ["0s", "10s"]),
        ({"count": 2, "until": "1h"}, None, ["0s", "10s"]),
    ],
)
def test_regular_arrivals_are_at_the_end_too(arrivals, end_s, expected):
    found = lines(end_s, arrivals={"process": "regular", "every": "10s"} | arrivals)
    assert times(found) == expected


def test_random_arrivals_have_the_mean_and_are_drawn_from_name_and_seed():
    arrivals = {"every": "10s", "count": 500}
    found = lines(arrivals=arrivals)
    assert found == lines(arrivals=arrivals)
    assert found != lines(arrivals=arrivals, seed=2)
    assert times(found) != times(lines(arrivals=arrivals, name="other"))
    last = load_lines(
        msgspec.convert({"name": "web", "object": POD, "arrivals": arrivals}, Load), 1, None
    )[-1]
    assert "h" in last["at"] or int(last["at"].partition("m")[0]) > 60
    assert times(found)[0] == "0s"


def constant(value):
    return {"distribution": "constant", "value": value}


def test_each_object_has_its_name_duration_requests_and_deletion():
    found = lines(
        arrivals={"process": "regular", "every": "10s", "count": 2},
        requests={"cpu": constant("1500m"), "memory": constant("1Gi")},
        duration=constant("30s"),
        lifetime=constant("10s"),
    )
    assert [(line["at"], "apply" in line) for line in found] == [
        ("0s", True), ("10s", False), ("10s", True), ("20s", False),
    ]  # fmt: skip
    made = found[0]["apply"]
    assert made["metadata"]["name"] == "web-0"
    (delay,) = made["metadata"]["annotations"].values()
    assert (delay, made["spec"]["restartPolicy"]) == ("30s", "Never")
    (container,) = made["spec"]["containers"]
    assert (container["name"], container["image"]) == ("main", "registry.k8s.io/pause:3.10")
    assert container["resources"]["requests"] == {"cpu": "1500m", "memory": str(1 << 30)}
    assert found[1] == {"at": "10s", "delete": "Pod/web-0", "namespace": "team"}
    (last, *_) = lines(arrivals={"every": "1s", "count": 1}, lifetime=constant("0s"))[1:]
    assert last["at"] == "1ns", "an object exists for a moment"


def test_the_pods_of_a_workload_get_what_is_drawn_and_no_policy():
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"template": {}}}
    (line,) = lines(
        object=job, arrivals={"every": "1s", "count": 1}, duration=constant("5s"),
        requests={"cpu": constant("1")},
    )  # fmt: skip
    template = line["apply"]["spec"]["template"]
    assert list(template["metadata"]["annotations"].values()) == ["5s"]
    assert template["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1000m"}
    assert "restartPolicy" not in template["spec"]
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    (line,) = lines(object=config, arrivals={"every": "1s", "count": 1}, duration=constant("5s"))
    assert line["apply"] == config | {"metadata": {"name": "web-0"}}
    assert pod_of(config) is None
    assert job["spec"] == {"template": {}}, "the manifest of the load stays"


# ----------------------------------------------------------------------------- documents


LOADED = "object: {apiVersion: v1, kind: Pod}, arrivals: {every: 1s, count: 1}"


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("load: [{name: a, arrivals: {every: 1s, count: 1}}]", "load[0].object: Required value"),
        ("load: [{name: a, object: {apiVersion: v1, kind: Pod}}]",
         "load[0].arrivals: Required value"),
        (f"load: [{{name: a, {LOADED}, trace: {{file: t.csv, arrival: at}}}}]",
         "load[0].trace: Forbidden: cannot be combined with object"),
        (f"load: [{{name: a, {LOADED}, trace: {{file: t.csv, arrival: at}}}}]",
         "load[0].trace: Forbidden: cannot be combined with arrivals"),
        ("load: [{name: a, object: {apiVersion: v1, kind: Secret}, arrivals: {every: 1s, count: 1},"
         " duration: {distribution: constant, value: 1s}}]",
         "load[0].duration: Forbidden: the object is not a pod and has no template"),
        (f"load: [{{name: a, {LOADED}}}, {{name: a, {LOADED}}}]",
         'load[1].name: Duplicate value: "a"'),
        ("configurations: [{file: a.yaml, configuration: {}}]",
         "configurations[0].configuration: Forbidden: cannot be combined with file"),
        ("cluster: {nodes: [{count: 200001}]}", "cluster.nodes[0].count: Invalid value: 200001"),
        ("expectations: [{samePlacement: [default]}]",
         "expectations[0].samePlacement: Required value: two configurations or more"),
        ("expectations: [{utilization: {atMost: 1.5}}]",
         "expectations[0].utilization.atMost: Invalid value: 1.5: must be a share of 0 to 1"),
        ("autoscaling: {groups: []}", "autoscaling.groups: Required value"),
        ("cluster: {run: {folder: absent}}", "cluster.run.folder"),
        ("cluster: {run: {}}", "cluster.run.folder: Required value"),
        ("options: {sample: often}", "options.sample"),
        ("options: {start: soon}", "options.start"),
        ("options: {jobDuration: long}", "options.jobDuration"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_document_has_its_path(spec, error):
    found = errors_of(f"  {spec}")
    assert any(f"s.yaml: spec.{error}" in each for each in found), found


def test_the_nodes_of_a_group_have_zones_in_turn():
    group = NodeGroup(
        name="big", cpu="4", memory="8Gi", pods="9", resources={"example.com/gpu": "2"},
        zones=("a", "b"), labels={"x": "y", "kubernetes.io/arch": "arm64"},
        taints=({"key": "k", "effect": "NoSchedule"},),
    )  # fmt: skip
    found = [_node(group, number) for number in range(3)]
    assert [each["metadata"]["name"] for each in found] == ["big-0", "big-1", "big-2"]
    assert [each["metadata"]["labels"] for each in found] == [
        {
            "kubernetes.io/hostname": f"big-{number}",
            "x": "y",
            "topology.kubernetes.io/zone": zone,
            "kubernetes.io/arch": "arm64",
            "kubernetes.io/os": "linux",
        }
        for number, zone in enumerate("aba")
    ]
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "9", "example.com/gpu": "2"}
    assert found[0]["status"] == {"capacity": amounts, "allocatable": amounts}
    assert found[0]["spec"] == {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    plain = _node(NodeGroup(), 0)
    assert ("spec" in plain, plain["metadata"]["labels"]) == (
        False,
        {"kubernetes.io/hostname": "node-0", "kubernetes.io/arch": "amd64",
         "kubernetes.io/os": "linux"},
    )  # fmt: skip


def test_the_digest_depends_on_the_contents_of_files_and_not_on_their_folders():
    spec = "  cluster: {files: [%s]}"

    def digest(name, content):
        return scenario(spec % name, {name: content}).digest

    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
    assert digest("a/n.yaml", node) == digest("a/n.yaml", node)
    assert digest("a/n.yaml", node) != digest("a/n.yaml", node.replace("n1", "n2"))
    assert digest("a/n.yaml", node) != digest("a/m.yaml", node)

    def digest_in(folder):
        def read(names):
            return tuple((f"{folder}/{name}", node.encode()) for name in names)

        return read_scenario(f"{HEAD}spec:\n{spec % 'n.yaml'}", source="s.yaml", read=read).digest

    assert digest_in("/here") == digest_in("/there")
    found = scenario(spec % "n.yaml", {"n.yaml": node})
    others = {"b": b"1", "a": b"2"}
    digests = [
        msgspec.structs.replace(found, others=dict(each)).digest
        for each in (others.items(), reversed(others.items()), {"b": b"2", "a": b"1"}.items())
    ]
    assert digests[0] == digests[1] != digests[2], "whichever configuration is read first"


def test_files_are_relative_to_the_folder_of_the_scenario(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "s.yaml").write_text(
        "apiVersion: podwright.dev/v1alpha1\nkind: Scenario\n"
        "spec: {cluster: {files: [n.yaml, /abs.yaml, 'cluster:prod']}}\n"
    )
    asked = []

    def read(names):
        asked.extend(names)
        return [(name, b"") for name in names]

    found = load_scenario(str(tmp_path / "sub" / "s.yaml"), read=read)
    assert asked == [str(tmp_path / "sub" / "n.yaml"), "/abs.yaml", "cluster:prod"]
    assert found.name == found.source
    assert repr(found) == f"<ScenarioFile: {found.name}>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apiVersion: podwright.dev/v1alpha1\nkind: Scenario\n", True),
        ('{"apiVersion": "podwright.dev/v1alpha1",\n "kind": "Scenario"}', True),
        ("kind: Scenario\n", False),
        ("apiVersion: podwright.dev/v1alpha1\nkind: ScenarioList\n", False),
        ("apiVersion: podwright.dev/v1alpha1\nspec: {kind: Scenario}\n", False),
        ("# " + "x" * 100_000 + "\napiVersion: podwright.dev/v1alpha1\nkind: Scenario\n", False),
        # The kind ends with the first 100,000 bytes, and is cut off by one byte.
        (("\napiVersion: podwright.dev/v1alpha1\nkind: Scenario").rjust(100_000, "#"), True),
        (("\napiVersion: podwright.dev/v1alpha1\nkind: Scenario").rjust(100_001, "#"), False),
    ],
)
def test_the_head_of_a_file_says_whether_it_is_a_scenario(text, expected):
    assert is_scenario(text.encode()) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.operations[0].create.spec", "spec.operations[0].createOperation.object.spec"),
        ("spec.operations[0].patch", "spec.operations[0].patchOperation"),
        ("spec.operations[1].delete", "spec.operations[1].deleteOperation"),
        ("spec.operations[1].deleted", "spec.operations[1].deleted"),
        ("spec.create", "spec.create"),
    ],
)
def test_paths_of_kube_scheduler_simulator(path, expected):
    assert kep140_path(path) == expected


def test_operations_of_kube_scheduler_simulator_are_ordered_by_step_and_done_is_the_last():
    text = KEP_140.replace("step: 3, done", "step: 2, done").replace(
        "objectMeta: {name: a}", "objectMeta: {name: a}, deleteOptions: {gracePeriodSeconds: 7}"
    )
    found = read_scenario(text, source="k.yaml", read=nothing)
    read = [(number, msgspec.json.decode(line)) for number, line in found.operations]
    assert [number for number, _ in read] == [2, 3, 4, 1, 5]
    assert [line["step"] for _, line in read] == [1, 2, 2, 2, 4]
    assert read[2][1]["type"] == "merge"
    assert read[2][1]["patch"] == "nodes/n1"
    assert read[4][1]["gracePeriodSeconds"] == 7
    assert read[4][1]["delete"] == "pods/a"
    with pytest.raises(InputError) as raised:
        read_scenario(KEP_140.replace('"y"}}}', '"y"}}'), source="k.yaml", read=nothing)
    assert [each.path for each in raised.value.errors] == [
        "spec.operations[3].patchOperation.patch"
    ]


@pytest.mark.parametrize(
    ("cls", "field", "least", "most"),
    [(NodeGroup, "count", 0, 200_000), (document.Arrivals, "count", 1, 5_000_000)],
)
def test_the_limits_of_a_number_are_numbers(cls, field, least, most):
    given = {"every": "1s"} if cls is document.Arrivals else {}
    for number, is_valid in ((least - 1, False), (least, True), (most, True), (most + 1, False)):
        errors: list[FieldError] = []
        decode({**given, field: number}, cls, "x", errors)
        assert ([error.path for error in errors] == []) is is_valid


@pytest.mark.parametrize(
    "cls", [*document._Entry.__subclasses__(), *kep140._Entry.__subclasses__()]
)
def test_the_parts_of_a_document_are_made_with_the_names_of_their_fields(cls):
    kinds = {each.kind for each in inspect.signature(cls).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_a_wrong_object_is_the_only_mistake_of_an_expectation_about_it():
    found = errors_of(
        """
  cluster:
    objects:
    - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: gold}, value: high}
  expectations: [{noPreemptionOf: gold}]
"""
    )
    assert [each.partition(": ")[2].partition(":")[0] for each in found] == [
        "spec.cluster.objects[0].value"
    ]
