"""Random writes under quotas: what a quota says is used equals a recount of the objects.

Admission counts what writes add; what they free is counted by the quota controller, which is a
recount here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.properties.effort import effort

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import amounts_of, texts_of
from podwright.cluster.api.admission.quota.resource_quota import QuotaEvaluators
from podwright.cluster.api.endpoints.tests.conftest import Server, pod

DEFAULT = "/api/v1/namespaces/default"
QUOTAS = f"{DEFAULT}/resourcequotas"
KINDS = {"pods": ("", "Pod"), "services": ("", "Service"), "configmaps": ("", "ConfigMap")}
HARD: dict[str, dict[str, Any]] = {
    "all": {"hard": {"pods": "4", "requests.cpu": "5", "limits.cpu": "8", "count/configmaps": "3"}},
    "ports": {"hard": {"services": "3", "services.nodeports": "4", "services.loadbalancers": "1"}},
    "ending": {"hard": {"pods": "2", "requests.cpu": "3"}, "scopes": ["Terminating"]},
    "lasting": {"hard": {"pods": "3"}, "scopes": ["NotTerminating"]},
    "cheap": {"hard": {"pods": "2"}, "scopes": ["BestEffort"]},
}
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
AMOUNTS = st.sampled_from(["0", "500m", "1", "2"])


class Quotas(RuleBasedStateMachine):
    """A namespace with quotas, and the objects in it."""

    @initialize()
    def start(self) -> None:
        self.server = Server()
        self.evaluators = QuotaEvaluators(self.server.store)
        self.has_freed = False
        for name, spec in HARD.items():
            body = {"metadata": {"name": name}, "spec": spec}
            assert self.server.reply("POST", QUOTAS, body)[0] == 201
        self.recount()

    def write_status(self, name: str, used: dict[str, str]) -> None:
        status = {"hard": HARD[name]["hard"], "used": used}
        assert self.server.patch(f"{QUOTAS}/{name}/status", {"status": status})[0] == 200

    def send(self, method: str, path: str, body: Any = None) -> bool:
        """Send a request; return whether it was accepted."""
        if method == "PATCH":
            status, found = self.server.patch(f"{DEFAULT}/{path}", body)
        else:
            status, found = self.server.reply(method, f"{DEFAULT}/{path}", body)
        assert status in (200, 201, 403, 404, 409, 422), found
        # As upstream, a write that fails after its admission was counted.
        self.has_freed |= status in (409, 422)
        return status < 300

    @rule(name=NAMES, request=AMOUNTS, more=AMOUNTS, deadline=st.sampled_from([None, 30]))
    def create_pod(self, name: str, request: str, more: str, deadline: int | None) -> None:
        limit = {"0": "2", "500m": "3", "1": "3", "2": "4"}[more]
        resources = {"requests": {"cpu": request}, "limits": {"cpu": limit}}
        container = {"name": "c", "image": "i", "resources": resources}
        spec = {} if deadline is None else {"activeDeadlineSeconds": deadline}
        self.send("POST", "pods", pod(name, containers=[container], **spec))

    @rule(name=NAMES)
    def limit_pod(self, name: str) -> None:
        """Give a pod a deadline: it leaves a scope and enters another."""
        if self.send("PATCH", f"pods/{name}", {"spec": {"activeDeadlineSeconds": 20}}):
            self.has_freed = True

    @rule(name=NAMES, request=AMOUNTS)
    def resize(self, name: str, request: str) -> None:
        containers = [{"name": "c", "resources": {"requests": {"cpu": request}}}]
        headers = {"content-type": "application/strategic-merge-patch+json"}
        path = f"{DEFAULT}/pods/{name}/resize"
        patch = {"spec": {"containers": containers}}
        found = self.server.reply("PATCH", path, patch, headers=headers)
        assert found[0] in (200, 403, 404, 422), found
        self.has_freed = True

    @rule(name=NAMES, kind=st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]))
    def put_service(self, name: str, kind: str) -> None:
        ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
        spec: dict[str, Any] = {"type": kind, "ports": ports}
        if not self.send("POST", "services", {"metadata": {"name": name}, "spec": spec}):
            self.has_freed |= self.send("PATCH", f"services/{name}", {"spec": {"type": kind}})

    @rule(name=NAMES)
    def create_map(self, name: str) -> None:
        self.send("POST", "configmaps", {"metadata": {"name": name}})

    @rule(name=NAMES, plural=st.sampled_from(sorted(KINDS)))
    def delete(self, name: str, plural: str) -> None:
        self.has_freed |= self.send("DELETE", f"{plural}/{name}")

    @rule()
    def recount(self) -> None:
        """Act as the quota controller does."""
        for name in HARD:
            self.write_status(name, texts_of(self.counted(name)))
        self.has_freed = False

    def counted(self, name: str) -> Any:
        def objects(group: str, plural: str) -> Iterable[Document]:
            del group
            if plural not in KINDS:
                return ()
            found = self.server.store.list(KINDS[plural], namespace="default")
            return [obj.raw for obj in found.objects]

        return self.evaluators.usage({"spec": HARD[name]}, objects, self.server.now_ns)

    @invariant()
    def is_counted(self) -> None:
        if not hasattr(self, "server"):
            return
        for name, spec in HARD.items():
            status = self.server.reply("GET", f"{QUOTAS}/{name}")[1]["status"]
            used, counted = amounts_of(status["used"]), self.counted(name)
            hard = amounts_of(spec["hard"])
            for resource, amount in counted.items():
                assert amount.nano <= used[resource].nano, (name, resource, "not counted")
                is_exact = amount.nano == used[resource].nano
                assert is_exact or self.has_freed, (name, resource, "counted twice")
                assert used[resource].nano <= hard[resource].nano, (name, resource, "exceeded")


TestQuotas = Quotas.TestCase
TestQuotas.settings = effort(20, stateful_step_count=25, deadline=None)
