"""Replicas of `podwright scheduler` on a control plane with faults.

More pods are created than fit, and groups of them are deleted, so that many wait and are bound
together when room is made. Then: no node was ever over-committed, no pod is lost (each has a node,
or fits nowhere), each bound pod has its Scheduled Event, and there were never two leaders.

A replica that is killed, or ends since it could not renew its Lease, takes with it the Events that
it has not written, as kube-scheduler does: those of pods that were bound shortly before are not
required.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

import yaml
from tests.real_parts.chaos.client import Client
from tests.real_parts.chaos.cluster import PODWRIGHT, ChaosCluster, Part, chaos_cluster
from tests.real_parts.chaos.faults import Fault, FaultPlan, faults_of
from tests.real_parts.control_plane import free_port
from tests.waiting import until

REPLICAS: Final = 2
NODES: Final = 16
FAULTS: Final = 3
GROUPS: Final = 8
ALIVE: Final = 200
"""Pods; about two thirds of them fit."""

_DEPLOY: Final = Path(__file__).parents[3] / "deploy" / "scheduler"
_PODS: Final = "/api/v1/namespaces/default/pods"
_NODES: Final = "/api/v1/nodes"
_EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
_GPU: Final = "example.com/gpu"
_SETTLE_SECONDS: Final = 90
_WAVE_SECONDS: Final = 3
_LOST_WITH_REPLICA_SECONDS: Final = 60
"""How long an Event may wait for its next attempt while the server is away again and again."""
_CONFIGURATION: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "podwright"}],
    "clientConnection": {"qps": 1000, "burst": 1000},
}
_ELECTIONS: Final = (
    {"leaseDuration": "40s", "renewDeadline": "30s", "retryPeriod": "1s"},
    {"leaseDuration": "10s", "renewDeadline": "7s", "retryPeriod": "1s"},
)
"""Of even and odd seeds: a leader outlives most restarts of the server, or few of them."""
Amounts = dict[str, int]
"""Milli-CPU, GPUs and pods."""


def run(seed: int, folder: Path) -> list[str]:
    """Run one seed; return what is wrong."""
    with chaos_cluster(folder) as cluster:
        client = cluster.client()
        _prepare(client)
        replicas, ports = _replicas(cluster, _ELECTIONS[seed % 2])
        until(lambda: any(map(_is_leader, ports)))
        checks = _Checks(cluster, replicas, ports)
        with beside(_Load(cluster.client(), seed).run), beside(checks.run):
            own = Fault("kube-apiserver is killed in a wave of bindings", 6, _kill_in_wave(cluster))
            killed = [checks.killed(fault) for fault in faults_of(cluster, replicas)]
            FaultPlan(cluster, [own, *killed], seed).run(FAULTS)
        # What is left must be done without further changes.
        with beside(checks.run), suppress(AssertionError):
            until(lambda: not checks.unfinished(client), _SETTLE_SECONDS, pause_seconds=1)
        problems = [*checks.problems, *checks.unfinished(client), *_asking(client)]
        cluster.story.add(checks.summary())
        (folder / "story").write_text(f"{cluster.story}\n")
        print(f"{checks.summary()}; {sum(map(_has_node, client.items(_PODS) or ()))} at the end")
        return problems


def _asking(client: Client) -> list[str]:
    """Return the Events that ask for rights because the server refused a request for a while."""
    notes = [each.get("note", "") for each in client.items(_EVENTS) or ()]
    asking = [note for note in notes if "administrator" in note]
    return [f"{len(asking)} Events ask for rights: {asking[0]}"] if asking else []


# ---------------------------------------------------------------- the cluster


def _prepare(client: Client) -> None:
    """Create the account of the scheduler, and the nodes."""
    for name in ("service-account", "cluster-role"):
        for document in yaml.safe_load_all((_DEPLOY / f"{name}.yaml").read_text()):
            api, kind = document["apiVersion"], document["kind"]
            is_account = kind == "ServiceAccount"
            within = "/api/v1/namespaces/kube-system" if is_account else f"/apis/{api}"
            _create(client, f"{within}/{kind.lower()}s", document)
    for number in range(NODES):
        resources = {"cpu": "4", "memory": "32Gi", "pods": "110"}
        if number % 4 == 0:
            resources[_GPU] = "2"
        status = {"capacity": resources, "allocatable": resources}
        document = {"metadata": {"name": f"n{number}"}, "status": status}
        _create(client, _NODES, document)


def _create(client: Client, path: str, document: dict[str, Any]) -> None:
    # The server makes its namespaces a little after it is ready.
    until(lambda: client.send("POST", path, document).is_success)


def _replicas(cluster: ChaosCluster, election: Mapping[str, str]) -> tuple[list[Part], list[int]]:
    client = cluster.client()
    path = "/api/v1/namespaces/kube-system/serviceaccounts/podwright-scheduler/token"
    token = client.send("POST", path, {"spec": {"expirationSeconds": 3600}}).body
    document = yaml.safe_load(cluster.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": token["status"]["token"]}
    account, config = cluster.folder / "account", cluster.folder / "scheduler.yaml"
    account.write_text(yaml.safe_dump(document))
    config.write_text(yaml.safe_dump({**_CONFIGURATION, "leaderElection": election}))
    ports = [free_port() for _ in range(REPLICAS)]
    parts = [
        cluster.part(
            f"scheduler-{number}", PODWRIGHT, "scheduler", "--kubeconfig", account,
            "--config", config, "--metrics-port", str(port),
        )
        for number, port in enumerate(ports)
    ]  # fmt: skip
    return parts, ports


def _is_leader(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return b'leader_election_master_status{name="podwright-scheduler"} 1' in text


def _kill_in_wave(cluster: ChaosCluster) -> Any:
    """Return a fault: room is made for waiting pods, and the server is killed meanwhile."""
    client = cluster.client()

    def inject(drawn: random.Random) -> None:
        for _ in range(GROUPS // 3):
            _delete_group(client, drawn)
        before = {each["metadata"]["uid"] for each in filter(_has_node, client.items(_PODS) or ())}
        count = drawn.randrange(20)

        def is_in_wave() -> bool:
            bound = filter(_has_node, client.items(_PODS) or ())
            return sum(each["metadata"]["uid"] not in before for each in bound) > count

        with suppress(AssertionError):  # fewer may wait
            until(is_in_wave, _WAVE_SECONDS, pause_seconds=0.03)
        cluster.plane.kill("kube-apiserver")
        cluster.plane.start_again("kube-apiserver")
        cluster.plane.wait_until_ready()

    return inject


def _delete_group(client: Client, drawn: random.Random) -> None:
    group = drawn.randrange(GROUPS)
    client.send("DELETE", f"{_PODS}?labelSelector=group%3D{group}")


@contextmanager
def beside(work: Any) -> Iterator[None]:
    """Run a function in a thread for the time of a block; it is called with what stops it."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class _Load:
    """Creates pods, deletes some, and replaces some by others of the same name."""

    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._random = random.Random(f"load {seed}")
        self._number = 0

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(0.01):
            pods = self._client.items(_PODS)
            if pods is None:
                continue
            for _ in range(min(60, max(0, ALIVE - len(pods)))):
                self._create(f"p{self._number}")
                self._number += 1
            choice = self._random.random()
            if choice < 0.3:
                _delete_group(self._client, self._random)
            elif choice < 0.8 and pods:
                for each in self._random.sample(pods, min(5, len(pods))):
                    name = each["metadata"]["name"]
                    self._client.send("DELETE", f"{_PODS}/{name}")
                    self._create(name)
            stop.wait(self._random.uniform(0.1, 1.5))  # the rate of the load

    def _create(self, name: str) -> None:
        drawn = self._random
        requests = {"cpu": f"{drawn.choice((100, 300, 500, 900))}m"}
        if drawn.random() < 0.1:
            requests[_GPU] = "1"
        limits = {_GPU: requests[_GPU]} if _GPU in requests else {}
        resources = {"requests": requests, "limits": limits}
        container = {"name": "c", "image": "i", "resources": resources}
        spec = {
            "schedulerName": "podwright",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        }
        labels = {"group": str(drawn.randrange(GROUPS))}
        self._client.send(
            "POST", _PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec}
        )


