"""Scheduling with extenders that are HTTP services in separate processes."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

import podwright as pw
from podwright.cli import app
from podwright.online.client import ExtenderClient
from podwright.scheduler.config import ExtenderCall, KubeSchedulerConfiguration
from podwright.scheduler.preemption import Preemption

SERVER = Path(__file__).with_name("server.py")
SILENT = ("slow", "dripping")
"""The manners of extenders that never finish a reply."""
SHORT = "200ms"
LONG_NS = 120_000_000_000
"""A limit for defects: an extender on a busy computer may need long for a reply."""


@contextmanager
def serving(*options: str) -> Iterator[int]:
    """Run an extender; yield its port."""
    command = [sys.executable, str(SERVER), *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


@pytest.fixture(scope="module")
def port():
    with serving() as port:
        yield port


@contextmanager
def port_without_server() -> Iterator[int]:
    """Yield a port that refuses connections: it is taken, and nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def requests_of(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/requests") as answer:
        requests: dict[str, Any] = json.load(answer)
        return requests


def configuration(*extenders: dict[str, Any]) -> KubeSchedulerConfiguration:
    return pw.read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": list(extenders),
        },
        source="config.yaml",
    )


def extender(port: int, manner: str = "plain", **settings: Any) -> dict[str, Any]:
    if not settings.keys() & {"filterVerb", "prioritizeVerb", "preemptVerb"}:
        settings["filterVerb"] = "filter"
    timeout = SHORT if manner in SILENT else f"{LONG_NS // 10**9}s"
    return {"urlPrefix": f"http://127.0.0.1:{port}/{manner}", "httpTimeout": timeout} | settings


@contextmanager
def scheduling(*extenders: dict[str, Any]) -> Iterator[pw.Scheduler]:
    """Return a scheduler of three equal nodes that calls these extenders."""
    configured = configuration(*extenders)
    with ExtenderClient(configured) as client:
        scheduler = pw.Scheduler(configured, call_extender=client.call)
        scheduler.add(*(pw.testing.make_node(f"n{i}", cpu="4") for i in range(3)))
        yield scheduler


def decide(*extenders: dict[str, Any]) -> pw.Decision:
    with scheduling(*extenders) as scheduler:
        return scheduler.schedule(pw.testing.make_pod("web", cpu="1"))


# -------------------------------------------------------------------- verbs


@pytest.mark.parametrize("knows_nodes", [True, False])
def test_an_extender_filters_and_scores(port, knows_nodes):
    settings = extender(
        port, filterVerb="filter", prioritizeVerb="prioritize", weight=3,
        nodeCacheCapable=knows_nodes,
    )  # fmt: skip
    decision = decide(settings)
    assert decision.node == "n2"
    assert decision.feasible_count == 2
    request = next(r for r in reversed(requests_of(port)["requests"]) if r["verb"] == "filter")[
        "body"
    ]
    assert request["Pod"]["metadata"]["name"] == "web"
    if knows_nodes:
        assert (request["NodeNames"], request["Nodes"]) == (["n0", "n1", "n2"], None)
    else:
        names = [node["metadata"]["name"] for node in request["Nodes"]["items"]]
        assert (request["NodeNames"], names) == (None, ["n0", "n1", "n2"])


def test_scores_are_scaled_and_weighted(port):
    with scheduling(extender(port, prioritizeVerb="prioritize", weight=3)) as scheduler:
        explanation = scheduler.explain(pw.testing.make_pod("web", cpu="1"))
    (answers,) = explanation.extenders
    assert answers.scores == {"n0": 0, "n1": 0, "n2": 300}
    assert explanation.totals["n2"] - explanation.totals["n0"] == 300
    assert explanation.winners == ("n2",)


def test_rejections_of_an_extender_are_reported_without_a_plugin(port):
    decision = decide(extender(port, "nothing"))
    assert decision.message.startswith("0/3 nodes are available: 3 no licence.")
    assert decision.diagnosis is not None
    assert decision.diagnosis.rejected_by == {"Extender"}


def test_an_extender_chooses_whom_to_evict(port):
    with scheduling(extender(port, preemptVerb="preempt", nodeCacheCapable=True)) as scheduler:
        for i in range(3):
            scheduler.add(pw.testing.make_pod(f"old-{i}", cpu="4", node=f"n{i}"))
        decision = scheduler.schedule(pw.testing.make_pod("web", cpu="4", priority=10))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == "n2"
    assert isinstance(decision.post_filter.details, Preemption)
    assert [pod.name for pod in decision.post_filter.details.victims] == ["old-2"]


def test_an_extender_that_manages_a_resource_is_not_called_for_other_pods(port):
    before = len(requests_of(port)["requests"])
    decision = decide(extender(port, managedResources=[{"name": "example.com/gpu"}]))
    assert decision.node
    assert len(requests_of(port)["requests"]) == before


# -------------------------------------------------------------------- errors of the protocol

