"""Remedies on the page: what the button says, and what it does to the pods of a workload."""

import json
import urllib.request

import pytest
import yaml
from tests.ui.served import up
from tests.waiting import until

WIDTHS = (390, 1280, 1920)


def workload(api, kind, cpu, **spec):
    labels = {"app": kind.lower()}
    resources = {"requests": {"cpu": cpu}}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "restartPolicy": "Never" if kind == "Job" else "Always",
            "nodeSelector": {"disk": "ssd"},
            "containers": [{"name": "main", "image": "app", "resources": resources}],
        },
    }
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": kind.lower(), "namespace": "default"},
        "spec": {**selector, **spec, "template": template},
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster with pending pods of a Deployment, a StatefulSet and a Job."""
    folder = tmp_path_factory.mktemp("remedies")
    manifests = folder / "workloads.yaml"
    documents = (
        workload("apps/v1", "Deployment", "100m"),
        workload("apps/v1", "StatefulSet", "100m", serviceName="w"),
        workload("batch/v1", "Job", "100m"),
    )
    manifests.write_text(yaml.safe_dump_all(documents))
    with up(folder, "--nodes", "2", str(manifests)) as running:
        until(lambda: len(pods(running)) == len(documents))
        yield running


def pods(served):
    """Return the pods of `default` by the name of their workload."""
    with urllib.request.urlopen(f"{served.server}/api/v1/namespaces/default/pods") as response:
        items = json.load(response)["items"]
    return {each["metadata"]["labels"]["app"]: each for each in items}


def is_placed(page, served, name):
    """Return whether a pod of a workload has a node; lets the page send its requests meanwhile."""
    page.evaluate("0")
    pod = pods(served).get(name)
    return pod is not None and "nodeName" in pod["spec"]


BUTTONS = (
    ("deployment", "Apply: change Deployment and replace its pods", "a rollout replaces its pods"),
    ("statefulset", "Apply: change StatefulSet and replace its pods, delete Pod", "creates again"),
    ("job", "Apply: delete and recreate Job", "Deletes Job default/job with its pods"),
)


@pytest.mark.parametrize(("name", "button", "effect"), BUTTONS)
def test_a_button_says_what_happens_to_pods_at_every_width_and_does_it(
    page, cluster, name, button, effect
):
    pod = pods(cluster)[name]["metadata"]["name"]
    inspector = page.locator("pw-pod")
    apply = inspector.get_by_role("button", name=button)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{cluster.page}/?pod=default/{pod}")
        apply.wait_for()
        inspector.get_by_text(effect).first.wait_for()
        box = apply.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    inspector.locator(".remedies summary").first.click()
    inspector.locator(".remedies pre", has_text="$ kubectl").first.wait_for()
    apply.click()
    until(lambda: is_placed(page, cluster, name))
