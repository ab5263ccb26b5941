"""Numbers in sentences of the pages are those of the code: limits, defaults and times."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from podwright.cli.clusters import scheduler_run
from podwright.cli.clusters.options import ShadowOptions
from podwright.cluster.api.endpoints.served.bare import HISTORY
from podwright.cluster.controllers.nodes.node_lifecycle import GRACE_NS
from podwright.cluster.kubelets import lifecycle
from podwright.cluster.kubelets.kubelet.containers import container_statuses
from podwright.cluster.store import sqlite_store
from podwright.online.apiserver.scheduling import plugin_monitor, served_scheduler
from podwright.online.live import driver, executors
from podwright.online.live.api_calls import RetryTimes
from podwright.online.sync.session import DIFFERENCES_MAX
from podwright.scheduler.advice import rejections
from podwright.scheduler.machine import Action
from podwright.scheduler.queueing import QueueSettings
from podwright.simulation.files import document_cache
from podwright.simulation.kss.annotations import LIMIT_BYTES
from podwright.simulation.recording.folders import run_manifest
from podwright.simulation.recording.log import decision_log, memory_checkpoints
from podwright.simulation.recording.log.log_tables import SHARE_CLASSES
from podwright.simulation.recording.usage import fragmentation_meter
from podwright.simulation.world import world_scheduler
from podwright.simulation.world.runs import simulation
from podwright.simulation.world.traces import trace_model

ROOT = Path(__file__).parents[1]
SECOND_NS = 1_000_000_000
MEBIBYTE = 1 << 20
WORDS = {3: "three", 5: "five", 10: "ten", 100: "a hundred"}


def minutes(nanoseconds: int) -> str:
    count, rest = divmod(nanoseconds, 60 * SECOND_NS)
    assert not rest
    return f"{WORDS.get(count, count)} minutes"


def seconds(nanoseconds: int) -> str:
    count, rest = divmod(nanoseconds, SECOND_NS)
    assert not rest
    return str(count)


def cards() -> int:
    """Return the most nodes that the page shows as cards."""
    source = ROOT / "src/podwright/online/ui/pictures/data/model.js"
    found = re.search(r"CARDS_MAX = (\d+);", source.read_text())
    assert found is not None
    return int(found[1])


SENTENCES = [
    (
        "howto/exchange-with-kube-scheduler-simulator",
        f"exceed {LIMIT_BYTES:,} bytes",
    ),
    (
        "howto/load-a-cluster",
        f"a YAML file of {document_cache.LEAST_BYTES // MEBIBYTE} MiB or more",
    ),
    (
        "howto/load-a-cluster",
        f"up to {document_cache.FOLDER_BYTES_MAX // MEBIBYTE} MiB in total",
    ),
    ("howto/look-back", f"a block after every {decision_log.BLOCK_EVENTS:,} events"),
    ("howto/look-back", f"has a checkpoint every {decision_log.CHECKPOINT_EVENTS:,} events"),
    (
        "howto/look-back",
        f"`podwright simulate` writes one every {simulation.LOG_CHECKPOINT_EVENTS:,}",
    ),
    (
        "howto/pod-lifecycle",
        f"the second time after {seconds(container_statuses.INITIAL_NS)} s,"
        f" then after {seconds(2 * container_statuses.INITIAL_NS)} s,"
        f" up to {minutes(container_statuses.MAX_NS)}",
    ),
    ("howto/run-a-cluster", f"from {cards() + 1} nodes on they are cells"),
    ("reference/page", f"from {cards() + 1} nodes on cells"),
    ("howto/run-a-cluster", f"After {seconds(GRACE_NS)} seconds the node lifecycle controller"),
    (
        "howto/run-a-cluster",
        f"the last {minutes(HISTORY['window_ns'])} (at most {HISTORY['window']:,} changes, or"
        f" {HISTORY['window_bytes'] // MEBIBYTE} MiB of JSON)",
    ),
    (
        "howto/run-a-cluster",
        f"the last {served_scheduler.LOG_EVENTS:,} events, or the last"
        f" {served_scheduler.LOG_BYTES // MEBIBYTE} MiB",
    ),
    (
        "howto/run-a-cluster",
        f"keeps up to {memory_checkpoints.MEMORY_CHECKPOINTS_MAX} states of the scheduler",
    ),
    (
        "howto/run-a-cluster",
        f"With more than {served_scheduler.MEMORY_CHECKPOINT_OBJECTS_MAX:,} nodes and pods",
    ),
    ("howto/follow-a-real-cluster", f"up to {DIFFERENCES_MAX:,} differences"),
    (
        "howto/run-a-cluster",
        f"at least {sqlite_store.FREE_PAGES_MAX * 4096 // MEBIBYTE} MiB and a quarter of the file"
        " are free",
    ),
    (
        "howto/schedule-a-real-cluster",
        f"at most {executors._PARALLEL} at once, and no further cycles while"
        f" {driver._CALLS_MAX} are unanswered",
    ),
    (
        "howto/schedule-a-real-cluster",
        f"are retried for {seconds(RetryTimes().call_ns)} seconds, with increasing delays;"
        f" Events {executors._EVENT_ATTEMPTS_MAX} times",
    ),
    (
        "howto/simulate",
        f"at least {WORDS[world_scheduler.UNPRODUCTIVE_CYCLES_PER_POD]} times each"
        f" and {WORDS[world_scheduler.UNPRODUCTIVE_CYCLES_MIN]} times in total",
    ),
    (
        "howto/pod-lifecycle",
        f"is an error after {WORDS[lifecycle.PLAYS_AT_ONCE_MAX]} repetitions",
    ),
    (
        "howto/schedule-a-real-cluster",
        f"requests in progress are completed, within {scheduler_run._END_SECONDS:g} seconds",
    ),
    ("howto/traces", f"the {trace_model._SIZES_MAX} most frequent sizes"),
    (
        "howto/shadow-a-real-cluster",
        f"if more than {ShadowOptions.__dataclass_fields__['allow'].default:g} % of the bindings",
    ),
    (
        "howto/drive-the-machine",
        f"`FlushUnschedulable` every {seconds(QueueSettings().unschedulable_flush_ns)} seconds",
    ),
    (
        "howto/run-a-cluster",
        f"shows the last {plugin_monitor.FAILURES_MAX} exceptions and errors",
    ),
    (
        "howto/explain-a-pending-pod",
        f"of the {rejections._MOST_WITH_DEVICES} closest nodes were rejected",
    ),
    ("reference/run-folder", f"`format` in the manifest is {run_manifest.FORMAT}"),
    ("reference/http-api", f"`nodes`: {SHARE_CLASSES} numbers of nodes"),
    (
        "reference/run-folder",
        f"a checkpoint of the machine every {simulation.LOG_CHECKPOINT_EVENTS:,} events",
    ),
    (
        "reference/run-folder",
        f"A checkpoint is written every {simulation.CHECKPOINT_EVENTS:,} events of the scheduler,"
        f" or every {WORDS[simulation._EVENTS_PER_KNOWN_OBJECT]} events per object that it knows,"
        f" or every {WORDS[simulation._EVENTS_PER_OBJECT]} events per existing object",
    ),
    (
        "reference/run-folder",
        f"{fragmentation_meter._TYPICAL_PERCENT} % of the pods so far, at most"
        f" {fragmentation_meter._TYPICAL_MOST} of them; they are recomputed when the number of"
        f" pods has grown by {fragmentation_meter._RECOUNTED_PERCENT - 100} %",
    ),
]


@pytest.mark.parametrize("page", sorted({page for page, _ in SENTENCES}))
def test_numbers_of_a_page_are_those_of_the_code(page):
    text = " ".join((ROOT / "docs" / f"{page}.md").read_text().split())
    missing = [sentence for where, sentence in SENTENCES if where == page and sentence not in text]
    assert missing == []


def test_the_actions_of_a_page_are_those_of_the_machine():
    text = (ROOT / "docs/howto/drive-the-machine.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(names) == sorted(action.__name__ for action in get_args(Action))
