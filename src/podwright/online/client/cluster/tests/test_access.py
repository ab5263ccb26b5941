"""How a cluster is reached: kubeconfigs, an address, the service account of a pod."""

from __future__ import annotations

import asyncio
import base64
import math
from pathlib import Path
from typing import Any

import pytest

from podwright.online.client.cluster import access as module
from podwright.online.client.cluster.access import (
    Access,
    ClusterAddress,
    TlsSettings,
    load_access,
    namespace_of,
)
from podwright.online.client.cluster.tests.test_read_connection import kubeconfig
from podwright.online.client.kubeconfig import ConnectionSettingsError

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
    assert (found.tls.authority, found.name) == (b"PEM", "the cluster of this pod")
    six = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert loaded(environment=six).server == "https://[fd00::1]:443"
    (home / "account" / "ca.crt").unlink()
    assert loaded(environment=IN_A_POD).tls == TlsSettings()


def test_the_namespace_of_a_pod_is_that_of_its_variable_else_of_its_account(home):
    service_account(home)
    assert namespace_of(ClusterAddress(environment=IN_A_POD)) == "default"
    (home / "account" / "namespace").write_text("team\n")
    assert namespace_of(ClusterAddress(environment=IN_A_POD)) == "team"
    assert namespace_of(ClusterAddress(environment=IN_A_POD | {"POD_NAMESPACE": "own"})) == "own"
    assert namespace_of(ClusterAddress(server="http://a:1")) == "default"


@pytest.mark.parametrize(
    ("environment", "has_account"),
    [
        ({}, True),
        (IN_A_POD, False),
        *(({**IN_A_POD, name: ""}, True) for name in IN_A_POD),
    ],
)
def test_without_a_kubeconfig_and_outside_of_a_pod_the_error_says_what_to_set(
    home, environment, has_account
):
    if has_account:
        service_account(home)
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


@pytest.mark.parametrize(
    "server", ["a:1", "ftp://a", "unix:/run/x", "https://", "http://:1", "https://a:99999",
               "https://a:x", "https://a:0", "https://[a:1"]
)  # fmt: skip
def test_an_address_of_another_protocol_is_refused(server):
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(server=server)
    assert str(raised.value) == (
        f'{server}: the server "{server}" must be http://HOST:PORT or https://HOST:PORT'
    )


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        pytest.param({"token": "t\n"}, "Bearer t", id="a token"),
        pytest.param({"token": "t", "tokenFile": "new"}, "Bearer n", id="a file precedes it"),
        pytest.param({"token": "t", "tokenFile": "none"}, "Bearer t", id="unless it is absent"),
        pytest.param({"token": "t\n", "tokenFile": "empty"}, "Bearer t", id="or empty"),
        pytest.param({"tokenFile": "binary"}, "Bearer \N{REPLACEMENT CHARACTER}", id="no text"),
        pytest.param({"token": "", "tokenFile": "new"}, "Bearer n", id="no token beside a file"),
        pytest.param({"username": "a", "password": "b"}, "Basic YTpi", id="a password"),
        pytest.param({"username": "a"}, "Basic YTo=", id="a name without one"),
        pytest.param({"password": "b"}, "Basic OmI=", id="a password without a name"),
        pytest.param({"tokenFile": "new", "username": "a"}, "Bearer n", id="a file precedes both"),
        pytest.param(
            {"token": "t", "exec": {"command": "absent"}}, "Bearer t", id="no plugin runs then"
        ),
        pytest.param({"username": "a", "exec": {"command": "absent"}}, "Basic YTo=", id="nor here"),
        pytest.param({"password": "b", "exec": {"command": "absent"}}, "Basic OmI=", id="or here"),
        pytest.param({"tokenFile": "new", "exec": {"command": "absent"}}, "Bearer n", id="or this"),
        pytest.param({}, "", id="nobody"),
    ],
)
def test_the_header_of_a_user(home, user, authorization):
    (home / "new").write_text(" n\n")
    (home / "empty").write_text("\n")
    (home / "binary").write_bytes(b"\xff")
    found = loaded(kubeconfig=kubeconfig(home, "https://a:1", user))
    assert (found.authorization, found.lifetime_seconds) == (authorization, 60.0)


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ({"tokenFile": "none"}, "No such file or directory: HOME/none; correct the path in the"),
        ({"tokenFile": "empty"}, "the token file HOME/empty is empty"),
        (
            {"exec": {"apiVersion": "v1", "command": "x"}},
            'exec: invalid apiVersion "v1"; supported: ',
        ),
        ({"token": "a\nb"}, "the token or a name of the user has control characters"),
        ({"token": "t", "as": "a\nb"}, "the token or a name of the user has control characters"),
        (
            {"auth-provider": {"name": "gcp"}},
            'the auth provider "gcp" is not supported; use an exec plugin',
        ),
        ({"auth-provider": {"name": "oidc"}}, "auth provider oidc: oidc: No valid id-token"),
        ({"auth-provider": {"name": "oidc", "config": {"id-token": "x"}}}, "auth provider oidc: "),
    ],
)
def test_a_user_that_cannot_be_used_is_named(home, user, reason):
    (home / "empty").write_text("\n")
    path = kubeconfig(home, "https://a:1", user)
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig=path)
    assert str(raised.value).startswith(f'{path}: context "c": {reason.replace("HOME", str(home))}')


