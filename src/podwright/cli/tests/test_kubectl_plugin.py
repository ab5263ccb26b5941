"""`kubectl podwright` on the cluster of a kubeconfig."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from podwright.cli.clusters.kubectl_plugin import app
from podwright.cli.tests.served import command, served
from podwright.online.sync.tests.served_cluster import ServedCluster, document, node, pod

PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {filter: {disabled: [{name: TaintToleration}]}}
"""


@pytest.fixture
def kubeconfig(tmp_path, monkeypatch):
    """The path of a kubeconfig with a context for each of two namespaces."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    cluster = ServedCluster()
    cluster.create(document("Namespace", "shop"), node("n1"), pod("web"))
    shop = pod("cart")
    shop["metadata"]["namespace"] = "shop"
    cluster.create(shop)
    with served(cluster) as address:
        path = tmp_path / "kubeconfig"
        path.write_text(
            f"clusters: [{{name: c, cluster: {{server: '{address}'}}}}]\n"
            "users: [{name: u, user: {}}]\n"
            "contexts:\n- {name: plain, context: {cluster: c, user: u}}\n"
            "- {name: shop, context: {cluster: c, user: u, namespace: shop}}\n"
            "current-context: plain\n"
        )
        yield path


def plugin(*words):
    result = CliRunner().invoke(app, list(map(str, words)), prog_name="kubectl podwright")
    return result.stdout, result.stderr, result.exit_code


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("web",), "default/web"),
        (("pod/web",), "default/web"),
        (("cart", "--context", "shop"), "shop/cart"),
        (("cart", "-n", "shop"), "shop/cart"),
        (("shop/cart",), "shop/cart"),
        (("cart",), None),
        (("web", "--context", "shop"), None),
    ],
)
def test_a_pod_is_in_the_namespace_of_the_context(kubeconfig, words, found):
    printed, errors, status = plugin("explain", "--kubeconfig", kubeconfig, *words)
    if found is None:
        assert "error: no pod" in errors
        assert status == 2
    else:
        assert printed.startswith(f"Pod:      {found}\n")
        assert status == 1  # the node is not ready


def test_other_options_are_those_of_the_command(kubeconfig):
    line = ("explain", "web", "--kubeconfig", kubeconfig)
    printed, _, status = plugin(*line, "-o", "name", "--alone")
    assert (printed, status) == ("", 1)
    _, errors, status = plugin(*line, "--none")
    assert "No such option: --none" in errors
    assert status == 2


def test_a_configuration_is_compared_with_the_default_one(kubeconfig, tmp_path):
    file = tmp_path / "packed.yaml"
    file.write_text(PACKED)
    line = ("diff", "-c", file, "--kubeconfig", kubeconfig)
    printed, errors, status = plugin(*line)
    assert [row.split()[:5] for row in printed.splitlines()[:3]] == [
        ["NAMESPACE", "POD", "BEFORE", "AFTER", "CHANGE"],
        ["default", "web", "<none>", "n1", "no"],
        ["shop", "cart", "<none>", "n1", "no"],
    ]
    assert "\n2 of 2 pods differ: 2 no longer pending. 1 of them" in errors
    assert status == 1
    assert plugin(*line, "--exit-zero")[2] == 0


def test_without_files_the_cluster_of_the_current_context_is_explained(kubeconfig, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    printed, errors, status = command("explain web")
    assert errors.startswith("no FILE is given: reading the cluster of the current context\n")
    assert printed.startswith("Pod:      default/web\n")
    assert status == 1
