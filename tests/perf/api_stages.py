"""The processor time of a creation by stage, for pods whose forms differ.

    python -m tests.perf.api_stages                     the table
    python -m tests.perf.api_stages --forms template    of another set of pods

`api_stages` is the cost of a creation of generated pods: containers, volumes, affinities, ports,
probes and environments in any number and order; two thirds of the forms occur once. There is no
socket. The table has the calls and the time of each stage of such a creation, without those of the
stages that it contains. The clocks cost about 0.2 us a call.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Final

import msgspec
from tests.perf.api import ADMIN, START_NS, pod_of_its_own, template_pod
from tests.perf.case import Case
from tests.perf.templates import HOSTNAME, ZONE

from podwright.cli.process_exit import reduced_collection
from podwright.cluster.api import pipeline
from podwright.cluster.api.endpoints import (
    ApiServer,
    HttpReply,
    HttpRequest,
    bare_options,
    bare_store,
)
from podwright.cluster.api.pipeline import SERVED, route

MICROSECONDS = "us"
Document = dict[str, Any]

_COUNT = 1_500
_WARM_UP = 300
_PATH = "/api/v1/namespaces/default/pods"
_HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "bench/v1 (linux/amd64)",
}

_seeds: Final = itertools.count(1)

_FORMS_OF: Final = "podwright.cluster.api.endpoints.forms:KnownForms"
_CREATE: Final = "podwright.cluster.api.endpoints.writes.create"
_STAGES: Final = {
    "decode": f"{_CREATE}:body_of",
    "  read JSON": "podwright.cluster.api.endpoints.decoding.bodies:read_text",
    "  check fields": "podwright.cluster.api.endpoints.decoding.sent_objects:check_fields",
    "  set defaults": "podwright.apimachinery.schema.kind:Kind.with_defaults",
    "Go's form": "podwright.apimachinery.schema.kind:Kind.go_form",
    "manage fields": "podwright.cluster.api.field_management:FieldManagement.updated",
    "read as struct": "podwright.cluster.api.stages.storing:_stored_object",
    "reply": f"{_CREATE}:object_reply",
    "remember forms": f"{_FORMS_OF}.learn",
    "find form": f"{_FORMS_OF}.execute",
}
"""The functions, besides the stages of creations, whose own time is that of a stage."""


# ------------------------------------------------------------------------------- the pods


def _some(draws: random.Random, most: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(number) for number in range(draws.randint(0, most))]


def _in_any_order(draws: random.Random, parts: Document) -> Document:
    names = [*parts]
    draws.shuffle(names)
    return {name: parts[name] for name in names if parts[name] not in ([], {}, None)}


def _variable(draws: random.Random, number: int) -> Document:
    name = f"VARIABLE_{number}"
    match draws.randrange(4):
        case 0:
            return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        case 1:
            reference = {"name": f"settings-{number}", "key": "key", "optional": True}
            return {"name": name, "valueFrom": {"configMapKeyRef": reference}}
        case _:
            return {"name": name, "value": f"value {draws.randrange(1_000)}"}


def _probe(draws: random.Random) -> Document | None:
    action: Document = {"httpGet": {"path": "/healthz", "port": draws.choice([80, "http-0"])}}
    if draws.random() < 0.3:
        action = {"exec": {"command": ["cat", "/healthy"]}}
    return action | {"periodSeconds": draws.randint(1, 30)} if draws.random() < 0.4 else None


def _container(
    draws: random.Random, name: str, volumes: list[Document], *, has_probes: bool = True
) -> Document:
    amounts = {"cpu": f"{draws.randint(1, 40) * 10}m", "memory": f"{draws.randint(16, 512)}Mi"}
    resources: Document = {"requests": amounts}
    if draws.random() < 0.4:
        resources["limits"] = amounts
    ports = _some(draws, 2, lambda number: {"name": f"http-{number}", "containerPort": 80 + number})
    mounts = [
        {"name": each["name"], "mountPath": f"/mnt/{each['name']}", "readOnly": True}
        for each in volumes
        if draws.random() < 0.7
    ]
    security = {"runAsNonRoot": True, "allowPrivilegeEscalation": False}
    parts = {
        "name": name,
        "image": f"registry.example/app-{draws.randrange(300)}:{draws.randint(1, 9)}",
        "resources": resources,
        "env": _some(draws, 5, lambda number: _variable(draws, number)),
        "ports": ports,
        "volumeMounts": mounts,
        "args": _some(draws, 3, lambda number: f"--option-{number}"),
        "livenessProbe": _probe(draws) if has_probes else None,
        "readinessProbe": _probe(draws) if has_probes else None,
        "securityContext": security if draws.random() < 0.3 else None,
    }
    return _in_any_order(draws, parts)


def _volume(draws: random.Random, number: int) -> Document:
    sources: list[Document] = [
        {"configMap": {"name": f"settings-{number}"}},
        {"secret": {"secretName": f"secret-{number}"}},
        {"emptyDir": {}},
        {"persistentVolumeClaim": {"claimName": f"data-{draws.randrange(1_000)}"}},
    ]
    return {"name": f"volume-{number}", **draws.choice(sources)}


def _affinity(draws: random.Random, selector: Document) -> Document | None:
    term = {"topologyKey": draws.choice([HOSTNAME, ZONE]), "labelSelector": selector}
    zones = ["zone-a", f"zone-{draws.randint(0, 9)}"]
    expression = {"key": ZONE, "operator": "In", "values": zones}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    weighted = {"weight": draws.randint(1, 100), "podAffinityTerm": term}
    parts: Document = {}
    if draws.random() < 0.3:
        parts["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    if draws.random() < 0.3:
        parts["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    if draws.random() < 0.4:
        parts["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return _in_any_order(draws, parts) or None


def _pod(draws: random.Random, name: str) -> Document:
    """Return a pod of a form that hardly any other has."""
    labels = {f"label-{number}": f"{draws.randrange(50)}" for number in range(draws.randint(1, 5))}
    selector = {"matchLabels": labels}
    volumes = _some(draws, 3, lambda number: _volume(draws, number))
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "labelSelector": selector,
        "whenUnsatisfiable": draws.choice(["DoNotSchedule", "ScheduleAnyway"]),
    }
    containers = range(draws.choice([1, 1, 1, 2, 3]))
    initial = range(draws.choice([0, 0, 0, 1]))  # their probes would be refused
    toleration = {"key": f"key-{draws.randrange(9)}", "operator": "Exists", "effect": "NoSchedule"}
    spec = {
        "containers": [_container(draws, f"main-{each}", volumes) for each in containers],
        "initContainers": [
            _container(draws, f"first-{each}", volumes, has_probes=False) for each in initial
        ],
        "volumes": volumes,
        "affinity": _affinity(draws, selector),
        "topologySpreadConstraints": [constraint] if draws.random() < 0.3 else None,
        "tolerations": [toleration] if draws.random() < 0.3 else None,
        "nodeSelector": {"pool": f"pool-{draws.randrange(9)}"} if draws.random() < 0.3 else None,
        "terminationGracePeriodSeconds": draws.choice([None, 5, 60]),
        "securityContext": {"runAsUser": 1000} if draws.random() < 0.3 else None,
    }
    annotations = _some(draws, 3, lambda number: (f"example.com/note-{number}", "text"))
    metadata = {"labels": labels, "annotations": dict(annotations), "name": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _in_any_order(draws, metadata),
        "spec": _in_any_order(draws, spec),
    }


def generated_pods(count: int, *, seed: int = 1) -> list[Document]:
    """Return pods of which two thirds have a form that no other has; a third repeats earlier ones.

    Parameters
    ----------
    count : int
    seed : int
        Of the draws.
    """
    draws = random.Random(seed)
    pods: list[Document] = []
    for number in range(count):
        name = f"pod-{seed}-{number}"
        if pods and draws.random() < 1 / 3:
            like = draws.choice(pods)
            pods.append(like | {"metadata": like["metadata"] | {"name": name}})
        else:
            pods.append(_pod(draws, name))
    return pods


def _request(pod: Document) -> HttpRequest:
    return HttpRequest("POST", _PATH, "", _HEADERS, msgspec.json.encode(pod))


def generated_requests(count: int, *, seed: int = 1) -> list[HttpRequest]:
    """Return the creations of generated pods."""
    return [_request(pod) for pod in generated_pods(count, seed=seed)]


# ----------------------------------------------------------------------------- the measurement


def _cost(requests: list[HttpRequest], on_start: Callable[[], object] = int) -> float:
    """Return the processor time of a creation after the warm-up, in microseconds."""
    api = ApiServer(bare_store(START_NS), bare_options())
    start = 0.0
    with reduced_collection():
        for number, request in enumerate(requests):
            if number == _WARM_UP:
                on_start()
                start = time.process_time()
            reply = api.handle(request, ADMIN, START_NS + number * 1_000_000)
            assert isinstance(reply, HttpReply), "these requests are not watches"
            assert reply.status == 201, reply.body
        return (time.process_time() - start) / (len(requests) - _WARM_UP) * 1e6


def creation() -> float:
    """Processor time of the creation of a pod whose form hardly any other has."""
    # The specs of a process are found again by other servers: each run has its own pods.
    return _cost(generated_requests(_COUNT + _WARM_UP, seed=next(_seeds)))


class _Clocks:
    """The calls and the own times of the stages."""

    def __init__(self) -> None:
        stages = route(SERVED, "create", "sent")
        self.calls = dict.fromkeys((*_STAGES, *(each.__name__ for each in stages)), 0)
        self.own_ns = dict.fromkeys(self.calls, 0)
        self._inner_ns = [0]
        timed = tuple(self._timed(each.__name__, each) for each in stages)
        vars(pipeline)["route"] = lambda *facts: timed if "sent" in facts else route(*facts)
        for name, place in _STAGES.items():
            self._replace(name, place)

    def _replace(self, name: str, place: str) -> None:
        module, _, path = place.partition(":")
        *outer, attribute = path.split(".")
        owner: Any = import_module(module)
        for each in outer:
            owner = getattr(owner, each)
        setattr(owner, attribute, self._timed(name, getattr(owner, attribute)))

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*args: Any, **options: Any) -> Any:
            start = time.thread_time_ns()
            self._inner_ns.append(0)
            try:
                return function(*args, **options)
            finally:
                spent = time.thread_time_ns() - start
                self.calls[name] += 1
                self.own_ns[name] += spent - self._inner_ns.pop()
                self._inner_ns[-1] += spent

        return timed

    def reset(self) -> None:
        """Forget what was measured."""
        for name in self.calls:
            self.calls[name] = self.own_ns[name] = 0


_FORMS: Final[dict[str, Callable[[int], list[HttpRequest]]]] = {
    "generated": generated_requests,
    "one": lambda count: [pod_of_its_own(number) for number in range(count)],
    "template": lambda count: [template_pod(number) for number in range(count)],
}

CASES = (Case(name="api_stages", unit=MICROSECONDS, measure=creation, target=200, runs=3),)


def main() -> None:
    """Print the table of the chosen pods."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--forms", choices=_FORMS, default="generated")
    chosen = parser.parse_args().forms
    clocks = _Clocks()
    cost = _cost(_FORMS[chosen](_COUNT + _WARM_UP), clocks.reset)
    print(f"{'stage':22} {'calls':>6} {'us':>7}")
    for name in clocks.calls:
        own_us = clocks.own_ns[name] / _COUNT / 1e3
        print(f"{name:22} {clocks.calls[name] / _COUNT:6.2f} {own_us:7.1f}")
    rest = cost - sum(clocks.own_ns.values()) / _COUNT / 1e3
    print(f"{'rest':22} {'':6} {rest:7.1f}\n{'all':22} {'':6} {cost:7.1f}")


if __name__ == "__main__":
    main()
