"""Checks: twenty scenarios of different kinds, and what is found in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, decode
from podwright.scheduler.config import ExtenderReply
from podwright.simulation.recording import find_cycle
from podwright.simulation.scenarios import decision_scenario, read_scenario, snapshot_scenario
from podwright.simulation.scenarios.tests.test_scenarios import HEAD, nothing, scenario
from podwright.testing import make_node, make_pod

POD = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}"


def pod(name: str, cpu: str = "1", **more: str) -> str:
    spec = "".join(f", {key}: {value}" for key, value in more.items())
    requests = f"{{requests: {{cpu: '{cpu}'}}}}"
    return f"""    - apiVersion: v1
      kind: Pod
      metadata: {{name: {name}, labels: {{app: a}}}}
      spec: {{containers: [{{name: c, image: i, resources: {requests}}}]{spec}}}
"""


def nodes(count: int, cpu: str = "2", **more: str) -> str:
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"    nodes: [{{name: node, count: {count}, cpu: '{cpu}'{extra}}}]\n"


def cluster(*parts: str) -> str:
    objects = "".join(part for part in parts if part.startswith("    - "))
    others = "".join(part for part in parts if not part.startswith("    - "))
    return f"  cluster:\n{others}" + (f"    objects:\n{objects}" if objects else "")


DEPLOYMENT = """    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 2
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
BUDGET = """    - apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: web}
      spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""
CLASSES = """    - apiVersion: scheduling.k8s.io/v1
      kind: PriorityClass
      metadata: {name: low}
      value: 1
    - apiVersion: scheduling.k8s.io/v1
      kind: PriorityClass
      metadata: {name: high}
      value: 9
"""
PREEMPTION = f"""{cluster(nodes(1), CLASSES, pod("old", "2", priorityClassName="low"))}
  operations:
  - after: 1m
    create: {{apiVersion: v1, kind: Pod, metadata: {{name: new}}, spec: {{priorityClassName: high,
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "2"}}}}}}]}}}}
"""
DRAIN = "  operations: [{when: {ready: app=web}, drain: node-0}]\n"
PACKED = """  configurations:
  - name: spread
  - name: packed
    configuration:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: KubeSchedulerConfiguration
      profiles:
      - pluginConfig:
        - name: NodeResourcesFit
          args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
        plugins:
          multiPoint:
            disabled: [{name: NodeResourcesBalancedAllocation}, {name: PodTopologySpread}]
"""
LATER = """  operations:
  - at: 10m
    create: {apiVersion: v1, kind: Node, metadata: {name: late},
      status: {allocatable: {cpu: "16", memory: 8Gi, pods: "9"}}}
