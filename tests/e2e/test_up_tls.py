"""`podwright up --tls`: certificates, users, and which addresses are served."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import socket
import ssl

import pytest
import yaml
from tests.e2e.command_line import run
from tests.e2e.test_up import Up, pod, up
from tests.waiting import SECONDS_MAX

from podwright.online.apiserver.access.certificates import Authority, kept_certificates

NODES = "/api/v1/nodes"
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def context_of(folder, *, trusts=True, has_certificate=True):
    """Return the TLS context of a client with the kubeconfig in a folder."""
    config = yaml.safe_load((folder / "config").read_text())
    data = config["clusters"][0]["cluster"]["certificate-authority-data"]
    authority = base64.b64decode(data).decode() if trusts else None
    context = ssl.create_default_context(cadata=authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of newer versions of Python
    if has_certificate:
        user = config["users"][0]["user"]
        pair = folder / "pair.pem"
        pair.write_bytes(
            base64.b64decode(user["client-certificate-data"])
            + base64.b64decode(user["client-key-data"])
        )
        context.load_cert_chain(pair)
    return context


def send(cluster: Up, context, method="GET", path=NODES, body=None, headers=None, host="127.0.0.1"):
    connection = http.client.HTTPSConnection(
        "127.0.0.1", cluster.port, timeout=SECONDS_MAX, context=context
    )
    with contextlib.closing(connection):
        data = None if body is None else json.dumps(body)
        named = {"host": f"{host}:{cluster.port}", "content-type": "application/json"}
        connection.request(method, path, data, named | (headers or {}))
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def token_of(folder):
    user = yaml.safe_load((folder / "config").read_text())["users"][0]["user"]
    return {"authorization": f"Bearer {user['token']}"}


def client_context(folder, authority, user, *groups):
    """Return the context of a client with a certificate of an authority."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority.sign_client(key.public_key(), user, groups)
    pair = folder / f"{user}.pem"
    pair.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = context_of(folder, has_certificate=False)
    context.load_cert_chain(pair)
    return context


def who_is(cluster, context, headers=None):
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    status, found = send(cluster, context, "POST", REVIEW, review, headers)
    assert status == 201, found
    return found["status"]["userInfo"]


