"""The commands for recorded runs: `explain --run`, `run show` and `run step`."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.e2e.command_line import QUICKSTART, ROOT, run
from tests.waiting import SECONDS_MAX

from podwright.cli.inputs import load_plugins
from podwright.cli.recorded.run_step import describe_action, describe_event
from podwright.scheduler.config import read_configuration
from podwright.scheduler.machine import Bind, CallDone, CycleDue, ExtenderReplied, ObjectPut
from podwright.simulation.recording import Manifest
from podwright.simulation.recording.folders.stepping import Moment, Stepper
from podwright.simulation.recording.log.log_format import Entry, encode_actions
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.tests.recorded import START, recorded_log
from podwright.testing import make_node, make_pod

# ---------------------------------------------------------------- explain --run


def test_a_recorded_attempt_is_explained_with_its_time_and_outcome(a_run):
    text = run(f"explain batch --run {a_run} --attempt 1", status=1).stdout
    assert "Attempt:  1 of 4, 30s into the run (2026-01-01T00:00:30Z), event 22\n" in text
    assert re.search(r"Then: +requeued as unschedulable, waiting for NodeResourcesFit, "
                     r"with a backoff of 1s; attempt 2 followed 30s later\n", text)  # fmt: skip
    assert "cpu: requests 8, 2 free of 2" in text
    assert re.search(r"PLUGIN +REJECTS +small +large\n", text)


def test_without_an_attempt_or_a_time_it_is_the_last_one(a_run):
    text = run(f"explain pod/batch --run {a_run}").stdout
    assert "Attempt:  4 of 4, 10m0s into the run" in text
    assert "Then:     bound to huge immediately\n" in text


def test_a_recorded_preemptor_has_its_victims_and_node(a_run):
    text = run(f"explain urgent --run {a_run} --attempt 1", status=1).stdout
    assert "Preempts: default/web, default/db on large" in text
    assert "nominated to large; attempt 2 followed immediately" in text


def test_the_last_attempt_of_a_pending_pod_has_no_further_attempt(a_run):
    text = run(f"explain hopeless --run {a_run}", status=1).stdout
    assert "; no further attempt before the end of the run, immediately" in text


@pytest.mark.parametrize(
    ("at", "attempt"),
    [
        pytest.param("30s", 1, id="the time of an event includes the event"),
        pytest.param("59.9s", 1, id="the last attempt before"),
        pytest.param("1m", 2, id="a duration since the start"),
        pytest.param("2026-01-01T00:01:00Z", 2, id="a time"),
        pytest.param("2026-01-01T01:06:30+01:00", 3, id="a time elsewhere"),
        pytest.param("100h", 4, id="after the end"),
    ],
)
def test_a_time_chooses_the_last_attempt_that_was_over(a_run, at, attempt):
    document = json.loads(
        run(f"explain batch --run {a_run} --at {at} -o json", status=attempt < 4).stdout
    )
    assert (document["run"]["attempt"], document["run"]["attempts"]) == (attempt, 4)


def test_the_document_has_the_past_and_all_fields_of_explain_on_files(a_run):
    document = yaml.safe_load(
        run(f"explain batch --run {a_run} --attempt 1 -o yaml", status=1).stdout
    )
    assert document["run"] == {
        "event": 22,
        "time": "2026-01-01T00:00:30Z",
        "sinceStart": "30s",
        "attempt": 1,
        "attempts": 4,
        "then": {
            "outcome": "queued",
            "time": "2026-01-01T00:00:30Z",
            "node": None,
            "error": None,
            "queue": "unschedulable",
            "waitsFor": ["NodeResourcesFit"],
            "backoffEnd": "2026-01-01T00:00:31Z",
            "nominatedNode": None,
        },
        "nextAttempt": "2026-01-01T00:01:00Z",
    }
    of_files = json.loads(run(f"explain web-0 {QUICKSTART} -o json").stdout)
    assert set(document) == set(of_files) | {"run"}


def test_a_log_alone_will_do(a_run):
    assert run(f"explain web --run {a_run}/log").stdout == run(f"explain web --run {a_run}").stdout


def test_the_start_of_the_run_is_that_of_the_manifest(a_run, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "log").symlink_to(a_run / "log")
    manifest = folder / "manifest.json"
    manifest.write_bytes(msgspec.json.encode(Manifest(start_ns=START - 3_600 * 10**9, seed=7)))
    assert "1h0m10s into the run" in run(f"explain web --run {folder}").stdout
    manifest.write_text('{"format": 6, "seed": 7}')
    refused = run(f"explain web --run {folder}", status=2).stderr
    assert refused.startswith(f"error: {manifest} cannot be read: Object missing required field")


def test_nodes_are_those_that_were_there_then(a_run):
    text = run(f"explain web --run {a_run} --node small").stdout
    assert re.search(r"PLUGIN +REJECTS +large +small\n", text)
    wrong = run(f"explain web --run {a_run} --node huge", status=2).stderr
    assert wrong == 'error: no node "huge" in the cluster at that time\n'


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param("batsh --run RUN", 'no pod "batsh" in this run; did you mean default/batch',
                     id="an unknown pod"),
        pytest.param("held --run RUN", "has no scheduling attempt in this run: it is gated",
                     id="a pod without an attempt"),
        pytest.param("web -n shop --run RUN", 'no pod "web" in namespace "shop" in this run',
                     id="a namespace"),
        pytest.param("batch --run RUN --attempt 5", "4 scheduling attempts: there is no attempt 5",
                     id="an attempt too many"),
        pytest.param("batch --run RUN --attempt 0", "attempts are numbered from 1", id="attempt 0"),
        pytest.param("batch --run RUN --at 29s", "its first was at 2026-01-01T00:00:30Z",
                     id="before it came"),
        pytest.param("batch --run RUN --at noon",
                     '"noon": must be a duration since the start', id="no time"),
        pytest.param("batch --run RUN --at 2025-12-31T23:59:59Z",
                     "must not be before the start, 2026-01-01T00:00:00Z",
                     id="before the run"),
        pytest.param("batch --run RUN --at 5m --attempt 1", "cannot be combined with --attempt",
                     id="two selections"),
        pytest.param(f"batch {QUICKSTART} --run RUN", "FILE cannot be combined with --run",
                     id="files and a run"),
        pytest.param("batch", "no FILE is given: reading the cluster of the current context",
                     id="neither"),
        pytest.param(f"web-0 {QUICKSTART} --at 5m", "'--at': requires --run",
                     id="a time without a run"),
        pytest.param("batch --run RUN --seed 0", "'--seed': cannot be combined with --run",
                     id="decision options are part of the recording, even at their default"),
        pytest.param("batch --run RUN --alone", "'--alone': cannot be combined with --run",
                     id="alone"),
        pytest.param("batch --run RUN -c x.yaml", "'--config': cannot be combined with --run",
                     id="a config"),
        pytest.param(f"batch --run {QUICKSTART}", "holds no decision log", id="no run"),
        pytest.param("batch --run RUN --plugin examples/plugins/keep_zone.py",
                     "it was recorded without KeepZone", id="a plugin that the run did not use"),
    ],
)  # fmt: skip
def test_invalid_explain_requests_are_rejected(a_run, line, error):
    assert error in run(f"explain {line.replace('RUN', str(a_run))}", status=2).stderr


def test_a_workload_of_a_run_is_explained_by_a_pod_without_a_node(tmp_path):
    (tmp_path / "web.yaml").write_text(WEB)
    folder = tmp_path / "run"
    run(f"simulate {tmp_path}/web.yaml --until 1m --out {folder}", status=1)
    text = run(f"explain deploy/web --run {folder}", status=1).stdout
    assert re.match(r"Pod: +default/web-[0-9a-f]+-\w+\n", text)
    assert "Outcome:  Unschedulable" in text
    for line, answer in (
        ("deploy/wbe", 'no Deployment "wbe" with a scheduling attempt in this run; did you mean'),
        ("deploy/web -n other", 'no Deployment "web" in namespace "other"'),
        ("sts/web", 'no StatefulSet "web"'),
    ):
        assert answer in run(f"explain {line} --run {folder}", status=2).stderr


WEB = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: app, resources: {requests: {cpu: 1500m}}}]}
"""


