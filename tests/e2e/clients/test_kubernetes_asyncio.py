"""The asynchronous client: objects, watches, custom resources and leader election."""

from __future__ import annotations

import asyncio

import pytest
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client import ApiException
from kubernetes_asyncio.leaderelection import electionconfig, leaderelection
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock
from tests.e2e.clients.conftest import definition, deployment, pod

SECONDS_MAX = 60


def flow(function):
    """Run a coroutine function with a client."""

    def run(kubeconfig):
        async def main():
            async with await config.new_client_from_config(kubeconfig) as api:
                await asyncio.wait_for(function(api), 2 * SECONDS_MAX)

        asyncio.run(main())

    run.__doc__ = function.__doc__
    return run


async def watched(listing, condition, *arguments, **options):
    async with watch.Watch() as stream:
        events = stream.stream(listing, *arguments, timeout_seconds=SECONDS_MAX, **options)
        async for event in events:
            if condition(event["object"]):
                return event["object"]
    raise AssertionError("never")


@flow
async def test_pods_are_created_watched_changed_and_deleted(api):
    core = client.CoreV1Api(api)
    await core.create_namespaced_pod("default", pod("asynchronous"))
    selector = {"field_selector": "metadata.name=asynchronous"}
    running = await watched(
        core.list_namespaced_pod,
        lambda found: found.status.phase == "Running",
        "default",
        **selector,
    )
    assert running.spec.node_name
    changed = await core.patch_namespaced_pod(
        "asynchronous", "default", {"metadata": {"labels": {"tier": "web"}}}
    )
    assert changed.metadata.labels.items() >= {"app": "asynchronous", "tier": "web"}.items()
    with pytest.raises(ApiException) as refused:
        await core.read_namespaced_pod_log("asynchronous", "default")
    assert "simulated" in refused.value.body
    await core.delete_namespaced_pod("asynchronous", "default", grace_period_seconds=0)
    with pytest.raises(ApiException) as gone:
        await core.read_namespaced_pod("asynchronous", "default")
    assert gone.value.status == 404


@flow
async def test_many_requests_at_once(api):
    core = client.CoreV1Api(api)
    names = [f"many-{number:02}" for number in range(30)]
    labels = {"set": "many"}
    await asyncio.gather(
        *(
            core.create_namespaced_config_map(
                "default", {"metadata": {"name": name, "labels": labels}}
            )
            for name in names
        )
    )
    listed = await core.list_namespaced_config_map("default", label_selector="set=many")
    assert [each.metadata.name for each in listed.items] == names
    await core.delete_collection_namespaced_config_map("default", label_selector="set=many")


@flow
async def test_deployments_are_scaled(api):
    apps = client.AppsV1Api(api)
    await apps.create_namespaced_deployment("default", deployment("asynchronous", 1))
    await apps.patch_namespaced_deployment_scale(
        "asynchronous", "default", {"spec": {"replicas": 3}}
    )
    await watched(
        apps.list_namespaced_deployment,
        lambda found: found.status.ready_replicas == 3,
        "default",
        field_selector="metadata.name=asynchronous",
    )
    await apps.delete_namespaced_deployment("asynchronous", "default")


@flow
async def test_custom_resources_are_defined_and_used(api):
    group, plural = "asynchronous.example.com", "jars"
    definitions = client.ApiextensionsV1Api(api)
    await definitions.create_custom_resource_definition(definition(plural, "Jar", group))
    custom = client.CustomObjectsApi(api)
    where = (group, "v1", "default", plural)
    jar = {"apiVersion": f"{group}/v1", "kind": "Jar", "metadata": {"name": "one"}}
    await custom.create_namespaced_custom_object(*where, jar | {"spec": {"size": 1}})
    # A patch of this client is a JSON patch unless another type is named.
    patched = await custom.patch_namespaced_custom_object(
        *where, "one", [{"op": "replace", "path": "/spec/size", "value": 2}]
    )
    assert patched["spec"]["size"] == 2
    await custom.delete_namespaced_custom_object(*where, "one")
    await definitions.delete_custom_resource_definition(f"{plural}.{group}")


@flow
async def test_a_leader_is_elected(api):
    leading, renewed = asyncio.Event(), asyncio.Event()

    class Lock(LeaseLock):  # type: ignore[misc]  # the library has no types
        async def update(self, *arguments):
            is_done = await super().update(*arguments)
            renewed.set()
            return is_done

    async def lead():
        leading.set()
        renewed.clear()  # an old lease is acquired by an update
        await asyncio.Event().wait()  # until the task is cancelled

    async def stopped():
        leading.clear()

    election = electionconfig.Config(
        Lock("asynchronous", "default", "candidate-1", api),
        lease_duration=4,
        renew_deadline=3,
        retry_period=1,
        onstarted_leading=lead,
        onstopped_leading=stopped,
    )
    running = asyncio.create_task(leaderelection.LeaderElection(election).run())
    await leading.wait()
    lease = await client.CoordinationV1Api(api).read_namespaced_lease("asynchronous", "default")
    assert lease.spec.holder_identity == "candidate-1"
    # Then the candidate sleeps. The client closes the connection of a request that is cancelled
    # gracefully, which takes longer with TLS than the event loop lasts.
    await renewed.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
