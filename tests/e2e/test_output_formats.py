"""Every table has the formats wide, json, yaml and name."""

from __future__ import annotations

import gzip
import json

import pytest
from tests.e2e.command_line import NODES, QUICKSTART, pod, run

from podwright.cli import COMMANDS, command_named


def formats_of_commands() -> dict[str, set[str]]:
    """Return the output formats of each command and subcommand that has several."""
    found = {}
    for name in COMMANDS:
        command = command_named(name)
        for inner, one in getattr(command, "commands", {"": command}).items():
            for param in one.params:
                if param.name == "output":
                    found[f"{name} {inner}".strip()] = set(one.output_formats)
    return found


def test_every_table_has_all_formats():
    formats = formats_of_commands()
    assert formats.keys() >= {
        "schedule", "explain", "simulate", "diff", "compare-rules", "convert", "shadow",
        "config show", "run show", "parity", "version",
    }  # fmt: skip
    for name, found in formats.items():
        assert found >= {"json", "yaml", "name"}, name
        # These print documents only.
        assert found >= {"table", "wide"} or name in {"convert", "import"}, name


@pytest.fixture
def cluster(write):
    return write("cluster.yaml", NODES + pod("web", "1") + pod("big", "100"))


def names(line: str, *, status: int = 0) -> list[str]:
    text: str = run(f"{line} -o name", status=status).stdout
    return text.splitlines()


def test_schedule_prints_the_pods_that_have_a_node(cluster):
    assert names(f"schedule {cluster}", status=1) == ["default/web"]


def test_explain_prints_the_node(cluster, a_run):
    assert names(f"explain web {cluster} --tie-rule first") == ["large"]
    assert names(f"explain big {cluster}", status=1) == []
    assert names(f"explain web --run {a_run}") == ["large"]


@pytest.mark.parametrize("option", ["--node large", "--nodes 3"])
def test_explain_rejects_other_nodes_with_the_name(cluster, option):
    refused = run(f"explain web {cluster} -o name {option}", status=2).stderr
    assert "has no effect with --output name: it is the chosen node alone" in refused


def test_simulate_prints_the_pods_without_a_node(cluster, tmp_path):
    pytest.importorskip("pyarrow")
    assert names(f"simulate {cluster} --out {tmp_path}/run", status=1) == ["default/big"]
    assert names(f"simulate --resume {tmp_path}/run", status=1) == ["default/big"]


def test_a_wide_summary_has_all_rows(write):
    gates = "schedulerName: other"
    events = [f'{{"at": "1m", "drain": "n{number}"}}\n' for number in range(12)]
    nodes = "---".join(NODES.split("---")[0].replace("small", f"n{n}") for n in range(12))
    files = f"{write('nodes.yaml', nodes + pod('a', '1', spec=gates))}"
    line = f"simulate {files} --events {write('events.jsonl', ''.join(events))}"
    short, wide = run(line).stdout, run(f"{line} -o wide").stdout
    assert "and 2 more (--output wide)" in short
    assert "  n11  " not in short
    assert "  n11  " in wide
    assert "more (" not in wide


def test_comparisons_print_the_pods_that_differ():
    both = json.loads(run(f"compare-rules {QUICKSTART} -o json", status=1).stdout)["pods"]
    expected = [one["pod"] for one in both if not one["same"]]
    assert names(f"compare-rules {QUICKSTART} --exit-zero") == expected != []
    assert names(f"compare-rules {QUICKSTART}", status=1) == expected


def test_shadow_prints_the_pods_whose_decisions_differ():
    found = json.loads(run("shadow examples/shadow -o json").stdout)["differences"]
    assert names("shadow examples/shadow") == list(dict.fromkeys(one["pod"] for one in found))
    assert found


def test_convert_prints_the_objects(cluster):
    assert names(f"convert {cluster}") == [
        "node/small", "node/large", "pod/default/web", "pod/default/big",
    ]  # fmt: skip


def test_config_prints_the_plugins_or_the_predicates_and_priorities():
    rows = run("config show -o table").stdout.splitlines()[1:]
    assert names("config show") == list(dict.fromkeys(row.split()[2] for row in rows))
    assert "LeastRequestedPriority" in names("config show --rules classic")


def test_run_show_prints_the_nodes_and_pods(a_run):
    found = names(f"run show {a_run}")
    document = json.loads(run(f"run show {a_run} -o json").stdout)
    assert found == [
        *(f"node/{one['name']}" for one in document["nodes"]),
        *(f"pod/{one['pod']}" for one in document["pods"]),
    ]


def test_parity_prints_the_cases_that_differ(tmp_path):
    with gzip.open("tests/golden/vectors/quantities.jsonl.gz", "rt") as vectors:
        lines = [vectors.readline() for _ in range(2)]
    case = json.loads(lines[1])
    changed = json.dumps(case | {"expect": {"milliValue": 1, "value": 1}})
    (tmp_path / "vectors.jsonl").write_text(f"{lines[0]}{changed}\n")
    assert names(f"parity {tmp_path}/vectors.jsonl", status=1) == [case["id"]]


def test_version_prints_the_components():
    assert names("version")[:2] == ["podwright", "kube-scheduler"]