def test_a_run_with_plugins_of_its_own_needs_their_files_again(tmp_path):
    file = "examples/plugins/keep_zone.py"
    configuration = read_configuration(
        Path("examples/plugins/keep_zone.yaml").read_text(), source="keep_zone.yaml"
    )
    plugins = load_plugins([Path(file)])
    recorder = record(str(tmp_path), configuration, plugins=plugins)
    recorder.handle(ObjectPut(make_node("n1", cpu="1")), 0)
    recorder.handle(ObjectPut(make_pod("web", cpu="1")), 1)
    recorder.handle(CycleDue(), 2)
    recorder.log.close()
    for line in (f"explain web --run {tmp_path}", f"run show {tmp_path}", f"run step {tmp_path}"):
        assert "KeepZone; pass their files with --plugin" in run(line, status=2).stderr
    explained = run(f"explain web --run {tmp_path} --plugin {file}", status=1).stdout
    assert "1 node: node(s) outside zone zone-b (KeepZone)" in explained
    assert "1 unschedulable" in run(f"run show {tmp_path} --plugin {file}").stdout
    stepped = run(f"run step {tmp_path} --plugin {file}", stdin="c\ne\n").stdout
    assert "(KeepZone)" in stepped


# ---------------------------------------------------------------- run show


def test_the_end_of_a_run_is_shown_as_a_summary_nodes_and_the_queue(a_run):
    lines = run(f"run show {a_run}").stdout.splitlines()
    assert lines[:8] == [
        "Time:     13m0s into the run (2026-01-01T00:13:00Z)",
        "Events:   67 of 67",
        "Nodes:    3: 3 Ready",
        "Pods:     4: 2 Pending, 2 Running",
        "Placed:   2 on nodes",
        "Queue:    1 unschedulable, 1 gated",
        "Used:     cpu 12/22 54%",
        "          memory 0/76Gi 0%",
    ]
    assert re.fullmatch(r"  large +Ready +1/110 +4/4 100% +0/8Gi 0%", lines[11])
    assert any(re.fullmatch(r"  default/hopeless +0 +3 +0s +4s +NodeResourcesFit", line)
               for line in lines)  # fmt: skip
    assert any(re.fullmatch(r"  default/held +0 +0 +12m +SchedulingGates", line)
               for line in lines)  # fmt: skip


