"""How a cluster is reached: kubeconfigs, an address, the service account of a pod."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from podwright.online.client.cluster import access as module
from podwright.online.client.cluster.access import (
    Access,
    ClusterAddress,
    load_access,
    namespace_of,
)
from podwright.online.client.cluster.errors import ConnectionSettingsError
from podwright.online.client.cluster.tests.test_read_connection import kubeconfig

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


def loaded(**address: Any) -> Access:
    return asyncio.run(load_access(ClusterAddress(**address)))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(module, "_SERVICE_ACCOUNT", tmp_path / "account")
    return tmp_path


def service_account(folder: Path) -> None:
    account = folder / "account"
    account.mkdir()
    (account / "token").write_text("secret\n")
    (account / "ca.crt").write_text("PEM")


def test_the_files_are_those_that_are_named_else_those_of_the_environment_else_of_the_user(home):
    environment = {"KUBECONFIG": "a:b"}
    assert ClusterAddress(kubeconfig="c", environment=environment).files == "c"
    assert ClusterAddress(environment=environment).files == "a:b"
    assert ClusterAddress().files == ""
    assert ClusterAddress().is_in_pod
    (home / ".kube").mkdir()
    default = Path(kubeconfig(home / ".kube", "http://a:1", {}))
    assert ClusterAddress().files == str(default)
    assert ClusterAddress(server="http://a:1").files == ""
    assert not ClusterAddress(server="http://a:1").is_in_pod
    assert not ClusterAddress().is_in_pod
    assert loaded().server == "http://a:1"


def test_in_a_pod_its_service_account_is_used(home):
    service_account(home)
    found = loaded(environment=IN_A_POD)
    assert (found.server, found.authorization) == ("https://10.0.0.1:6443", "Bearer secret")
    assert found.configuration.ssl_ca_cert == str(home / "account" / "ca.crt")
    assert found.name == "the cluster of this pod"
    assert namespace_of(ClusterAddress(environment=IN_A_POD)) == "default"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("environment", [{}, IN_A_POD])
def test_without_a_kubeconfig_and_outside_of_a_pod_the_error_says_what_to_set(environment):
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(environment=environment)
    assert str(raised.value) == (
        "no kubeconfig: set $KUBECONFIG to the path of one, or create ~/.kube/config; this process "
        "is not in a pod with a service account either"
    )


def test_an_address_replaces_that_of_the_kubeconfig_and_keeps_its_credentials(home):
    path = kubeconfig(home, "https://a:1", {"token": " t "})
    found = loaded(kubeconfig=path, server="http://127.0.0.1:8001/")
    assert (found.server, found.authorization) == ("http://127.0.0.1:8001", "Bearer t")
    assert found.name == "http://127.0.0.1:8001/"
    assert loaded(kubeconfig=path).name == 'context "c"'
    alone = loaded(server="http://127.0.0.1:8001")
    assert (alone.authorization, alone.name) == ("", "http://127.0.0.1:8001")


@pytest.mark.parametrize("server", ["a:1", "ftp://a", "unix:/run/x"])
def test_an_address_of_another_protocol_is_refused(server):
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(server=server)
    assert str(raised.value) == (
        f'{server}: the server "{server}" must be http://HOST:PORT or https://HOST:PORT'
    )


def test_a_connection_depends_on_address_certificates_keys_and_proxy():
    names = ["host", "ssl_ca_cert", "cert_file", "key_file", "proxy"]
    base = dict.fromkeys(names, "x")

    def of(**changes: str) -> tuple[str | None, ...]:
        return Access(type("Configuration", (), base | changes), "", "n").tls

    assert of() == ("x",) * 5
    assert all(of(**{name: "y"}) != of() for name in names)


def test_contexts_that_do_not_exist_are_listed_if_none_is_near(home):
    path = kubeconfig(home, "http://a:1", {})
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig=path, context="production")
    assert str(raised.value) == f'{path}: context "production" does not exist; there are: c'
    (home / "empty").write_text("current-context: gone\n")
    with pytest.raises(ConnectionSettingsError, match="does not exist; there are: none"):
        loaded(kubeconfig=str(home / "empty"))


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        pytest.param("{server: [1]}", "a field has a wrong type", id="an assertion"),
        pytest.param(
            "2026-01-01", "argument of type 'datetime.date' is not iterable", id="a message"
        ),
    ],
)
def test_a_kubeconfig_with_values_of_other_types_is_not_usable(home, cluster, reason):
    (home / "wrong").write_text(
        "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
        f"clusters: [{{name: k, cluster: {cluster}}}]\n"
    )
    for context in ("", "c"):
        with pytest.raises(ConnectionSettingsError) as raised:
            loaded(kubeconfig=str(home / "wrong"), context=context)
        assert str(raised.value) == f'{home / "wrong"}: context "c" is not usable: {reason}'


def test_absent_kubeconfigs_are_passed_over_beside_one_that_is_there(home):
    path = kubeconfig(home, "http://a:1", {})
    assert loaded(kubeconfig=f"{home / 'none'}:{path}").server == "http://a:1"
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig="none:nothing")
    assert str(raised.value) == (
        "none, nothing: there is no such kubeconfig; correct its path, or set $KUBECONFIG to that "
        "of another"
    )
