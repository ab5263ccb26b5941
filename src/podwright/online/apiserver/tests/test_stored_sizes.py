"""Pods that etcd stores, but not with the changes of the scheduler."""

import msgspec

from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.stored_sizes import SIZE_MAX_BYTES, protobuf_size
from podwright.online.apiserver.tests.conftest import pod, request, with_turns

PODS = "/api/v1/namespaces/default/pods"


def pod_with_text(name, text_bytes):
    value = {"name": "text", "value": "x" * text_bytes}
    container = {"name": "main", "image": "app", "env": [value]}
    return pod(name, containers=[container], automountServiceAccountToken=False)


def test_a_pod_that_is_too_large_with_its_node_stays_pending_and_others_are_bound():
    async def sent(turns, *what, **options):
        reply = await turns.execute(request(*what, **options))
        assert isinstance(reply, HttpReply)
        return reply.status, msgspec.json.decode(reply.body)

    async def use(turns):
        _, tried = await sent(turns, "POST", PODS, pod_with_text("a", 0), query="dryRun=All")
        del tried["metadata"]["managedFields"]
        text_bytes = SIZE_MAX_BYTES - protobuf_size(tried) - 50
        status, _ = await sent(turns, "POST", PODS, pod_with_text("a", text_bytes))
        assert status == 201
        status, _ = await sent(turns, "POST", PODS, pod("b"))
        assert status == 201
        await turns.reach(turns.cluster.world.now_ns)
        return [(await sent(turns, "GET", f"{PODS}/{name}"))[1] for name in "ab"]

    large, small = with_turns(use)
    assert large["status"]["phase"] == "Pending"
    assert "nodeName" not in large["spec"]
    assert small["spec"]["nodeName"]
