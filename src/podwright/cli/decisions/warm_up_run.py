"""`podwright warm-up`: schedules on a generated cluster so that every kernel is compiled.

Numba compiles a kernel for the types of its arguments at the first call. The cluster here is
designed so that one run calls each kernel.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import Object, decode_pod
from podwright.apimachinery.schema import decode
from podwright.cli.console import announce_compilation, print_message, waiting
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.scheduler.framework import TieRule
from podwright.scheduler.kernels import preemption, select
from podwright.scheduler.kernels._cache import KernelCache
from podwright.scheduler.kernels._jit import (
    compile_all,
    compile_at_next_cycle,
    notify_before_compiling,
    prepare,
    when_work_pays,
)

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_SPREAD_HARD: dict[str, Any] = {
    "maxSkew": 1,
    "labelSelector": {"matchLabels": {"app": "web"}},
    "topologyKey": _ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
}
_CONSTRAINTS = 3
"""Topology spread constraints, or preferred affinity terms, of one pod; few have more."""
_NODES = 130
"""More than 100: with fewer nodes, percentageOfNodesToScore has no effect."""


def run_warm_up() -> None:
    """Schedule on a small cluster under several configurations; print what was compiled."""
    compiled: list[str] = []
    notify_before_compiling(compiled.append)
    with waiting("compiling kernels (half a minute the first time)"):
        decision_count = warm_up()
    if KernelCache.folder is not None and os.access(KernelCache.folder, os.W_OK):
        (KernelCache.folder / COMPILED).touch()
    if compiled:
        print_message(
            f"Compiled {len(compiled)} kernels for {decision_count} decisions; cached on disk."
        )
    else:
        print_message("Nothing to compile: all kernels are already cached.")


def warm_up() -> int:
    """Make decisions that call every kernel; return their number."""
    compile_all()
    decisions = _warm_up_alike() + _warm_up_replicas() + _warm_up_preemption()
    _warm_up_rest()
    for tie_rule, configuration in _configurations():
        scheduler = Scheduler(configuration, tie_rule=tie_rule)
        scheduler.add(*_cluster())
        decisions += sum(1 for _ in scheduler.schedule_all())
        # A change of one node, for the kernels that update cached results.
        scheduler.add(_node(1, cpu="16"))
        scheduler.add(*_pods("again"))
        decisions += sum(1 for _ in scheduler.schedule_all())
        scheduler.explain(decode_pod(_pod("why", cpu="1")))
    return decisions


def _warm_up_alike() -> int:
    """Schedule identical pods on identical nodes: cached results apply to all of them."""
    scheduler = Scheduler()
    scheduler.add(*(_node(i) for i in (1, 2, 4)), *(decode(_pod(f"alike-{i}")) for i in range(4)))
    return sum(1 for _ in scheduler.schedule_all())


def _warm_up_replicas() -> int:
    """Schedule replicas of a Service: spread by default, by own constraints, and by affinity.

    Kernels that take one array for each constraint or term are compiled for each number of them.
    """
    scheduler = Scheduler()
    # Without taints: a score that is normalized, too, prevents totals per group.
    scheduler.add(_service(), *(_node(i) for i in (1, 2, 4, 5, 7)))
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    soft = _SPREAD_HARD | {"whenUnsatisfiable": "ScheduleAnyway"}
    keys = [(_ZONE, _HOST, "disk")[:count] for count in range(_CONSTRAINTS, 0, -1)]
    specs: dict[str, dict[str, Any]] = {}
    # Most constraints first: there are few groups while few pods are on each node.
    for each in keys:
        constraints = [soft | {"topologyKey": key} for key in each]
        specs[f"spread-{len(each)}"] = {"topologySpreadConstraints": constraints}
    specs["default"] = {}
    # Last: their terms give all later pods a separate score.
    for each in keys:
        terms = [{"weight": 5, "podAffinityTerm": selector | {"topologyKey": key}} for key in each]
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
        specs[f"near-{len(each)}"] = {"affinity": {"podAffinity": preferred}}
    for name, spec in specs.items():
        # The first ones of a key are evaluated without what is kept of it.
        scheduler.add(*(decode(_pod(f"{name}-{copy}-x", **spec)) for copy in range(8)))
    return sum(1 for _ in scheduler.schedule_all())


def _warm_up_preemption() -> int:
    """Add high-priority pods to full nodes, with and without a disruption budget."""
    scheduler = Scheduler()
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 1},
    }
    scheduler.add(decode(budget), *(_node(i) for i in (1, 2, 4)))
    for node in (1, 2, 4):
        for copy in range(2):
            scheduler.add(decode(_pod(f"low-{node}-{copy}", cpu="4", node=f"node-{node}")))
    terms: dict[str, dict[str, Any]] = {
        "plain": {},
        "spread": {"topologySpreadConstraints": [_SPREAD_HARD]},
        "apart": {"affinity": _affinity("podAntiAffinity", 1)},
    }
    for name, spec in terms.items():
        scheduler.add(decode(_pod(f"high-{name}", cpu="6", priority=100, **spec)))
    scheduler.add(decode(_pod("low", cpu="6")))
    return sum(1 for _ in scheduler.schedule_all())


def _warm_up_rest() -> None:
    """Call the kernels that only rare paths of the machine reach, with the same types."""
    totals: I64Array = np.array([3, 5, 4], dtype=np.int64)
    slots: I32Array = np.arange(3, dtype=np.int32)
    select.pop_heap(totals, slots, 3)
    preemption.slots_with(totals, slots, 5)


def _configurations() -> Iterator[tuple[TieRule, KubeSchedulerConfiguration | None]]:
    yield TieRule.DRAWN, None
    yield TieRule.HEAP, None
    yield TieRule.FIRST, _with_strategy({"type": "MostAllocated"}, percentage=50)
    ratio = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": ratio}
    yield TieRule.HEAP, _with_strategy(strategy, percentage=50)


def _with_strategy(strategy: dict[str, Any], *, percentage: int) -> KubeSchedulerConfiguration:
    resources = [{"name": name, "weight": 1} for name in ("cpu", "memory", "example.com/gpu")]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": percentage,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {"scoringStrategy": strategy | {"resources": resources}},
                    }
                ],
            }
        ],
    }
    return read_configuration(document, source="warm-up")


# ---------------------------------------------------------------- objects


def _cluster() -> Iterator[Object]:
    for i in range(_NODES):
        yield _node(i)
    yield decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    yield _service()
    for i in range(6):
        yield decode(
            _pod(f"placed-{i}", node=f"node-{i}", affinity=_affinity("podAntiAffinity", i))
        )
    yield from _pods("first")


def _service() -> Object:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"app": "web"}},
        }
    )


def _node(i: int, cpu: str = "8") -> Object:
    taints = [{"key": "spot", "effect": "PreferNoSchedule"}] if i % 3 == 0 else []
    taints += [{"key": "dedicated", "effect": "NoSchedule"}] if i % 10 == 9 else []
    allocatable = {"cpu": cpu, "memory": "32Gi", "pods": "110", "example.com/gpu": str(i % 2 * 4)}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{i}",
                "labels": {_HOST: f"node-{i}", _ZONE: f"zone-{i % 3}", "disk": str(i % 2)},
            },
            "spec": {"taints": taints, "unschedulable": i % 17 == 16},
            "status": {
                "allocatable": allocatable,
                "images": [{"names": ["example/web:1"], "sizeBytes": 500_000_000 + i}],
            },
        }
    )


def _pods(prefix: str) -> Iterator[Object]:
    """Yield pods, each of which is evaluated by different plugins."""
    hard = _SPREAD_HARD
    soft = hard | {"topologyKey": _HOST, "whenUnsatisfiable": "ScheduleAnyway"}
    soft_zone = soft | {"topologyKey": _ZONE}
    requested = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["1"]}]}
    node_affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [requested]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": requested}],
    }
    specs: dict[str, dict[str, Any]] = {
        "plain": {},
        "spread": {"topologySpreadConstraints": [hard]},
        "spread-host": {"topologySpreadConstraints": [hard, hard | {"topologyKey": _HOST}]},
        "spread-soft": {"topologySpreadConstraints": [soft, soft_zone]},
        "affinity": {"affinity": _affinity("podAffinity", 1)},
        "anti-affinity": {"affinity": _affinity("podAntiAffinity", 2)},
        "node-affinity": {"affinity": {"nodeAffinity": node_affinity}},
        "selector": {"nodeSelector": {"disk": "0"}},
        "tolerant": {"tolerations": [{"operator": "Exists"}]},
    }
    for name, spec in specs.items():
        for copy in range(2):
            yield decode(_pod(f"{prefix}-{name}-{copy}", **spec))
    yield decode(_pod(f"{prefix}-too-big", cpu="640"))
    yield decode(_pod(f"{prefix}-gpu", resources={"example.com/gpu": "1"}))
    yield decode(_pod(f"{prefix}-port", port=8080))
    for copy in range(2):
        yield decode(_pod(f"{prefix}-besteffort-{copy}", cpu="", memory=""))


def _affinity(kind: str, number: int) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": _ZONE}
    own = {"labelSelector": {"matchLabels": {"set": str(number)}}, "topologyKey": _HOST}
    required = [term] if kind == "podAffinity" else [own]
    return {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "podAffinityTerm": term},
                {"weight": 5, "podAffinityTerm": own},
            ],
        }
    }


def _pod(
    name: str,
    *,
    cpu: str = "100m",
    memory: str = "64Mi",
    node: str = "",
    port: int = 0,
    resources: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    requested = {"cpu": cpu, "memory": memory} | (resources or {})
    requests = {resource: amount for resource, amount in requested.items() if amount}
    container: dict[str, Any] = {
        "name": "main",
        "image": "example/web:1",
        "resources": {"requests": requests},
    }
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": "web", "set": name.rpartition("-")[2]},
        },
        "spec": {"containers": [container], **spec},
    }


# Loads the kernels of a process that serves for long, without the memory of the compiler.
#
# Compiling all kernels takes 170 MB, which the compiler keeps, so another process does it. Loading
# them runs 50 MB of the compiler's own code, which the system would keep in memory.

_NONE: Final = subprocess.DEVNULL

COMPILED: Final = "all-compiled"
"""A file in a set of compiled kernels in which none is missing."""

_FIRST_FILE: Final = 3
"""The first descriptor after those of input, output and errors."""

_COMPILER: Final = "libllvmlite"
_CODE: Final = "r-xp"
_DO_NOT_NEED: Final = 4
_PR_SET_PDEATHSIG: Final = 1
"""The option of `prctl` for the signal that a process gets when its parent ends."""
_MAPS: Final = Path("/proc/self/maps")
_RELEASE_SECONDS: Final = 10.0
"""How often a server releases the compiler's code, of which nothing says when it ran last."""


