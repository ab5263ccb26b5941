"""What commands say besides their results: what is left out, ignored, or of another version."""

from __future__ import annotations

import asyncio
import builtins
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, encode
from podwright.apimachinery.schema import decode
from podwright.cli import _show_warning
from podwright.cli.clusters import scheduler_run
from podwright.cli.clusters.remote_work import once_answered, warn_of_version
from podwright.cli.decisions.parity_run import _shown
from podwright.cli.inputs import Inputs
from podwright.cli.options import Setup
from podwright.cli.planning.plan_inputs import show_plan
from podwright.cli.recorded import run_step
from podwright.cli.serving.up_inputs import inputs_of
from podwright.cli.tests.served import command
from podwright.cli.tests.test_scheduler_command import Noted
from podwright.cluster.store import ObjectStore
from podwright.online.client.cluster import (
    ChangedObject,
    Meta,
    RejectedRequest,
    UnreachableCluster,
)
from podwright.online.sync import SourceChange, source_kinds
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import Gates
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.capacity.plan_report import Finding, PlanReport, PlanTable
from podwright.simulation.files import load_bytes
from podwright.testing import make_node, make_pod

EXAMPLES = Path(__file__).parents[4] / "examples"
KINDS = {kind.resource: kind for kind in source_kinds()}


# ---------------------------------------------------------------- a live scheduler


def live_scheduler(machine: Any) -> Any:
    connection: Any = None
    return scheduler_run.LiveScheduler(
        connection, machine, machine.handle, Noted(), None, is_delayed=False
    )


def changed(event: Any, resource: str, obj: Any) -> SourceChange:
    metadata = obj["metadata"]
    meta = Meta(name=metadata["name"], namespace=metadata.get("namespace", ""))
    body = b"" if event == "Delete" else json.dumps(obj).encode()
    return SourceChange(KINDS[resource], ChangedObject(event, meta, body), 0)


def test_a_live_scheduler_takes_changes_and_ignores_objects_that_it_cannot_read(capsys):
    machine = machine_of(SchedulerOptions())
    live = live_scheduler(machine)

    async def take() -> None:
        for name in ("n1", "n2"):
            live._take(changed("Add", "nodes", encode(make_node(name))))
        live._take(changed("Delete", "nodes", {"metadata": {"name": "n1"}}))
        wrong = {"metadata": {"name": "p", "namespace": "a"}, "spec": {"containers": 7}}
        live._take(changed("Add", "pods", wrong))

    asyncio.run(take())
    assert [obj.metadata.name for obj in machine.objects()] == ["n2"]
    error = capsys.readouterr().err
    assert error.startswith("pod/a/p is ignored: ")
    assert error.count("\n") == 1


def test_a_live_scheduler_counts_pods_with_values_that_it_does_not_know(capsys):
    machine = machine_of(SchedulerOptions())
    live = live_scheduler(machine)
    later = encode(make_pod("p", node="n1", cpu="1"))
    later["spec"]["preemptionPolicy"] = "Later"

    async def take() -> None:
        live._take(changed("Add", "nodes", encode(make_node("n1"))))
        live._take(changed("Add", "pods", later))

    asyncio.run(take())
    assert [obj.metadata.name for obj in machine.objects()] == ["n1", "p"]
    assert capsys.readouterr().err.startswith(
        "pod/default/p is read without what is not known: spec.preemptionPolicy: Unsupported value:"
    )


def test_only_the_leader_has_metrics_of_what_pods_request():
    live = live_scheduler(machine_of(SchedulerOptions()))
    asyncio.run(take_one(live))
    assert live.resources_text() == b""
    live._leads.set()
    assert b'pod="p"' in live.resources_text()


async def take_one(live: Any) -> None:
    live._take(changed("Add", "pods", encode(make_pod("p", cpu="1"))))


def test_a_part_of_a_live_scheduler_that_fails_ends_it():
    live = live_scheduler(machine_of(SchedulerOptions()))

    async def fail() -> None:
        raise ZeroDivisionError

    async def wait(*_: Any) -> None:
        await asyncio.Event().wait()

    live.add(fail())
    live._follow = live._schedule = wait
    with pytest.raises(ZeroDivisionError):
        asyncio.run(live.run(None, lambda _: None))
    assert live.is_stopping()


