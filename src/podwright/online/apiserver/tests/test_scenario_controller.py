"""Scenarios of kube-scheduler-simulator's CRD in a served cluster: status and result."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import uvloop
import yaml
from tests.waiting import SECONDS_MAX

from podwright.apimachinery.objects import PodwrightError
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver import (
    ClusterClient,
    ClusterClock,
    ScenarioController,
    TurnLoop,
    scenario_controller,
)
from podwright.online.apiserver.tests.conftest import JSON, START_NS, cluster_of
from podwright.simulation.scenarios import run_kep140
from podwright.simulation.scenarios.tests.test_kep140_status import DONE, creation, node, of, pod

EXAMPLES = Path("examples/kube-scheduler-simulator")
CRD = yaml.safe_load((EXAMPLES / "scenario-crd.yaml").read_text())
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCENARIOS = f"/apis/{CRD['spec']['group']}/v1alpha1/scenarios"
MERGE = {"content-type": "application/merge-patch+json"}


def named(name, *operations):
    return {**of(*operations), "metadata": {"name": name}}


def with_controller(use, *, store=None):
    """Return what `use` returns of a client of a cluster that runs Scenarios."""
    cluster = cluster_of(0, store=store)

    async def main():
        headers = {"authorization": "Bearer secret"}
        controller = ScenarioController(headers)
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS), [controller])
        running = asyncio.create_task(turns.run())
        keeping = asyncio.create_task(controller.keep_up(turns))
        try:
            return await use(ClusterClient(turns, headers))
        finally:
            keeping.cancel()
            turns.stop()
            await running

    return uvloop.run(main())


async def send(client, method, path, body=None, headers=JSON):
    data = b"" if body is None else json.dumps(body).encode()
    return json.loads(await client.body_of(HttpRequest(method, path, "", headers, data)))


async def define(client, crd=CRD):
    name = f"{DEFINITIONS}/{crd['metadata']['name']}"
    await send(client, "POST", DEFINITIONS, crd)
    await reached(client, name, lambda status: len(status.get("conditions", ())) > 1)


async def reached(client, path, holds):
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            found = (await send(client, "GET", path)).get("status", {})
            if holds(found):
                return found
            await asyncio.sleep(0.02)


def is_in(*phases):
    return lambda status: status.get("phase") in phases


def test_scenarios_run_one_after_the_other_and_the_cluster_stays_as_it_is():
    async def use(client):
        await define(client)
        names = ("one", "two")
        for name in names:
            scenario = named(name, creation(1, node(), "a"), creation(2, pod("web"), "b"), DONE)
            await send(client, "POST", SCENARIOS, scenario)
        found = [
            await reached(client, f"{SCENARIOS}/{name}", is_in("Succeeded", "Failed"))
            for name in names
        ]
        nodes = await send(client, "GET", "/api/v1/nodes")
        return found, nodes["items"]

    (first, second), nodes = with_controller(use)
    assert nodes == []
    assert first == second, "equal scenarios have equal results"
    assert first["phase"] == "Succeeded"
    timeline = first["scenarioResult"]["timeline"]
    assert list(timeline) == ["1", "2", "3"]
    assert timeline["2"][1]["podScheduled"]["result"]["spec"]["nodeName"] == "n1"


def test_a_paused_scenario_goes_on_when_it_gets_operations():
    async def use(client):
        await define(client)
        path = f"{SCENARIOS}/one"
        await send(client, "POST", SCENARIOS, named("one", creation(1, pod("web"))))
        paused = await reached(client, path, is_in("Paused"))
        operations = [creation(1, pod("web")), creation(2, node()), DONE]
        await send(client, "PATCH", path, {"spec": {"operations": operations}}, MERGE)
        return paused, await reached(client, path, is_in("Succeeded", "Failed"))

    paused, ended = with_controller(use)
    assert [each["id"] for each in paused["scenarioResult"]["timeline"]["1"]] == ["event-1"]
    assert ended["phase"] == "Succeeded"
    names = [[*each][-1] for each in ended["scenarioResult"]["timeline"]["2"]]
    assert names == ["create", "podScheduled"]


def test_a_scenario_that_ran_when_the_server_ended_has_failed():
    store = ObjectStore()

    async def interrupt(client):
        await define(client)
        await send(client, "POST", SCENARIOS, named("one", creation(1, node()), DONE))
        await reached(client, f"{SCENARIOS}/one", is_in("Succeeded"))
        status = {"status": {"phase": "Running"}}
        await send(client, "PATCH", f"{SCENARIOS}/one/status", status, MERGE)

    async def use(client):
        return await reached(client, f"{SCENARIOS}/one", is_in("Failed"))

    with_controller(interrupt, store=store)
    found = with_controller(use, store=store)
    assert found["message"] == "the controller was restarted while the scenario was running"


def test_after_a_restart_those_that_wait_run_and_those_that_ended_stay():
    store = ObjectStore()
    phases = {"a": "Succeeded", "b": "Failed", "c": "Pending", "d": "", "e": "Paused"}

    async def prepare(client):
        await define(client)
        for name in phases:
            await send(client, "POST", SCENARIOS, named(name, creation(1, node()), DONE))
        for name in phases:
            await reached(client, f"{SCENARIOS}/{name}", is_in("Succeeded"))
        for name, phase in phases.items():
            status = {"status": {"phase": phase, "message": "before"}}
            await send(client, "PATCH", f"{SCENARIOS}/{name}/status", status, MERGE)

    async def use(client):
        for name in "cd":
            await reached(client, f"{SCENARIOS}/{name}", is_in("Succeeded"))
        found = (await send(client, "GET", SCENARIOS))["items"]
        return {
            each["metadata"]["name"]: (each["status"]["phase"], each["status"]["message"])
            for each in found
        }

    with_controller(prepare, store=store)
    assert with_controller(use, store=store) == {
        "a": ("Succeeded", "before"), "b": ("Failed", "before"), "c": ("Succeeded", ""),
        "d": ("Succeeded", ""), "e": ("Paused", "before"),
    }  # fmt: skip


def test_a_scenario_that_is_deleted_while_it_waits_stops_nothing(caplog):
    async def use(client):
        await define(client)
        for name in ("one", "two", "three"):
            await send(client, "POST", SCENARIOS, named(name, creation(1, node()), DONE))
        await send(client, "DELETE", f"{SCENARIOS}/two")
        return [
            (await reached(client, f"{SCENARIOS}/{name}", is_in("Succeeded", "Failed")))["phase"]
            for name in ("one", "three")
        ]

    assert with_controller(use) == ["Succeeded", "Succeeded"]
    assert not caplog.records


def first_runs(simulate, monkeypatch):
    """Let `simulate` run the Scenario `one`, and the usual function the others."""

    def run(document, options, report, *, call_extender):
        runs_first = document["metadata"]["name"] == "one"
        chosen = simulate if runs_first else run_kep140
        return chosen(document, options, report, call_extender=call_extender)

    monkeypatch.setattr(scenario_controller, "run_kep140", run)


def test_a_scenario_that_is_deleted_while_it_runs_makes_room_for_the_next(caplog, monkeypatch):
    def endless(_document, _options, report, *, call_extender):
        while True:
            report({"message": f"with extenders: {call_extender is not None}"})

    first_runs(endless, monkeypatch)

    async def use(client):
        await define(client)
        for name in ("one", "two"):
            await send(client, "POST", SCENARIOS, named(name, creation(1, node()), DONE))
        path = f"{SCENARIOS}/one"
        found = await reached(client, path, lambda status: status.get("message"))
        await send(client, "DELETE", path)
        return found, await reached(client, f"{SCENARIOS}/two", is_in("Succeeded"))

    first, _ = with_controller(use)
    assert (first["phase"], first["message"]) == ("Running", "with extenders: False")
    assert not caplog.records


def test_a_simulation_that_fails_is_the_failure_of_its_scenario_alone(monkeypatch):
    def failing(*_arguments, **_options):
        raise PodwrightError("out of order")

    first_runs(failing, monkeypatch)

    async def use(client):
        await define(client)
        for name in ("one", "two"):
            await send(client, "POST", SCENARIOS, named(name, creation(1, node()), DONE))
        await reached(client, f"{SCENARIOS}/two", is_in("Succeeded"))
        return await reached(client, f"{SCENARIOS}/one", is_in("Failed"))

    assert with_controller(use)["message"] == "out of order"


def test_a_status_that_cannot_be_written_is_logged(caplog):
    async def use(client):
        crd = json.loads(json.dumps(CRD))
        status = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
        status["properties"]["message"] = {"type": "integer"}
        await define(client, crd)
        await send(client, "POST", SCENARIOS, named("one", creation(1, node()), DONE))
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                if caplog.records:
                    return
                await asyncio.sleep(0.02)

    with_controller(use)
    (record,) = caplog.records
    assert record.getMessage().startswith("the status of Scenario one is not written: ")


def test_a_scenario_that_is_not_valid_has_failed_with_its_mistakes():
    async def use(client):
        await define(client)
        await send(client, "POST", SCENARIOS, named("one", {"step": 1}))
        return await reached(client, f"{SCENARIOS}/one", is_in("Failed"))

    assert "spec.operations[0]: Required value" in with_controller(use)["message"]


def test_the_crd_may_be_namespaced():
    namespaced = {**CRD, "spec": {**CRD["spec"], "scope": "Namespaced"}}

    async def use(client):
        await define(client, namespaced)
        path = SCENARIOS.replace("/scenarios", "/namespaces/default/scenarios")
        await send(client, "POST", path, named("one", creation(1, node()), DONE))
        return await reached(client, f"{path}/one", is_in("Succeeded"))

    assert with_controller(use)["stepStatus"]["step"]["major"] == 3


def test_a_scenario_waits_runs_and_ends():
    async def use(client):
        await define(client)
        made = await send(client, "POST", SCENARIOS, named("one", creation(1, node()), DONE))
        query = f"watch=true&resourceVersion={made['metadata']['resourceVersion']}"
        watch = HttpRequest("GET", SCENARIOS, query, JSON, b"")
        found = []
        async with asyncio.timeout(SECONDS_MAX), aclosing(client.lines_of(watch)) as lines:
            async for line in lines:
                found.append(json.loads(line)["object"]["status"]["phase"])
                if found[-1] == "Succeeded":
                    break
        return found

    phases = with_controller(use)
    assert list(dict.fromkeys(phases)) == ["Pending", "Running", "Succeeded"]
