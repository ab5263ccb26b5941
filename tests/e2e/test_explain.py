"""`podwright explain`: the decision and its output."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from tests.e2e.command_line import NODES, QUICKSTART, pod, run

NEVER = """
import podwright as pw


class Never(pw.Plugin):
    name = "Never"

    def filter(self, cycle, node):
        return pw.Status.unresolvable("never")
"""
NEVER_CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Never}]}}
"""


def test_a_placed_pod_has_its_runner_ups_and_a_matrix():
    text = run(f"explain web-0 {QUICKSTART}").stdout
    assert re.search(r"Node: +general-\w\d", text)
    assert "Why the other feasible nodes were not chosen:" in text
    assert "Why the other nodes were rejected:" in text
    assert re.search(r"PodTopologySpread +0 +passed", text)
    assert re.search(
        r"Skipped \(nothing to check for this pod\): .*NodeAffinity, NodePorts, ", text
    )
    assert re.search(r"NodeResourcesFit +1 +\d+/\d+/\d+", text)
    assert re.search(r"total +\d+", text)


def test_a_requested_node_is_shown_beside_the_chosen_one():
    text = run(f"explain web-0 {QUICKSTART} --node gpu-b1").stdout
    assert re.search(r"PLUGIN +REJECTS +general-a1 +gpu-b1\n", text)
    assert re.search(r"gpu-b1 +toleration for taint nvidia.com/gpu=present:NoSchedule", text)
    wrong = run(f"explain web-0 {QUICKSTART} --node gpu-b2", status=2)
    assert "did you mean gpu-b1" in wrong.stderr


def test_equally_good_nodes_are_named_apart_from_those_behind(write):
    nodes = "---".join(NODES.replace("small", f"s{i}").replace("large", f"l{i}") for i in range(3))
    text = run(f"explain web {write('cluster.yaml', nodes + pod('web', '1'))}").stdout
    assert re.search(r"tied with the chosen node:\n +l\d, l\d\n", text)
    assert re.search(r"s0 +\d+ +-\d+ +NodeResourcesFit -\d+", text)


def test_an_unschedulable_pod_has_remedies_and_the_closest_nodes():
    text = run(f"explain batch/train-3 {QUICKSTART}", status=1).stdout
    assert "Message:  0/12 nodes are available:" in text
    assert (
        "  - add a toleration for taint nvidia.com/gpu=present:NoSchedule\n"
        "    opens 2 nodes, such as gpu-b1\n"
    ) in text
    assert "gpu-a1, gpu-b1, gpu-c1, control-plane" in text
    assert re.search(r"gpu-b1 +toleration for taint nvidia.com/gpu=present:NoSchedule", text)
    assert "nvidia.com/gpu: requests 1, 0 free of 0" in text


def test_the_advice_of_the_readme_makes_the_pod_fit(write):
    files = sorted(Path(QUICKSTART).glob("*.yaml"))
    documents = [each for path in files for each in yaml.safe_load_all(path.read_text("utf-8"))]
    items = [one for each in documents for one in (each.get("items") or [each])]
    (train,) = [each for each in items if each["metadata"]["name"] == "train-3"]
    toleration = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}
    train["spec"].setdefault("tolerations", []).append(toleration | {"effect": "NoSchedule"})
    cluster = write("cluster.yaml", yaml.safe_dump_all(items))
    assert run(f"explain batch/train-3 {cluster} -o json").stdout


def test_a_pod_that_would_fit_alone_names_the_pods_that_took_its_place(write):
    files = write("cluster.yaml", NODES + pod("first", "8") + pod("second", "8"))
    text = run(f"explain second {files}", status=1).stdout
    assert (
        "Alone:    it would fit on large; default/first, ahead of it in the queue, took the place"
    ) in text
    assert "add a node like large" in text


def test_without_a_change_that_helps_none_is_advised(write):
    own = write("own.py", NEVER)
    config = write("config.yaml", NEVER_CONFIG)
    files = write("cluster.yaml", NODES + pod("web", "1"))
    text = run(f"explain web {files} -c {config} --plugin {own}", status=1).stdout
    assert "What would fix it: none of the changes that podwright tries makes it fit." in text
    assert "2 nodes: never (Never)" in text


