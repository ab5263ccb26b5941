"""kr8s: objects, waits, scaling, labels and custom resources."""

from __future__ import annotations

import kr8s
import pytest
from kr8s.objects import ConfigMap, CustomResourceDefinition, Deployment, Pod, new_class
from tests.e2e.clients.conftest import definition, deployment, pod

SECONDS_MAX = 60


# It supports the newest releases of Kubernetes later than they exist.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning")


@pytest.fixture(scope="module")
def api(kubeconfig):
    return kr8s.api(kubeconfig=kubeconfig)


def test_pods_are_created_waited_for_changed_and_deleted(api):
    single = Pod(pod("kr8s"), api=api)
    single.create()
    assert single.exists()
    single.wait("condition=Ready", timeout=SECONDS_MAX)
    assert single.ready()
    single.label(tier="web")
    single.annotate(note="checked")
    assert single.labels.tier == "web"
    found = list(api.get("pods", namespace="default", label_selector={"app": "kr8s"}))
    assert [each.name for each in found] == ["kr8s"]
    with pytest.raises(kr8s.ServerError, match="simulated"):
        list(single.logs())
    single.delete(force=True)
    with pytest.raises(kr8s.NotFoundError):
        single.refresh()


def test_a_watch_reports_what_happens(api):
    config = ConfigMap(
        {"metadata": {"name": "kr8s", "namespace": "default"}, "data": {"mode": "fast"}}, api=api
    )
    config.create()
    events = api.watch("configmaps", namespace="default")
    for kind, found in events:
        if found.name == "kr8s":
            assert kind == "ADDED"
            break
    config.patch({"data": {"mode": "slow"}})
    for kind, found in events:
        if kind == "MODIFIED" and found.name == "kr8s":
            assert found.data.mode == "slow"
            break
    events.close()
    config.delete()


def test_deployments_are_scaled(api):
    made = Deployment(deployment("kr8s", 1), api=api)
    made.create()
    made.scale(3)
    for _, found in api.watch("deployments", namespace="default"):
        if found.name == "kr8s" and found.status.get("readyReplicas") == 3:
            break
    assert len(made.pods()) == 3
    made.delete(propagation_policy="Foreground")


def test_custom_resources_are_defined_and_used(api):
    defined = CustomResourceDefinition(definition("cans", "Can", "kr8s.example.com"), api=api)
    defined.create()
    defined.wait("condition=Established", timeout=SECONDS_MAX)
    can_class = new_class("Can", version="kr8s.example.com/v1", namespaced=True)
    can = can_class(
        {"metadata": {"name": "one", "namespace": "default"}, "spec": {"size": 1}}, api=api
    )
    can.create()
    can.patch({"spec": {"size": 2}})
    assert can.spec.size == 2
    can.delete()
    defined.delete()


def test_the_server_is_known(api):
    assert api.version()["minor"]
    assert any(each["kind"] == "Pod" for each in api.api_resources())
    assert api.whoami() == "admin"