"""
ZONE_A = "{topology.kubernetes.io/zone: a}"


@pytest.mark.parametrize(
    ("spec", "expectation", "passed", "found"),
    [
        pytest.param(
            cluster(nodes(1), pod("a")), "pendingAtMost: 0", True, "0 of 1 pods", id="fits"
        ),
        pytest.param(
            cluster(nodes(1), pod("a", "3")),
            "pendingAtMost: 0",
            False,
            "Insufficient cpu",
            id="too large",
        ),
        pytest.param(
            cluster(nodes(1)), "pendingAtMost: 0", False, "no pod matches", id="about nothing"
        ),
        pytest.param(
            cluster(nodes(1), pod("a", "9")) + LATER,
            "scheduledWithin: 10m",
            True,
            "longest wait 10m",
            id="a node comes in time",
        ),
        pytest.param(
            cluster(nodes(1), pod("a", "9")) + LATER,
            "scheduledWithin: 5m",
            False,
            "1 of 1 pods: default/a; longest wait 10m",
            id="a node is late",
        ),
        pytest.param(
            cluster(nodes(1), pod("a"), pod("b", "9")) + "  stop: {at: 20m}\n",
            "scheduledWithin: 5m",
            False,
            "1 of 2 pods: default/b; longest wait 20m",
            id="a pod without a node waits until the end",
        ),
        pytest.param(
            cluster(nodes(1), pod("a", "9")) + LATER + "  stop: {at: 20m}\n",
            "scheduledWithin: 10m",
            True,
            "1 pods; longest wait 10m",
            id="a pod with a node waits until it has it",
        ),
        pytest.param(
            cluster(nodes(1), pod("a"), pod("b", "9"))
            + "  operations: [{at: 2m, delete: pod/b}]\n  stop: {at: 20m}\n",
            "scheduledWithin: 2m",
            True,
            "2 pods; longest wait 2m",
            id="a pod that is gone waits until it is",
        ),
        pytest.param(
            cluster(nodes(2, zones="[a, b]"), DEPLOYMENT),
            "pods: app=web, spread: {}",
            True,
            "skew 0: a 1, b 1",
            id="spread over zones",
        ),
        pytest.param(
            cluster(
                nodes(2, zones="[a, b]"),
                pod("a", nodeSelector=ZONE_A),
                pod("b", nodeSelector=ZONE_A),
            ),
            "spread: {maxSkew: 1}",
            False,
            "skew 2: a 2, b 0",
            id="all in one zone",
        ),
        pytest.param(
            cluster(nodes(1), pod("a")),
            "spread: {topologyKey: rack}",
            False,
            "no node has the label",
            id="no domains",
        ),
        pytest.param(
            PREEMPTION, "noPreemptionOf: high", True, "0 of 1 pods", id="the class preempts"
        ),
        pytest.param(
            PREEMPTION,
            "noPreemptionOf: low",
            False,
            "1 of 1 pods were preempted: default/old",
            id="a victim",
        ),
        pytest.param(
            cluster(nodes(1), pod("a")),
            "utilization: {of: peak, atLeast: 0.4, atMost: 0.6}",
            True,
            "peak cpu 50.00%",
            id="utilization in a range",
        ),
        pytest.param(
            cluster(nodes(1), pod("a")),
            "utilization: {of: peak, atLeast: 0.4}",
            True,
            "peak cpu 50.00%",
            id="utilization without a most",
        ),
        pytest.param(
            cluster(nodes(1), pod("a")),
            "utilization: {of: peak, atLeast: 0.5, atMost: 0.5}",
            True,
            "peak cpu 50.00%",
            id="utilization at both ends of a range",
        ),
        pytest.param(
            cluster(nodes(1), pod("a"), pod("b")),
            "utilization: {of: peak, atLeast: 0.5}",
            True,
            "peak cpu 100.00%",
            id="a full cluster",
        ),
        pytest.param(
            cluster(nodes(1), pod("a")),
            "utilization: {resource: nvidia.com/gpu, atLeast: 0.1}",
            False,
            "no node has nvidia.com/gpu",
            id="a resource that is not there",
        ),
        pytest.param(
            cluster(nodes(2), DEPLOYMENT, BUDGET) + DRAIN + "  stop: {at: 30m}\n",
            "budgetBlocked: {budget: default/web, atMost: 10m}",
            False,
            "blocked an eviction for 30m",
            id="a budget blocks a drain",
        ),
        pytest.param(
            cluster(nodes(2), DEPLOYMENT, BUDGET.replace("minAvailable: 2", "minAvailable: 1"))
            + DRAIN,
            "budgetBlocked: {budget: default/web}",
            True,
            "never",
            id="a budget that allows one",
        ),
        pytest.param(
            cluster(nodes(2), pod("a", nodeName="node-1")),
            "placed: {pod: default/a, nodes: [node-1]}",
            True,
            "is on node-1",
            id="placed",
        ),
        pytest.param(
            cluster(nodes(1), pod("a", "9")),
            "placed: {pod: default/a}",
            True,
            "is pending",
            id="pending as expected",
        ),
        pytest.param(
            cluster(nodes(1)),
            "placed: {pod: default/a}",
            False,
            "does not exist",
            id="a pod that is gone",
        ),
        pytest.param(
            cluster(nodes(2, "8"), pod("a"), pod("b")) + PACKED,
            "samePlacement: [spread, packed]",
            False,
            "1 of 2 pods are placed differently",
            id="two configurations differ",
        ),
        pytest.param(
            cluster(nodes(1, "8"), pod("a"), pod("b")) + PACKED,
            "samePlacement: [spread, packed]",
            True,
            "2 pods are placed the same",
            id="two configurations agree",
        ),
        pytest.param(
            cluster(nodes(1, "8"))
            + f"  load: [{{name: batch, arrivals: {{every: 1s, count: 20}}, object: {POD}}}]\n",
            "pendingAtMost: 0",
            True,
            "0 of 20 pods",
            id="a load",
        ),
        pytest.param(
            cluster(nodes(1), pod("a"))
            + "  operations: [{waitUntil: {object: pod/b, exists: true}}]\n",
            "pendingAtMost: 0",
            False,
            "pod/b does not exist at the end",
            id="a wait until the end",
        ),
    ],
)
def test_a_scenario_is_as_expected_or_not(
    spec: str, expectation: str, passed: bool, found: str
) -> None:
    report = pw.check(scenario(f"{spec}  expectations: [{{{expectation}}}]\n"))
    shown = [result for result in report.results if found in result.message]
    assert [result.passed for result in shown] == [passed], report.results
    assert report.passed is passed


def test_the_report_is_junit_and_markdown() -> None:
    report = pw.check(
        scenario(
            cluster(nodes(1), pod("a", "3"))
            + "  expectations: [{name: 'a|b', pendingAtMost: 0}, {placed: {pod: default/a}}]\n"
        )
    )
    (suite,) = ET.fromstring(report.junit())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failed, passed = suite
    assert failed.get("name") == "a|b"
    assert "Insufficient cpu" in str(failed[0].get("message"))
    assert passed.get("name") == "1-placed"
    text = report.markdown()
    assert text.startswith("### podwright check: 1 of 2 expectations failed")
    assert "| ❌ | s.yaml (default) | a\\|b |" in text


@pytest.mark.parametrize(
    ("expectation", "error"),
    [
        pytest.param(
            "{}",
            "spec.expectations[0]: Required value: specify one of scheduledWithin",
            id="nothing",
        ),
        pytest.param(
            "{pendingAtMost: 0, scheduledWithin: 1s}",
            ", not scheduledWithin and pendingAtMost",
            id="two things",
        ),
        pytest.param(
            "{budgetBlocked: {budget: default/wep, atMost: 1m}}",
            "spec.expectations[0].budgetBlocked.budget: there is no PodDisruptionBudget"
            ' "default/wep"; did you mean "default/web"?',
            id="a budget that names nothing",
        ),
        pytest.param(
            "{noPreemptionOf: hgih}", 'no PriorityClass "hgih"', id="a class that is not there"
        ),
        pytest.param(
            "{samePlacement: [default, packed]}",
            'spec.expectations[0].samePlacement[1]: Unsupported value: "packed"',
            id="a configuration that is not there",
        ),
        pytest.param(
            "{pendingAtMost: 0, configurations: [packed]}",
            'spec.expectations[0].configurations[0]: Unsupported value: "packed"',
            id="for a configuration that is not there",
        ),
        pytest.param(
            "{utilization: {atLeast: 60}}",
            "spec.expectations[0].utilization.atLeast: Invalid value",
            id="per cent",
        ),
        pytest.param(
            "{scheduledWithin: soon}", "spec.expectations[0].scheduledWithin: ", id="a duration"
        ),
        pytest.param("{placed: {pod: a}}", "must be namespace/name", id="a name alone"),
        pytest.param("{budgetBlocked: {budget: a}}", "must be namespace/name", id="a budget alone"),
    ],
)
def test_mistakes_in_expectations_have_a_path(expectation: str, error: str) -> None:
    with pytest.raises(InputError) as raised:
        scenario(cluster(nodes(1), BUDGET) + f"  expectations: [{expectation}]\n")
    assert error in str(raised.value)


MADE = """
  operations:
  - apply: {apiVersion: policy/v1, kind: PodDisruptionBudget,
      metadata: {name: web, namespace: shop}, spec: {minAvailable: 1}}
  - create: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1,
      metadata: {name: gold}}
  load:
  - name: silver
    arrivals: {every: 1s, count: 1}
    object: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 2}