# ---------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("version", "is_warned"),
    [("v1.36.4", False), ("v1.20.1", True), ("v1.99.0", True)],
)
def test_a_server_of_another_version_is_warned_of(version, is_warned, capsys):
    async def get(_: str) -> bytes:
        return json.dumps({"gitVersion": version}).encode()

    connection: Any = SimpleNamespace(get=get, access=SimpleNamespace(server="s"))
    asyncio.run(warn_of_version(connection))
    text = f"warning: the server runs {version}, and podwright follows v1.36"
    error = capsys.readouterr().err
    assert error.startswith(text) if is_warned else error == ""


REFUSED = UnreachableCluster("s cannot be reached", "check it")
FAILING = RejectedRequest("s: unavailable", status=503)
DENIED = RejectedRequest("s: forbidden", status=403)
OTHER = UnreachableCluster("s is not a Kubernetes API server", is_passing=False)


@pytest.mark.parametrize(
    ("errors", "seconds", "raised", "printed"),
    [
        ([], None, None, ""),
        ([REFUSED], None, None, "start: s cannot be reached; check it; retrying\n"),
        ([FAILING, FAILING], 5, None, "start: s: unavailable; retrying\n"),
        ([DENIED], None, DENIED, ""),
        ([REFUSED, OTHER], None, OTHER, "start: s cannot be reached; check it; retrying\n"),
        ([FAILING, REFUSED], 1.7, REFUSED, "start: s: unavailable; retrying\n"),
        ([REFUSED], 0.5, REFUSED, ""),
    ],
)
def test_first_requests_are_repeated_while_a_server_starts(
    errors, seconds, raised, printed, capsys, monkeypatch
):
    left, waits = list(errors), list[float]()

    async def work() -> str:
        if left:
            raise left.pop(0)
        return "done"

    async def sleep(wait: float) -> None:
        waits.append(wait)

    monkeypatch.setattr("podwright.cli.clusters.remote_work.asyncio.sleep", sleep)
    monkeypatch.setattr("podwright.cli.clusters.remote_work.time.monotonic", lambda: sum(waits))
    if raised is None:
        assert asyncio.run(once_answered(work, seconds)) == "done"
    else:
        with pytest.raises(type(raised)) as found:
            asyncio.run(once_answered(work, seconds))
        assert found.value is raised
    assert not left
    assert waits == sorted(waits)
    assert capsys.readouterr().err == printed


@pytest.mark.parametrize(
    ("output", "shown", "more"),
    [("table", 2, "1 more are shown with -o wide or -o json.\n"), ("wide", 3, "")],
)
def test_a_plan_shows_the_first_rows_of_a_table(output, shown, more, capsys):
    rows: list[tuple[str, ...]] = [("a",), ("b",), ("c",)]
    report = PlanReport(
        "Title",
        [Finding("Later:", ("one", "two")), Finding("First.")],
        [],
        [PlanTable("Nodes", ("NAME",), rows, 2), PlanTable("Empty", ("NAME",), [], 2)],
    )
    options: Any = SimpleNamespace(report=None, output=output)
    show_plan(report, options, dict, ())
    found = capsys.readouterr()
    names = "".join(f"{row[0]}\n" for row in rows[:shown])
    assert found.out == f"First.\n\nNodes:\nNAME\n{names}\nLater:\n  one\n  two\n"
    assert found.err == more


def test_a_value_that_is_no_json_is_shown_as_python_writes_it():
    assert _shown({"a": [1, None]}) == '{"a":[1,null]}'
    assert _shown(1j) == "1j"


def test_the_last_line_of_a_record_that_is_cut_is_ignored_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES / "shadow", "s")
    record = Path("s/record.jsonl")
    lines = record.read_text().splitlines()
    record.write_text("\n".join([*lines, '{"time": ']))
    printed, errors, _ = command("shadow s")
    text = f"warning: s/record.jsonl: line {len(lines) + 1}: ignored, since it has no line feed"
    assert text in errors.splitlines()
    assert f"s/record.jsonl: {len(lines)} changes" in printed


