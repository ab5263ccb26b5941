"""Options that have no effect in a combination are rejected; the error names both."""

from __future__ import annotations

import pytest
from tests.e2e.command_line import QUICKSTART, run

import podwright as pw
from podwright.scheduler.framework import TieRule
from podwright.testing import make_node

CLASSIC_CONFIGURATION = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nrules: classic\n"
)
POLICY = "apiVersion: v1\nkind: Policy\n"
OFFSET = "every node is tried"
EVERY = ("schedule", "simulate", "explain web-0")
"""The commands that decide by the selected rules."""

CASES = (
    # the selected rules
    *(
        case
        for command in EVERY
        for case in (
            (f"{command} CLUSTER --rules classic --preemption-offset zero",
             f"--preemption-offset: has no effect with --rules classic: {OFFSET}"),
            (f"{command} CLUSTER --rules classic --preemption-offset drawn",
             f"--preemption-offset: has no effect with --rules classic: {OFFSET}"),
            (f"{command} CLUSTER --config CLASSIC --preemption-offset zero",
             "--preemption-offset: has no effect with the v1.16 rules of the configuration:"),
            (f"{command} CLUSTER --policy POLICY --preemption-offset zero",
             "--preemption-offset: has no effect with --policy (v1.16 rules):"),
            (f"{command} CLUSTER --algorithm-provider DefaultProvider --preemption-offset zero",
             "--preemption-offset: has no effect with --algorithm-provider (v1.16 rules):"),
            (f"{command} CLUSTER --rules classic --tie-rule heap",
             "--tie-rule: has no effect with --rules classic: nodes are drawn"),
            (f"{command} CLUSTER --rules modern --algorithm-provider DefaultProvider",
             "--algorithm-provider: has no effect with --rules modern"),
            (f"{command} CLUSTER --rules modern --policy POLICY",
             "--policy: has no effect with --rules modern"),
            (f"{command} CLUSTER --policy POLICY --algorithm-provider DefaultProvider",
             "--algorithm-provider: has no effect with --policy"),
        )
    ),
    ("config show --rules modern --policy POLICY",
     "--policy: has no effect with --rules modern"),
    ("schedule CLUSTER --workers 2", "--workers: has no effect without --rules classic"),
    ("schedule CLUSTER --workers 1", "--workers: has no effect without --rules classic"),
    ("explain web-0 CLUSTER --rules modern --workers 2",
     "--workers: has no effect with --rules modern"),
    ("schedule CLUSTER --seed 1 --tie-rule first --preemption-offset zero",
     "--seed: has no effect with --tie-rule first and --preemption-offset zero"),
    ("explain web-0 CLUSTER --seed 1 --tie-rule first --preemption-offset zero",
     "--seed: has no effect with --tie-rule first and --preemption-offset zero"),
    # the inputs
    *(
        (f"{command} CLUSTER --openb-gpus milli",
         "options: --openb-gpus: has no effect without pods of the openb trace that request GPUs")
        for command in (*EVERY, "convert", "diff --to-seed 1", "compare-rules")
    ),
    # the output format
    *(
        (f"schedule CLUSTER --explain -o {output}",
         f"'--explain': has no effect with --output {output}")
        for output in ("json", "yaml", "name", "pods")
    ),
    ("explain web-0 CLUSTER --nodes 3 -o wide", "'--nodes': has no effect with --output wide"),
    ("explain web-0 CLUSTER --nodes 3 -o json", "'--nodes': has no effect with --output json"),
    ("explain web-0 CLUSTER --node gpu-a1 -o yaml",
     "'--node': has no effect with --output yaml"),
    ("explain web --run RUN --node n -o json", "'--node': has no effect with --output json"),
    ("explain web --run RUN --nodes 3 -o kss", "'--node': kss always includes all nodes"),
    ("convert CLUSTER --start 2026-01-01T00:00:00Z",
     "'--start': has no effect with --output yaml"),
    ("convert CLUSTER --start 2026-01-01T00:00:00Z -o kss",
     "'--start': has no effect with --output kss"),
    # the inputs
    ("explain placed CLUSTER PLACED --alone",
     "--alone: has no effect with POD default/placed, which is on node gpu-a1"),
    ("explain web-0 CLUSTER --at 1m", "'--at': requires --run"),
    ("explain web-0 CLUSTER --attempt 1", "'--attempt': requires --run"),
    ("explain web-0 CLUSTER -o kss", "'--output': kss requires --run"),
    *(
        (f"explain web --run RUN {option}", f"'{option.split()[0]}': cannot be combined with --run")
        for option in ("--alone", "--seed 0", "--rules modern", "--tie-rule drawn", "--workers 1",
                       "--preemption-offset drawn", "--feature-gates AllBeta=true",
                       "--config CLASSIC", "--policy POLICY", "--algorithm-provider x")
    ),
    ("explain web --run RUN --at 1m --attempt 1", "'--at': cannot be combined with --attempt"),
    ("convert CLUSTER --at 1m", "--at: requires a record of changes or a run"),
    ("convert RECORD -o record --start 2026-01-01T00:00:00Z",
     "--start: has no effect with RECORD, which has its own start"),
    ("shadow examples/shadow --delay 1",
     "--delay: has no effect with examples/shadow/scheduler.jsonl"),
    ("shadow examples/shadow --no-scheduler-log --scheduler-log examples/shadow/scheduler.jsonl",
     "examples/shadow/scheduler.jsonl: --scheduler-log cannot be combined with --no-scheduler-log"),
    ("config show examples/plugins/keep_zone.yaml --config CLASSIC",
     "'--config': has no effect with FILE examples/plugins/keep_zone.yaml"),
    *(
        (f"config check POLICY {option}",
         f"{option.split()[0]}: has no effect with POLICY: a Policy is validated separately")
        for option in ("--rules classic", "--algorithm-provider DefaultProvider",
                       "--feature-gates AllBeta=true", "--policy POLICY",
                       "--plugin examples/plugins/keep_zone.py")
    ),
    # The folder of a run.
    ("simulate CLUSTER --timings -o name", "'--timings': has no effect with --output name"),
    ("simulate CLUSTER --timings --rules classic",
     "--timings: has no effect with --rules classic: its predicates and priorities are not "
     "plugins"),
    ("simulate CLUSTER --timeline", "'--timeline': has no effect without --out"),
    ("simulate CLUSTER --no-tables", "'--no-tables': has no effect without --out"),
    ("simulate CLUSTER --checkpoint-events 5",
     "'--checkpoint-events': has no effect without --out"),
    *(
        (f"simulate CLUSTER --ending {ending}",
         "--ending: has no effect without pods of the openb trace that have times;"
         " there are none in CLUSTER")
        for ending in ("after-run-time", "at-deletion-time")
    ),
    *(
        (f"simulate --resume RUN {option}",
         f"'{option.split()[0]}': cannot be combined with --resume")
        for option in ("--no-tables", "--timings", "--seed 0", "--out other", "--until 1h",
                       "--sample 1m", "--ending after-run-time", "--rules modern", "--events x")
    ),
)  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_an_option_without_effect_is_rejected(line, expected, write, a_run):
    paths = {
        "CLUSTER": QUICKSTART,
        "CLASSIC": write("classic.yaml", CLASSIC_CONFIGURATION),
        "POLICY": write("policy.yaml", POLICY),
        "PLACED": write(
            "placed.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: placed}\n"
            "spec: {nodeName: gpu-a1, containers: [{name: c, image: app}]}\n",
        ),
        "RECORD": "examples/shadow/record.jsonl",
        "RUN": str(a_run),
    }
    for name, path in paths.items():
        line, expected = line.replace(name, path), expected.replace(name, path)
    result = run(line, status=2)
    assert not result.stdout
    assert expected in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        f"schedule {QUICKSTART} --tie-rule first --preemption-offset zero -o name --exit-zero",
        f"schedule {QUICKSTART} --seed 1 --tie-rule first -o name --exit-zero",
        f"schedule {QUICKSTART} --rules classic --tie-rule drawn --workers 1 --exit-zero",
        f"compare-rules {QUICKSTART} --workers 1 --seed 1 --exit-zero",
        f"simulate {QUICKSTART} --exit-zero --seed 1 --tie-rule first --preemption-offset zero",
        f"explain web-0 {QUICKSTART} --alone --nodes 3",
        f"convert {QUICKSTART} --start 2026-01-01T00:00:00Z -o record",
        "shadow examples/shadow --no-scheduler-log --delay 1 --allow 100",
    ],
)
def test_an_option_with_an_effect_is_accepted(line):
    run(line)


def test_arguments_without_effect_are_rejected():
    classic = pw.read_configuration(CLASSIC_CONFIGURATION, source="c")
    nodes = [make_node("n", cpu="1")]
    refused = (
        ("tie_rule: has no effect with the v1.16 rules",
         lambda: pw.Scheduler(classic, tie_rule=TieRule.FIRST)),
        ("draws_preemption_offset: has no effect with the v1.16 rules",
         lambda: pw.Scheduler(classic, draws_preemption_offset=False)),
        ("parallelize_until: has no effect with the v1.36 rules",
         lambda: pw.Scheduler(parallelize_until=lambda *_: None)),
        ("draws_preemption_offset: has no effect with the v1.16 rules",
         lambda: pw.simulate(nodes, configuration=classic, draws_preemption_offset=False)),
        ("checkpoint_events: has no effect without output",
         lambda: pw.simulate(nodes, checkpoint_events=5)),
        ("ending: has no effect without pods of the openb trace",
         lambda: pw.simulate(nodes, ending="after_run_time")),
    )  # fmt: skip
    for expected, call in refused:
        with pytest.raises(pw.InputError, match=expected):
            call()