def test_a_past_state_of_a_run_is_shown(a_run):
    document = json.loads(run(f"run show {a_run} --at 45s -o json").stdout)
    assert document["summary"]["podsByPhase"] == {"Pending": 2, "Running": 2}
    assert document["summary"]["resources"]["cpu"] == {
        "requested": "4000m", "allocatable": "6000m", "share": 4 / 6,
    }  # fmt: skip
    assert [node["name"] for node in document["nodes"]] == ["large", "small"]
    assert document["queue"]["unschedulable"] == [
        {
            "pod": "default/batch",
            "priority": 0,
            "attempts": 1,
            "since": "2026-01-01T00:00:30Z",
            "backoffEnd": "2026-01-01T00:00:31Z",
            "waitsFor": ["NodeResourcesFit"],
        }
    ]
    assert {pod["pod"]: (pod["node"], pod["queue"]) for pod in document["pods"]} == {
        "default/web": ("large", None),
        "default/db": ("large", None),
        "default/batch": (None, "unschedulable"),
        "default/held": (None, "gated"),
    }


def test_the_queue_is_empty_at_the_start_of_a_run(a_run):
    text = run(f"run show {a_run} --at 0").stdout
    assert "Time:     0s into the run (2026-01-01T00:00:00Z)" in text
    assert "The queue is empty." in text


def test_after_the_end_is_the_end(a_run):
    late = run(f"run show {a_run} --at 10h")
    assert "the run ends at 13m0s into the run" in late.stderr
    assert late.stdout == run(f"run show {a_run}").stdout


def test_without_a_time_the_end_of_the_run_is_shown_not_its_last_event(tmp_path):
    run(f"simulate {QUICKSTART} --until 24h --exit-zero --no-tables --out {tmp_path}/run")
    shown = run(f"run show {tmp_path}/run").stdout
    assert "Time:     24h0m0s into the run (2026-01-02T00:00:00Z)" in shown
    assert shown == run(f"run show {tmp_path}/run --at 24h").stdout


def test_nominations_are_shown(a_run):
    text = run(f"run step {a_run}", stdin="g 28\ns\n").stdout
    assert re.search(r"Nominated:\n  NODE +PODS\n  large +default/urgent\n", text)