# ---------------------------------------------------------------- the checks


class _Checks:
    """What must hold at any time, and at the end.

    It starts replicas again that have ended, as a kubelet does.
    """

    def __init__(self, cluster: ChaosCluster, replicas: list[Part], ports: list[int]) -> None:
        self._cluster = cluster
        self._replicas = replicas
        self._ports = ports
        self._problems: dict[str, str] = {}
        self._bound_at: dict[str, tuple[float, float]] = {}
        """When each pod was bound: between the two reads that show it."""
        self._read_at = time.monotonic()
        self._ends: list[float] = []
        self._kill_count = self._deadlines = 0
        self.lost_with_replica = 0

    @property
    def problems(self) -> list[str]:
        """What was wrong at some time."""
        return list(self._problems.values())

    def summary(self) -> str:
        """Return figures of the run."""
        return (
            f"{len(self._bound_at)} pods were seen bound, {self._kill_count} kills of replicas, "
            f"{self._deadlines} replicas ended, {self.lost_with_replica} Events were lost with one"
        )

    def killed(self, fault: Fault) -> Fault:
        """Return a fault; the times of those that kill a replica are kept."""
        if not fault.name.startswith("scheduler-"):
            return fault

        def inject(drawn: random.Random) -> None:
            self._kill_count += 1
            self._ends.append(time.monotonic())
            fault.inject(drawn)

        return Fault(fault.name, fault.weight, inject)

    def run(self, stop: threading.Event) -> None:
        """Check the cluster until stopped."""
        client = self._cluster.client()
        while not stop.wait(0.7):
            self._check_leaders()
            self._check_nodes(client)
            for replica in self._replicas:
                if not replica.is_running:
                    self._deadlines += 1
                    self._ends.append(time.monotonic())
                    replica.start()

    def _check_leaders(self) -> None:
        leaders = [port for port in self._ports if _is_leader(port)]
        # The first one may have ended before the second one was read.
        if len(leaders) > 1 and _is_leader(leaders[0]):
            self._report("leaders", f"{len(leaders)} leaders at once")

    def _check_nodes(self, client: Client) -> None:
        began = time.monotonic()
        pods, nodes = client.items(_PODS), client.items(_NODES)
        if pods is None or nodes is None:
            return
        for each in filter(_has_node, pods):
            between = self._read_at, time.monotonic()
            self._bound_at.setdefault(each["metadata"]["uid"], between)
        self._read_at = began
        for name, free in free_of(nodes, pods).items():
            if min(free.values()) < 0:
                self._report(name, f"node {name} is over-committed: {free}")

    def _report(self, key: str, problem: str) -> None:
        if key not in self._problems:
            self._cluster.story.add(problem)
            self._problems[key] = problem

    def unfinished(self, client: Client) -> list[str]:
        """Return what is not done yet: pods that fit and wait, and Events that are absent."""
        pods, nodes = client.items(_PODS), client.items(_NODES)
        events = client.items(_EVENTS)
        if pods is None or nodes is None or events is None:
            return ["the server does not answer"]
        found = []
        free = free_of(nodes, pods)
        for each in pods:
            name, need = each["metadata"]["name"], _requests(each)
            if not _has_node(each) and any(_fits(need, room) for room in free.values()):
                found.append(f"pod {name} fits and has no node: {_conditions(each)}")
        scheduled = Counter(
            each["regarding"]["uid"] for each in events if each["reason"] == "Scheduled"
        )
        absent = [
            each for each in filter(_has_node, pods) if not scheduled[each["metadata"]["uid"]]
        ]
        lost = [each for each in absent if self._is_lost_with_replica(each["metadata"]["uid"])]
        self.lost_with_replica = len(lost)
        names = [each["metadata"]["name"] for each in absent if each not in lost]
        if names:
            found.append(f"{len(names)} pods are bound and have no Event: {', '.join(names[:9])}")
        return found

    def _is_lost_with_replica(self, uid: str) -> bool:
        earliest, latest = self._bound_at.get(uid, (0.0, 0.0))
        return any(earliest < end < latest + _LOST_WITH_REPLICA_SECONDS for end in self._ends)


def free_of(nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> dict[str, Amounts]:
    """Return what each node has left."""
    free = {each["metadata"]["name"]: _amounts(each["status"]["allocatable"]) for each in nodes}
    for each in filter(_has_node, pods):
        room = free[each["spec"]["nodeName"]]
        for resource, amount in _requests(each).items():
            room[resource] -= amount
    return free


def _amounts(resources: Mapping[str, str]) -> Amounts:
    cpu = resources["cpu"]
    milli_cpu = int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
    return {
        "milli_cpu": milli_cpu,
        "gpus": int(resources.get(_GPU, 0)),
        "pods": int(resources.get("pods", 1)),
    }


def _requests(pod: dict[str, Any]) -> Amounts:
    return _amounts(pod["spec"]["containers"][0]["resources"]["requests"])


def _fits(need: Amounts, room: Amounts) -> bool:
    return all(need[resource] <= room[resource] for resource in need)


def _has_node(pod: dict[str, Any]) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _conditions(pod: dict[str, Any]) -> str:
    conditions = pod["status"].get("conditions") or []
    return "; ".join(
        f"{each['type']}={each['status']}: {each.get('message', '')}" for each in conditions
    )
