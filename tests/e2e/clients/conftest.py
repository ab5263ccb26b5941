"""A cluster with TLS that Python clients use, and the objects that they create."""

from __future__ import annotations

import pytest
from tests.e2e.test_up import up


@pytest.fixture(scope="package")
def kubeconfig(tmp_path_factory):
    """Return the kubeconfig of a running cluster."""
    folder = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        with up(folder, "--nodes", "3", "--tls") as cluster:
            yield str(folder / "config")
            assert cluster.end() == 0
            assert "Traceback" not in cluster.text()


def pod(name, cpu="100m"):
    containers = [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": containers},
    }


def deployment(name, replicas):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "app"}]},
            },
        },
    }


def definition(plural, kind, group):
    """Return the definition of a custom resource with a spec and a status."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 9}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [version],
        },
    }