def test_lines_are_entered_at_a_terminal_until_its_input_ends(monkeypatch, capsys):
    entered = iter(["n", "q"])
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        try:
            return next(entered)
        except StopIteration:
            raise EOFError from None

    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr(builtins, "input", read)
    assert list(run_step._lines()) == ["n", "q"]
    assert prompts == [run_step._PROMPT] * 3
    assert capsys.readouterr().out == "\n", "the line of the last prompt ends"


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com", "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}}}}],
    },
}  # fmt: skip
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": "x"}


@pytest.mark.parametrize("validate", ["strict", "warn", "ignore"])
def test_a_custom_object_that_its_definition_rejects_is_an_error_a_warning_or_ignored(
    validate, capsys
):
    store = ObjectStore()
    data = "\n".join(json.dumps(each) for each in (DEFINITION, WIDGET)).encode()
    loaded = load_bytes([("f.jsonl", data)], validate=validate)
    read = Inputs(loaded, None, [], Gates(), "", {}, False)

    def inputs() -> Any:
        return inputs_of(
            read, (), Setup(validate=validate), nodes=0, has_storage_class=False,
            has_drivers=False, store=store, start_ns=0,
        )  # fmt: skip

    if validate == "strict":
        with pytest.raises(InputError, match='size: Invalid value: "string"'):
            inputs()
        return
    assert len(list(inputs())) == 2
    error = capsys.readouterr().err
    assert ("size: Invalid value" in error) is (validate == "warn")
    assert decode(DEFINITION).metadata.name == "widgets.example.com"