def load_kernels() -> None:
    """Load all kernels; those that are not on disk are compiled first, which is announced."""
    announce_compilation()
    prepare()
    compile_apart(KernelCache.folder, warm_up)
    warm_up()
    release_compiler()


@contextmanager
def kernels_in_background() -> Iterator[None]:
    """Inside the context, a thread makes compiled kernels ready when the work pays for them.

    Meanwhile they run as plain Python. Those that are not on disk are compiled by another process,
    which ends with the context. Each kernel is loaded when it is called first; the code that loads
    them is released again and again.
    """
    processes: list[subprocess.Popen[bytes]] = []
    is_over = threading.Event()

    def make_ready() -> None:
        folder = KernelCache.folder if prepare() else None
        if folder is None or not (folder / COMPILED).exists():
            warming_up = "from podwright.cli import main; main(['warm-up'])"
            command = [sys.executable, "-c", warming_up]
            processes.append(subprocess.Popen(command, stdout=_NONE, stderr=_NONE, stdin=_NONE))
            print_message(
                "Compiling kernels in the background, once for each user and version; "
                "decisions are slower until then."
            )
            processes[0].wait()
        compile_at_next_cycle()
        while not is_over.wait(_RELEASE_SECONDS):
            release_compiler()

    when_work_pays(threading.Thread(target=make_ready, name="kernels", daemon=True).start)
    try:
        yield
    finally:
        is_over.set()
        for process in processes:
            process.kill()
            process.wait()


