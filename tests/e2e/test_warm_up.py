"""`podwright warm-up` compiles all kernels that a decision may call."""

import os
import subprocess
import sys

import pytest

# In a separate process, because other tests compile kernels in this one.
UNUSED = """
import importlib, pkgutil
from podwright.scheduler import kernels
from numba.core.dispatcher import Dispatcher
from podwright.cli.decisions.warm_up_run import warm_up

warm_up()
for found in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
    if found.ispkg:
        continue
    module = importlib.import_module(found.name)
    for name, value in vars(module).items():
        if isinstance(value, Dispatcher) and value.__module__ == found.name:
            if not value.signatures:
                print(f"{found.name}.{name}")
"""

# Kernels are compiled for the types of their arguments, such as tuples of one array per constraint.
COMPILED_LATER = """
import sys
from numba.core.dispatcher import Dispatcher
import podwright as pw
from podwright.cli.decisions.warm_up_run import warm_up
from podwright.apimachinery.schema import decode

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
LABELS = {"app": "shop"}

def signatures():
    found = {}
    for module in list(sys.modules.values()):
        if module.__name__.startswith("podwright."):
            for value in vars(module).values():
                if isinstance(value, Dispatcher) and value.py_func.__name__[0] != "_":
                    found[value.py_func.__qualname__] = set(map(str, value.signatures))
    return found

def spread(*keys):
    rest = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    selector = {"labelSelector": {"matchLabels": LABELS}}
    return {"topologySpreadConstraints": [rest | selector | {"topologyKey": k} for k in keys]}

def near(*keys):
    selector = {"labelSelector": {"matchLabels": LABELS}}
    terms = [{"weight": 1, "podAffinityTerm": selector | {"topologyKey": key}} for key in keys]
    return {"affinity": {"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": terms}}}

warm_up()
before = signatures()
KEYS = (ZONE, HOST, "arch")
specs = [{}, *(make(*KEYS[:count]) for make in (spread, near) for count in (1, 2, 3))]
for node_count in (5, 40):
    scheduler = pw.Scheduler()
    scheduler.add(decode({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": LABELS}}))
    for number in range(node_count):
        labels = {ZONE: "abc"[number % 3], HOST: f"n{number}", "arch": "xy"[number % 2]}
        scheduler.add(pw.testing.make_node(f"n{number}", labels=labels))
    for kind, spec in enumerate(specs):
        for number in range(12):
            scheduler.add(pw.testing.make_pod(f"p{kind}-{number}", labels=LABELS, spec=spec))
        assert all(decision.node for decision in scheduler.schedule_all())
for name, found in signatures().items():
    if found - before.get(name, set()):
        print(name)
"""


def test_nothing_is_compiled_for_the_replicas_of_a_service_after_warming_up():
    """Or the leader compiles while it holds the Lease."""
    environment = os.environ | {}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_LATER],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.slow
def test_every_kernel_is_compiled_by_warming_up(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", UNUSED], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
