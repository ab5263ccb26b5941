"""The limits of a server: those of kube-apiserver, and those that bound a turn, memory and files.

A test that needs a limit reads it from its module, so that only this table says what it is.
"""

import sys
from typing import Any

import pytest

from podwright.online.apiserver import (
    breakpoints,
    cluster_clock,
    computing_threads,
    event_correlation,
    event_objects,
    free_memory,
    readers,
    turn_loop,
)
from podwright.online.apiserver.access import certificates
from podwright.online.apiserver.control import clock, endpoints, snapshot, state, writes
from podwright.online.apiserver.control.scheduling import planning, progress
from podwright.online.apiserver.kss_api import application as kss_application
from podwright.online.apiserver.records import change_record, run_collection, snapshots
from podwright.online.apiserver.scheduling import (
    plugin_monitor,
    present_scheduler,
    result_annotations,
    running_scheduler,
    served_scheduler,
    shadow_feed,
)
from podwright.online.apiserver.wire import application, http2, latency, sending, serving

MS = 10**6
SECOND = 10**9
KIB, MIB, GIB = 2**10, 2**20, 2**30


@pytest.mark.parametrize(
    ("module", "limits"),
    [
        pytest.param(
            event_correlation,
            {"SIMILAR_MAX": 10, "SIMILAR_NS": 600 * SECOND, "BURST": 25, "REFILL_NS": 300 * SECOND},
            id="client-go's correlator of Events",
        ),
        pytest.param(
            sending,
            {"STALL_SECONDS": 60, "HEAD_SECONDS": 32, "HEAD_BYTES_MAX": MIB + 4 * KIB},
            id="kube-apiserver's connections",
        ),
        pytest.param(application, {"BODY_READ_MAX": 3 * MIB + 1}, id="kube-apiserver's bodies"),
        pytest.param(
            sys.modules["podwright.online.apiserver.device_cards_kind"],
            {"_MAX_TEXTS": 64, "_MAX_PARTITIONS": 128, "_MAX_ENTRIES": 64},
            id="cards, as lists of ResourceSlices",
        ),
        pytest.param(
            certificates,
            {"_AUTHORITY_DAYS": 3650, "_LEAF_DAYS": 365, "_RENEWED_DAYS": 30},
            id="kubeadm's certificates",
        ),
        pytest.param(
            http2,
            {
                "STREAMS_MAX": 1000, "BODY_WINDOW_BYTES": 256 * KIB, "_EXECUTED_MAX": 4000,
                "_WINDOW_MAX": 2**31 - 1, "_WINDOW_AT_FIRST": 2**16 - 1, "_UNREAD_MAX_BYTES": MIB,
            },
            id="HTTP/2",
        ),
        pytest.param(
            serving,
            {
                "KEEP_ALIVE_SECONDS": 185, "STOP_SECONDS": 5, "_TICK_SECONDS": 0.1,
                "_PAUSE_SECONDS": 0.005, "_BACKLOG": 2048,
            },
            id="connections that do nothing",
        ),
        pytest.param(
            turn_loop,
            {
                "REQUESTS_NS": 4 * MS, "LONG_REQUEST_NS": 2 * MS, "WORLD_NS": 6 * MS,
                "WORLD_PAUSE_NS": 3 * MS, "WITHOUT_MAX": 20, "CHECKPOINT_SLICE_SECONDS": 0.002,
                "CALL_SLICE_SECONDS": 0.0001, "CALL_PAUSE_SECONDS": 0.005,
            },
            id="a turn",
        ),
        pytest.param(
            sending, {"PASS_NS": 4 * MS, "_SEND_NS": 20_000, "_NS_PER_BYTE": 1, "_FEW": 8},
            id="a pass of the event loop",
        ),
        pytest.param(
            computing_threads,
            {
                "SLICE_SECONDS": 0.004, "SWITCH_SECONDS": 0.001, "LONG_NS": 20 * MS,
                "LONG_FOR": 256, "THREADS_MAX": 16,
            },
            id="threads beside the loop",
        ),
        pytest.param(
            served_scheduler,
            {
                "LOGS_MAX": 10, "LOG_BLOCK_EVENTS": 256, "LOG_EVENTS": 500_000,
                "LOG_BYTES": 10 * MIB, "CHECKPOINTS_KEPT": 4, "CHECKPOINT_BY_DRIVER": 2**40,
                "MEMORY_CHECKPOINT_EVENTS": 10_000, "EVENTS_PER_OBJECT": 0.5,
                "STATE_EVENTS": 4_000, "STATE_EVENTS_PER_OBJECT": 0.25,
                "MEMORY_CHECKPOINT_OBJECTS_MAX": 40_000,
            },
            id="the log of decisions",
        ),
        pytest.param(result_annotations, {"SLICE_NS": 5 * MS}, id="annotations of results"),
        pytest.param(shadow_feed, {"INTERVAL_SECONDS": 5}, id="decisions that are compared"),
        pytest.param(
            plugin_monitor, {"FAILURES_MAX": 200, "_FRAMES_MAX": 20, "_MESSAGE_MAX": 2_000},
            id="failures of plugins",
        ),
        pytest.param(present_scheduler, {"PART_CHANGES": 200}, id="changes read at once"),
        pytest.param(change_record, {"_PART_OBJECTS": 200}, id="objects recorded at once"),
        pytest.param(running_scheduler, {"POLL_SECONDS": 0.3}, id="files of plugins"),
        pytest.param(
            free_memory,
            {
                "SMALL_BYTES": 512 * MIB, "_LARGE_BYTES": MIB, "_ALLOCATIONS": 4_000,
                "_NEVER": 2**30, "HUGE_BYTES": 2 * MIB, "LEAST_BYTES": 256 * MIB,
                "INTERVAL_SECONDS": 5, "GROWTH": 1.02, "_PAUSES": 4, "_PRESENT_SHARE": 0.9,
                "_COLLAPSE": 25, "_PAGE_BYTES": 4 * KIB, "_HEAPS_MAX": -8, "_MAPPED_FROM": -3,
                "_TRIMMED_FROM": -1,
            },
            id="memory: the numbers of mallopt and madvise are glibc's and Linux's",
        ),
        pytest.param(snapshots, {"_NOT_FOUND": 404, "_AT_ONCE": 64}, id="imported objects"),
        pytest.param(
            run_collection, {"_PIECE_BYTES": MIB, "INTERVAL_SECONDS": 1, "_PAUSES": 10}, id="runs"
        ),
        pytest.param(breakpoints, {"BREAKPOINTS_MAX": 100}, id="breakpoints"),
        pytest.param(event_objects, {"_REFERENCED_MAX": 230}, id="names of Events"),
        pytest.param(kss_application, {"_WAITING_MAX": 256}, id="kss: waiting watches"),
        pytest.param(progress, {"PROGRESS_SECONDS": 0.25}, id="lines of progress"),
        pytest.param(planning, {"SCALING_MAX_NS": 604_800 * SECOND}, id="an autoscaler's week"),
        pytest.param(clock, {"STEP_MAX_NS": 3_660 * 86_400 * SECOND}, id="a step of the clock"),
        pytest.param(
            cluster_clock,
            {"SPEED_MIN": 1e-6, "SPEED_MAX": 1e6, "END_NS": 7_258_118_400 * SECOND},
            id="the clock ends in 2200",
        ),
        pytest.param(state, {"INTERVAL_SECONDS": 0.1}, id="updates of the page"),
        pytest.param(endpoints, {"BODY_MAX": MIB, "_FAST": 1}, id="bodies of podwright's API"),
        pytest.param(snapshot, {"_BODY_MAX": GIB, "_FORBIDDEN": 403}, id="snapshots"),
        pytest.param(writes, {"_BODY_MAX": 64 * MIB}, id="many writes at once"),
        pytest.param(
            readers, {"READERS_MAX": 2, "_READ_BYTES": 256 * KIB, "_PART_BYTES": 256 * KIB},
            id="processes that read",
        ),
        pytest.param(latency, {"DELAY_MAX_NS": 60 * SECOND}, id="simulated latency"),
    ],
)  # fmt: skip
def test_the_limits_of_a_server(module: Any, limits: dict[str, float]) -> None:
    assert {name: getattr(module, name) for name in limits} == limits
