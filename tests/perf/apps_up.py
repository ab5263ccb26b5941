"""Benchmarks of `podwright up` with many workloads of few pods, as charts write them.

    python -m tests.perf.apps_up                                        the table, at 5,000 nodes
    python -m tests.perf.apps_up --nodes 500 --apps 100 --modes mixed   a smaller one
    python -m tests.perf.apps_up --modes mixed --placed 3000,30000      with pods placed before

1,000 applications have 3 pods each, in 25 namespaces. Each has an image, labels and requests of its
own, and a form: a preferred or a required anti-affinity over hosts, a hard or a soft spreading over
zones, or neither (`plain`); `mixed` draws one for each application, and with `template` there is
only one application. The pods arrive in a random
order. The server has a process of its own and 5,000 nodes; 4 clients, each with a connection that
it keeps, create a pod as soon as the last one was answered, and a fifth connection watches. The
figure is the processor time of the server for each pod until the watcher has seen all of them
bound, that of watches, Events and heartbeats included. Heartbeats cost the same in each second, so
that they add more to a pod where other processes use the cores; the table says how much.

`apps_up_5000_<mode>` runs with `--no-lifecycle --no-controllers`, as upstream's scheduler_perf.
`apps_up_5000_<mode>_kubelets` runs `up` as it is: the kubelets start the pods and renew the leases
of their nodes, and the controllers watch. `apps_up_5000_growth` is the cost of a pod beside 30,000
placed ones, in multiples of its cost beside 3,000. `apps_real` measures the same on upstream's
control plane.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tests.perf.api_http import create_pods
from tests.perf.case import MILLISECONDS, TIMES, Case
from tests.perf.served import Server, served
from tests.perf.templates import HOSTNAME, ZONE

from podwright.cluster.api.endpoints import HttpRequest

TEMPLATE = "template"
MODES = ("plain", "preferred", "required", "hard", "soft", "mixed")
WITHOUT_KUBELETS = ("--no-lifecycle", "--no-controllers")
NAMESPACES = 25
WARM_UP_APPS = 70
_APPS, _REPLICAS = 1_000, 3
_NODES = 5_000
_FEW, _MANY = 3_000, 30_000
_MS = 1_000
_HEADERS = {"content-type": "application/json", "user-agent": "apps/1"}

Document = dict[str, Any]


def app_pods(
    mode: str, apps: int, replicas: int, *, seed: int = 1, prefix: str = "app"
) -> list[Document]:
    """Return the pods of applications in a random order.

    Parameters
    ----------
    mode : str
        One of `MODES`, or `TEMPLATE`: all pods are of one application.
    apps, replicas : int
        The number of applications, and of the pods of each.
    seed : int
        Of the draws.
    prefix : str
        Of the names of the applications.
    """
    if mode == TEMPLATE:
        apps, replicas = 1, apps * replicas
    draws = random.Random(seed)
    pods: list[Document] = []
    for number in range(apps):
        name = f"{prefix}-{number}"
        own = {
            "app.kubernetes.io/name": name,
            "app.kubernetes.io/instance": f"{name}-{number % 7}",
        }
        form = draws.choice(MODES[:-1]) if mode == "mixed" else mode
        requests = {
            "cpu": f"{draws.choice([20, 50, 100])}m",
            "memory": f"{draws.choice([32, 64])}Mi",
        }
        container = {
            "name": "c",
            "image": f"registry.example/{name}:1",
            "resources": {"requests": requests},
        }
        spec = {"containers": [container], **_constraints(form, {"matchLabels": own})}
        labels = {**own, "team": f"t{number % 40}"}
        namespace = f"ns{number % NAMESPACES}"
        pods += [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{name}-{each}", "namespace": namespace, "labels": labels},
                "spec": spec,
            }
            for each in range(replicas)
        ]
    draws.shuffle(pods)
    return pods


def _constraints(form: str, selector: Document) -> Document:
    term = {"topologyKey": HOSTNAME, "labelSelector": selector}
    match form:
        case "preferred":
            terms = [{"weight": 100, "podAffinityTerm": term}]
            return _anti_affinity("preferredDuringSchedulingIgnoredDuringExecution", terms)
        case "required":
            return _anti_affinity("requiredDuringSchedulingIgnoredDuringExecution", [term])
        case "hard" | "soft":
            constraint = {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "labelSelector": selector,
                "whenUnsatisfiable": "DoNotSchedule" if form == "hard" else "ScheduleAnyway",
            }
            return {"topologySpreadConstraints": [constraint]}
        case _:
            return {}


def _anti_affinity(field: str, terms: list[Document]) -> Document:
    return {"affinity": {"podAntiAffinity": {field: terms}}}


def creation(pod: Document) -> HttpRequest:
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    return HttpRequest("POST", path, "", _HEADERS, json.dumps(pod).encode())


def prepare(server: Server, mode: str) -> None:
    """Create the namespaces and some pods of other applications."""
    server.settle()
    connection = http.client.HTTPConnection(*server.address)
    for number in range(NAMESPACES):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns{number}"}}
        connection.request("POST", "/api/v1/namespaces", json.dumps(body), _HEADERS)
        reply = connection.getresponse()
        assert reply.status == http.client.CREATED, reply.read()
        reply.read()
    connection.close()
    warm_up = app_pods(mode, WARM_UP_APPS, _REPLICAS, seed=9, prefix="warm")
    create_pods(server, [creation(each) for each in warm_up])


class Cost(NamedTuple):
    """What a pod costs.

    Attributes
    ----------
    all_ms : float
        The processor time of the server for each pod until it is bound, in milliseconds.
    idle_ms : float
        What of it the server would have used in that time without any pod: for heartbeats.
    """

    all_ms: float
    idle_ms: float


def _cost(server: Server, pods: list[Document]) -> Cost:
    requests = [creation(each) for each in pods]
    server.settle()
    idle_cores = server.settle()  # again: the pods of before run by now
    before = server.cpu_seconds
    seconds = create_pods(server, requests)
    spent = server.cpu_seconds - before
    return Cost(spent / len(pods) * _MS, idle_cores * seconds / len(pods) * _MS)


def cpu_of_a_pod(
    mode: str, *options: str, nodes: int = _NODES, apps: int = _APPS, replicas: int = _REPLICAS
) -> float:
    """Return the server's processor time for each pod until it is bound, in milliseconds."""
    with served(*options, nodes=nodes) as server:
        prepare(server, mode)
        return _cost(server, app_pods(mode, apps, replicas)).all_ms


