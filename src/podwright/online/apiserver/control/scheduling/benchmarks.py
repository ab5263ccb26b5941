"""Benchmarks over HTTP: a copy of the process executes them, each in a cluster of its own."""

from __future__ import annotations

import gc
import posixpath
from typing import Any

import msgspec
from starlette.responses import Response

from podwright.apimachinery.objects import ArgumentError, InputError
from podwright.online.apiserver.control.endpoints import ControlledCluster, Endpoint, declared
from podwright.online.apiserver.control.scheduling.progress import answers, reply
from podwright.online.apiserver.readers import Readers
from podwright.online.benchmarks import run_workloads, selected
from podwright.simulation.capacity import Advance
from podwright.simulation.scheduler_perf import load_test_cases

_CONFIG = "testCases"
"""The file of a request whose content is the field of this name."""


class SchedulerPerfRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """A file of test cases, and the workloads of it that are executed.

    Attributes
    ----------
    test_cases : list of dict
        The document, as in performance-config.yaml; see `podwright scheduler-perf`.
    templates : dict of str to str
        The content of each file that the document names, by that name.
    test_case, workload : str
        Only these, by name.
    label_filter : str
        Only workloads with these labels, separated by commas; with - before a label, without it.
    topic : str
        Selects among the thresholds of a workload.
    progress : bool
        Whether the reply is a stream of lines of JSON, as for `WhatIf`: of workloads.
    """

    test_cases: list[dict[str, Any]]
    templates: dict[str, str] = {}
    test_case: str = ""
    workload: str = ""
    label_filter: str = ""
    topic: str = ""
    progress: bool = False


class SchedulerPerfReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the workloads measured.

    Attributes
    ----------
    passed : bool
        Whether all were executed to their end, and each threshold is met.
    workloads : list of dict
        As `podwright scheduler-perf -o json` prints them.
    """

    passed: bool
    workloads: list[dict[str, Any]]


class _Benchmarks:
    """The endpoint."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._readers = Readers(cluster.turns)

    @answers("/scheduler-perf", reply=SchedulerPerfReply)
    async def execute(self, body: SchedulerPerfRequest) -> Response:
        """Execute workloads of scheduler_perf, and compare them with their thresholds."""
        files = {posixpath.normpath(name): text.encode() for name, text in body.templates.items()}
        files[_CONFIG] = msgspec.json.encode(body.test_cases)

        def read(path: str) -> bytes:
            if path not in files:
                raise InputError.of(path, "is not among the templates of the request")
            return files[path]

        def answer(advance: Advance) -> SchedulerPerfReply:
            # Garbage is collected while a workload is measured, as in the command, but the objects
            # of the server are not visited.
            gc.freeze()
            gc.enable()
            try:
                chosen = selected(
                    load_test_cases(_CONFIG, read, topic=body.topic),
                    test_case=body.test_case,
                    workload=body.workload,
                    label_filter=body.label_filter,
                )
            except ArgumentError as error:
                raise InputError.of(_CONFIG, str(error)) from error
            found = []
            for result in run_workloads(chosen):
                found.append(result)
                advance(len(found), len(chosen))
            passed = all(each.has_passed for each in found)
            documents = [each.document() for each in found]
            return SchedulerPerfReply(passed=passed, workloads=documents)

        return await reply(self._readers, answer, has_progress=body.progress)


def benchmark_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of benchmarks."""
    return declared(_Benchmarks(cluster))
