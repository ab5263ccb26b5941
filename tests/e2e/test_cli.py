"""The commands, most of them run in this process."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from tests.e2e.command_line import NODES, QUICKSTART, ROOT, pod, run
from typer.core import TyperGroup
from typer.main import get_command

from podwright.cli import COMMANDS, app

# ---------------------------------------------------------------- help


def all_commands() -> dict[str, Any]:
    """Return all commands by their names, as the command line finds them."""
    found: dict[str, Any] = {}

    def add(name: str, command: Any) -> None:
        found[name] = command
        if isinstance(command, TyperGroup):
            context = typer.Context(command)
            for below in command.list_commands(context):
                add(f"{name} {below}".strip(), command.get_command(context, below))

    add("", get_command(app))
    return found


ALL_COMMANDS = all_commands()


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_every_command_has_help(command):
    assert "Usage: podwright" in run(f"{command} --help").stdout


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_usage_has_names_in_it_and_no_types(command):
    text = run(f"{command} --help").stdout
    assert not re.search(r"list\[|<str>|<int|<path>|\[\[|\{FILE|\{POD", text)


@pytest.mark.parametrize(
    ("line", "usage", "error"),
    [
        pytest.param(
            f"schedule {QUICKSTART} -o foo",
            "podwright schedule [OPTIONS] FILE...",
            "Invalid value for '--output' / '-o': 'foo' is not one of 'table', 'wide', 'json', "
            "'yaml', 'name', 'pods'.",
            id="an unknown output format",
        ),
        pytest.param(
            "config show --seed 1",
            "podwright config show [OPTIONS] [FILE]",
            "No such option: --seed",
            id="an unknown option",
        ),
        pytest.param(
            f"explain web-0 {QUICKSTART} --nodes x",
            "podwright explain [OPTIONS] POD [FILE...]",
            "Invalid value for '--nodes': 'x' is not an integer.",
            id="no number",
        ),
        pytest.param(
            f"explain web-0 {QUICKSTART} --nodes 0",
            "podwright explain [OPTIONS] POD [FILE...]",
            "Invalid value for '--nodes': 0 must be greater than or equal to 1.",
            id="too small",
        ),
    ],
)
def test_usage_errors_have_no_internals(line, usage, error):
    stderr = run(line, status=2).stderr
    assert f"Usage: {usage}\n" in stderr
    assert f"error: {error}" in stderr


WITHOUT_EXAMPLE = {"clock", "config", "debug", "run", "study", "trace"}


def examples_of_help(command: str) -> list[str]:
    text = joined(ALL_COMMANDS[command].epilog or "")
    return re.findall(r"^ *\$ podwright (.*)$", text, re.MULTILINE)


def joined(text: str) -> str:
    return re.sub(r"\\\n\s+", "", text)


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_help_has_examples(command):
    found = examples_of_help(command)
    assert bool(found) != (command in WITHOUT_EXAMPLE)
    shown = joined(run(f"{command} --help").stdout)
    assert [line for line in found if f"  $ podwright {line}\n" not in shown] == []


def examples() -> tuple[str, ...]:
    reference = (ROOT / "docs/reference/cli.md").read_text()
    lines = [line for command in ALL_COMMANDS for line in examples_of_help(command)]
    lines += re.findall(r"^    \$ podwright (.*)$", reference, re.MULTILINE)
    return tuple(dict.fromkeys(lines))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_has_each_command(command):
    reference = (ROOT / "docs/reference/cli.md").read_text()
    # The completion script has no options of its own, and is among what all commands share.
    form = r"`podwright completion " if command == "completion" else rf"^## podwright {command}\b"
    assert re.search(form, reference, re.MULTILINE)


def ends_by_itself(line: str) -> bool:
    """Whether a command ends and needs no cluster; other modules run the others."""
    needs_cluster = ("clock", "debug", "import", "page", "record", "replay", "scheduler", "sync")
    return line.split(maxsplit=1)[0] not in ("up", *needs_cluster)


@pytest.mark.parametrize("line", [line for line in examples() if ends_by_itself(line)])
def test_the_examples_of_the_help_and_the_reference_run(line, a_run):
    line, may_fail, _ = line.partition(" || true")
    line, reads_nothing, _ = line.partition(" < /dev/null")
    if line.startswith(("run ", "explain ", "diff ", "report ")):
        line = re.sub(r"\bRUN\b", str(a_run), line)
    for written in ("report.html", "results", "tuned"):
        line = line.replace(f" {written}", f" {a_run.parent / written}")
    line = re.sub(r"(?<=--out )(?=\w+\.jsonl)", f"{a_run.parent}/", line)
    result = run(line, status=1 if may_fail else 0, stdin="" if reads_nothing else None)
    assert result.stdout or result.stderr


def test_help_imports_nothing_heavy():
    """In one process, which imports the modules of all commands."""
    code = (
        "import contextlib, sys\n"
        "from podwright.cli import COMMANDS, main\n"
        "for name in COMMANDS:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main([name, '--help'])\n"
        "    print(name, *sys.modules, file=sys.stderr)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stderr.splitlines()
    assert [line.split()[0] for line in shown] == list(COMMANDS)
    heavy = {"numba", "numpy", "msgspec", "yaml", "rich", "podwright.apimachinery.objects"}
    for line in shown:
        command, *loaded = line.split()
        assert heavy.isdisjoint(loaded), (command, heavy & set(loaded))


def test_a_mistyped_command_is_suggested():
    result = run("shedule", status=2)
    assert "Did you mean 'schedule', 'scheduler', 'scheduler-perf'?" in result.stderr
    assert not result.stdout


# ---------------------------------------------------------------- schedule


def test_decisions_are_a_table_with_upper_case_heads(write):
    files = write("cluster.yaml", NODES + pod("web", "4"))
    result = run(f"schedule {files}")
    assert result.stdout.splitlines() == [
        "NAMESPACE  POD  NODE   MESSAGE",
        "default    web  large",
    ]
    assert result.stderr.splitlines()[-1] == "1 of 1 pending pod scheduled on 2 nodes."


def test_a_pod_that_does_not_fit_is_exit_status_1_with_upstreams_message(write):
    files = write("cluster.yaml", NODES + pod("batch", "16"))
    result = run(f"schedule {files}", status=1)
    assert "default    batch  <none>  0/2 nodes are available: 2 Insufficient cpu." in result.stdout
    assert run(f"schedule {files} --exit-zero").stdout == result.stdout


def test_pods_of_other_schedulers_and_gated_pods_do_not_affect_the_status(write):
    gated = pod("gated", "1", spec="schedulingGates: [{name: wait}]")
    other = pod("other", "1", spec="schedulerName: other-scheduler")
    result = run(f"schedule {write('cluster.yaml', NODES + gated + other)}")
    assert "waiting for scheduling gates: [wait]" in result.stdout
    assert 'no profile has schedulerName "other-scheduler"' in result.stdout
    assert "1 is gated; 1 uses another scheduler" in result.stderr


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_decisions_as_a_document(write, output):
    files = write("cluster.yaml", NODES + pod("web", "4") + pod("batch", "16"))
    result = run(f"schedule {files} -o {output}", status=1)
    document = json.loads(result.stdout) if output == "json" else yaml.safe_load(result.stdout)
    web, batch = document["decisions"]
    assert (web["pod"], web["outcome"], web["node"]) == ("default/web", "Scheduled", "large")
    assert batch["node"] is None
    assert batch["rejections"] == [
        {
            "plugin": "NodeResourcesFit",
            "code": "UnschedulableAndUnresolvable",
            "reasons": ["Insufficient cpu"],
            "nodeCount": 2,
        }
    ]


def test_pods_come_out_with_their_node_or_with_the_condition(write):
    files = write("cluster.yaml", NODES + pod("web", "4") + pod("batch", "16"))
    items = yaml.safe_load(run(f"schedule {files} -o pods", status=1).stdout)["items"]
    assert items[0]["spec"]["nodeName"] == "large"
    assert items[1]["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert "nodeName" not in items[1]["spec"]
    # The output is valid input.
    again = run(
        f"schedule {write('nodes.yaml', NODES)} - -o name",
        stdin=yaml.safe_dump_all(items[:1]),
        status=2,
    )
    assert again.stderr == (
        "error: nothing to schedule: no pending pods among 1 pod (1 already placed, 2 nodes)\n"
    )


def test_names_are_those_that_explain_takes(write):
    files = write("cluster.yaml", NODES + pod("web", "4", namespace="shop"))
    assert run(f"schedule {files} -o name").stdout == "shop/web\n"


def test_one_pod_is_scheduled_against_the_cluster_as_given(write):
    files = write("cluster.yaml", NODES + pod("first", "8") + pod("second", "8"))
    assert "large" in run(f"schedule {files} --pod second").stdout
    assert "<none>" in run(f"schedule {files}", status=1).stdout


def test_the_seed_draws_and_the_rule_first_does_not(write):
    nodes = "".join(
        NODES.replace("small", f"n{i}").replace("large", f"m{i}") + "---" for i in range(8)
    )
    files = write("cluster.yaml", nodes + pod("web", "1"))
    drawn = {run(f"schedule {files} --seed {seed}").stdout for seed in range(8)}
    first = {run(f"schedule {files} --seed {seed} --tie-rule first").stdout for seed in range(8)}
    assert len(drawn) > 1
    assert len(first) == 1
    assert "m0" in first.pop()


# ---------------------------------------------------------------- errors


def test_all_errors_of_all_inputs_are_shown_together(write):
    nodes = write("nodes.yaml", NODES.replace('cpu: "2"', "cpu: two"))
    config = write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "paralelism: 1\n",
    )
    plugin = write("mine.py", "import podwright as pw\n\n1 / 0\n")
    result = run(
        f"schedule {nodes} {nodes}.missing --config {config} --plugin {plugin} "
        "--feature-gates Nonsense=true",
        status=2,
    )
    assert not result.stdout
    text = result.stderr
    assert f"{nodes}.missing: cannot be read: No such file or directory" in text
    assert f"{config}: paralelism" in text
    assert f"{plugin}: line 3: ZeroDivisionError: division by zero" in text
    assert "unrecognized feature gate: Nonsense" in text
    assert "Traceback" not in text


def test_a_field_error_names_file_document_and_path(write):
    nodes = write("nodes.yaml", NODES.replace('cpu: "8"', "cpu: eight"))
    result = run(f"schedule {nodes}", status=2)
    assert re.search(
        r"nodes\.yaml: document 2 \(line \d+\): status\.allocatable\[cpu\]: Invalid value",
        result.stderr,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("def broken(:\n", "line 1: ", id="not Python"),
        pytest.param(
            "x = 1\n", "no plugin in this file: it defines no subclass of Plugin", id="no plugin"
        ),
        pytest.param(
            "import podwright as pw\nclass A(pw.Plugin): pass\n", "A has no `name`", id="no name"
        ),
        pytest.param(
            "import podwright as pw\n"
            "class A(pw.Plugin): name = 'X'\n"
            "class B(pw.Plugin): name = 'X'\n",
            'A and B are both named "X"',
            id="one name twice",
        ),
        pytest.param("import no_such_module\n", "ModuleNotFoundError", id="a missing import"),
    ],
)
def test_errors_in_a_plugin_file_are_one_sentence(write, text, message):
    plugin = write("mine.py", text)
    result = run(f"schedule {QUICKSTART} --plugin {plugin}", status=2)
    assert message in result.stderr
    assert plugin in result.stderr
    assert "Traceback" not in result.stderr


def test_a_plugin_that_raises_is_an_answer_not_a_crash(write):
    text = """
