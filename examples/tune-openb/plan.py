"""Weights for the openb trace: default plugins and published GPU policies, blended.

    podwright tune examples/tune-openb/plan.py --out tuned

The folder `openb` beside this file has two tables of the trace: `openb_node_list_gpu_node.csv` and
`openb_pod_list_default.csv`. Every twentieth node is taken. The pods of a run are drawn by its
seed; they request 1.3 times the GPUs, arrive at once in drawn order, and do not end. `BlendedGpu`
in `policies.py` filters and assigns devices in all configurations; what pods request of them is
also a resource here, so that it is counted.
"""

from pathlib import Path
from tempfile import mkdtemp

import msgspec

import podwright as pw

OPENB = Path(__file__).parent / "openb"
EVERY, RATIO = 20, 1.3
PREFIX = "alibabacloud.com/"
POLICIES = ("fgd", "bestFit", "packing", "dotProduct")


def plan():
    """Return the plan."""
    tables = ("openb_node_list_gpu_node.csv", "openb_pod_list_default.csv")
    trace = pw.FgdTrace.of(pw.load([str(OPENB / name) for name in tables]).objects)
    nodes = [node.raw for node in trace.nodes[::EVERY]]
    pods = [with_request(pod.raw) for pod in trace.pods]
    gpus = sum(int(node["status"]["allocatable"][f"{PREFIX}gpu-count"]) for node in nodes)
    requested = sum(milli_of(pod) for pod in pods) / 1000
    file = Path(mkdtemp()) / "openb.json"
    items = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}
    file.write_bytes(msgspec.json.encode(items))
    count = round(len(pods) * RATIO * gpus / requested)
    typical = msgspec.to_builtins(list(trace.typical))
    return {
        "inputs": [{"name": "openb", "files": [str(file)], "pods": count}],
        "configurations": [
            {"name": name, "config": configuration(typical, weights), "plugins": ["policies.py"]}
            for name, weights in (("default", {}), *((one, {one: 1}) for one in POLICIES))
        ],
        "seeds": "0-3",
        "simulate": {"until": "1s"},
        "goals": [f"+{PREFIX}gpu-milli peak"],
        "tune": {
            "trials": 24,
            "heldOutSeeds": "100-111",
            "parameters": {
                **{f"args.BlendedGpu.{one}": {"low": 0, "high": 10} for one in POLICIES},
                "weights.BlendedGpu": {"low": 0, "high": 20},
                "weights.NodeResourcesFit": {"low": 0, "high": 10},
                "weights.NodeResourcesBalancedAllocation": {"low": 0, "high": 10},
                "args.NodeResourcesFit.scoringStrategy.type": {
                    "choices": ["LeastAllocated", "MostAllocated"]
                },
            },
        },
    }


def milli_of(pod):
    """Return the thousandths of GPUs that a pod requests."""
    given = pod["metadata"].get("annotations", {})
    count = int(given.get(f"{PREFIX}gpu-count", 0))
    return count * min(int(given.get(f"{PREFIX}gpu-milli", 0)), 1000)


def with_request(pod):
    """Return a pod whose GPUs are a resource, too, without the times of the trace."""
    kept = {
        name: value
        for name, value in pod["metadata"]["annotations"].items()
        if name.startswith(f"{PREFIX}gpu-")
    }
    (container,) = pod["spec"]["containers"]
    requests = dict(container["resources"]["requests"])
    if milli := milli_of(pod):
        requests[f"{PREFIX}gpu-milli"] = str(milli)
    limits = {name: value for name, value in requests.items() if name.startswith(PREFIX)}
    container = {**container, "resources": {"requests": requests, "limits": limits}}
    metadata = {"name": pod["metadata"]["name"], "annotations": kept}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def configuration(typical, weights):
    """Return the default configuration, or one in which a published policy alone scores."""
    score = {"disabled": [{"name": "BlendedGpu"}]}
    if weights:
        score = {"disabled": [{"name": "*"}], "enabled": [{"name": "BlendedGpu"}]}
    arguments = {"typicalPods": typical, **weights}
    profile = {
        "plugins": {
            "multiPoint": {"enabled": [{"name": "BlendedGpu"}]},
            "score": score,
            "postFilter": {"disabled": [{"name": "*"}]},
        },
        "pluginConfig": [{"name": "BlendedGpu", "args": arguments}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 100,
        "profiles": [profile],
    }