"""


@pytest.mark.parametrize(
    ("expectation", "is_there"),
    [
        pytest.param("{budgetBlocked: {budget: shop/web, atMost: 1m}}", True, id="applied"),
        pytest.param(
            "{budgetBlocked: {budget: default/web, atMost: 1m}}", False, id="in another namespace"
        ),
        pytest.param("{noPreemptionOf: gold}", True, id="created"),
        pytest.param("{noPreemptionOf: silver-0}", True, id="of a load, with a number"),
        pytest.param("{noPreemptionOf: silver}", False, id="of a load, without one"),
        pytest.param("{noPreemptionOf: system-node-critical}", True, id="of every cluster"),
    ],
)
def test_an_expectation_may_name_what_the_scenario_creates_later(
    expectation: str, is_there: bool
) -> None:
    spec = cluster(nodes(1)) + MADE + f"  expectations: [{expectation}]\n"
    if is_there:
        scenario(spec)
        return
    with pytest.raises(InputError, match="there is no "):
        scenario(spec)


def test_a_past_decision_becomes_a_check() -> None:
    run = scenario(cluster(nodes(3, "4"), pod("a"), pod("b"), pod("c", "9"))).simulate(
        progress=False
    )
    for key, nodes_expected in (("default/b", True), ("default/c", False)):
        document = decision_scenario(find_cycle(run.log, key), run.log.setup)
        placed = document["spec"]["expectations"][0]["placed"]
        assert bool(placed["nodes"]) is nodes_expected
        found = read_scenario(msgspec.json.encode(document), source="d.yaml", read=nothing)
        assert pw.check(found).passed
        placed["nodes"] = ["elsewhere"]
        found = read_scenario(msgspec.json.encode(document), source="d.yaml", read=nothing)
        assert not pw.check(found).passed


def test_a_past_preemption_becomes_a_check() -> None:
    """The pod is expected where it evicts, on any of the nodes that are equal for it."""
    nodes_ = [make_node(f"n{i}", cpu="2") for i in range(3)]
    low = [make_pod(f"low-{i}", cpu="2", node=f"n{i}", priority=i // 2) for i in range(3)]
    run = pw.simulate([*nodes_, *low, make_pod("high", cpu="2", priority=9)], progress=False)
    cycle = find_cycle(run.log, "default/high", 1)
    document = decision_scenario(cycle, run.log.setup)
    placed = {"pod": "default/high", "nodes": ["n0", "n1"]}
    assert document["spec"]["expectations"] == [{"name": "decision", "placed": placed}]
    found = read_scenario(msgspec.json.encode(document), source="d.yaml", read=nothing)
    assert pw.check(found).passed


@pytest.mark.parametrize("name", ["g0", "g1"])
def test_a_past_decision_of_a_gang_has_the_pods_of_its_gang(name: str) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    metadata = {"name": "g", "namespace": "default"}
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata}
    pods = [
        make_pod(each, cpu="1", spec={"schedulingGroup": {"podGroupName": "g"}})
        for each in ("g0", "g1")
    ]
    gates = pw.parse_gates("GenericWorkload=true,GangScheduling=true")
    objects = [make_node("n", cpu="2"), decode(group | {"spec": spec}), *pods, make_pod("other")]
    run = pw.simulate(objects, gates=gates, progress=False)
    document = decision_scenario(find_cycle(run.log, f"default/{name}"), run.log.setup)
    given = document["spec"]["cluster"]["objects"]
    names = {one["metadata"]["name"] for one in given if one["kind"] == "Pod"}
    assert names >= {"g0", "g1"}
    found = read_scenario(msgspec.json.encode(document), source="d.yaml", read=nothing)
    assert pw.check(found).passed


def test_a_snapshot_becomes_a_check(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec":'
        ' {"containers": [{"name": "c", "image": "i"}]}}',
        encoding="utf-8",
    )
    path = tmp_path / "s.yaml"
    for pending, passed in ((1, True), (0, False)):
        document: Any = snapshot_scenario(["nodes.yaml"], "s", pending)
        path.write_bytes(msgspec.json.encode(document))
        assert pw.check(pw.load_scenario(path)).passed is passed
        assert pw.check(path).passed is pw.check(str(path)).passed is passed


def test_a_head_alone_is_an_error() -> None:
    with pytest.raises(InputError, match="spec: Required value"):
        read_scenario(HEAD, source="s.yaml", read=nothing)


def test_a_report_begins_with_what_is_not_met():
    unmet = "\n  expectations: [{name: <fits>, pendingAtMost: 0}]"
    text = pw.check(scenario(cluster(nodes(1), pod("a"), pod("b", "4")) + unmet)).html()
    assert "0 of 1 expectations are met." in text
    assert text.index("(default), &lt;fits&gt;: 1 of 2 pods are pending") < text.index("<dl")
    assert "1 of 2 pods were placed, 1 are pending at the end" in text
    assert "(default): 1 pods are pending: " in text
    assert text.index("<dl") < text.index("<table")
    assert "<fits>" not in text
    assert "http" not in text
    assert "<script" not in text


def test_a_check_of_no_scenario_has_not_passed() -> None:
    assert not pw.check().passed


def test_extenders_are_called_by_what_the_caller_of_a_configuration_returns() -> None:
    extender = "{urlPrefix: 'http://x', filterVerb: filter, nodeCacheCapable: true}"
    text = (
        cluster(nodes(2), pod("a"))
        + "  configurations: [{name: own, configuration: {apiVersion:"
        + " kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,"
        + f" extenders: [{extender}]}}}}]\n"
        + "  expectations: [{placed: {pod: default/a, nodes: [node-1]}}]\n"
    )
    given: list[tuple[Any, str]] = []

    def caller(configuration: Any, source: str) -> Any:
        given.append((configuration, source))
        return lambda _: ExtenderReply(status=200, body=b'{"NodeNames": ["node-1"]}')

    report = pw.check(scenario(text), extender_caller=caller)
    assert report.passed, report.results
    ((configuration, source),) = given
    assert [each.url_prefix for each in configuration.extenders] == ["http://x"]
    assert source == scenario(text).source


def test_a_configuration_has_the_plugins_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "closed.py").write_text(
        "import podwright as pw\n\n\n"
        "class Closed(pw.Plugin):\n"
        '    name = "Closed"\n\n'
        "    def filter(self, cycle, node):\n"
        '        return pw.Status.unschedulable("closed")\n',
        encoding="utf-8",
    )
    path = tmp_path / "s.yaml"
    text = cluster(nodes(1), pod("a")) + (
        "  configurations: [{name: open}, {name: own, plugins: [closed.py]}]\n"
        "  expectations: [{pendingAtMost: 0}]\n"
    )
    path.write_text(f"{HEAD}spec:\n{text}", encoding="utf-8")
    results = {each.configuration: each.passed for each in pw.check(path).results}
    assert results == {"open": True, "own": False}