def test_users_have_certificates_or_tokens(tmp_path):
    with up(tmp_path, "--nodes", "1", "--tls") as cluster:
        admin, without = context_of(tmp_path), context_of(tmp_path, has_certificate=False)
        found = who_is(cluster, admin)
        assert found["username"] == "admin"
        assert found["groups"] == ["system:masters", "system:authenticated"]
        (identity,) = found["extra"]["authentication.kubernetes.io/credential-id"]
        assert identity.startswith("X509SHA256=")
        assert who_is(cluster, without, token_of(tmp_path))["uid"] == "admin-uid"
        # A certificate comes before a token, as upstream.
        assert "uid" not in who_is(cluster, admin, token_of(tmp_path))
        folder = tmp_path / "state" / "podwright" / "certificates"
        authority = Authority.read(folder / "ca.crt", folder / "ca.key")
        jane = client_context(tmp_path, authority, "jane", "dev", "ops")
        assert who_is(cluster, jane)["groups"] == ["dev", "ops", "system:authenticated"]
        status, found = send(cluster, jane)
        assert (status, found["message"].partition(" cannot")[0]) == (
            403,
            'nodes is forbidden: User "jane"',
        )
        # Requests without credentials are not treated as administrator requests.
        assert send(cluster, without)[0] == 403
        assert send(cluster, without, headers={"authorization": "Bearer x"})[0] == 401
        other = client_context(tmp_path, Authority.new(), "mallory", "system:masters")
        with pytest.raises((OSError, http.client.HTTPException)):
            send(cluster, other)
        with pytest.raises(ssl.SSLCertVerificationError):
            send(cluster, context_of(tmp_path, trusts=False))
        with socket.create_connection(("127.0.0.1", cluster.port)) as plain:
            plain.sendall(b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not plain.recv(1)
        # The host is checked as without TLS.
        assert send(cluster, admin, host="rebound.example")[0] == 403
        assert send(cluster, admin, host="localhost")[0] == 200
        assert send(cluster, admin, "POST", PODS, pod("web"))[0] == 201
        assert cluster.end() == 0
        assert "Traceback" not in cluster.text()
        assert cluster.text().splitlines()[-1] == "stopped"


def test_the_authority_is_kept_beside_the_database(tmp_path):
    database = str(tmp_path / "cluster.db")
    with up(tmp_path, "--db", database, "--tls") as cluster:
        first = context_of(tmp_path)
        assert send(cluster, first, "POST", PODS, pod("web"))[0] == 201
        assert cluster.end() == 0
    assert (tmp_path / "cluster.db-certificates" / "ca.key").exists()
    assert not (tmp_path / "state").exists()
    with up(tmp_path, "--db", database, "--tls", "--nodes", "1") as cluster:
        # The client of the first start trusts the second one, and is known there.
        status, found = send(cluster, first, path=f"{PODS}/web")
        assert (status, found["metadata"]["name"]) == (200, "web")
        assert cluster.end() == 0


def test_an_own_certificate_is_served(tmp_path):
    own = kept_certificates(tmp_path / "own", ["cluster.example"])
    files = ("--tls-cert", str(own.server), "--tls-key", str(own.server_key))
    with up(tmp_path, *files) as cluster:
        config = yaml.safe_load((tmp_path / "config").read_text())
        entry = config["clusters"][0]["cluster"]
        assert entry["tls-server-name"] == "cluster.example"
        assert base64.b64decode(entry["certificate-authority-data"]) == own.server.read_bytes()
        context = ssl.create_default_context(cafile=own.authority)
        connection = socket.create_connection(("127.0.0.1", cluster.port), timeout=SECONDS_MAX)
        with context.wrap_socket(connection, server_hostname="cluster.example") as secure:
            assert secure.getpeercert(binary_form=True)
        context.check_hostname = False
        headers = token_of(tmp_path)
        assert send(cluster, context, headers=headers, host="cluster.example")[0] == 200
        assert cluster.end() == 0


def test_all_addresses_are_served_over_tls_with_credentials(tmp_path):
    options = ("--address", "0.0.0.0", "--tls", "--tls-san", "cluster.example", "--kss-port", "0")
    with up(tmp_path, *options) as cluster:
        names = context_of(tmp_path)
        for host in ("cluster.example", "192.0.2.7", "127.0.0.1"):
            assert send(cluster, names, host=host)[0] == 200
        assert send(cluster, names, host="rebound.example")[0] == 403
        without = context_of(tmp_path, has_certificate=False)
        assert send(cluster, without)[0] == 403
        # So is the API of kube-scheduler-simulator.
        simulator = re.search(r"API at https://127\.0\.0\.1:(\d+)/api/v1", cluster.text())
        assert simulator is not None, cluster.text()
        cluster.port = int(simulator[1])
        for host in ("cluster.example", "192.0.2.7", "127.0.0.1"):
            assert send(cluster, names, path="/api/v1/export", host=host)[0] == 200
        assert send(cluster, names, path="/api/v1/export", host="rebound.example")[0] == 403
        assert send(cluster, without, path="/api/v1/export")[0] == 403
        assert cluster.end() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--address 0.0.0.0", "other machines reach 0.0.0.0, so it is served over TLS only"),
        ("--address 192.0.2.1 --tls --bare", "the tokens of --bare are known"),
        ("--address example.com", '"example.com" is not an IP address'),
        ("--address 192.0.2.1 --tls", "choose an address of this machine with --address"),
        ("--tls-cert a.pem", "must be given together"),
        ("--tls-san name", "has no effect without --tls"),
        ("--tls-cert a.pem --tls-key b.pem --tls-san name", "has no effect with --tls-cert"),
        ("--tls-cert absent.pem --tls-key absent.key", "absent.pem: cannot be read: No such file"),
    ],
)
def test_what_cannot_be_served_is_one_error(tmp_path, options, message):
    result = run(f"up --kubeconfig {tmp_path / 'config'} --port 0 {options}", status=2)
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "config").exists()
