"""Random changes, which watches with various conditions read at various times.

Watches of the same objects share lines. Whatever they share, each has exactly the events of its
own namespace and selectors: they lead to the objects that are there.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.properties.effort import effort

from podwright.cluster.api.endpoints import Watch
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map

NAMESPACES = ("default", "kube-system")
NAMES = st.sampled_from(["a", "b", "c"])
LABELS = st.sampled_from(["x", "y"])
PLACES = st.sampled_from(["", *NAMESPACES])
CONDITIONS = {
    "": ("abc", "xy"),
    "&labelSelector=l%3Dx": ("abc", "x"),
    "&labelSelector=l%21%3Dx": ("abc", "y"),
    "&fieldSelector=metadata.name%3Da": ("a", "xy"),
}
"""By query: the names and the labels of the objects that are selected."""

FORMS = st.sampled_from(["", "PartialObjectMetadata"])
_QUERY = (
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&allowWatchBookmarks=true&timeoutSeconds=3000000"
)


class Reader:
    """A client with a watch, and the versions of the objects as its events tell."""

    def __init__(self, server: Server, namespace: str, condition: str, form: str) -> None:
        self.namespace, self.condition, self.form = namespace, condition, form
        self.versions: dict[str, str] = {}
        self.is_synced = False
        accept = f"application/json;as={form};v=v1;g=meta.k8s.io" if form else "application/json"
        place = f"namespaces/{namespace}/configmaps" if namespace else "configmaps"
        path = f"/api/v1/{place}?{_QUERY}{condition}"
        found = server.send("GET", path, headers={"accept": accept})
        assert isinstance(found, Watch)
        self.watch = found

    def read(self, server: Server) -> None:
        """Take the next events."""
        for line in self.watch.read(server.now_ns).splitlines():
            event = json.loads(line)
            kind, obj = event["type"], event["object"]
            if kind == "BOOKMARK":
                self.is_synced = True
                continue
            metadata = obj["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}"
            assert (key in self.versions) == (kind != "ADDED"), event
            assert ("data" in obj) == (not self.form), event
            if kind == "DELETED":
                del self.versions[key]
            else:
                self.versions[key] = metadata["resourceVersion"]

    def expected(self, server: Server) -> dict[str, str]:
        """Return the versions of the objects that it should have."""
        names, labels = CONDITIONS[self.condition]
        found = server.store.list(("", "ConfigMap"), namespace=self.namespace or None)
        return {
            obj.key: obj.metadata.resource_version
            for obj in found.objects
            if obj.name in names and obj.metadata.labels["l"] in labels
        }


class Watches(RuleBasedStateMachine):
    """A server, and clients that watch it."""

    @initialize()
    def start(self) -> None:
        self.server = Server()
        self.server.reply("DELETE", "/api/v1/namespaces/kube-system/configmaps")
        self.readers: list[Reader] = []

    @rule(namespace=st.sampled_from(NAMESPACES), name=NAMES, label=LABELS)
    def put(self, namespace: str, name: str, label: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        data = {"v": str(self.server.now_ns)}
        body = config_map(name, **data) | {"metadata": {"name": name, "labels": {"l": label}}}
        if self.server.reply("POST", path, body)[0] == 409:
            patch = {"metadata": {"labels": {"l": label}}, "data": data}
            assert self.server.patch(f"{path}/{name}", patch)[0] == 200

    @rule(namespace=st.sampled_from(NAMESPACES), name=NAMES)
    def delete(self, namespace: str, name: str) -> None:
        self.server.reply("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/{name}")

    @precondition(lambda self: len(self.readers) < 12)
    @rule(
        places=st.lists(PLACES, min_size=1, max_size=2, unique=True),
        conditions=st.lists(st.sampled_from(list(CONDITIONS)), min_size=1, max_size=2, unique=True),
        forms=st.lists(FORMS, min_size=1, max_size=2, unique=True),
    )
    def watch(self, places: list[str], conditions: list[str], forms: list[str]) -> None:
        """Begin watches that differ in some of these."""
        self.readers += [
            Reader(self.server, place, condition, form)
            for place in places
            for condition in conditions
            for form in forms
        ]

    @precondition(lambda self: self.readers)
    @rule(index=st.integers(0, 11))
    def read(self, index: int) -> None:
        self.readers[index % len(self.readers)].read(self.server)

    @rule()
    def catch_up(self) -> None:
        for reader in self.readers:
            reader.read(self.server)
            while reader.watch.is_behind:
                reader.read(self.server)
            assert reader.is_synced
            assert reader.versions == reader.expected(self.server), reader.condition

    def teardown(self) -> None:
        if hasattr(self, "readers"):
            self.catch_up()


TestWatches = Watches.TestCase
TestWatches.settings = effort(30, stateful_step_count=25, deadline=None)
