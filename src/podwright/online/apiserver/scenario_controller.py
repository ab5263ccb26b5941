"""The controller of Scenarios: runs those of kube-scheduler-simulator's CRD, one after the other.

A reader process simulates a Scenario with the scheduler of the cluster, in a cluster of its own:
the served one does not change but for the status. Since a run is determined by the Scenario, one
that is paused and gets further operations is run again from the start.

Upstream: kube-scheduler-simulator keps/140-scenario-based-simulation/README.md
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import KubernetesObject, PodwrightError, encode
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.readers import Readers, Report
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.scenarios import KEP140_GROUP, run_kep140

_SCENARIO: Final = (KEP140_GROUP, "Scenario")
_ENDED: Final = ("Succeeded", "Failed")
_RESTARTED: Final = "the controller was restarted while the scenario was running"
_LOG: Final = logging.getLogger(__name__)


class ScenarioController:
    """Runs Scenarios, and writes their status.

    Parameters
    ----------
    headers : mapping of str to str
        Those of the user who writes it.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers
        self._wake = asyncio.Event()
        self._waiting: list[KubernetesObject] = []

    def begin(self, store: ObjectStore, now_ns: int) -> None:
        """Follow the Scenarios of a cluster."""
        self._changes = store.follow(_SCENARIO)
        self._waiting += store.list(_SCENARIO).objects

    def append(self, now_ns: int) -> None:
        """Note the Scenarios that are new, or have another spec."""
        for change in self._changes:
            new, old = change.new, change.old
            if new is not None and (
                old is None or new.metadata.generation != old.metadata.generation
            ):
                self._waiting.append(new)
        self._changes.clear()
        if self._waiting:
            self._wake.set()

    async def keep_up(self, turns: TurnLoop) -> None:
        """Run the Scenarios until cancelled."""
        self._client = ClusterClient(turns, self._headers)
        due: asyncio.Queue[KubernetesObject] = asyncio.Queue()
        for scenario in self._waiting:
            if _phase(scenario) == "Running":
                await self._write(scenario, {"phase": "Failed", "message": _RESTARTED})
        self._waiting = [each for each in self._waiting if _phase(each) in ("", "Pending")]
        self._wake.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._accept(due))
            group.create_task(self._run(due, Readers(turns)))

    async def _accept(self, due: asyncio.Queue[KubernetesObject]) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            waiting, self._waiting = self._waiting, []
            for scenario in waiting:
                if _phase(scenario) not in _ENDED:
                    # The results of a run before, of a paused scenario, are removed.
                    await self._write(
                        scenario, {"phase": "Pending", "message": "", "scenarioResult": None}
                    )
                    due.put_nowait(scenario)

    async def _run(self, due: asyncio.Queue[KubernetesObject], readers: Readers) -> None:
        while True:
            scenario = await due.get()
            if not await self._write(scenario, {"phase": "Running"}):
                continue
            try:
                async with aclosing(readers.reports(self._simulation(scenario))) as reports:
                    async for status in reports:
                        if not await self._write(scenario, status):
                            break
            except PodwrightError as error:
                await self._write(scenario, {"phase": "Failed", "message": str(error)})

    def _simulation(self, scenario: KubernetesObject) -> Callable[[Report], None]:
        document, served = encode(scenario), self._client.turns.cluster.schedulers[0]

        def simulate(report: Report) -> None:
            caller = served.call_extender
            report(run_kep140(document, served.options, report, call_extender=caller))

        return simulate

    async def _write(self, scenario: KubernetesObject, status: Mapping[str, Any]) -> bool:
        """Merge changes into the status of a Scenario; return whether it is written."""
        group_version, place = scenario.api_version, ""
        if scenario.namespace:
            place = f"/namespaces/{scenario.namespace}"
        request = HttpRequest(
            "PATCH",
            f"/apis/{group_version}{place}/scenarios/{scenario.name}/status",
            "fieldManager=podwright-scenarios",
            {"content-type": "application/merge-patch+json"},
            msgspec.json.encode({"metadata": {"uid": scenario.uid}, "status": status}),
        )
        try:
            await self._client.body_of(request)
        except RequestFailed as error:
            present = self._client.turns.cluster.store.get(_SCENARIO, scenario.key)
            if present is not None and present.uid == scenario.uid:  # neither deleted nor replaced
                _LOG.error("the status of Scenario %s is not written: %s", scenario.key, error)
            return False
        return True


def _phase(scenario: KubernetesObject) -> str:
    status = encode(scenario).get("status")
    return str(status.get("phase", "")) if isinstance(status, dict) else ""