def test_other_resources_are_shown_for_nodes_that_have_them(tmp_path):
    recorder = record(str(tmp_path))
    recorder.handle(ObjectPut(make_node("plain", cpu="4")), 0)
    recorder.handle(ObjectPut(make_node("fast", cpu="4", gpu=2)), 0)
    recorder.handle(ObjectPut(make_pod("web", cpu="1", gpu=1, node="fast")), 1)
    recorder.log.close()
    text = run(f"run show {tmp_path}").stdout
    assert re.search(r"nvidia.com/gpu 1/2 50%\n\n", text)
    assert re.search(r"  fast .* nvidia.com/gpu 1/2 50%\n", text)
    assert re.search(r"  plain [^g]*\n", text)


def test_long_lists_are_truncated_unless_wide(tmp_path):
    recorder = record(str(tmp_path / "log"))
    for number in range(30):
        recorder.handle(ObjectPut(make_node(f"node-{number}", cpu="1")), number)
    for number in range(25):
        recorder.handle(ObjectPut(make_pod(f"pod-{number}", cpu="2")), 100 + number)
        recorder.handle(CycleDue(), 100 + number)
    recorder.log.close()
    text = run(f"run show {tmp_path}").stdout
    assert "and 20 more nodes (-o wide)" in text
    assert "and 15 more pods (-o wide)" in text
    wide = run(f"run show {tmp_path} -o wide").stdout
    assert "more" not in wide
    assert wide.count("default/pod-24") == 2


def test_an_empty_log_is_shown_as_that(tmp_path):
    record(str(tmp_path)).log.close()
    assert "Events:   0 of 0" in run(f"run show {tmp_path}").stdout
    assert "before the first of 0 events" in run(f"run step {tmp_path}", stdin="").stdout
    assert 'no pod "web" in this run' in run(f"explain web --run {tmp_path}", status=2).stderr


def test_on_a_terminal_the_output_fits_the_width(a_run):
    shown = on_a_terminal("run", "show", str(a_run), "-o", "wide", width=60)
    assert "default/hopeless" in shown
    assert max(map(len, shown.splitlines())) <= 60


# ---------------------------------------------------------------- run step


def steps(a_run, *commands: str, at: str = "") -> list[str]:
    """Return the output of each command."""
    option = f" --at {at}" if at else ""
    text = run(f"run step {a_run}{option}", stdin="".join(f"{c}\n" for c in commands)).stdout
    return re.split(r"^step> .*\n|^step>\n", text, flags=re.MULTILINE)


def heads(parts: list[str]) -> list[str]:
    return [part.partition(",")[0].strip() for part in parts]


def test_steps_go_forward_and_back(a_run):
    begin, *parts = steps(a_run, "n", "", " ", "next", "b", "p", "n 10", "b 3", "back")
    assert begin.startswith("before the first of 67 events")
    numbers = (1, 2, 3, 4, 3, 2, 12, 9, 8)
    assert heads(parts) == [f"event {number} of 67" for number in numbers]


def test_an_event_is_shown_with_what_it_caused_and_the_queue(a_run):
    _, shown = steps(a_run, "g 27")
    assert shown.splitlines() == [
        "event 27 of 67, 1m0s into the run (2026-01-01T00:01:00Z)",
        "  scheduling cycle for default/urgent (attempt 1)",
        "  -> Warning Event FailedScheduling of pod default/urgent: 0/2 nodes are available: 2 "
        "Insufficient cpu.",
        "  -> set the status of pod default/urgent: PodScheduled is False (Unschedulable), "
        "nominated to large",
        "  -> set the status of pod default/web: DisruptionTarget is True (PreemptionByScheduler)",
        "  queue: 2 unschedulable, 1 gated; 2 pods on 2 nodes",
    ]


def test_the_stepper_moves_to_cycles_pods_events_and_times(a_run):
    parts = steps(a_run, "c", "c 2", "C", "/ batch", "/", "/held", "g 10m", "g 5", at="5s")
    numbers = (10, 12, 22, 17, 21, 22, 25, 62, 5)
    assert heads(parts) == [f"event {number} of 67" for number in numbers]


