"""The official client: objects, watches, informers, custom resources and leader election."""

from __future__ import annotations

import threading

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from tests.e2e.clients.conftest import definition, deployment, pod

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def api(kubeconfig):
    config.load_kube_config(kubeconfig)
    with client.ApiClient() as made:
        yield made


def watched(listing, condition, *arguments, **options):
    """Return the first object of a watch for which a condition holds."""
    stream = watch.Watch()
    for event in stream.stream(listing, *arguments, timeout_seconds=SECONDS_MAX, **options):
        if condition(event["object"]):
            stream.stop()
            return event["object"]
    raise AssertionError("never")


def test_pods_are_created_watched_changed_and_deleted(api):
    core = client.CoreV1Api(api)
    created = core.create_namespaced_pod("default", pod("official"))
    assert created.status.phase == "Pending"
    selector = {"field_selector": "metadata.name=official"}
    running = watched(
        core.list_namespaced_pod,
        lambda found: found.status.phase == "Running",
        "default",
        **selector,
    )
    assert running.spec.node_name.startswith("node-")
    labels = {"metadata": {"labels": {"tier": "web", "app": None}}}
    changed = core.patch_namespaced_pod("official", "default", labels)
    assert changed.metadata.labels["tier"] == "web"
    assert "app" not in changed.metadata.labels
    with pytest.raises(ApiException) as conflict:
        core.replace_namespaced_pod("official", "default", created)
    assert conflict.value.status == 409
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_pod_log("official", "default")
    assert refused.value.status >= 400
    assert "simulated" in refused.value.body
    listed = core.list_namespaced_pod("default", label_selector="tier in (web)")
    assert [each.metadata.name for each in listed.items] == ["official"]
    core.delete_namespaced_pod("official", "default", grace_period_seconds=0)
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_pod("official", "default")
    assert gone.value.status == 404


def test_lists_come_in_pages(api):
    core = client.CoreV1Api(api)
    for number in range(5):
        core.create_namespaced_config_map(
            "default", {"metadata": {"name": f"page-{number}", "labels": {"paged": "yes"}}}
        )
    names, token = [], None
    while token != "":
        page = core.list_namespaced_config_map(
            "default", limit=2, _continue=token or "", label_selector="paged=yes"
        )
        assert len(page.items) <= 2
        names += [each.metadata.name for each in page.items]
        token = page.metadata._continue or ""
    assert names == [f"page-{number}" for number in range(5)]
    core.delete_collection_namespaced_config_map("default", label_selector="paged=yes")
    assert not core.list_namespaced_config_map("default", label_selector="paged=yes").items


def test_deployments_are_scaled(api):
    apps = client.AppsV1Api(api)
    utils.create_from_dict(api, deployment("official", 2))
    selector = {"field_selector": "metadata.name=official"}

    def has(replicas):
        return lambda found: found.status.ready_replicas == replicas

    watched(apps.list_namespaced_deployment, has(2), "default", **selector)
    scaled = apps.patch_namespaced_deployment_scale(
        "official", "default", {"spec": {"replicas": 4}}
    )
    assert scaled.spec.replicas == 4
    watched(apps.list_namespaced_deployment, has(4), "default", **selector)
    assert apps.read_namespaced_deployment_scale("official", "default").status.replicas == 4
    apps.delete_namespaced_deployment("official", "default", propagation_policy="Background")
    core, gone = client.CoreV1Api(api), {"label_selector": "app=official"}
    left = core.list_namespaced_pod("default", **gone)
    names = {each.metadata.name for each in left.items}
    if names:
        stream = watch.Watch()
        for event in stream.stream(
            core.list_namespaced_pod,
            "default",
            resource_version=left.metadata.resource_version,
            timeout_seconds=SECONDS_MAX,
            **gone,
        ):
            if event["type"] == "DELETED":
                names.discard(event["object"].metadata.name)
            if not names:
                stream.stop()
    assert not names


def test_the_dynamic_client_applies(api):
    resources = dynamic.DynamicClient(api).resources
    maps = resources.get(api_version="v1", kind="ConfigMap")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "applied", "namespace": "default"},
        "data": {"mode": "fast"},
    }
    first = maps.server_side_apply(body=body, field_manager="one")
    assert first.data.mode == "fast"
    with pytest.raises(ApiException) as conflict:
        maps.server_side_apply(body=body | {"data": {"mode": "slow"}}, field_manager="two")
    assert conflict.value.status == 409
    forced = maps.server_side_apply(
        body=body | {"data": {"mode": "slow"}}, field_manager="two", force_conflicts=True
    )
    assert forced.data.mode == "slow"
    maps.delete(name="applied", namespace="default")


def test_custom_resources_are_defined_and_used(api):
    group, plural = "official.example.com", "boxes"
    definitions = client.ApiextensionsV1Api(api)
    definitions.create_custom_resource_definition(definition(plural, "Box", group))
    name = f"{plural}.{group}"
    watched(
        definitions.list_custom_resource_definition,
        lambda found: any(
            each.type == "Established" and each.status == "True"
            for each in found.status.conditions or ()
        ),
        field_selector=f"metadata.name={name}",
    )
    custom = client.CustomObjectsApi(api)
    where = (group, "v1", "default", plural)
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "one"}}
    custom.create_namespaced_custom_object(*where, box | {"spec": {"size": 3, "unknown": 1}})
    with pytest.raises(ApiException) as invalid:
        custom.create_namespaced_custom_object(
            *where, box | {"metadata": {"name": "two"}, "spec": {"size": 10}}
        )
    assert invalid.value.status == 422
    custom.patch_namespaced_custom_object_status(*where, "one", {"status": {"full": True}})
    (found,) = custom.list_namespaced_custom_object(*where)["items"]
    assert (found["spec"], found["status"]) == ({"size": 3}, {"full": True})
    custom.delete_namespaced_custom_object(*where, "one")
    definitions.delete_custom_resource_definition(name)


def test_an_informer_follows_changes(api):
    core = client.CoreV1Api(api)
    seen, added, deleted = [], threading.Event(), threading.Event()
    informer = SharedInformer(core.list_namespaced_secret, namespace="default")

    def on_added(secret):
        seen.append(secret.metadata.name)
        added.set()

    informer.add_event_handler("ADDED", on_added)
    informer.add_event_handler("DELETED", lambda _: deleted.set())
    informer.start()
    try:
        core.create_namespaced_secret("default", {"metadata": {"name": "informed"}})
        assert added.wait(SECONDS_MAX)
        core.delete_namespaced_secret("informed", "default")
        assert deleted.wait(SECONDS_MAX)
    finally:
        informer.stop()
    assert seen == ["informed"]


def test_a_leader_is_elected(api):
    leading = []

    def lead():
        leading.append(client.CoordinationV1Api(api).read_namespaced_lease("leader", "default"))
        raise RuntimeError("the end of the election")

    election = electionconfig.Config(
        LeaseLock("leader", "default", "candidate-1"),
        lease_duration=4,
        renew_deadline=3,
        retry_period=1,
        onstarted_leading=lead,
        onstopped_leading=lambda: leading.append("stopped"),
    )
    leaderelection.LeaderElection(election).run()
    assert leading[0].spec.holder_identity == "candidate-1"
    assert leading[1] == "stopped"