@pytest.mark.parametrize(
    ("called", "on_path", "program"),
    [
        ("/venv/bin/podwright", None, "/venv/bin/podwright"),
        ("/a folder/podwright", None, "'/a folder/podwright'"),
        ("/venv/bin/podwright", "/venv/bin/podwright", "podwright"),
        ("podwright", None, "podwright"),
        ("/lib/__main__.py", None, "podwright"),
    ],
)
def test_next_steps_call_podwright_as_it_can_be_called(
    called, on_path, program, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(shutil, "which", lambda name: on_path if name == "podwright" else None)
    monkeypatch.chdir(tmp_path)
    objects = [make_node("n1"), make_pod("web", cpu="99")]
    Path("a.json").write_text(json.dumps({"kind": "List", "items": list(map(encode, objects))}))
    errors = command("schedule a.json --explain")[1]
    assert errors.splitlines()[-1] == f"  {program} explain default/web a.json"


def test_the_scheduler_names_of_a_configuration_are_those_of_both_rule_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = [make_node("n1"), make_pod("web", scheduler="mine")]
    Path("a.json").write_text(json.dumps({"kind": "List", "items": list(map(encode, objects))}))
    Path("c.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: mine}]\n"
    )
    document, _, status = command("compare-rules a.json -c c.yaml -o json")
    (pod,) = json.loads(document)["pods"]
    assert (pod["same"], status) == (True, 0)
    assert {pod[side]["node"] for side in ("modern", "classic")} == {"n1"}


@pytest.mark.parametrize(
    "line",
    [
        "capacity EXAMPLES/capacity/web.yaml EXAMPLES/capacity/cluster.yaml",
        "drain-plan n1 nodes.json",
        "check EXAMPLES/scenarios/rollout.yaml",
    ],
)
def test_a_report_is_a_page_beside_what_is_printed(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nodes.json").write_text(json.dumps(encode(make_node("n1"))))
    line = line.replace("EXAMPLES", str(EXAMPLES))
    without = command(line)
    assert without[2] == 0, without
    printed, errors, status = command(f"{line} --report r.html")
    assert (printed, status) == (without[0], without[2])
    page = Path("r.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "</html>" in page
    assert errors.replace("wrote r.html; open it in a browser\n", "") == without[1]


@pytest.mark.parametrize(
    ("pods", "options", "text"),
    [
        (0, "", "has no pods to schedule."),
        (0, "--reschedule", "has no pods to schedule."),
        (1, "", "has no pending pods; --reschedule schedules the 1 pod that has a node again."),
        (2, "", "has no pending pods; --reschedule schedules the 2 pods on nodes again."),
        (2, "--reschedule", None),
    ],
)
def test_a_comparison_of_nothing_says_what_would_be_one(pods, options, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = [make_node("n1"), *(make_pod(f"p{each}", node="n1") for each in range(pods))]
    Path("a.json").write_text(json.dumps({"kind": "List", "items": list(map(encode, objects))}))
    Path("c.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    errors, status = command(f"diff a.json --to-config c.yaml {options}")[1:]
    if text is None:
        assert status == 0, errors
    else:
        assert (errors.endswith(f": {text}\n"), status) == (True, 2), errors


def test_next_steps_repeat_the_options_of_the_decisions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = [make_node("n1"), make_pod("web", cpu="99")]
    Path("a.json").write_text(json.dumps({"kind": "List", "items": list(map(encode, objects))}))
    plugin, configuration = (EXAMPLES / "plugins" / f"keep_zone.{each}" for each in ("py", "yaml"))
    given = (
        f"--config {configuration} --plugin {plugin} --seed 3"
        " --preemption-offset zero --feature-gates GangScheduling=false"
    )
    errors = command(f"schedule a.json --explain --validate ignore {given}")[1]
    assert errors.splitlines()[-1] == f"  podwright explain default/web a.json {given}"


def test_the_older_rules_are_compared_without_plugins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = [make_node("n1"), make_pod("web")]
    Path("a.json").write_text(json.dumps({"kind": "List", "items": list(map(encode, objects))}))
    plugins = EXAMPLES / "plugins"
    given = f"--plugin {plugins}/keep_zone.py -c {plugins}/keep_zone.yaml"
    document, errors, status = command(f"compare-rules a.json {given} -o json")
    (pod,) = json.loads(document)["pods"]
    assert (pod["modern"]["node"], pod["classic"]["node"]) == (None, "n1"), errors
    assert pod["modern"]["rejections"][0]["plugin"] == "KeepZone"
    assert status == 1


def test_several_configurations_are_compared_on_the_objects_afterwards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, node in (("before", "n1"), ("after", "n2")):
        items = list(map(encode, (make_node(node), make_pod("web"))))
        Path(f"{name}.json").write_text(json.dumps({"kind": "List", "items": items}))
    for name in ("c.yaml", "d.yaml"):
        Path(name).write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        )
    line = "diff before.json --to after.json --to-config c.yaml --to-config d.yaml -o json"
    document, errors, status = command(line)
    found = json.loads(document)["configurations"]
    assert [each["config"] for each in found] == ["c.yaml", "d.yaml"]
    for each in found:
        (pod,) = each["pods"]
        assert (pod["before"]["node"], pod["after"]["node"]) == ("n1", "n2"), errors
    assert status == 1


WARNS = """
import warnings
import podwright as pw

class Careful(pw.Plugin):
    name = "Careful"

    def pre_filter(self, cycle):
        warnings.warn("be careful")
        warnings.warn("old", RuntimeWarning)
        return pw.Status()
"""


def test_warnings_of_plugins_are_printed_as_those_of_commands(tmp_path):
    plugin = tmp_path / "careful.py"
    plugin.write_text(WARNS)
    line = [
        "schedule",
        str(EXAMPLES / "quickstart"),
        "--pod",
        "web-0",
        "--plugin",
        str(plugin),
        "--exit-zero",
    ]
    run = [sys.executable, "-m", "podwright", *line, "-o", "name"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    first, second, *_ = done.stderr.splitlines()
    assert first == "warning: be careful"
    assert second.startswith(f"{plugin}:")
    assert second.endswith(": RuntimeWarning: old")


@pytest.mark.parametrize(
    ("category", "is_of_users"),
    [
        pytest.param(UserWarning, True, id="what rooms and plugins say"),
        pytest.param(RuntimeWarning, False, id="what Python says"),
        pytest.param(DeprecationWarning, False, id="of old names"),
    ],
)
def test_a_warning_of_a_room_is_one_of_the_command(category, is_of_users, capsys):
    file = io.StringIO()
    _show_warning("look here", category, "a.py", 7)
    _show_warning(category("again"), category, "a.py", 8, file, "x = 1")
    printed = capsys.readouterr().err.splitlines()
    if is_of_users:
        assert printed == ["warning: look here", "warning: again"]
        return
    assert printed[0] == f"a.py:7: {category.__name__}: look here"
    assert file.getvalue() == f"a.py:8: {category.__name__}: again\n  x = 1\n"
