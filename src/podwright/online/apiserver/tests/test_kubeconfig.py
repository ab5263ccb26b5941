"""The kubeconfig of a cluster."""

import resource
import stat

import pytest
import yaml

from podwright.online.apiserver import KubeconfigError, kubeconfig, write_kubeconfig
from podwright.online.apiserver.access.kubeconfig import TlsData


def test_it_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "folder" / "config"
    write_kubeconfig(path, kubeconfig("http://127.0.0.1:1", "secret"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    document = yaml.safe_load(path.read_text())
    assert document["clusters"][0]["cluster"]["server"] == "http://127.0.0.1:1"
    assert document["users"][0]["user"] == {"token": "secret"}
    assert document["current-context"] == document["contexts"][0]["name"]


def test_its_own_file_is_replaced(tmp_path):
    path = tmp_path / "config"
    write_kubeconfig(path, kubeconfig("http://127.0.0.1:1", "first"))
    write_kubeconfig(path, kubeconfig("http://127.0.0.1:1", "second"))
    assert "second" in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["config"]


def test_its_own_file_is_replaced_after_kubectl_has_changed_it(tmp_path):
    path = tmp_path / "config"
    document = kubeconfig("http://127.0.0.1:1", "first")
    document["contexts"][0]["context"]["namespace"] = "team"
    path.write_text(yaml.safe_dump(document))  # kubectl writes no comment
    write_kubeconfig(path, kubeconfig("http://127.0.0.1:1", "second"))
    assert "second" in path.read_text()


OTHER_CONTEXT = kubeconfig("http://127.0.0.1:1", "token")
OTHER_CONTEXT["contexts"].append({"name": "production", "context": {"cluster": "production"}})


@pytest.mark.parametrize(
    "content",
    [
        b"apiVersion: v1\n",
        b"",
        b"\xff\xfe",
        b"a: [",
        b"podwright\n",
        b"clusters: null\ncontexts: null\nusers: null\n",
        yaml.safe_dump(OTHER_CONTEXT).encode(),
    ],
)
def test_another_file_is_not(tmp_path, content):
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(KubeconfigError):
        write_kubeconfig(path, kubeconfig("http://127.0.0.1:1", "token"))
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KubeconfigError, match="cannot be written"):
        write_kubeconfig(tmp_path / "file" / "config", kubeconfig("http://127.0.0.1:1", "t"))


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        with pytest.raises(KubeconfigError, match="cannot be written: File too large"):
            write_kubeconfig(tmp_path / "config", kubeconfig("http://127.0.0.1:1", "token"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tls", "cluster", "user"),
    [
        (TlsData(authority=b"ca"), {"certificate-authority-data": "Y2E="}, {}),
        (
            TlsData(authority=b"ca", server_name="podwright"),
            {"certificate-authority-data": "Y2E=", "tls-server-name": "podwright"},
            {},
        ),
        (
            TlsData(authority=b"ca", certificate=b"crt", key=b"key"),
            {"certificate-authority-data": "Y2E="},
            {"client-certificate-data": "Y3J0", "client-key-data": "a2V5"},
        ),
    ],
)
def test_a_server_with_tls_has_its_certificates_in_it(tls, cluster, user):
    found = kubeconfig("https://127.0.0.1:1", "secret", tls)
    assert found["clusters"][0]["cluster"] == {"server": "https://127.0.0.1:1", **cluster}
    assert found["users"][0]["user"] == {"token": "secret", **user}
    assert found["contexts"] == [
        {"name": "podwright", "context": {"cluster": "podwright", "user": "podwright"}}
    ]


def test_its_own_file_of_another_version_is_replaced(tmp_path):
    path = tmp_path / "config"
    path.write_text("# Written by `podwright up`; replaced at its next start.\nanything: else\n")
    partial = tmp_path / ".config.partial"
    partial.write_text("of a process that was killed")
    partial.chmod(0o644)
    write_kubeconfig(path, kubeconfig("http://127.0.0.1:1", "second"))
    assert "second" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