def compile_apart(folder: Path | None, compile_all: Callable[[], object]) -> None:
    """Compile kernels in another process, unless all of them are on disk.

    Parameters
    ----------
    folder : Path or None
        Keeps the compiled kernels. Without one that can be written to, nothing is done.
    compile_all : callable
        Compiles all kernels.
    """
    if folder is None or not os.access(folder, os.W_OK) or (folder / COMPILED).exists():
        return
    process = os.fork()
    if process == 0:
        status = 1
        try:
            # Who reads the output of a process that is terminated meanwhile need not wait for it,
            # and the port and the files of a server are free then.
            if sys.platform.startswith("linux"):
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.closerange(_FIRST_FILE, os.sysconf("SC_OPEN_MAX"))
            compile_all()
            (folder / COMPILED).touch()
            status = 0
        finally:
            # What fails here, fails again where the kernels are loaded.
            os._exit(status)
    os.waitpid(process, 0)


def release_compiler() -> int:
    """Release the memory of the compiler's code; where it runs again, it is read again.

    Returns
    -------
    int
        The size of the code; 0 where it stays in memory.
    """
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None)
    released = 0
    for line in _MAPS.read_text(encoding="utf-8").splitlines():
        addresses, access, *_, name = line.split(maxsplit=5)
        # Only code: released data would lose what was written to it.
        if access != _CODE or _COMPILER not in name:
            continue
        first, end = (int(each, 16) for each in addresses.split("-"))
        if libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), _DO_NOT_NEED) == 0:
            released += end - first
    return released
