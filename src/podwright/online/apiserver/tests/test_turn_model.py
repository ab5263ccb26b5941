"""Random requests of several connections, against what each may observe of the others.

No request is lost, none is executed twice, and those of a connection are executed in their order.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.properties.effort import effort

from podwright.online.apiserver import ClusterClock, TurnLoop
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, request

MAPS = "/api/v1/namespaces/default/configmaps"
CONNECTIONS = st.integers(0, 2)


def without_end(name: str) -> str:
    """Return a generated name without what was drawn."""
    return f"{name.rpartition('-')[0]}-"


class Turns(RuleBasedStateMachine):
    """Connections that send requests before earlier ones are answered, and leave."""

    @initialize()
    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.cluster = cluster_of(0)
        self.turns = TurnLoop(self.cluster, ClusterClock(start_ns=START_NS))
        self.running = self.loop.create_task(self.turns.run())
        # By connection: the name of a new object, or "" of a list, and its reply.
        self.sent: dict[int, list[tuple[str, asyncio.Task[Any]]]] = {0: [], 1: [], 2: []}
        self.count = 0
        self.is_cleared = False

    def send(self, connection: int, name: str, *args: Any) -> None:
        task = self.loop.create_task(self.turns.execute(request(*args)))
        self.sent[connection].append((name, task))

    @rule(connection=CONNECTIONS)
    def create(self, connection: int) -> None:
        self.count += 1
        name = f"sent-{self.count}-"
        self.send(connection, name, "POST", MAPS, {"metadata": {"generateName": name}})

    @rule(connection=CONNECTIONS)
    def read(self, connection: int) -> None:
        self.send(connection, "", "GET", MAPS)

    @rule(connection=CONNECTIONS)
    def clear(self, connection: int) -> None:
        """Remove all objects, which takes several turns."""
        self.is_cleared = True
        self.send(connection, "", "DELETE", MAPS)

    @rule(connection=CONNECTIONS)
    def leave(self, connection: int) -> None:
        for _, task in self.sent[connection]:
            task.cancel()

    @rule(count=st.integers(1, 4))
    def turn(self, count: int) -> None:
        for _ in range(count):
            self.loop.run_until_complete(asyncio.sleep(0))

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        tasks = [task for sent in self.sent.values() for _, task in sent]
        self.loop.run_until_complete(asyncio.wait_for(self.all_of(tasks), 60))
        changes = self.changes()
        self.turns.stop()
        self.loop.run_until_complete(self.running)
        self.loop.close()
        added = [name for kind, name in changes if kind == "ADDED"]
        assert len(added) == len(set(added)), "executed twice"
        for sent in self.sent.values():
            self.check(sent, added)

    async def all_of(self, tasks: list[asyncio.Task[Any]]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.turns.call(lambda _: None)

    def changes(self) -> list[tuple[str, str]]:
        """Return the changes of objects, with the names that they were sent with."""
        cursor = self.cluster.store.watch(("", "ConfigMap"), since=1)
        changed = ((each.type, each.object) for each in cursor.poll())
        return [
            (kind, without_end(obj.name))
            for kind, obj in changed
            if obj is not None and obj.name.startswith("sent-")
        ]

    def check(self, sent: list[tuple[str, asyncio.Task[Any]]], added: list[str]) -> None:
        answered: list[str] = []
        versions: list[int] = []
        for name, task in sent:
            if task.cancelled():
                continue
            reply = task.result()
            assert reply.status in (200, 201), reply
            document = json.loads(reply.body)
            if name:
                assert name in added, "answered, and not executed"
                answered.append(name)
                versions.append(int(document["metadata"]["resourceVersion"]))
            elif not self.is_cleared:
                there = {without_end(each["metadata"]["name"]) for each in document["items"]}
                assert set(answered) <= there, "a list precedes what was sent before"
        assert versions == sorted(versions)


TestTurns = Turns.TestCase
TestTurns.settings = effort(25, stateful_step_count=25, deadline=None)