def test_the_limits_of_the_advice_are_printed(write):
    files = f"{write('cluster.yaml', NODES + pod('web', '1'))} --plugin {write('never.py', NEVER)}"
    text = run(f"explain web {files}", status=1).stdout
    limit = (
        "the rule of the custom plugin Never, which rejects 2 nodes, is not known; these changes of"
        " nodes do not help: add a node like small; add a node like large"
    )
    assert (
        "What would fix it: none of the changes that podwright tries makes it fit.\n\n"
        f"Limits of this advice:\n  - {limit}\n"
    ) in text
    document = json.loads(run(f"explain web {files} -o json", status=1).stdout)
    assert (document["remedies"], document["adviceLimits"]) == ([], [limit])


def test_next_steps_repeat_the_options_that_decide(write):
    files = write("my cluster.yaml", NODES + pod("web", "9"))
    config = write("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                   "kind: KubeSchedulerConfiguration\n")  # fmt: skip
    words = ["schedule", str(files), "-c", str(config), "--seed", "5", "--rules", "modern",
             "--explain"]  # fmt: skip
    printed = run(shlex.join(words), status=1).stderr
    expected = f"explain default/web '{files}' --config {config} --seed 5 --rules modern\n"
    assert expected in printed
    (line,) = [line for line in printed.splitlines() if "explain default/web" in line]
    assert "Node:     <none>" in run(line.split("podwright ")[1], status=1).stdout


def test_too_small_nodes_are_distinguished_from_full_ones(write):
    files = write(
        "cluster.yaml",
        NODES + pod("there", "7", spec="nodeName: large") + pod("web", "4"),
    )
    document = json.loads(run(f"explain web {files} -o json", status=1).stdout)
    assert [entry["remedy"] for entry in document["remedies"]] == [
        "reduce the cpu request from 4 to 2",
        "delete pod default/there",
        "raise the priority to 1 with a new PriorityClass",
        "add a node like large",
    ]
    assert document["remedies"][2]["victims"] == ["default/there"]
    assert document["reasons"] == [
        {"reason": "Insufficient cpu", "plugin": "NodeResourcesFit", "nodes": ["small", "large"]}
    ]
    assert document["nearest"][0] == {
        "node": "small",
        "plugins": ["NodeResourcesFit"],
        "lacks": ["cpu: requests 4, 2 free of 2"],
        "devices": [],
    }


def test_pods_ahead_in_the_queue_are_scheduled_first_unless_alone(write):
    files = write("cluster.yaml", NODES + pod("first", "8") + pod("second", "8"))
    assert (
        "after scheduling 1 pending pod ahead of it"
        in run(f"explain second {files}", status=1).stdout
    )
    assert "the cluster as given (--alone)" in run(f"explain second {files} --alone").stdout


def test_a_pod_on_a_node_is_re_evaluated_as_if_not_placed(write):
    files = write("cluster.yaml", NODES + pod("web", "7", spec="nodeName: large"))
    text = run(f"explain web {files}").stdout
    assert "On node:  large (re-evaluated as if not yet placed)" in text
    assert "the only one of 2 nodes that passes every filter" in text


@pytest.mark.parametrize("name", ["web", "pod/web", "shop/web", "web -n shop", "pod/web -n shop"])
def test_a_pod_is_named_in_any_way_that_kubectl_users_know(write, name):
    files = write("cluster.yaml", NODES + pod("web", "1", namespace="shop"))
    words = name.split(" ", 1)
    options = words[1] if len(words) > 1 else ""
    assert "Pod:      shop/web" in run(f"explain {words[0]} {files} {options}").stdout


def test_a_mistyped_pod_is_suggested(write):
    files = write("cluster.yaml", NODES + pod("checkout", "1", namespace="shop"))
    assert "did you mean shop/checkout?" in run(f"explain chekout {files}", status=2).stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            f"{QUICKSTART} web-0",
            f"did you mean: podwright explain web-0 {QUICKSTART}",
            id="arguments in the wrong order",
        ),
        pytest.param("deployment web", "named as deployment/web", id="kind and name apart"),
        pytest.param(
            f"web-0 {QUICKSTART} -o yml", "Did you mean 'yaml'?", id="a misspelled format"
        ),
        pytest.param(
            "web-0 --run absent", "absent: there is no such folder; name the one", id="no run"
        ),
    ],
)
def test_a_wrong_command_line_is_answered_with_the_right_one(line, message):
    assert message in run(f"explain {line}", status=2).stderr