def cpu_by_placed(
    mode: str,
    *options: str,
    placed: tuple[int, ...],
    nodes: int = _NODES,
    apps: int = _APPS,
    replicas: int = _REPLICAS,
) -> list[Cost]:
    """Return what a pod costs when so many others are placed."""
    with served(*options, nodes=nodes) as server:
        prepare(server, mode)
        count, found = 0, []
        for target in placed:
            while count < target:
                create = app_pods(mode, apps, replicas, seed=2 + count, prefix=f"at-{count}")
                create_pods(server, [creation(each) for each in create])
                count += len(create)
            measured = app_pods(mode, apps, replicas, seed=3 + count, prefix=f"at-{count}")
            found.append(_cost(server, measured))
            count += len(measured)
        return found


def growth() -> float:
    """Pods of mixed forms with kubelets: the cost of one beside 30,000 others to that at 3,000."""
    few, many = cpu_by_placed("mixed", placed=(_FEW, _MANY))
    return many.all_ms / few.all_ms


def _case(mode: str, *options: str) -> Case:
    measure: Callable[[], float] = partial(cpu_of_a_pod, mode, *options)
    kubelets = "without" if options else "with"
    measure.__doc__ = f"Server's CPU a pod until bound; 1,000 apps, {mode}, {kubelets} kubelets."
    return Case(
        name=f"apps_up_5000_{mode}" + ("" if options else "_kubelets"),
        unit=MILLISECONDS,
        measure=measure,
        target=1.5 if options else 3.0,
        runs=1,
        is_process_per_run=True,
    )


CASES = (
    *(_case(mode, *WITHOUT_KUBELETS) for mode in MODES),
    *(_case(mode) for mode in MODES),
    Case(
        name="apps_up_5000_growth",
        unit=TIMES,
        measure=growth,
        target=1.5,
        runs=1,
        is_process_per_run=True,
    ),
)


def main() -> None:
    """Print the table of the chosen modes and sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--nodes", type=int, default=_NODES)
    parser.add_argument("--apps", type=int, default=_APPS)
    parser.add_argument("--replicas", type=int, default=_REPLICAS)
    parser.add_argument("--placed", default="0", help="pods placed before, separated by commas")
    parser.add_argument("--kubelets", default="no,yes", help="no, yes, or both")
    options = parser.parse_args()
    placed = tuple(int(each) for each in options.placed.split(","))
    sizes = {name: getattr(options, name) for name in ("nodes", "apps", "replicas")}
    print("ms of the server's CPU a pod, beside pods placed before; in brackets, idle (heartbeats)")
    print(f"{'mode':10} {'kubelets':>8}" + "".join(f" {each:>14,}" for each in placed))
    for mode in options.modes.split(","):
        for kubelets in options.kubelets.split(","):
            chosen = WITHOUT_KUBELETS if kubelets == "no" else ()
            found = cpu_by_placed(mode, *chosen, placed=placed, **sizes)
            costs = "".join(f" {each.all_ms:7.2f} ({each.idle_ms:.2f})" for each in found)
            print(f"{mode:10} {kubelets:>8}{costs}", flush=True)


if __name__ == "__main__":
    main()