import podwright as pw
class Broken(pw.Plugin):
    name = "Broken"
    def filter(self, cycle, node):
        raise KeyError("missing")
"""
    files = write("cluster.yaml", NODES + pod("web", "1"))
    result = run(f"schedule {files} --plugin {write('mine.py', text)}", status=1)
    assert 'running "Broken" filter plugin: KeyError' in result.stdout
    assert "default/web" in result.stdout
    assert "1 failed" in result.stderr


def test_a_namespace_filters_the_output_and_another_option_the_input(write):
    queue = pod("first", "2", namespace="other") + pod("second", "8", namespace="shop")
    files = write("cluster.yaml", NODES + queue + pod("third", "1", namespace="shop"))
    everything = run(f"schedule {files} --tie-rule first -o name --exit-zero").stdout.split()
    result = run(f"schedule {files} --tie-rule first -n shop -o name --exit-zero")
    assert result.stdout.split() == [key for key in everything if key.startswith("shop/")]
    result = run(f"schedule {files} --tie-rule first -n shop --exit-zero")
    assert "other" not in result.stdout
    assert "1 pod of other namespaces was scheduled as well" in result.stderr
    result = run(f"schedule {files} --tie-rule first --only-namespace shop -o name")
    assert result.stdout.split() == ["shop/second", "shop/third"]
    assert "shop/second" not in everything
    run(f"schedule {files} --only-namespace shop --pod shop/third", status=2)


def test_an_unknown_namespace_is_a_sentence():
    result = run(f"schedule {QUICKSTART} -n nosuch", status=2)
    assert "no pending pods in namespace nosuch among 40 pods" in result.stderr


@pytest.mark.parametrize("output", ["table", "wide", "name", "json", "yaml", "pods"])
def test_an_empty_cluster_is_a_sentence_and_no_success(write, output):
    result = run(f"schedule {write('nodes.yaml', NODES)} -o {output}", status=2)
    assert result.stdout == ""
    assert result.stderr == (
        "error: nothing to schedule: no pending pods among 0 pods (0 already placed, 2 nodes)\n"
    )


# ---------------------------------------------------------------- custom plugins


@pytest.mark.parametrize("plugin", ["keep_zone", "fast_keep_zone"])
def test_an_example_plugin_is_configured_by_name(plugin):
    result = run(
        f"schedule {QUICKSTART} --exit-zero --config examples/plugins/keep_zone.yaml "
        f"--plugin examples/plugins/{plugin}.py"
    )
    nodes = set(re.findall(r"(?:general|gpu)-(\w)\d", result.stdout))
    assert nodes == {"b"}
    assert "node(s) outside zone zone-b" in result.stdout


def test_a_plugin_that_no_configuration_names_is_enabled_and_explained():
    result = run(f"explain web-0 {QUICKSTART} --plugin examples/plugins/fewest_pods.py -o json")
    scores = {score["plugin"]: score for score in json.loads(result.stdout)["scores"]}
    nodes = scores["FewestPods"]["nodes"]
    assert {entry["normalized"] for entry in nodes.values()} >= {100}
    assert all(entry["weighted"] == entry["normalized"] for entry in nodes.values())


def test_an_unknown_plugin_points_at_the_option():
    expected = "Load a custom plugin with --plugin FILE, or install its package"
    config = "examples/plugins/keep_zone.yaml"
    stderr = (
        f"{config}: profiles[0].plugins.multiPoint: initializing profiles: creating profile for "
        'scheduler name default-scheduler: PreFilterPlugin "KeepZone" does not exist'
    )
    result = run(f"config check {config}", status=1)
    assert result.stdout.strip() == f"error: {stderr}"
    assert result.stderr.splitlines()[-1] == expected
    result = run(f"schedule {QUICKSTART} -c {config}", status=2)
    assert result.stderr.splitlines() == [f"error: {stderr}", expected]


@pytest.mark.parametrize("command", ["config check {}", f"schedule {QUICKSTART} -c {{}}"])
def test_errors_of_all_stages_of_a_configuration_are_printed(command, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "paralelism: 3\nparallelism: 0\n"
        "profiles: [{plugins: {score: {enabled: [{name: ImageLocalty}]}}}]\n---\nmore: 1\n"
    )
    result = run(command.format(config), status=1 if command.startswith("config") else 2)
    printed = result.stdout + result.stderr
    for expected in (
        'c.yaml: paralelism: unknown field "paralelism"; did you mean "parallelism"?',
        "c.yaml: parallelism: Invalid value: 0: should be an integer value greater than zero",
        'ScorePlugin "ImageLocalty" does not exist; did you mean "ImageLocality"?',
        "c.yaml: only the first document is read",
    ):
        assert expected in printed


def test_missing_arguments_of_a_plugin_are_a_sentence():
    result = run(f"schedule {QUICKSTART} --plugin examples/plugins/keep_zone.py", status=2)
    assert result.stderr == (
        'error: configuration: initializing plugin "KeepZone": missing a required argument:'
        " 'zone'; it takes zone (required), from profiles[].pluginConfig[].args of the"
        " configuration, for example pluginConfig: [{name: KeepZone, args: {zone: ...}}]\n"
    )


# ---------------------------------------------------------------- config


def test_the_configuration_is_shown_with_every_default_and_reads_again(write):
    text = run("config show").stdout
    document = yaml.safe_load(text)
    assert document["parallelism"] == 16
    assert run(f"config show {write('shown.yaml', text)}").stdout == text
    assert json.loads(run("config show -o json").stdout) == document


def test_the_configuration_as_a_table():
    lines = run("config show -o table").stdout.splitlines()
    assert lines[0].split() == ["PROFILE", "POINT", "PLUGIN", "WEIGHT"]
    assert any(
        line.split() == ["default-scheduler", "score", "TaintToleration", "3"] for line in lines
    )


def test_durations_are_written_as_go_writes_them(write):
    config = write(
        "c.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- pluginConfig: [{name: DynamicResources, args: {filterTimeout: 90s}}]\n",
    )
    wide = run(f"config show {config} -o wide").stdout
    assert '{"bindingTimeout":"10m0s","filterTimeout":"1m30s"}' in wide
    for output in ("yaml", "json"):
        document = yaml.safe_load(run(f"config show {config} -o {output}").stdout)
        args = {entry["name"]: entry["args"] for entry in document["profiles"][0]["pluginConfig"]}
        assert args["DynamicResources"]["filterTimeout"] == "1m30s"


def test_gates_without_effect_are_reported():
    one = "warning: the feature gate SchedulerAsyncAPICalls has no effect here"
    two = "warning: the feature gates SchedulerAsyncAPICalls, SchedulerPopFromBackoffQ have"
    gates = "--feature-gates SchedulerAsyncAPICalls=true,SchedulerPopFromBackoffQ=false"
    # Queue gates have an effect where a machine runs, but not in `schedule` and `explain`.
    assert one in run(f"config show {gates}").stderr
    assert two in run(f"schedule {QUICKSTART} --exit-zero {gates}").stderr
    assert two in run(f"explain web-0 {QUICKSTART} {gates}").stderr
    gates = "--feature-gates TaintTolerationComparisonOperators=true"
    assert "warning" not in run(f"schedule {QUICKSTART} --exit-zero {gates}").stderr


def test_what_has_no_effect_is_accepted_with_one_warning(write, tmp_path):
    gates = "--feature-gates SchedulerAsyncAPICalls=true"
    config = write(
        "c.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- plugins: {score: {disabled: [{name: NodeNam}]}}\n",
    )
    warning = (
        "the feature gate SchedulerAsyncAPICalls has no effect here"
        " (see docs/reference/feature-gates.md); disabled has no effect for unknown plugins:"
        ' "NodeNam" (did you mean "NodeName"?)'
    )
    for line in (
        f"schedule {QUICKSTART} --exit-zero --config {config}",
        f"explain web-0 {QUICKSTART} --config {config}",
        f"compare-rules {QUICKSTART} --config {config} --exit-zero",
        f"simulate {QUICKSTART} --exit-zero --config {config} --no-tables --out {tmp_path}/run",
        f"shadow examples/shadow --config {config}",
        f"config show {config}",
        f"config check {config} {config}",
    ):
        stderr = run(f"{line} {gates}").stderr.splitlines()
        assert [one for one in stderr if "warning" in one] == [f"warning: {warning}"], line
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["warnings"] == [warning]


def test_a_wrong_configuration_is_exit_status_1_with_every_problem(write):
    config = write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "parallelism: -1\npercentageOfNodesToScore: 300\n",
    )
    result = run(f"config check {config}", status=1)
    assert f"{config}: parallelism: Invalid value: -1" in result.stdout
    assert f"{config}: percentageOfNodesToScore: Invalid value: 300" in result.stdout
    assert run(f"config check {config}.missing", status=2).stdout == ""


# ---------------------------------------------------------------- parity


def test_agreement_is_printed_per_family_and_left_out_is_counted_apart():
    result = run("parity tests/golden/vectors/quantities.jsonl.gz")
    head, row = result.stdout.splitlines()[:2]
    assert head.split("  ")[0] == "FAMILY"
    assert row.split()[0] == "quantities"
    assert row.split()[1] == row.split()[2]
    fields = result.stdout.partition("FIELD ")[2].splitlines()[1:]
    assert fields
    assert all(line.split()[1] == line.split()[2] for line in fields)
    assert "agree in every field" in result.stderr


def test_a_difference_is_exit_status_1_and_shown(write):
    with gzip.open("tests/golden/vectors/taints.jsonl.gz", "rt") as lines:
        case = json.loads(next(lines))
    case["expect"]["feasible"] = ["no-such-node"]
    result = run(f"parity {write('one.jsonl', json.dumps(case))}", status=1)
    assert "First differences (1 of 1):" in result.stdout
    assert f"{case['id']}: feasible" in result.stdout
    assert 'kube-scheduler: ["no-such-node"]' in result.stdout
    assert "0 of 1 cases agree" in result.stderr


def test_what_is_not_a_vector_is_refused_with_its_line(write):
    file = write("bad.jsonl", '{"id": "a"}\n')
    assert f"{file}: line 1: not a vector" in run(f"parity {file}", status=2).stderr


def test_vectors_of_an_unknown_family_are_refused(write):
    file = write("other.jsonl", '{"id": "a", "family": "taint"}\n')
    assert f"{file}: line 1: unknown family 'taint'" in run(f"parity {file}", status=2).stderr


def test_each_file_has_to_have_vectors(write):
    vectors, file = "tests/golden/vectors/quantities.jsonl.gz", write("empty.jsonl", "\n")
    assert f"{file}: contains no vectors" in run(f"parity {vectors} {file}", status=2).stderr


def test_a_truncated_file_is_refused(tmp_path):
    file = tmp_path / "half.jsonl.gz"
    file.write_bytes(Path("tests/golden/vectors/taints.jsonl.gz").read_bytes()[:5000])
    assert f"{file}: cannot be read" in run(f"parity {file}", status=2).stderr


def test_vectors_that_are_all_skipped_are_no_agreement(write):
    case: dict[str, object] = {"id": "a", "family": "config", "gates": "NoSuchGate=true"}
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    case |= {"file": head, "accepted": True, "output": {}}
    result = run(f"parity {write('left.jsonl', json.dumps(case))}", status=1)
    assert "0 of 0 cases agree in every field; 1 skipped." in result.stderr


# ---------------------------------------------------------------- the process


def spawn(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from podwright.cli import main; main()", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_results_go_to_stdout_and_the_rest_to_stderr():
    done = spawn("schedule", QUICKSTART)
    assert done.returncode == 1
    assert done.stdout.startswith("NAMESPACE")
    assert "do not fit" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_color_is_for_terminals_and_respects_no_color():
    assert "\x1b[" in spawn("schedule", QUICKSTART, FORCE_COLOR="1").stdout
    assert "\x1b[" not in spawn("schedule", QUICKSTART, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_a_command_that_decides_nothing_compiles_nothing():
    done = spawn("version", "-o", "json")
    assert json.loads(done.stdout)["kube-scheduler"] == "1.36"
    assert "compiling" not in done.stderr


def test_make_run_succeeds_and_suggests_next_steps():
    done = spawn("schedule", QUICKSTART, "--explain", "--exit-zero")
    assert done.returncode == 0
    assert "Reasons by pod:" in done.stdout
    assert "podwright explain " in done.stderr
