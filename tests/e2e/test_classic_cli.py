"""The v1.16 rules on the command line, and the comparison of the two rule sets."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from podwright.cli import app

ROOT = Path(__file__).parents[2]
QUICKSTART = "examples/quickstart"


@pytest.fixture(autouse=True)
def _in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def run(line: str, *, status: int = 0) -> Any:
    result = CliRunner().invoke(app, shlex.split(line), prog_name="podwright")
    assert result.exit_code == status, f"{result.stdout}\n{result.stderr}\n{result.exception!r}"
    return result


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: empty}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: used}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: old}
spec:
  nodeName: used
  containers: [{name: main, image: app, resources: {requests: {cpu: "1", memory: 2Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: new}
spec:
  containers: [{name: main, image: app, resources: {requests: {cpu: "1", memory: 2Gi}}}]
"""
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def placed(line: str) -> dict[str, str]:
    decisions = json.loads(run(f"{line} -o json").stdout)["decisions"]
    return {decision["pod"]: decision["node"] for decision in decisions}


@pytest.mark.parametrize(
    ("options", "node"),
    [
        pytest.param("--rules classic", "empty", id="the default provider spreads"),
        pytest.param(
            "--algorithm-provider ClusterAutoscalerProvider", "used", id="the other provider packs"
        ),
    ],
)
def test_providers_are_chosen(write: Callable[[str, str], str], options: str, node: str) -> None:
    files = write("cluster.yaml", CLUSTER)
    assert placed(f"schedule {files} {options}") == {"default/new": node}


def test_the_configuration_chooses_and_the_option_wins(write: Callable[[str, str], str]) -> None:
    files = write("cluster.yaml", CLUSTER)
    rules = "rules: {name: classic, algorithmProvider: ClusterAutoscalerProvider}\n"
    config = write("config.yaml", HEAD + rules)
    assert placed(f"schedule {files} -c {config}") == {"default/new": "used"}
    assert placed(f"schedule {files} -c {config} --rules modern") == {"default/new": "empty"}


def test_a_policy_decides(write: Callable[[str, str], str]) -> None:
    files = write("cluster.yaml", CLUSTER)
    policy = {"kind": "Policy", "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}
    path = write("policy.json", json.dumps(policy))
    assert placed(f"schedule {files} --policy {path}") == {"default/new": "used"}


def test_workers_do_not_change_the_outcome() -> None:
    line = f"schedule {QUICKSTART} --rules classic --exit-zero -o json"
    assert run(f"{line} --workers 4").stdout == run(line).stdout


def test_all_errors_of_a_policy_are_reported_with_their_paths(
    write: Callable[[str, str], str],
) -> None:
    policy = {
        "kind": "Policy",
        "predicates": [{"name": "PodFitsResource"}, {"name": "Mine", "argument": {}}],
        "priorities": [
            {"name": "EqualPriority", "weight": -1},
            {"name": "MostRequestedPriority", "weight": 2**63 - 1},
        ],
    }
    path = write("policy.json", json.dumps(policy))
    expected = run(f"schedule {QUICKSTART} --policy {path}", status=2).stderr
    lines = expected.splitlines()
    paths = [line.removeprefix(f"error: {path}: ").partition(":")[0] for line in lines]
    assert paths == [
        "priorities[0].weight",
        "priorities[1].weight",
        "predicates[0].name",
        "predicates[1].argument",
        "priorities",
    ]
    assert run(f"config check {path}", status=1).stdout == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            "--rules modern --algorithm-provider DefaultProvider",
            "options: --algorithm-provider: has no effect with --rules modern: it belongs",
            id="a provider with the v1.36 rules",
        ),
        pytest.param(
            "--workers 2",
            "options: --workers: has no effect without --rules classic: it belongs",
            id="workers with the v1.36 rules",
        ),
        pytest.param(
            "--rules classic --tie-rule heap",
            "options: --tie-rule: has no effect with --rules classic: nodes are drawn",
            id="a tie rule with the v1.16 rules",
        ),
        pytest.param(
            "--algorithm-provider Default",
            "configuration: rules.algorithmProvider: couldn't create scheduler using provider "
            '"Default": plugin "Default" has not been registered',
            id="no such provider",
        ),
        pytest.param(
            "--policy README.md",
            "README.md: ",
            id="an invalid policy",
        ),
    ],
)
def test_conflicting_options_are_rejected(options: str, expected: str) -> None:
    stderr = run(f"schedule {QUICKSTART} {options}", status=2).stderr
    assert stderr.startswith(f"error: {expected}")


def test_an_explanation_has_the_shape_of_all_explanations() -> None:
    modern = json.loads(run(f"explain web-0 {QUICKSTART} -o json").stdout)
    classic = json.loads(run(f"explain web-0 {QUICKSTART} --rules classic -o json").stdout)
    assert classic.keys() == modern.keys()
    least = next(s for s in classic["scores"] if s["plugin"] == "LeastRequestedPriority")
    assert least["weight"] == 1
    assert all(0 <= cell["normalized"] <= 10 for cell in least["nodes"].values())


def test_config_shows_predicates_and_priorities() -> None:
    lines = run("config show --rules classic -o table").stdout.splitlines()
    rows = [line.split() for line in lines]
    assert ["default-scheduler", "predicate", "GeneralPredicates"] in rows
    assert ["default-scheduler", "priority", "NodePreferAvoidPodsPriority", "10000"] in rows