def test_a_proxy_that_cannot_be_used_is_named(home, monkeypatch):
    path = kubeconfig(home, "https://a:1", {}, **{"proxy-url": "socks5://p"})
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig=path)
    assert str(raised.value).startswith(f'{path}: context "c": the proxy "socks5://p" must be')
    monkeypatch.setenv("HTTPS_PROXY", "ftp://p")
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(server="https://b:1")
    assert str(raised.value).startswith('https://b:1: the proxy "ftp://p" must be')


@pytest.mark.parametrize(
    ("server", "is_sent"),
    [
        ("https://a:1", True),
        ("http://a:1", False),
        ("http://10.0.0.1", False),
        ("http://127.0.0.1:8001", True),
        ("http://localhost:8001", True),
    ],
)
def test_no_credentials_are_sent_to_other_machines_without_tls(home, server, is_sent):
    path = kubeconfig(home, server, {"token": "t", "as": "jane"})
    found = loaded(kubeconfig=path)
    assert (found.authorization, bool(found.impersonation)) == ("Bearer t" * is_sent, is_sent)


def test_the_token_of_the_auth_provider_oidc_is_used(home):
    claims = base64.urlsafe_b64encode(b'{"exp": 99999999999}').decode()
    provider = {"name": "oidc", "config": {"id-token": f"x.{claims}.y"}}
    path = kubeconfig(home, "https://a:1", {"auth-provider": provider})
    found = loaded(kubeconfig=path)
    assert (found.authorization, found.lifetime_seconds) == (f"Bearer x.{claims}.y", math.inf)


def test_requests_for_another_user_name_it(home):
    user = {
        "token": "t",
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"a!*_|": ["3"], "b.com/p q": ["1", "2"]},
    }
    assert loaded(kubeconfig=kubeconfig(home, "https://a:1", user)).impersonation == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-a!*_|", "3"),
        ("Impersonate-Extra-b.com%2Fp%20q", "1"),
        ("Impersonate-Extra-b.com%2Fp%20q", "2"),
    )
    alone = loaded(kubeconfig=kubeconfig(home, "https://a:1", {"as": "jane"}))
    assert alone.impersonation == (("Impersonate-User", "jane"),)


def test_certificates_are_within_the_kubeconfig_or_in_files(home):
    def data(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    for name in ("ca", "cert", "key"):
        (home / name).write_text(name)
    files = {"client-certificate": "cert", "client-key": "key"}
    inline = {"client-certificate-data": data("c"), "client-key-data": data("k")}
    cluster: dict[str, Any] = {"certificate-authority-data": data("a")}
    server = "https://a:1"
    assert loaded(kubeconfig=kubeconfig(home, server, inline, **cluster)).tls == (
        TlsSettings(authority=b"a", certificate=b"c", key=b"k")
    )
    cluster = {"certificate-authority": "ca", "certificate-authority-data": None}
    plugin = {"exec": {"command": "absent"}}  # does not run beside a certificate
    for user in (files, files | plugin):
        found = loaded(kubeconfig=kubeconfig(home, server, user, **cluster))
        assert found.tls == TlsSettings(authority=b"ca", certificate=b"cert", key=b"key")
    found = loaded(kubeconfig=kubeconfig(home, server, inline | plugin))
    assert found.tls == TlsSettings(certificate=b"c", key=b"k")
    unverified = kubeconfig(home, server, {}, **{"insecure-skip-tls-verify": True})
    assert loaded(kubeconfig=unverified).tls == TlsSettings(is_verified=False)
    assert loaded(kubeconfig=kubeconfig(home, "http://a:1", files)).tls == TlsSettings()


def test_an_absent_certificate_is_named(home):
    path = kubeconfig(home, "https://a:1", {}, **{"certificate-authority": "ca.pem"})
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig=path)
    assert str(raised.value) == (
        f'{path}: context "c": No such file or directory: {home / "ca.pem"}; correct the path in '
        "the kubeconfig"
    )


def test_the_name_in_the_certificate_is_not_that_of_another_address(home):
    path = kubeconfig(home, "https://a:1", {}, **{"tls-server-name": "inner"})
    assert loaded(kubeconfig=path).server_name == "inner"
    assert loaded(kubeconfig=path, server="https://b:1").server_name == ""


def test_contexts_that_do_not_exist_are_listed_if_none_is_near(home):
    path = kubeconfig(home, "http://a:1", {})
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig=path, context="production")
    assert str(raised.value) == f'{path}: context "production" does not exist; available: c'
    (home / "empty").write_text("current-context: gone\n")
    with pytest.raises(ConnectionSettingsError, match="does not exist; available: none"):
        loaded(kubeconfig=str(home / "empty"))


def test_absent_kubeconfigs_are_passed_over_beside_one_that_is_there(home):
    path = kubeconfig(home, "http://a:1", {})
    assert loaded(kubeconfig=f"{home / 'none'}:{path}").server == "http://a:1"
    with pytest.raises(ConnectionSettingsError) as raised:
        loaded(kubeconfig="none:nothing")
    assert str(raised.value) == (
        "none, nothing: there is no such kubeconfig; correct its path, or set $KUBECONFIG to that "
        "of another"
    )
