"""Connections with TLS: who is trusted, which name counts, and certificates that change.

Upstream: staging/src/k8s.io/client-go/transport/transport.go, transport_test.go
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID
from tests.http_servers import serving_all_paths

from podwright.online.client.cluster import (
    ClusterAddress,
    ConnectionSettingsError,
    ReadConnection,
    UnreachableCluster,
)
from podwright.online.client.cluster.access import Access, TlsSettings
from podwright.online.client.cluster.read_connection import _tls_context
from podwright.online.client.cluster.tests.test_read_connection import kubeconfig
from podwright.online.client.cluster.tests.test_renewed_credentials import Plugin


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Create self-signed certificates: of the server, which has a comment, and of two clients."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "old", "new"):
        key = ec.generate_private_key(ec.SECP256R1())
        for file, encryption in (
            ("key", NoEncryption()), ("locked", BestAvailableEncryption(b"x"))
        ):  # fmt: skip
            data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
            (folder / f"{name}.{file}").write_bytes(data)
        comment = "# Tanúsítvány\n".encode() if name == "server" else b""
        pem = self_signed(name, key).public_bytes(Encoding.PEM)
        (folder / f"{name}.pem").write_bytes(comment + pem)
    return folder


def self_signed(name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("cluster.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


def clients(folder: Path, certificates: Path, user: Any, steps: Any = (), **cluster: Any) -> Any:
    """Return the names of the clients that a server sees: one request, and one after each step."""
    seen = []

    async def handler(request):
        found = request.transport.get_extra_info("peercert") or {}
        assert "Authorization" not in request.headers
        seen.append("".join(value for ((_, value),) in found.get("subject", ())))
        return web.Response(body=b"{}")

    context = tls_of(certificates)
    context.verify_mode = ssl.CERT_OPTIONAL
    for name in ("old", "new"):
        context.load_verify_locations(certificates / f"{name}.pem")

    async def run():
        async with serving_all_paths(handler, tls=context) as server:
            path = kubeconfig(folder, server, user, **cluster)
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                await connection.get("/api")
                for step in steps:
                    step()
                    await connection.get("/api")

    asyncio.run(run())
    return seen


def tls_of(certificates: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    return context


def sockets() -> int:
    """Return how many sockets this process has."""
    descriptors = Path("/proc/self/fd").iterdir()
    links = [str(each.readlink()) for each in descriptors if each.is_symlink()]
    return sum(link.startswith("socket:") for link in links)


def test_no_socket_is_left_of_a_reply_that_was_not_read_to_its_end(certificates):
    ended = asyncio.Event()

    async def handler(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"x")
        await ended.wait()
        return response

    async def run():
        async with serving_all_paths(handler, tls=tls_of(certificates)) as server:
            path = kubeconfig(certificates, server, {}, **TRUSTED)
            before = sockets()
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as one:
                async with one.stream("/watch", {}, silence_seconds=60) as chunks:
                    assert [await anext(chunks)] == [b"x"]
                assert sockets() == before + 2
            await asyncio.sleep(0)
            found = sockets() - before
            ended.set()
            return found

    assert asyncio.run(run()) <= 1, "that of the server"


TRUSTED = {"certificate-authority": "server.pem", "tls-server-name": "cluster.test"}


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        pytest.param(TRUSTED, "", id="its authority is that of the kubeconfig"),
        pytest.param({"insecure-skip-tls-verify": True}, "", id="it is not checked"),
        pytest.param({}, "self-signed certificate", id="the system does not know it"),
        pytest.param(
            TRUSTED | {"certificate-authority": "old.pem"}, "self-signed", id="another authority"
        ),
        pytest.param(
            {"certificate-authority": "server.pem"}, "IP address mismatch", id="another name"
        ),
        pytest.param(
            TRUSTED | {"tls-server-name": "x.test"}, "Hostname mismatch", id="a third name"
        ),
    ],
)
def test_a_server_has_to_be_trusted(certificates, cluster, reason):
    if not reason:
        assert clients(certificates, certificates, {}, **cluster) == [""]
        return
    with pytest.raises(UnreachableCluster, match=f"cannot be verified: {reason}"):
        clients(certificates, certificates, {}, **cluster)


def test_the_certificate_of_the_client_is_sent(certificates):
    user = {"client-certificate": "old.pem", "client-key": "old.key"}
    assert clients(certificates, certificates, user, **TRUSTED) == ["old"]
    inline = {
        f"client-{name}-data": base64.b64encode((certificates / file).read_bytes()).decode()
        for name, file in (("certificate", "new.pem"), ("key", "new.key"))
    }
    assert clients(certificates, certificates, inline, **TRUSTED) == ["new"]


def test_the_certificate_of_a_plugin_is_sent(certificates, tmp_path):
    status = {
        "clientCertificateData": (certificates / "new.pem").read_text(),
        "clientKeyData": (certificates / "new.key").read_text(),
    }
    plugin = Plugin(tmp_path, **status)
    cluster = TRUSTED | {"certificate-authority": str(certificates / "server.pem")}
    seen = clients(tmp_path, certificates, plugin.user, **cluster)
    assert (seen, plugin.runs) == (["new"], 1)


def test_a_certificate_that_was_renewed_is_used_after_a_minute(certificates, tmp_path, monkeypatch):
    def copied(name: str, parts: Any = ("pem", "key")) -> None:
        for part in parts:
            (tmp_path / f"client.{part}").write_bytes(
                (certificates / f"{name}.{part}").read_bytes()
            )

    def minute() -> None:
        at = time.monotonic_ns() + 61 * 10**9
        monkeypatch.setattr(time, "monotonic_ns", lambda: at)

    def half() -> None:
        copied("new", ("pem",))
        minute()

    def whole() -> None:
        copied("new")
        minute()

    copied("old")
    user = {"client-certificate": "client.pem", "client-key": "client.key"}
    cluster = TRUSTED | {"certificate-authority": str(certificates / "server.pem")}
    steps = (minute, half, whole)
    # A certificate without its key changes nothing.
    assert clients(tmp_path, certificates, user, steps, **cluster) == ["old"] * 3 + ["new"]


def test_a_watch_continues_while_certificates_are_renewed(certificates, tmp_path, monkeypatch):
    """Certificates are renewed twice; the connections of the first end with its watch."""
    user = {"client-certificate": "client.pem", "client-key": "client.key"}
    cluster = TRUSTED | {"certificate-authority": str(certificates / "server.pem")}
    now = [time.monotonic_ns()]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    is_renewed, is_left = asyncio.Event(), asyncio.Event()

    async def handler(request):
        response = web.StreamResponse()
        await response.prepare(request)
        if "watch" in request.query:
            await response.write(b"before")
            await is_renewed.wait()
            await response.write(b"after")
            await is_left.wait()
        return response

    def renew(name: str) -> None:
        for part in ("pem", "key"):
            found = (certificates / f"{name}.{part}").read_bytes()
            (tmp_path / f"client.{part}").write_bytes(found)
        now[0] += 61 * 10**9

    async def run():
        renew("old")
        async with serving_all_paths(handler, tls=tls_of(certificates)) as server:
            path = kubeconfig(tmp_path, server, user, **cluster)
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                first = connection._session
                async with connection.stream("/a", {"watch": "true"}, silence_seconds=9) as chunks:
                    assert await anext(chunks) == b"before"
                    following = asyncio.ensure_future(anext(chunks))
                    for name in ("new", "old"):
                        renew(name)
                        await connection.get("/api")
                    is_renewed.set()
                    assert await asyncio.wait_for(following, 9) == b"after"
                was_closed = first.closed
                renew("new")
                await connection.get("/api")
                assert (was_closed, first.closed) == (False, True)
            is_left.set()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("cluster", "user", "what"),
    [
        ({"certificate-authority": "text"}, {}, "certificate authority"),
        ({"certificate-authority": "binary"}, {}, "certificate authority"),
        ({}, {"client-certificate": "text", "client-key": "old.key"}, "client certificate and its"),
        ({}, {"client-certificate": "old.pem", "client-key": "new.key"}, "client certificate and"),
        ({}, {"client-certificate": "old.pem", "client-key": "old.locked"}, "client certificate"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(certificates, cluster, user, what):
    (certificates / "text").write_text("hello")
    (certificates / "binary").write_bytes(b"\xff")
    path = kubeconfig(certificates, "https://a:1", user, **cluster)

    async def run():
        async with ReadConnection(ClusterAddress(kubeconfig=path)):
            pass

    with pytest.raises(ConnectionSettingsError) as raised:
        asyncio.run(run())
    assert str(raised.value).startswith(f'context "c": the {what}')
    assert str(raised.value).endswith("; they must be in PEM")


def test_certificates_need_not_keep_the_strict_rules_that_go_does_not_have(monkeypatch):
    default = ssl.create_default_context

    def strict(**settings):  # as Python's own is since 3.13
        context = default(**settings)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
    context = _tls_context(Access(server="https://a:1", name="a", tls=TlsSettings()))
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
