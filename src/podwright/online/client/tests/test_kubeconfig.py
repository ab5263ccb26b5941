"""Kubeconfigs: several files as one, and what a context names.

Upstream: staging/src/k8s.io/client-go/tools/clientcmd/loader_test.go, validation_test.go
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from podwright.online.client.cluster import ConnectionSettingsError
from podwright.online.client.kubeconfig import (
    AuthProvider,
    Choice,
    Cluster,
    Exec,
    User,
    Variable,
    choose,
)

CLUSTER = {"server": "https://a:1"}


def written(path: Path, **fields: Any) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(fields))
    return str(path)


def config(path: Path, cluster: Any = None, user: Any = None, context: Any = None) -> str:
    return written(
        path,
        clusters=[{"name": "k", "cluster": CLUSTER if cluster is None else cluster}],
        users=[{"name": "u", "user": user}],
        contexts=[{"name": "c", "context": {"cluster": "k", "user": "u", **(context or {})}}],
        **{"current-context": "c"},
    )


def test_a_context_names_a_cluster_and_a_user(tmp_path):
    path = config(tmp_path / "a", user={"token": "t"}, context={"namespace": "team"})
    expected = Choice(
        context="c",
        namespace="team",
        cluster=Cluster(server="https://a:1"),
        user=User(token="t"),
    )
    assert choose(path) == choose(path, "c") == expected


@pytest.mark.parametrize(
    "user", [pytest.param(None, id="null"), pytest.param({"token": None}, id="a field of null")]
)
def test_null_is_no_value(tmp_path, user):
    assert choose(config(tmp_path / "a", user=user)).user == User()


def test_a_context_without_a_user_is_that_of_nobody(tmp_path):
    path = config(tmp_path / "a", user={"token": "t"}, context={"user": None})
    assert choose(path).user == User()


def test_all_fields_are_read(tmp_path):
    pem = base64.b64encode(b"PEM").decode()
    cluster = {
        "server": "https://a:1",
        "tls-server-name": "inner",
        "certificate-authority-data": f"{pem[:3]}\n{pem[3:]}\n",
        "proxy-url": "http://p:1",
        "extensions": [{"name": "e", "extension": {"a": 1}}],
        "disable-compression": True,
    }
    user = {
        "client-certificate-data": pem,
        "client-key-data": pem,
        "username": "n m",
        "password": " w\nx ",
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["g"],
        "as-user-extra": {"k": ["v"]},
        "auth-provider": {"name": "oidc"},
        "exec": {
            "command": "aws",
            "args": ["eks"],
            "env": [{"name": "A", "value": "b"}, {"name": "C"}],
            "apiVersion": "client.authentication.k8s.io/v1",
            "installHint": "h",
            "provideClusterInfo": True,
            "interactiveMode": "Never",
        },
    }
    found = choose(config(tmp_path / "a", cluster, user))
    assert found.cluster == Cluster(
        server="https://a:1",
        tls_server_name="inner",
        certificate_authority_data=b"PEM",
        proxy_url="http://p:1",
        extensions=[{"name": "e", "extension": {"a": 1}}],
    )
    assert found.user == User(
        client_certificate_data=b"PEM",
        client_key_data=b"PEM",
        username="n m",
        password=" w\nx ",
        impersonated="jane",
        as_uid="7",
        as_groups=["g"],
        as_user_extra={"k": ["v"]},
        auth_provider=AuthProvider(name="oidc"),
        exec=Exec(
            command="aws",
            args=["eks"],
            env=[Variable("A", "b"), Variable("C", "")],
            api_version="client.authentication.k8s.io/v1",
            install_hint="h",
            provide_cluster_info=True,
            interactive_mode="Never",
        ),
    )


def test_paths_are_relative_to_the_kubeconfig_that_has_them(tmp_path):
    user = {
        "client-certificate": "cert",
        "client-key": "../key",
        "tokenFile": "/run/token",
        "exec": {"command": "bin/plugin"},
    }
    first = config(tmp_path / "a" / "config", CLUSTER | {"certificate-authority": "ca"})
    (tmp_path / "a" / "config").write_text(Path(first).read_text().replace("name: u", "name: v"))
    second = config(tmp_path / "b" / "config", user=user)
    found = choose(f"{first}:{second}")
    assert found.cluster.certificate_authority == str(tmp_path / "a" / "ca")
    assert found.user == User(
        client_certificate=str(tmp_path / "b" / "cert"),
        client_key=str(tmp_path / "b" / ".." / "key"),
        token_file="/run/token",
        exec=Exec(command=str(tmp_path / "b" / "bin" / "plugin")),
    )
    third = config(tmp_path / "d", user={"exec": {"command": "plugin"}})
    assert choose(third).user.exec == Exec(command="plugin")


def test_a_plugin_beside_a_kubeconfig_of_the_same_folder_is_not_looked_up(tmp_path, monkeypatch):
    config(tmp_path / "a", user={"exec": {"command": "./plugin"}})
    monkeypatch.chdir(tmp_path)
    assert choose("a").user.exec == Exec(command=str(tmp_path / "plugin"))


def test_the_first_file_that_has_a_name_decides_what_it_means(tmp_path):
    first = config(tmp_path / "a", user={"token": "first"})
    second = config(tmp_path / "b", {"server": "https://b:1"}, {"token": "second", "username": "n"})
    for files in (f"{first}:{second}", f"{tmp_path / 'absent'}::{first}:{second}:{first}"):
        found = choose(files)
        assert (found.cluster.server, found.user) == ("https://a:1", User(token="first"))


@pytest.mark.parametrize("other", ["", "# nothing\n", "contexts: null\n", "current-context: ''\n"])
def test_files_without_entries_add_nothing(tmp_path, other):
    (tmp_path / "empty").write_text(other)
    path = config(tmp_path / "a")
    for files in (f"{tmp_path / 'empty'}:{path}", f"{path}:{tmp_path / 'empty'}"):
        assert choose(files).context == "c"


def test_the_current_context_is_that_of_the_first_file_that_has_one(tmp_path):
    first = written(tmp_path / "a", **{"current-context": "c"})
    second = written(tmp_path / "b", **{"current-context": "d"})
    assert choose(f"{first}:{second}:{config(tmp_path / 'c')}").context == "c"


@pytest.mark.parametrize(
    ("text", "context", "message"),
    [
        ("{", "", "{path}: the kubeconfig cannot be read: "),
        ("[]", "", "must be an object"),
        ("hello", "", "must be an object"),
        ("contexts: {a: 1}", "", "contexts: must be a list"),
        ("contexts: [1]", "", "contexts[0]: must be an object"),
        ("contexts: [{}]", "", "contexts[0].name: Required value"),
        ("contexts: [{name: 1}]", "", "contexts[0].name: must be a string"),
        ("users: [{name: u, user: {token: 1}}]", "", "must be a string"),
        ("clusters: [{name: k, cluster: 2026-01-01}]", "", "must be an object"),
        (
            "clusters: [{name: k, cluster: {certificate-authority-data: '!'}}]",
            "",
            "clusters[0].cluster.certificate-authority-data: Invalid base64 encoded string",
        ),
        ("users: [{name: u, user: {client-key-data: 1}}]", "", "must be Base64"),
        ("contexts: []", "", "{path}: there is no current context; set one with: kubectl config"),
        ("", "", "{path}: there is no current context"),
        (
            "contexts: [{name: prod}]\ncurrent-context: x",
            "prodd",
            '{path}: context "prodd" does not exist; did you mean "prod"?',
        ),
        (
            "contexts: [{name: prod}, {name: dev}]\ncurrent-context: unknown",
            "",
            '{path}: context "unknown" does not exist; available: prod, dev',
        ),
        ("current-context: c", "", '{path}: context "c" does not exist; available: none'),
        ("contexts: [{name: c}]", "c", '{path}: context "c" names no cluster'),
    ],
)
def test_a_wrong_kubeconfig_is_named(tmp_path, text, context, message):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConnectionSettingsError) as error:
        choose(str(path), context)
    assert message.replace("{path}", str(path)) in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("cluster", "user", "context", "message"),
    [
        ({}, {}, {"cluster": "kk"}, 'cluster "kk" does not exist; did you mean "k"?'),
        ({}, {}, {"user": "other"}, 'user "other" does not exist; available: u'),
        ({"server": ""}, {}, {}, 'cluster "k" has no server'),
        (
            {"insecure-skip-tls-verify": True, "certificate-authority": "a"},
            {},
            {},
            'cluster "k" has a certificate authority and insecure-skip-tls-verify; remove one of '
            "them",
        ),
        (
            {"insecure-skip-tls-verify": True, "certificate-authority-data": "QQ=="},
            {},
            {},
            'cluster "k" has a certificate authority and insecure-skip-tls-verify; remove one of '
            "them",
        ),
        (
            {"certificate-authority": "a", "certificate-authority-data": "QQ=="},
            {},
            {},
            "certificate-authority and certificate-authority-data: specify one of them, not both",
        ),
        *(
            (
                {},
                {field: "a", f"{field}-data": "QQ=="},
                {},
                f"{field} and {field}-data: specify one of them, not both",
            )
            for field in ("client-certificate", "client-key")
        ),
        *(
            (
                {},
                {"token": "t", field: "x"},
                {},
                "the user has a token and a name or password; remove one of them",
            )
            for field in ("username", "password")
        ),
        (
            {},
            {"client-certificate": "a"},
            {},
            "client-certificate needs client-key or client-key-data",
        ),
        (
            {},
            {"client-certificate-data": "QQ=="},
            {},
            "client-certificate needs client-key or client-key-data",
        ),
        *(
            (
                {},
                user,
                {},
                "as-uid, as-groups and as-user-extra need a user in the field as",
            )
            for user in ({"as-uid": "7"}, {"as-groups": ["g"]}, {"as-user-extra": {"k": ["v"]}})
        ),
    ],
)
def test_a_context_that_cannot_be_used_is_named(tmp_path, cluster, user, context, message):
    path = config(tmp_path / "a", CLUSTER | cluster, user, context)
    with pytest.raises(ConnectionSettingsError) as error:
        choose(path)
    assert str(error.value) == f'{path}: context "c": {message}'


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"insecure-skip-tls-verify": True}, {}),
        ({"certificate-authority": "a"}, {}),
        ({}, {"client-certificate": "a", "client-key": "b"}),
        ({}, {"client-certificate-data": "QQ==", "client-key-data": "QQ=="}),
        ({}, {"as": "jane", "as-uid": "7"}),
    ],
)
def test_contexts_that_can_be_used(tmp_path, cluster, user):
    assert choose(config(tmp_path / "a", CLUSTER | cluster, user)).context == "c"


def test_absent_kubeconfigs_and_folders_are_named(tmp_path):
    with pytest.raises(ConnectionSettingsError) as error:
        choose("none::nothing")
    assert str(error.value) == (
        "none, nothing: there is no such kubeconfig; correct its path, or set $KUBECONFIG to that "
        "of another"
    )
    with pytest.raises(ConnectionSettingsError) as error:
        choose(str(tmp_path))
    assert str(error.value) == (
        f"{tmp_path}: the kubeconfig cannot be read: [Errno 21] Is a directory: '{tmp_path}'"
    )


def test_the_home_folder_may_be_short(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    config(tmp_path / "a")
    assert choose("~/a").context == "c"
