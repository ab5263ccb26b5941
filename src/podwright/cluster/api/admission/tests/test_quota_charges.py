"""What writes charge to the quotas of their namespace, and why quotas reject them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.quota import ResourceQuota
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)
from podwright.cluster.api.admission.tests.test_quota_by_object import pod


class Updates:
    """Keeps the status of quotas that a write charges."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Document, int]] = []

    def __call__(self, quota: Document, now_ns: int) -> None:
        self.kept.append((quota["metadata"]["name"], quota["status"]["used"], now_ns))


def quota(name: str, hard: Document, used: Document | None, **spec: Any) -> Document:
    status = {"hard": hard} | ({} if used is None else {"used": used})
    return named("v1 ResourceQuota", name, "default", spec={"hard": hard, **spec}, status=status)


POD_QUOTA = quota("q", {"pods": "2", "requests.cpu": "3"}, {"pods": "1", "requests.cpu": "1"})


@pytest.mark.parametrize(
    ("quotas", "new", "old", "facts", "result"),
    [
        ([], pod(), None, {}, []),
        ([POD_QUOTA], pod({"cpu": "2"}), None, {}, [("q", {"pods": "2", "requests.cpu": "3"}, 5)]),
        ([POD_QUOTA], pod({"cpu": "2"}), None, {"is_dry_run": True}, []),
        ([POD_QUOTA], pod({"cpu": "2"}), None, {"namespace": "other"}, []),
        ([POD_QUOTA], pod({"cpu": "2"}), None, {"operation": "DELETE"}, []),
        ([POD_QUOTA], pod({"cpu": "0"}), None, {}, [("q", {"pods": "2", "requests.cpu": "1"}, 5)]),
        (
            [POD_QUOTA], pod({"cpu": "2001m"}), None, {},
            "exceeded quota: q, requested: requests.cpu=2001m, used: requests.cpu=1, limited:"
            " requests.cpu=3",
        ),
        ([POD_QUOTA], pod(), None, {}, "failed quota: q: must specify requests.cpu for: c"),
        (
            [quota("q", {"pods": "2"}, None)], pod(), None, {},
            "status unknown for quota: q, resources: pods",
        ),
        ([quota("q", {"secrets": "2"}, None)], pod(), None, {}, []),
        (
            [quota("q", {"pods": "1", "count/pods": "1"}, {"pods": "0"})], pod(), None, {},
            "status unknown for quota: q, resources: count/pods,pods",
        ),
        (
            [quota("b", {"pods": "2"}, {"pods": "0"}), quota("a", {"pods": "9"}, {"pods": "4"})],
            pod(), None, {}, [("a", {"pods": "5"}, 5), ("b", {"pods": "1"}, 5)],
        ),
        (
            [quota("q", {"pods": "2"}, {"pods": "0"}, scopes=["Terminating"])], pod(), None, {},
            [],
        ),
        # An update counts what it adds.
        (
            [POD_QUOTA], pod({"cpu": "3"}), pod({"cpu": "1"}), {"subresource": "resize"},
            [("q", {"pods": "1", "requests.cpu": "3"}, 5)],
        ),
        ([POD_QUOTA], pod({"cpu": "1"}), pod({"cpu": "3"}), {"subresource": "resize"}, []),
        ([POD_QUOTA], pod({"cpu": "3"}), pod({"cpu": "1"}), {}, []),
        (  # A pod that enters a scope counts as a whole.
            [quota("q", {"pods": "2"}, {"pods": "0"}, scopes=["Terminating"])],
            pod(spec={"activeDeadlineSeconds": 1}), pod(), {}, [("q", {"pods": "1"}, 5)],
        ),
        (
            [quota("q", {"requests.cpu": "3"}, {"requests.cpu": "1"})], pod({"cpu": "-1"}), None,
            {}, "quota usage is negative for resource(s): cpu,requests.cpu",
        ),
        (
            [quota("q", {"requests.cpu": "3"}, {"requests.cpu": "1"})],
            pod({"memory": "-1", "cpu": "-1"}), None, {},
            "quota usage is negative for resource(s): cpu,memory,requests.cpu,requests.memory",
        ),
        ([quota("q", {"pods": "0"}, {"pods": "0"})], pod(), None, {},
         "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"),
    ],
)  # fmt: skip
def test_what_a_write_charges(
    quotas: list[Document], new: Document, old: Any, facts: Document, result: Any
) -> None:
    updates = Updates()
    plugin = ResourceQuota(a_context(a_store(*quotas), update_status=updates))
    found = outcome(plugin, a_write("v1 Pod", new, old, **{"now_ns": 5, **facts}))
    if isinstance(result, str):
        assert found == f'pods "p" is forbidden: {result}'
        assert updates.kept == []
    else:
        assert found == new
        assert updates.kept == result


def test_a_namespace_does_not_count_in_its_own_quota() -> None:
    own = quota("q", {"count/namespaces": "0"}, {"count/namespaces": "0"})
    plugin = ResourceQuota(a_context(a_store(own)))
    namespace = {"metadata": {"name": "default"}}
    assert outcome(plugin, a_write("v1 Namespace", namespace, name="default")) == namespace


def test_which_resources_quotas_do_not_count() -> None:
    hard = {"count/events": "0", "count/events.events.k8s.io": "0", "count/bindings": "0",
            "count/secrets": "0", "count/leases.coordination.k8s.io": "0"}  # fmt: skip
    plugin = ResourceQuota(a_context(a_store(quota("q", hard, dict.fromkeys(hard, "0")))))
    for kind, is_counted in (
        ("v1 Event", False), ("events.k8s.io/v1 Event", False), ("v1 Binding", False),
        ("v1 Secret", True), ("coordination.k8s.io/v1 Lease", True),
    ):  # fmt: skip
        write = a_write(kind, {"metadata": {"name": "x"}})
        assert isinstance(outcome(plugin, write), str) is is_counted, kind
        assert plugin.decides_by_template(write) is (kind.endswith(("Event", "Binding")))
    assert plugin.decides_by_template(a_write("v1 Secret", {}, namespace="other"))
    claims = {"requests.storage": "1Gi"}
    beyond = ResourceQuota(
        a_context(
            a_store(quota("q", claims, {"requests.storage": "1Gi"})),
            update_status=(updates := Updates()),
        )
    )
    size = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    grown = size | {"status": {"allocatedResources": {"storage": "3Gi"}}}
    write = a_write("v1 PersistentVolumeClaim", grown, size, subresource="status")
    assert outcome(beyond, write) == grown
    assert updates.kept == [("q", {"requests.storage": "3Gi"}, 0)]