def test_the_cycle_and_the_queue_are_shown_on_demand(a_run):
    _, _, cycle, of_pod, queue, cluster = steps(a_run, "g 22", "e", "e web", "s", "S")
    assert cycle == run(f"explain batch --run {a_run} --attempt 1", status=1).stdout
    assert of_pod == run(f"explain web --run {a_run}").stdout
    assert re.search(r"default/batch +0 +1 +0s +1s +NodeResourcesFit", queue)
    assert cluster.startswith("Time:     30s into the run")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        pytest.param("x", 'unknown command "x"; ? lists the commands', id="no command"),
        pytest.param("n x", 'invalid count "x"', id="no number"),
        pytest.param("b", "start of the run", id="before the beginning"),
        pytest.param("C", "no earlier cycle", id="no cycle before"),
        pytest.param("g", "specify an event or a time: g NUMBER or g TIME", id="nowhere"),
        pytest.param("g noon", '"noon": must be a duration since the start', id="no time"),
        pytest.param("/", "specify a pod: / POD", id="no pod"),
        pytest.param("/ batsh",
                     'no pod "batsh" at this time or with an attempt in this run; did you mean '
                     "default/batch?", id="an unknown pod"),
        pytest.param("e", "no cycle ended with this event", id="nothing to explain"),
        pytest.param("e web", "pod default/web has no scheduling attempt up to event 0",
                     id="too early"),
        pytest.param("s", "The queue is empty.", id="an empty queue"),
        pytest.param("g 68", "the run has 67 events", id="after the end"),
        pytest.param("n 100", "end of the run", id="through the end"),
        pytest.param("?", "COMMAND", id="help"),
    ],
)  # fmt: skip
def test_invalid_commands_are_reported_and_the_prompt_continues(a_run, command, answer):
    _, output, then = steps(a_run, command, "g 1")
    assert answer in output
    assert then.startswith("event 1 of 67")


def test_quitting_skips_the_commands_that_follow(a_run):
    parts = steps(a_run, "n", "q", "n")
    assert heads(parts)[1:] == ["event 1 of 67", ""]


def test_a_terminal_has_a_prompt_and_ctrl_d_quits(a_run):
    shown = on_a_terminal("run", "step", str(a_run), typed=["n\n", "c\n", "e\n", "\x04"])
    assert shown.count("step> ") == 4
    assert "event 12 of 67" in shown
    assert "bound to large immediately" in shown


def on_a_terminal(*arguments: str, width: int = 80, typed: list[str] | None = None) -> str:
    """Run podwright on a terminal of a width; type after each prompt, and return the output."""
    master, slave = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "LINES"}}
    environment |= {"COLUMNS": str(width), "TERM": "xterm", "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, "-c", "from podwright.cli import main; main()", *arguments],
        stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True,
    )  # fmt: skip
    os.close(slave)
    waiting = list(typed or [])
    seen, answered = b"", 0
    end_s = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end_s:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 65_536)
        except OSError:
            break
        if not data:
            break
        seen += data  # which may end within a character
        if waiting and seen.count(b"step> ") > answered:
            answered += 1
            os.write(master, waiting.pop(0).encode())
    os.close(master)
    assert process.wait(SECONDS_MAX) == 0, seen
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode()).replace("\r\n", "\n")


# ---------------------------------------------------------------- texts


def test_every_event_and_action_of_a_run_has_a_text(tmp_path):
    log = recorded_log(tmp_path / "log")
    stepper = Stepper(log)
    expected = set()
    while stepper.forward():
        assert stepper.moment is not None
        expected.add(describe_event(stepper.moment))
        expected.update(map(describe_action, stepper.moment.actions))
    assert "pod default/web updated: Running, on large, terminating" in expected
    assert (
        "flush of unschedulable pods: pods parked for too long become active or back off"
        in expected
    )
    assert "delete pod default/db" in expected
    assert 'result of "bind pod default/web to large": done' in expected
    log.close()


def test_a_failed_call_has_its_error_in_the_text():
    from podwright.scheduler.config import ExtenderReply
    from podwright.scheduler.framework.binding import CallError

    def moment(event, request=None):
        entry = Entry(0, 0, event, encode_actions(()), ("default/web",))
        return Moment(
            entry=entry, is_new=False, request=request, sizes={}, node_count=0, placed_count=0
        )

    bind = Bind(3, "default/web", "u", "n1")
    failed = moment(CallDone(3, CallError("no such node")), bind)
    assert describe_event(failed) == 'result of "bind pod default/web to n1": failed: no such node'
    late = moment(ExtenderReplied(4, ExtenderReply(error="refused")))
    assert (
        describe_event(late)
        == "result of call 4: failed: refused; completes the cycle for default/web"
    )
