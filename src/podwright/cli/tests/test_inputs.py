"""Names of pods and nodes on the command line."""

from __future__ import annotations

import json

import pytest

from podwright.cli.decisions.explanation_output import node_list
from podwright.cli.inputs import find_key, find_node, has_no_workload
from podwright.cli.tests.served import command
from podwright.scheduler.assembly import UnknownPod
from podwright.simulation.files import load_bytes

KEYS = ("default/web", "shop/web", "shop/cart", "lab/cart", "lab/model")


@pytest.mark.parametrize(
    ("text", "namespace", "found"),
    [
        ("web", "", "default/web"),
        ("pod/web", "", "default/web"),
        ("pods/model", "", "lab/model"),
        ("po/model", "lab", "lab/model"),
        ("model", "", "lab/model"),
        ("shop/web", "", "shop/web"),
        ("shop/web", "shop", "shop/web"),
        ("web", "shop", "shop/web"),
    ],
)
def test_a_pod_is_found_by_its_name(text, namespace, found):
    assert find_key(text, KEYS, namespace=namespace) == found
    assert find_key(text, iter(KEYS), namespace=namespace) == found


@pytest.mark.parametrize(
    ("text", "namespace", "error"),
    [
        ("cart", "", '"cart" is in several namespaces: shop/cart, lab/cart'),
        ("shop/web", "lab", '"shop/web" is not in namespace "lab"'),
        ("modle", "", 'no pod "modle" in these files; did you mean lab/model?'),
        ("web", "lab", 'no pod "web" in namespace "lab" in these files'),
        ("none/web", "", 'no pod "none/web" in these files'),
    ],
)
def test_a_pod_that_is_not_there_is_an_error(text, namespace, error):
    with pytest.raises(UnknownPod) as caught:
        find_key(text, KEYS, namespace=namespace)
    assert str(caught.value).startswith(error)


def test_long_lists_of_names_are_cut_unless_all_are_shown():
    names = [f"n{number}" for number in range(13)]
    assert node_list(names[:12], 5) == ", ".join(names[:12])
    assert node_list(names, 5) == f"{', '.join(names[:12])} and 1 more (-o wide)"
    assert node_list(names, None) == ", ".join(names)


@pytest.mark.parametrize("text", ["n1", "node/n1", "nodes/n1"])
def test_a_node_is_found_by_its_name(text):
    assert find_node(text, iter(["n0", "n1"])) == "n1"


@pytest.mark.parametrize(
    ("kind", "api_version", "is_none"),
    [
        ("Node", "v1", True),
        ("Service", "v1", True),
        ("Pod", "v1", False),
        ("Deployment", "apps/v1", False),
        ("CronJob", "batch/v1", False),
    ],
)
def test_pods_and_what_makes_pods_are_workloads(kind, api_version, is_none):
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
    loaded = load_bytes([("a.json", json.dumps(document).encode())], validate="ignore")
    assert has_no_workload(loaded) is is_none


def test_the_calls_of_plugins_are_timed_on_request(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
        'status: {allocatable: {cpu: "1", pods: "3"}}\n---\n'
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: m, image: i}]}\n"
    )
    printed, _, status = command(f"simulate {file} --until 1m --timings")
    assert status == 0
    heads = ["PLUGIN", "POINT", "CALLS", "ERRORS", "TOTAL", "MEAN", "LONGEST", "LONGEST-POD"]
    assert printed.split("Calls of plugins:\n")[1].splitlines()[0].split() == heads
    found = json.loads(command(f"simulate {file} --until 1m --timings -o json")[0])
    names = {(each["plugin"], each["point"]) for each in found["timings"]}
    assert ("NodeResourcesFit", "PreFilter") in names
    assert "timings" not in json.loads(command(f"simulate {file} --until 1m -o json")[0])
    wide, _, _ = command(f"simulate {file} --until 1m --timings -o wide")
    assert wide.split("Calls of plugins:\n")[1].split()[0] == "PROFILE"
