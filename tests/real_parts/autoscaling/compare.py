"""Sizes of node groups on generated loads: simulated, and by cluster-autoscaler on `podwright up`.

``make autoscaling-real SEEDS=0-19`` (about two minutes each); `binary.py` builds the binary.

A load scales three Deployments five times. Both sides have the same short intervals. What is
compared are the turning points of each group's size: a real clock adds and deletes the nodes of one
decision one after the other. A group's template has 200m of CPU above the size, since the kwok
provider lets kube-proxy request some of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.real_parts.autoscaling.binary import built
from tests.real_parts.binaries import find
from tests.real_parts.chaos.__main__ import seeds_of

import podwright as pw
from podwright.apimachinery.objects import Node, decode
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import SizeChange
from podwright.simulation.world import KubernetesEvent, RunArguments, prepared_run, started_run

STEP_SECONDS: Final = 22
FLAGS: Final = {
    "scanInterval": "1s",
    "scaleDownUnneededTime": "4s",
    "scaleDownDelayAfterAdd": "4s",
    "unremovableNodeRecheckTimeout": "4s",
    "nodeDeleteDelayAfterTaint": "1s",
}
_GROUP: Final = "cluster-autoscaler.kwok.nodegroup"
_RECORD: Final = "record.jsonl"
_REMOVED: Final = re.compile(r"Scale-down: removing (?:empty )?node \"?(([a-z]+)-\w+)")
_POLL_SECONDS: Final = 0.2
_MANY_POLLS: Final = 300

Sizes = dict[str, list[int]]


class Group(NamedTuple):
    """A node group: CPU in cores, memory in GiB, the most nodes."""

    name: str
    cpu: int
    memory: int
    most: int


class Load(NamedTuple):
    """A generated load.

    Attributes
    ----------
    groups : list of Group
    apps : list of (str, int, int)
        Deployments: name, milli-CPU and MiB of a pod.
    expander : str
    steps : list of list of int
        The replicas of each Deployment.
    """

    groups: list[Group]
    apps: list[tuple[str, int, int]]
    expander: str
    steps: list[list[int]]


def load_of(seed: int) -> Load:
    """Return the load of a seed."""
    draw = random.Random(seed)
    groups = [
        Group("small", draw.choice([2, 4]), draw.choice([4, 8]), draw.choice([3, 5])),
        Group("large", draw.choice([8, 16]), draw.choice([16, 32, 64]), draw.choice([3, 10])),
    ]
    if draw.random() < 0.5:
        groups.append(Group("mid", draw.choice([4, 6]), draw.choice([8, 48]), 4))
    sizes, amounts = [400, 500, 1000, 1500, 3000], [200, 500, 1500, 3000]
    apps = [(f"app{i}", draw.choice(sizes), draw.choice(amounts)) for i in range(3)]
    expander = draw.choice(["least-waste", "most-pods,least-waste", "least-nodes,least-waste"])
    steps = [[draw.choice([0, 0, 3, 6, 12]) for _ in apps] for _ in range(4)]
    return Load(groups, apps, expander, [*steps, [0] * len(apps)])


def turning_points(sizes: Iterable[int]) -> list[int]:
    """Return the values at which a sequence turns, with the first and the last one."""
    found: list[int] = []
    for size in sizes:
        if found and found[-1] == size:
            continue
        if len(found) > 1 and (found[-1] - found[-2]) * (size - found[-1]) > 0:
            found[-1] = size
        else:
            found.append(size)
    return found


def _node(name: str, cpu: str, memory: str, group: Group | None = None) -> dict[str, Any]:
    labels, annotations = {"kubernetes.io/hostname": name}, {}
    if group is not None:
        labels["pool"] = group.name
        annotations = {
            f"{_GROUP}/min-count": "0",
            f"{_GROUP}/max-count": str(group.most),
            f"{_GROUP}/desired-count": "0",
        }
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _amounts(group: Group) -> dict[str, str]:
    return {"cpu": f"{group.cpu * 1000 + 200}m", "memory": f"{group.memory}Gi"}


def _objects(load: Load) -> list[dict[str, Any]]:
    """Return the Deployments, without pods yet, and a node that no group has."""
    found = [_node("fixed", "100m", "1Gi")]
    for name, cpu, memory in load.apps:
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
        template = {"metadata": {"labels": {"app": name}}, "spec": spec}
        found.append(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "replicas": 0,
                    "selector": {"matchLabels": {"app": name}},
                    "template": template,
                },
            }
        )
    return found


def _node_groups(load: Load, **flags: str) -> dict[str, Any]:
    groups = [
        {
            "name": group.name,
            "maxSize": group.most,
            "provisioningTime": "0s",
            "template": {"allocatable": _amounts(group), "labels": {"pool": group.name}},
        }
        for group in load.groups
    ]
    options = {**FLAGS, **flags, "expander": load.expander.split(","), "poolLabel": "pool"}
    return {"options": options, "groups": groups}


def simulated(load: Load) -> Sizes:
    """Return the turning points of a simulation."""
    events = [
        {"at": f"{5 + STEP_SECONDS * number}s", "scale": f"deployment/{app[0]}", "replicas": count}
        for number, step in enumerate(load.steps)
        for app, count in zip(load.apps, step, strict=True)
    ]
    run = pw.simulate(
        [decode(each) for each in _objects(load)],
        node_groups=_node_groups(load),
        events=events,
        until=f"{25 + STEP_SECONDS * len(load.steps)}s",
    )
    report = run.summary.report
    assert report is not None, "a run has a report"
    return {
        each.name: turning_points(change.size for change in each.sizes)
        for each in report.node_groups
    }


def _kubectl(folder: Path, *arguments: str) -> str:
    command = [str(find("kubectl")), "--kubeconfig", str(folder / "kubeconfig"), *arguments]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    return done.stdout


def real(load: Load, binary: Path, folder: Path) -> Sizes:
    """Return the turning points of cluster-autoscaler's binary on `podwright up`."""
    provider = {
        "apiVersion": "v1alpha1",
        "readNodesFrom": "configmap",
        "nodegroups": {"fromNodeLabelKey": "pool"},
        "nodes": {"skipTaint": True},
        "configmap": {"name": "kwok-provider-templates"},
    }
    templates = [_node(each.name, **_amounts(each), group=each) for each in load.groups]
    data = {
        "kwok-provider-config": {"config": json.dumps(provider)},
        "kwok-provider-templates": {"templates": "\n---\n".join(map(json.dumps, templates))},
    }
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": values}
        for name, values in data.items()
    ]
    items = {"apiVersion": "v1", "kind": "List", "items": [*maps, *_objects(load)]}
    (folder / "objects.json").write_text(json.dumps(items), encoding="utf-8")
    kubeconfig = folder / "kubeconfig"
    environment = {
        **os.environ,
        "KWOK_PROVIDER_MODE": "local",
        "POD_NAMESPACE": "default",
        "KUBECONFIG": str(kubeconfig),
    }
    served = [
        str(Path(sys.executable).with_name("podwright")), "up", str(folder / "objects.json"),
        "--port", "0", "--kubeconfig", str(kubeconfig), "--record", str(folder / _RECORD),
    ]  # fmt: skip
    flags = [f"--{_dashed(name)}={value}" for name, value in FLAGS.items()]
    autoscaler = [
        str(binary), "--cloud-provider=kwok", f"--kubeconfig={kubeconfig}", "--namespace=default",
        "--leader-elect=false", "--kube-api-content-type=application/json", "--v=4",
        f"--expander={load.expander}", "--address=127.0.0.1:0", *flags,
    ]  # fmt: skip
    log = folder / "cluster-autoscaler.log"
    with (folder / "up.log").open("w") as out, log.open("w") as err:
        processes = [subprocess.Popen(served, stdout=out, stderr=out)]
        try:
            _wait(lambda: kubeconfig.exists() and "fixed" in _kubectl(folder, "get", "nodes"))
            processes.append(subprocess.Popen(autoscaler, env=environment, stdout=err, stderr=err))
            _wait(lambda: "No unschedulable pods" in log.read_text(encoding="utf-8"))
            return _sampled(load, folder)
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def _post(folder: Path, path: str, body: object) -> None:
    text = (folder / "kubeconfig").read_text(encoding="utf-8")
    address = text.partition("server: ")[2].split()[0].strip('"')
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(address + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as reply:
        assert all(each["status"] < 400 for each in json.load(reply)["replies"]), path


def _dashed(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)


def _wait(is_ready: Any) -> None:
    for _ in range(_MANY_POLLS):
        if is_ready():
            return
        time.sleep(_POLL_SECONDS)
    raise TimeoutError("a process does not answer; see its log")


def _sampled(load: Load, folder: Path) -> Sizes:
    sizes: Sizes = {group.name: [] for group in load.groups}

    def sample(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = _kubectl(folder, "get", "nodes", "-L", "pool", "--no-headers")
            pools = [line.split()[-1] for line in text.splitlines()]
            for name, found in sizes.items():
                found.append(pools.count(name))
            time.sleep(_POLL_SECONDS)

    sample(2)
    for step in load.steps:
        # At once, as in the simulation: no loop finds a part of the pods only.
        writes = [
            {
                "method": "PATCH",
                "path": f"/apis/apps/v1/namespaces/default/deployments/{app[0]}/scale",
                "contentType": "application/merge-patch+json",
                "body": {"spec": {"replicas": count}},
            }
            for app, count in zip(load.apps, step, strict=True)
        ]
        _post(folder, "/podwright/v1/writes", {"writes": writes})
        sample(STEP_SECONDS)
    sample(12)
    return {name: turning_points(found) for name, found in sizes.items()}


class Choice(NamedTuple):
    """A decision of cluster-autoscaler, and that of the simulated one for the same state.

    Attributes
    ----------
    time : str
    real, simulated : dict of str to int
        By group, how many nodes are added or, below 0, removed.
    """

    time: str
    real: dict[str, int]
    simulated: dict[str, int]


def choices(load: Load, folder: Path) -> Iterator[Choice]:
    """Yield the decisions of the binary, each with ours for the objects that it saw.

    Scale-downs, of empty nodes and by drains, are compared without timers: the nodes that are
    unneeded when the binary removes nodes.
    """
    began, real, seen = "", dict[str, int](), set[str]()
    for line in (folder / "cluster-autoscaler.log").read_text(encoding="utf-8").splitlines():
        stamp = re.match(r"I(\d\d)(\d\d) ([\d:.]+) ", line)
        if stamp is None:
            continue
        if "Starting main loop" in line:
            if real:
                yield Choice(
                    began, real, _chosen(load, folder, began, is_up=max(real.values()) > 0)
                )
            year = time.gmtime().tm_year
            began, real = f"{year}-{stamp[1]}-{stamp[2]}T{stamp[3]}Z", {}
        for name, old, new in re.findall(r"(\w+) (\d+)->(\d+) \(max", line):
            if "Final scale-up plan" in line:
                real[name] = int(new) - int(old)
        removed = _REMOVED.search(line)
        if removed is not None and removed[1] not in seen:
            seen.add(removed[1])
            real[removed[2]] = real.get(removed[2], 0) - 1


def _chosen(load: Load, folder: Path, at: str, *, is_up: bool) -> dict[str, int]:
    """Return what our autoscaler decides first for the objects of a time."""
    state = folder / "state.yaml"
    podwright = str(Path(sys.executable).with_name("podwright"))
    command = [podwright, "convert", str(folder / _RECORD), "--at", at, "-o", "yaml"]
    with state.open("w", encoding="utf-8") as out:
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
    at_once = (
        {} if is_up else dict.fromkeys(("scaleDownUnneededTime", "scaleDownDelayAfterAdd"), "0s")
    )
    removals, loaded = Removals(), pw.load(state)
    given = RunArguments(
        node_groups=_node_groups(load, **at_once), until="3s", observers=(removals,)
    )
    run = started_run(prepared_run(loaded, SchedulerOptions(), given), given)
    if not is_up:
        return dict(removals.first)
    report = run.summary.report
    assert report is not None, "a run has a report"
    there = Counter(node.metadata.labels.get("pool", "") for node in loaded.of(Node))
    steps = [
        (change.time, each.name, change.size - before.size)
        for each in report.node_groups
        for before, change in itertools.pairwise(
            (SizeChange(time="", size=there[each.name]), *each.sizes)
        )
        if change.size > before.size
    ]
    found: dict[str, int] = {}
    for due, name, size in sorted(steps, key=lambda one: one[0]):
        if due == min(step[0] for step in steps):
            found[name] = found.get(name, 0) + size
    return found


class Removals:
    """Counts the nodes of each group that the first loop with a removal removes, below 0."""

    def __init__(self) -> None:
        self.first = Counter[str]()
        self._time: int | None = None

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Receive an Event; those of a removal have the words of the binary's log."""
        removed = _REMOVED.search(event.note)
        if removed is not None and self._time in {None, now_ns}:
            self._time = now_ns
            self.first[removed[2]] -= 1


def explanation(decisions: Sequence[Choice]) -> str:
    """Return why the sizes of a load differ, as far as its decisions say."""
    joined = list(_joined(decisions))
    differing = [choice.time for choice in joined if choice.real != choice.simulated]
    if differing:
        return (
            f"{len(differing)} of {len(joined)} decisions differ for the same objects, first"
            f" at {differing[0]}"
        )
    later = " (some removals a loop later, when the timer of a node ended)"
    return (
        f"all {len(joined)} decisions are equal for the same objects"
        f"{later if len(joined) < len(decisions) else ''}: pods were on other nodes, since the"
        " nodes of a scale-up appear one after the other there, and pods are bound meanwhile"
    )


def _joined(decisions: Iterable[Choice]) -> Iterator[Choice]:
    """Join the parts of a removal: nodes that are unneeded for too short a time follow later."""
    last: Choice | None = None
    for choice in decisions:
        if last is not None and last.real != last.simulated == choice.simulated:
            real = {name: last.real.get(name, 0) + choice.real.get(name, 0) for name in
                    last.real | choice.real}  # fmt: skip
            last = last._replace(real=real)
            continue
        if last is not None:
            yield last
        last = choice
    if last is not None:
        yield last


def main() -> int:
    """Compare the loads of some seeds; return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default="0-2", help="such as 0-19 or 2,14")
    options = parser.parse_args()
    binary = built()
    differing = 0
    for seed in options.seeds:
        load = load_of(seed)
        folder = Path(tempfile.mkdtemp(prefix=f"autoscaling-{seed}-"))
        ours, theirs = simulated(load), real(load, binary, folder)
        differing += ours != theirs
        print(seed, "equal" if ours == theirs else f"different; logs in {folder}", load)
        if ours != theirs:
            print(f"  simulated          {ours}\n  cluster-autoscaler {theirs}")
        decisions = [*choices(load, folder)]
        for choice in decisions:
            word = "equal" if choice.real == choice.simulated else f"ours {choice.simulated}"
            print(f"  {choice.time} {choice.real}: {word}")
        if ours != theirs:
            print(f"  {explanation(decisions)}")
        sys.stdout.flush()
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
