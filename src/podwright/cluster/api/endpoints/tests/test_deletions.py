"""Deletions that clients rarely request, as kube-apiserver 1.36 answers them."""

from __future__ import annotations

from podwright.cluster.api.endpoints.tests.conftest import Server, pod

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"


def test_a_deletion_as_a_dry_run_shows_the_stored_version(server: Server) -> None:
    _, made = server.reply("POST", PODS, pod("a", nodeName="n"))
    version = made["metadata"]["resourceVersion"]
    status, found = server.reply("DELETE", f"{PODS}/a?dryRun=All")
    assert (status, found["metadata"]["deletionGracePeriodSeconds"]) == (200, 30)
    assert found["metadata"]["resourceVersion"] == version
    assert server.reply("GET", f"{PODS}/a")[1] == made


def test_a_terminated_pod_that_waits_for_finalizers_gets_those_of_a_later_policy(
    server: Server,
) -> None:
    body = pod("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    server.reply("POST", PODS, body)
    assert server.reply("DELETE", f"{PODS}/a")[1]["metadata"]["deletionGracePeriodSeconds"] == 0
    _, found = server.reply("DELETE", f"{PODS}/a?propagationPolicy=Foreground")
    assert found["metadata"]["finalizers"] == ["example.com/hold", "foregroundDeletion"]


def test_a_running_pod_that_terminates_keeps_its_finalizers(server: Server) -> None:
    server.reply("POST", PODS, pod("a", nodeName="n"))
    server.reply("DELETE", f"{PODS}/a")
    _, found = server.reply("DELETE", f"{PODS}/a?propagationPolicy=Foreground")
    assert "finalizers" not in found["metadata"]


def test_the_deletion_of_an_event_ignores_the_policy(server: Server) -> None:
    body = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "r"}
    server.reply("POST", EVENTS, body)
    status, found = server.reply("DELETE", f"{EVENTS}/e?propagationPolicy=Foreground")
    assert (status, found["kind"]) == (200, "Status")
    assert server.reply("GET", f"{EVENTS}/e")[0] == 404


def test_a_grace_period_of_zero_is_none_that_a_client_may_set(server: Server) -> None:
    server.reply("POST", PODS, pod("a"))
    status, found = server.patch(f"{PODS}/a", {"metadata": {"deletionGracePeriodSeconds": 0}})
    field = "metadata.deletionGracePeriodSeconds"
    assert (status, found["details"]["causes"][0]["field"]) == (422, field)
