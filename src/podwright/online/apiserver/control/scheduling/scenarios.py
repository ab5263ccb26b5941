"""Scenarios over HTTP: a copy of the process simulates them; the cluster does not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.responses import Response

from podwright.apimachinery.objects import KubernetesObject, encode
from podwright.online.apiserver.control.endpoints import ControlledCluster, Endpoint, declared
from podwright.online.apiserver.control.scheduling.progress import answers, reply
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.present_scheduler import stored_objects
from podwright.simulation.capacity import Advance
from podwright.simulation.recording import RunError
from podwright.simulation.scenarios import (
    CheckResult,
    ScenarioRun,
    check,
    no_files,
    read_scenario,
)

_PRESENT = "cluster:"
"""The file of a scenario that stands for the cluster."""


class ScenarioRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """A scenario to simulate with each of its configurations; see `podwright check`.

    Attributes
    ----------
    scenario : dict
        The document. Among the files of its cluster, only `cluster:` is allowed: the objects of
        the served cluster. A run is one in the folder of `--runs`, by name.
    seed : int, optional
        In place of that of the scenario.
    progress : bool
        Whether the reply is a stream of lines of JSON, as for `WhatIf`.
    """

    scenario: dict[str, Any]
    seed: int | None = None
    progress: bool = False


class ScenarioReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of a scenario came to.

    Attributes
    ----------
    passed : bool
        Whether all expectations are met.
    results : tuple of CheckResult
    runs : tuple of ScenarioRun
    """

    passed: bool
    results: tuple[CheckResult, ...]
    runs: tuple[ScenarioRun, ...]


class _Progress:
    """Observes how many changes there were."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._count = 0

    def changed(
        self,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
        now_ns: int,
    ) -> None:
        self._count += 1
        self._advance(self._count, 0)


class _Scenarios:
    """The endpoint."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._turns = cluster.turns
        self._runs = cluster.runs
        self._readers = Readers(cluster.turns)

    @answers("/scenarios", reply=ScenarioReply)
    async def simulate(self, body: ScenarioRequest) -> Response:
        """Simulate a scenario, and compare the runs with its expectations."""
        served = self._turns.cluster.schedulers[0]

        def read(names: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
            others = [name for name in names if name != _PRESENT]
            if others:
                no_files(others)
            items = [encode(obj) for obj in stored_objects(served.world.store)]
            present = {"apiVersion": "v1", "kind": "List", "items": items}
            return ((_PRESENT, msgspec.json.encode(present)),)

        def answer(advance: Advance) -> ScenarioReply:
            scenario = read_scenario(
                msgspec.json.encode(body.scenario),
                source="scenario",
                read=read,
                run_folder=self._run_folder,
            )
            report = check(scenario, seed=body.seed, observers=(_Progress(advance),))
            return ScenarioReply(passed=report.passed, results=report.results, runs=report.runs)

        return await reply(self._readers, answer, has_progress=body.progress)

    def _run_folder(self, name: str) -> str:
        if self._runs is None:
            raise RunError("there is no folder of runs; start the server with --runs FOLDER")
        return str(self._runs.path(name))


def scenario_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoint of scenarios."""
    return declared(_Scenarios(cluster))
