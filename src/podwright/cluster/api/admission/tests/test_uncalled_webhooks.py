"""Whoever configures a webhook or the server of an API is warned that none is called."""

from __future__ import annotations

import pytest

from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.admission.uncalled_webhooks import (
    NOT_CALLED,
    NOT_CONVERTED,
    NOT_FORWARDED,
)
from podwright.cluster.api.endpoints import ApiServer, ServerOptions, bare_store
from podwright.cluster.api.endpoints.tests.conftest import START_NS, Server

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def server_of_users() -> Server:
    server = Server()
    server.store = bare_store(START_NS)
    server.api = ApiServer(server.store, ServerOptions(admission=default_plugins))
    return server


def warnings(server: Server, method: str, path: str, body: object) -> list[str]:
    headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else None
    reply = server.send(method, path, body, headers=headers)
    assert reply.status < 300, reply
    return [value for name, value in reply.headers if name == "warning"]


def configuration(*hooks: str) -> dict[str, object]:
    made = [
        {
            "name": name,
            "clientConfig": {"url": "https://hooks.example.com/check"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for name in hooks
    ]
    return {"metadata": {"name": "hooks"}, "webhooks": made}


def test_a_configuration_with_webhooks_gets_a_warning():
    server = server_of_users()
    expected = [f'299 - "{NOT_CALLED}"']
    assert warnings(server, "POST", CONFIGURATIONS, configuration("a.example.com")) == expected
    change = {"metadata": {"labels": {"a": "b"}}}
    assert warnings(server, "PATCH", f"{CONFIGURATIONS}/hooks", change) == expected
    assert warnings(server, "DELETE", f"{CONFIGURATIONS}/hooks", None) == []
    assert warnings(server, "POST", CONFIGURATIONS, configuration()) == []


def test_a_definition_with_a_webhook_gets_a_warning():
    server = server_of_users()
    definition = {
        "metadata": {"name": "trains.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "trains", "kind": "Train"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    assert warnings(server, "POST", DEFINITIONS, definition) == []
    webhook = {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://hooks.example.com/convert"},
    }
    change = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    expected = [f'299 - "{NOT_CONVERTED}"']
    assert warnings(server, "PATCH", f"{DEFINITIONS}/trains.example.com", change) == expected


@pytest.mark.parametrize(
    ("service", "warning", "status", "reason"),
    [
        pytest.param(
            {"name": "metrics-server", "namespace": "kube-system"},
            [f'299 - "{NOT_FORWARDED}"'],
            "False",
            "NotForwarded",
            id="another server",
        ),
        pytest.param(None, [], "True", "Local", id="this server"),
    ],
)
def test_an_api_of_another_server_gets_a_warning(service, warning, status, reason):
    server = server_of_users()
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "service": service}
    priorities = {"groupPriorityMinimum": 100, "versionPriority": 100}
    body = {"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": spec | priorities}
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    assert warnings(server, "POST", path, body) == warning
    status_code, made = server.reply("GET", f"{path}/v1beta1.metrics.k8s.io")
    assert status_code == 200
    (condition,) = made["status"]["conditions"]
    shown = [condition[name] for name in ("type", "status", "reason")]
    assert shown == ["Available", status, reason]
    assert made["spec"].get("service") == (service and service | {"port": 443})


def test_the_server_of_the_recordings_does_not_warn():
    server = Server()
    assert warnings(server, "POST", CONFIGURATIONS, configuration("a.example.com")) == []