FAILURES = [
    pytest.param("slow", "no reply within 0.2s (httpTimeout)", id="never answers"),
    pytest.param("dripping", "no reply within 0.2s (httpTimeout)", id="single bytes with pauses"),
    pytest.param("drop", "without response", id="closes the connection"),
    pytest.param("half", "the reply ends too early", id="closes the connection within the reply"),
    pytest.param("noise", "this is not HTTP", id="speaks something else"),
    pytest.param("status500", "code 500", id="a server error"),
    pytest.param("status201", "code 201", id="a success status other than 200"),
    pytest.param("status204", "code 204", id="nothing to say"),
    pytest.param("status307", "code 307", id="a redirect is not followed"),
    pytest.param("malformed", "malformed answer to filter", id="HTML"),
    pytest.param("broken", "the licence server is down", id="an error in the reply"),
]


@pytest.mark.parametrize(("manner", "message"), FAILURES)
def test_a_failing_extender_fails_the_cycle(port, manner, message):
    decision = decide(extender(port, manner))
    assert decision.node == ""
    assert decision.error is not None
    assert message in decision.message


@pytest.mark.parametrize(("manner", "message"), FAILURES)
def test_a_failing_extender_that_may_be_ignored_is(port, manner, message):
    with scheduling(extender(port, manner, ignorable=True)) as scheduler:
        explanation = scheduler.explain(pw.testing.make_pod("web", cpu="1"))
    assert explanation.decision.node
    assert message in explanation.extenders[0].errors[0]


def test_a_scorer_that_fails_gives_no_scores(port):
    decision = decide(extender(port, "status500", prioritizeVerb="prioritize", weight=1))
    assert decision.node
    assert decision.error is None


def test_commands_with_closed_outputs():
    with port_without_server() as refused:
        decision = decide(extender(refused))
    assert "Connection refused" in decision.message


def test_a_host_that_does_not_exist():
    decision = decide({"urlPrefix": "http://extender.invalid/x", "filterVerb": "filter"})
    assert decision.message.startswith('Post "http://extender.invalid/x/filter": ')


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "127.0.0.1:80/x", "http:///x"])
def test_an_url_that_is_none(url):
    decision = decide({"urlPrefix": url, "filterVerb": "filter"})
    assert decision.message.startswith(f'Post "{url}/filter": ')


# -------------------------------------------------------------------- lies


def test_names_that_were_not_sent_are_an_error(port):
    decision = decide(extender(port, "ghost", nodeCacheCapable=True))
    assert 'claims a filtered node "ghost" which is not found' in decision.message


def test_node_objects_are_taken_as_they_come_and_count_as_empty(port):
    with scheduling(extender(port, "ghost")) as scheduler:
        scheduler.add(pw.testing.make_pod("old", cpu="3", node="n0"))
        explanation = scheduler.explain(pw.testing.make_pod("web", cpu="1"))
    assert explanation.feasible == ("n0", "n1", "n2", "ghost")
    assert explanation.totals["n0"] == explanation.totals["n1"] == explanation.totals["n2"]


def test_a_pod_waits_for_the_node_that_an_extender_invented(port):
    with scheduling(extender(port, "phantom")) as scheduler:
        decision = scheduler.schedule(pw.testing.make_pod("web", cpu="1"))
        assert (decision.node, decision.slot) == ("phantom", -1)
        assert not scheduler.pending
        assert "default/web" not in scheduler.cluster.pods
        scheduler.add(pw.testing.make_node("phantom"))
        assert "default/web" in scheduler.cluster.pods


def test_a_node_that_is_named_twice_is_scored_twice(port):
    with scheduling(extender(port, "twice", nodeCacheCapable=True)) as scheduler:
        explanation = scheduler.explain(pw.testing.make_pod("web", cpu="1"))
    assert explanation.feasible == ("n0", "n0")
    assert explanation.decision.node == "n0"


def test_a_reply_without_nodes_rejects_all_silently(port):
    decision = decide(extender(port, "silent"))
    assert decision.node == ""
    assert decision.message.startswith("0/3 nodes are available:")
    assert decision.diagnosis is not None
    assert "Extender" in decision.diagnosis.rejected_by


# -------------------------------------------------------------------- connections


def call(port: int, manner: str = "plain") -> ExtenderCall:
    return ExtenderCall(
        extender=0, verb="bind", url=f"http://127.0.0.1:{port}/{manner}/bind", body=b"{}",
        timeout_ns=LONG_NS,
    )  # fmt: skip


def test_a_connection_is_reused():
    with serving() as port, ExtenderClient(configuration(extender(port))) as client:
        for _ in range(5):
            assert client.call(call(port)).status == 200
        assert requests_of(port)["connections"] == 1


def test_a_connection_that_the_extender_closed_is_not():
    with serving() as port, ExtenderClient(configuration(extender(port))) as client:
        replies = [client.call(call(port, "impatient")) for _ in range(20)]
        failed = [reply.error for reply in replies if reply.error]
        # The server may close the connection when the next call is sent; the client must recover.
        assert len(failed) < 20
        assert client.call(call(port)).status == 200 or client.call(call(port)).status == 200