def test_without_files_and_kubeconfig_both_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    stderr = run("explain web-0", status=2).stderr
    assert "no kubeconfig: set $KUBECONFIG" in stderr
    assert "no FILE is given: reading the cluster of the current context" in stderr


OWNED = """
---
apiVersion: v1
kind: Pod
metadata:
  name: web-5d6f-a
  labels: {pod-template-hash: 5d6f}
  ownerReferences:
  - {apiVersion: apps/v1, kind: ReplicaSet, name: web-5d6f, uid: u, controller: true}
spec:
  containers: [{name: main, image: app}]
"""


@pytest.mark.parametrize("name", ["deployment/web", "rs/web-5d6f"])
def test_a_workload_that_the_files_do_not_contain_is_found_by_its_pods(write, name):
    files = write("cluster.yaml", NODES + OWNED)
    assert "Pod:      default/web-5d6f-a" in run(f"explain {name} {files}").stdout


def test_an_ambiguous_name_is_rejected(write):
    files = write("cluster.yaml", NODES + pod("web", "1", "a") + pod("web", "1", "b"))
    assert (
        '"web" is in several namespaces: a/web, b/web'
        in run(f"explain web {files}", status=2).stderr
    )


def test_nodes_that_were_not_examined_are_named(write):
    config = write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "percentageOfNodesToScore: 50\n",
    )
    nodes = "---".join(NODES.partition("---")[0].replace("small", f"n{i:03}") for i in range(120))
    files = write("cluster.yaml", nodes + pod("web", "1"))
    document = json.loads(run(f"explain web {files} -c {config} -o json").stdout)
    assert len(document["notExamined"]) == 20
    assert len(document["feasible"]) == 100
    assert document["notExaminedReason"] == "enoughFeasibleNodes"
    text = run(f"explain web {files} -c {config} -o wide").stdout
    assert "20 nodes were not evaluated: enough feasible nodes were found before:" in text
    assert document["notExamined"][0] in text.partition("were not evaluated")[2]


def test_a_pod_on_its_nominated_node_has_that_as_the_reason(write):
    nominated = pod("web", "1").rstrip("\n") + "\nstatus: {nominatedNodeName: large}\n"
    files = write("cluster.yaml", NODES + nominated)
    document = json.loads(run(f"explain web {files} -o json").stdout)
    assert (document["node"], document["notExamined"]) == ("large", ["small"])
    assert document["notExaminedReason"] == "nominatedNodeFits"
    text = " ".join(run(f"explain web {files}").stdout.split())
    assert "it is the nominated node and passes every filter; no other was evaluated" in text
    assert (
        "1 node was not evaluated: the nominated node, which is evaluated first, passes every"
        " filter: small" in text
    )
    assert "enough feasible" not in text


def test_a_pod_of_another_scheduler_names_it_and_the_option(write):
    config = write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: first}, {schedulerName: gpu-scheduler}]\n",
    )
    files = write("cluster.yaml", NODES + pod("web", "1", spec="schedulerName: gpu-scheduler"))
    text = " ".join(run(f"explain web {files}", status=1).stdout.split())
    assert (
        "Another scheduler schedules this pod: gpu-scheduler. The configuration has only the"
        " profile default-scheduler. To explain the pod, pass the configuration of gpu-scheduler"
        " with -c/--config." in text
    )
    assert "Another scheduler" not in run(f"explain web {files} -c {config}").stdout
    default = write("default.yaml", NODES + pod("web", "1"))
    text = run(f"explain web {default} -c {config}", status=1).stdout
    assert "the profiles first, gpu-scheduler." in " ".join(text.split())


def test_a_gated_pod_has_its_gates_in_the_output(write):
    files = write("cluster.yaml", NODES + pod("web", "1", spec="schedulingGates: [{name: wait}]"))
    text = run(f"explain web {files}", status=1).stdout
    assert "SchedulingGated" in text
    assert "waiting for scheduling gates: [wait]" in text


def test_a_preemptor_has_its_victims_and_node_in_the_output(write):
    there = pod("there", "8", spec="nodeName: large")
    files = write("cluster.yaml", NODES + there + pod("urgent", "8", spec="priority: 100"))
    table = run(f"schedule {files}", status=1).stdout
    assert "preemption would evict default/there from large." in table
    text = run(f"explain urgent {files}", status=1).stdout
    assert "Preempts: default/there on large, to which the pod is nominated" in text
    document = json.loads(run(f"explain urgent {files} -o json", status=1).stdout)
    assert (document["nominatedNode"], document["victims"]) == ("large", ["default/there"])