def test_what_config_shows_of_the_rules_can_be_read_again(
    write: Callable[[str, str], str],
) -> None:
    shown = run("config show --rules classic").stdout
    path = write("shown.yaml", shown)
    assert run(f"config show {path}").stdout == shown
    assert run(f"config check {path}").stdout.endswith(
        "valid (v1.16 rules, 1 profile: default-scheduler)\n"
    )


# ------------------------------------------------------------------------- compare-rules


def test_rule_sets_are_compared_pod_by_pod() -> None:
    found = json.loads(run(f"compare-rules {QUICKSTART} --same-cluster -o json --exit-zero").stdout)
    by_pod = {pod["pod"]: pod for pod in found["pods"]}
    web = by_pod["shop/web-2"]
    assert web["by"] == "predicate"
    assert web["modern"]["because"]["rule"] == "PodTopologySpread"
    assert web["modern"]["node"] != web["classic"]["node"]
    summary = found["summary"]
    assert summary["pods"] == len(found["pods"])
    assert summary["different"] == sum(not pod["same"] for pod in found["pods"])
    assert summary["different"] == sum(summary["by"].values())
    assert summary["differentAfterTheFirst"] == 0


def test_each_rule_set_has_its_own_cluster_by_default() -> None:
    found = json.loads(run(f"compare-rules {QUICKSTART} -o json --exit-zero").stdout)
    alone = json.loads(run(f"schedule {QUICKSTART} --rules classic --exit-zero -o json").stdout)
    nodes = {decision["pod"]: decision["node"] for decision in alone["decisions"]}
    assert {pod["pod"]: pod["classic"]["node"] for pod in found["pods"]} == nodes
    assert found["summary"]["differentAfterTheFirst"] > 0


def test_a_priority_that_turns_the_choice_is_named(write: Callable[[str, str], str]) -> None:
    files = write("cluster.yaml", CLUSTER)
    line = f"compare-rules {files} --algorithm-provider ClusterAutoscalerProvider"
    (pod,) = json.loads(run(f"{line} -o json", status=1).stdout)["pods"]
    assert pod["by"] == "priority"
    assert pod["classic"]["because"]["rule"] == "MostRequestedPriority"
    assert pod["modern"]["because"]["rule"] == "NodeResourcesFit"
    assert "1 of 1 pod differs (1 by priority)" in run(line, status=1).stderr


def test_differences_affect_the_exit_status_unless_it_is_to_be_zero(
    write: Callable[[str, str], str],
) -> None:
    files = write("cluster.yaml", CLUSTER)
    assert "the same result" in run(f"compare-rules {files}").stderr
    line = f"compare-rules {files} --algorithm-provider ClusterAutoscalerProvider"
    run(line, status=1)
    run(f"{line} --exit-zero")


def test_plugins_of_the_configuration_count_for_the_modern_side_only(
    write: Callable[[str, str], str],
) -> None:
    files = write("cluster.yaml", CLUSTER)
    profile = "profiles: [{plugins: {score: {disabled: [{name: NodeResourcesFit}]}}}]\n"
    config = write("config.yaml", HEAD + profile)
    assert "1 pod" in run(f"compare-rules {files} -c {config} --exit-zero").stderr


def test_nothing_pending_is_exit_status_2(write: Callable[[str, str], str]) -> None:
    files = write("nodes.yaml", CLUSTER.partition("---")[0])
    assert "nothing to compare: no pending pods" in run(f"compare-rules {files}", status=2).stderr


# ---------------------------------------------------------------- help

V116_OPTIONS = {
    "schedule": {"--algorithm-provider", "--policy", "--workers"},
    "explain": {"--algorithm-provider", "--policy", "--workers"},
    "compare-rules": {"--algorithm-provider", "--policy", "--workers"},
    "simulate": {"--algorithm-provider", "--policy"},
    "config show": {"--algorithm-provider", "--policy"},
    "config check": {"--algorithm-provider", "--policy"},
}


@pytest.mark.parametrize("command", V116_OPTIONS)
def test_options_of_the_v116_rules_have_a_page(command):
    usual = run(f"{command} --help").stdout
    page = run(f"{command} --help-v1.16").stdout
    assert set(re.findall(r"^  (--[a-z-]+)", page, re.MULTILINE)) == V116_OPTIONS[command]
    assert page.startswith(f"Usage: podwright {command} [OPTIONS]")
    listed = set(re.findall(r"^  (--[a-z-]+)", usual, re.MULTILINE))
    assert listed
    assert not listed & V116_OPTIONS[command]
    assert re.search(r"^  --help-v1.16 +Show the options of the v1.16 rules.$", usual, re.MULTILINE)


def test_commands_without_such_options_have_no_page():
    assert "--help-v1.16" not in run("convert --help").stdout
    assert "No such option" in run("convert --help-v1.16", status=2).stderr


def test_the_page_needs_no_files_and_two_dashes_end_options():
    assert "--policy" in run(f"schedule {QUICKSTART} --help-v1.16").stdout
    assert "--help-v1.16: " in run("schedule -- --help-v1.16", status=2).stderr