# -------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Create two self-signed certificates: for the extender and for the client."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        (folder / f"{name}.pem").write_bytes(self_signed(name, key).public_bytes(Encoding.PEM))
    return folder


def self_signed(name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("extender.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


@pytest.fixture(scope="module")
def tls_port(certificates):
    with serving(
        "--cert", str(certificates / "server.pem"), "--key", str(certificates / "server.key")
    ) as port:
        yield port


def secure(port: int, *, enable: bool = True, **tls: Any) -> dict[str, Any]:
    return {
        "urlPrefix": f"https://127.0.0.1:{port}/plain",
        "filterVerb": "filter",
        "enableHTTPS": enable,
        "tlsConfig": tls,
    }


def text_of(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_a_certificate_is_verified_against_the_given_authority(tls_port, certificates):
    file = str(certificates / "server.pem")
    assert decide(secure(tls_port, caFile=file, serverName="extender.test")).node
    data = text_of(certificates / "server.pem")
    assert decide(secure(tls_port, caData=data, serverName="extender.test")).node
    commented = base64.b64encode("# Tanúsítvány\n".encode() + Path(file).read_bytes()).decode()
    assert decide(secure(tls_port, caData=commented, serverName="extender.test")).node


def test_a_certificate_for_another_name_is_refused(tls_port, certificates):
    decision = decide(secure(tls_port, caFile=str(certificates / "server.pem")))
    assert "the certificate cannot be verified: IP address mismatch" in decision.message


def test_a_certificate_of_another_authority_is_refused(tls_port, certificates):
    other = str(certificates / "client.pem")
    decision = decide(secure(tls_port, caFile=other, serverName="extender.test"))
    assert "the certificate cannot be verified: self" in decision.message


def test_https_without_an_authority_is_not_verified(tls_port):
    assert decide(secure(tls_port)).node
    assert decide(secure(tls_port, enable=False, insecure=True)).node


def test_an_https_url_alone_is_verified_by_the_system(tls_port):
    decision = decide(secure(tls_port, enable=False))
    assert "the certificate cannot be verified" in decision.message


def test_plain_http_to_a_tls_port_fails(tls_port):
    decision = decide(extender(tls_port))
    assert decision.error is not None


def test_a_client_certificate_is_shown(certificates):
    with serving(
        "--cert", str(certificates / "server.pem"), "--key", str(certificates / "server.key"),
        "--client-ca", str(certificates / "client.pem"),
    ) as port:  # fmt: skip
        files: dict[str, Any] = {
            "certFile": str(certificates / "client.pem"),
            "keyFile": str(certificates / "client.key"),
        }
        assert decide(secure(port, **files)).node
        data: dict[str, Any] = {
            "certData": text_of(certificates / "client.pem"),
            "keyData": text_of(certificates / "client.key"),
        }
        assert decide(secure(port, **data)).node
        assert decide(secure(port)).error is not None


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        ({"caFile": "/nowhere/ca.pem"}, "No such file or directory"),
        ({"caData": base64.b64encode(b"rubbish").decode()}, "no start line"),
        ({"certFile": "x"}, "a client certificate needs its key, and a key its certificate"),
        ({"insecure": True, "caFile": "x"}, "insecure flag is not allowed"),
    ],
)
def test_invalid_tls_settings_are_reported_at_construction(tls, message):
    with pytest.raises(pw.InputError) as caught:
        ExtenderClient(configuration(secure(1, **tls)), source="config.yaml")
    assert str(caught.value).startswith("config.yaml: extenders[0].tlsConfig: ")
    assert message in str(caught.value)


# -------------------------------------------------------------------- Scheduler and command line


def test_extenders_need_a_client(port):
    with pytest.raises(pw.InputError, match=r"extenders\[0\].urlPrefix: .*call_extender="):
        pw.Scheduler(configuration(extender(port)))


def test_the_commands_call_extenders(port, tmp_path):
    cluster = tmp_path / "cluster.yaml"
    documents = [
        *({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"},
           "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
          for i in range(3)),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
         "spec": {"containers": [{"name": "c", "image": "i"}]}},
    ]  # fmt: skip
    cluster.write_text("---\n".join(json.dumps(document) + "\n" for document in documents))
    config = tmp_path / "config.yaml"
    settings = extender(port, filterVerb="filter", prioritizeVerb="prioritize", weight=2)
    config.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [settings],
            }
        )
    )
    arguments = [str(cluster), "--config", str(config)]
    placed = CliRunner().invoke(app, ["schedule", *arguments])
    assert placed.exit_code == 0, placed.output
    assert "n2" in placed.stdout
    explained = CliRunner().invoke(app, ["explain", "web", *arguments])
    assert explained.exit_code == 0, explained.output
    assert f"extenders[0] (http://127.0.0.1:{port}/plain): kept 2 of 3 nodes" in explained.stdout
    assert "1 node: no licence (Extender)" in explained.stdout
    document = CliRunner().invoke(app, ["explain", "web", *arguments, "-o", "json"])
    assert json.loads(document.stdout)["extenders"][0]["scores"] == {"n1": 0, "n2": 200}