def test_preemption_is_explained_candidate_by_candidate(write):
    nodes = NODES.replace('"2"', '"8"').replace("4Gi", "16Gi")
    files = write(
        "cluster.yaml",
        nodes
        + pod("cheap", "6", spec="nodeName: small\n  priority: 1")
        + pod("cheap-too", "1", spec="nodeName: small\n  priority: 2")
        + pod("dear", "7", spec="nodeName: large\n  priority: 50")
        + pod("urgent", "6", spec="priority: 100"),
    )
    text = run(f"explain urgent {files}", status=1).stdout
    expected = text[text.index("Preemption:\n") :].splitlines()
    assert expected[1:6] == [
        "  dry run on 2 of 2 nodes where preemption may help: 2 candidates",
        "  NODE   VIOLATED BUDGETS  EVICTS             SPARES",
        "  small  0                 default/cheap (1)  default/cheap-too (2)",
        "  large  0                 default/dear (50)  none",
        "  chosen: small (lowest priority of the most important victim)",
    ]
    document = json.loads(run(f"explain urgent {files} -o json", status=1).stdout)["preemption"]
    assert (document["chosen"], document["triedNodes"]) == ("small", 2)
    assert document["criterion"] == "lowest priority of the most important victim"
    assert document["candidates"][0] == {
        "node": "small",
        "victims": [{"pod": "default/cheap", "priority": 1}],
        "spared": [{"pod": "default/cheap-too", "priority": 2}],
        "violatedBudgets": 0,
    }
    one = run(f"explain urgent {files} --nodes 1", status=1).stdout
    assert "and 1 more candidate (-o wide)" in one


def test_the_search_for_candidates_begins_at_a_drawn_node_or_at_the_first(write):
    nodes = NODES.replace('"2"', '"8"').replace("4Gi", "16Gi")
    files = write(
        "cluster.yaml",
        nodes
        + pod("a", "8", spec="nodeName: small")
        + pod("b", "8", spec="nodeName: large")
        + pod("urgent", "8", spec="priority: 100"),
    )
    config = write(
        "c.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- pluginConfig:\n  - name: DefaultPreemption\n"
        "    args: {minCandidateNodesAbsolute: 1, minCandidateNodesPercentage: 0}\n",
    )

    def chosen(options: str, seed: int) -> str:
        line = f"explain urgent {files} -c {config} -o json --seed {seed} {options}"
        document = json.loads(run(line, status=1).stdout)
        return str(document["nominatedNode"])

    assert {chosen("--preemption-offset zero", seed) for seed in range(6)} == {"small"}
    assert {chosen("", seed) for seed in range(6)} == {"small", "large"}


def test_preemption_without_candidates_reports_the_dry_run(write):
    files = write(
        "cluster.yaml",
        NODES + pod("there", "8", spec="nodeName: large\n  priority: 100") + pod("web", "8"),
    )
    text = run(f"explain web {files}", status=1).stdout
    assert (
        "Preemption:\n"
        "  dry run on 1 of 1 node where preemption may help: 0 candidates\n"
        "  1 node: No preemption victims found for incoming pod\n"
    ) in text
    document = json.loads(run(f"explain web {files} -o json", status=1).stdout)["preemption"]
    assert (document["chosen"], document["candidates"]) == (None, [])
    too_big = write("big.yaml", NODES + pod("web", "80"))
    assert "Preemption would not help on any node" in run(f"explain web {too_big}", status=1).stdout
    fits = json.loads(run(f"explain web {write('a.yaml', NODES + pod('web', '1'))} -o json").stdout)
    assert fits["preemption"] is None


def test_the_groups_of_an_autoscaler_that_would_help_follow_the_explanation():
    files = "examples/autoscaling/large.yaml --node-groups examples/autoscaling/groups.yaml"
    explained = run(f"explain batch {files}", status=1).stdout
    text, _, table = explained.partition("Node groups:\n")
    assert "no nodes available to schedule pods" in text
    assert [line.split()[1:4] for line in table.splitlines()[1:]] == [
        ["small", "0/5", "no"],
        ["large", "0/10", "yes"],
    ]
    found = run(f"explain batch {files} -o json", status=2).stderr
    assert "'--node-groups': has no effect with --output json" in found
