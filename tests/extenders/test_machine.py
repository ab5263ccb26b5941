"""A machine with real or unreachable extenders continues, and pods are retried."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.extenders.test_http import (
    LONG_NS,
    configuration,
    extender,
    port_without_server,
    serving,
)

import podwright as pw
from podwright.apimachinery.objects import Object, with_condition, with_fields, with_node_name
from podwright.online.client import ExtenderClient
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.config import ExtenderCall, ExtenderReply, effective
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    EmitEvent,
    ExtenderReplied,
    FlushBackoff,
    ObjectPut,
    PatchPodStatus,
)

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def port():
    with serving() as port:
        yield port


class Loop:
    """Drives a machine: bindings and patches succeed at once, extenders are called over HTTP."""

    def __init__(self, settings: dict[str, Any]) -> None:
        configured = configuration(settings)
        registry = Registry()
        self.machine = build_machine(effective(configured, implements=registry.points_of), registry)
        self.client = ExtenderClient(configured)
        self.change: Callable[[ExtenderCall], ExtenderCall] = lambda call: call
        self.now_ns = 1_800_000_000 * SECOND_NS
        self.notes: list[str] = []
        self._version = 0

    def run(self, *events: Any) -> None:
        waiting = deque(events)
        while waiting or self.machine.has_next:
            event = waiting.popleft() if waiting else CycleDue()
            for action in self.machine.handle(event, self.now_ns):
                waiting.extend(self.carry_out(action))
            self.machine.validate()

    def put(self, obj: Object) -> ObjectPut:
        self._version += 1
        return ObjectPut(with_fields(obj, "metadata", resource_version=str(self._version)))

    def carry_out(self, action: Action) -> list[Any]:
        match action:
            case CallExtender(number, request):
                reply: ExtenderReply = self.client.call(self.change(request))
                return [ExtenderReplied(number, reply)]
            case EmitEvent(reason=reason, note=note):
                self.notes.append(f"{reason}: {note}")
                return []
            case Bind(number, name, _, node):
                return [self.put(with_node_name(self.pod(name), node)), CallDone(number)]
            case PatchPodStatus(number, name, _, condition) if condition is not None:
                return [self.put(with_condition(self.pod(name), condition)), CallDone(number)]
            case _:
                return []

    def pod(self, name: str) -> pw.Pod:
        pod = self.machine.pod(name)
        assert pod is not None, name
        return pod

    def begin(self) -> None:
        nodes = [self.put(pw.testing.make_node(f"n{i}", cpu="4")) for i in range(3)]
        pods = [
            self.put(pw.testing.make_pod(name, cpu="1", scheduler="default-scheduler"))
            for name in ("web", "api")
        ]
        self.run(*nodes, *pods)

    def retry(self) -> None:
        self.now_ns += 3 * SECOND_NS
        self.run(FlushBackoff())


def get_well(port: int) -> Callable[[ExtenderCall], ExtenderCall]:
    """Redirect calls to an extender that replies correctly."""

    def change(call: ExtenderCall) -> ExtenderCall:
        verb = call.url.rsplit("/", 1)[-1]
        url = f"http://127.0.0.1:{port}/plain/{verb}"
        return msgspec.structs.replace(call, url=url, timeout_ns=LONG_NS)

    return change


GONE_WRONG = [
    pytest.param("slow", "no reply within 0.2s (httpTimeout)", id="never answers"),
    pytest.param("drop", "without response", id="closes the connection"),
    pytest.param("noise", "this is not HTTP", id="speaks something else"),
    pytest.param("status500", "code 500", id="fails"),
    pytest.param("malformed", "malformed answer to filter", id="answers HTML"),
    pytest.param("broken", "the licence server is down", id="returns an error"),
    pytest.param("", "Connection refused", id="is not there"),
    pytest.param("extender.invalid", "extender.invalid", id="has an unknown host"),
]


@pytest.mark.parametrize(("manner", "said"), GONE_WRONG)
def test_pods_get_the_error_of_an_extender_and_are_bound_when_it_recovers(port, manner, said):
    with port_without_server() as refused:
        settings = extender(port if manner else refused, manner)
        if "." in manner:
            settings |= {"urlPrefix": f"http://{manner}/x"}
        loop = Loop(settings)
        loop.begin()
    assert len(loop.notes) == 2
    for name in ("default/web", "default/api"):
        queued = loop.machine.queue.get(name)
        assert queued is not None
        assert queued.place.value == "error_backoff"
        (condition,) = [c for c in loop.pod(name).status.conditions if c.type == "PodScheduled"]
        assert condition.reason == "SchedulerError"
        assert said in condition.message
        assert f"FailedScheduling: {condition.message}" in loop.notes
    loop.change = get_well(port)
    loop.retry()
    assert {loop.pod(name).spec.node_name for name in ("default/web", "default/api")} <= {
        "n1",
        "n2",
    }
    assert loop.notes[-1].startswith("Scheduled: ")


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        pytest.param("broken", "no room in the rack", id="refuses"),
        pytest.param("status500", "code 500", id="fails"),
        pytest.param("malformed", "malformed answer to bind", id="answers HTML"),
    ],
)
def test_a_failed_binding_by_an_extender_frees_the_node_and_is_retried(port, manner, said):
    loop = Loop(extender(port, manner, filterVerb="", preemptVerb="", bindVerb="bind"))
    loop.begin()
    assert all(said in note for note in loop.notes)
    assert not loop.machine.cluster.pods
    loop.change = get_well(port)
    loop.retry()
    # The extender has bound the pods; the watch events of the API server follow.
    assert sorted(loop.machine.assumed()) == ["default/api", "default/web"]
    assert [note.split(":")[0] for note in loop.notes[-2:]] == ["Scheduled", "Scheduled"]


def test_an_ignorable_extender_does_not_prevent_bindings(port):
    loop = Loop(extender(port, "drop", ignorable=True))
    loop.begin()
    assert [note.split(":")[0] for note in loop.notes] == ["Scheduled", "Scheduled"]
