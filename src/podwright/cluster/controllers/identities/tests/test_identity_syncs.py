"""What the controllers of identities request in one sync, whole."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from podwright.cluster.controllers.identities import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    CertificateApprovingController,
    CertificateCleanerController,
    CertificateSigningController,
    RefusedRequestError,
    RootCAPublisher,
    ServiceAccountsController,
    TokensController,
)
from podwright.cluster.controllers.identities.certificate_requests import SIGNERS
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

HOUR = 3600
DAY = 24 * HOUR

# ---------------------------------------------------------------- subjects of requests


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    assert len(content) < 128
    return bytes([tag, len(content)]) + content


COMMON_NAME, ORGANIZATION = bytes.fromhex("0603550403"), bytes.fromhex("060355040a")
ALTERNATIVE_NAMES = bytes.fromhex("0603551d11")


def a_request_text(name: str, *organizations: str, rest: bytes = b"") -> str:
    """Return a certificate request (PKCS #10) without a key, as PEM in base64."""
    names = [der(0x31, der(0x30, COMMON_NAME, der(0x0C, name.encode())))]
    names += [der(0x31, der(0x30, ORGANIZATION, der(0x0C, o.encode()))) for o in organizations]
    info = der(0x30, der(0x02, b"\0"), der(0x30, *names), der(0x30), der(0xA0, rest))
    body = b64encode(der(0x30, info))
    return b64encode(
        b"-----BEGIN CERTIFICATE REQUEST-----\n" + body + b"\n-----END CERTIFICATE REQUEST-----\n"
    ).decode()


SELF = "Auto approving self kubelet client certificate after SubjectAccessReview."
OTHER = "Auto approving kubelet client certificate after SubjectAccessReview."
USAGES = ["digital signature", "client auth"]
NODE = a_request_text("system:node:n1", "system:nodes")


def a_csr(status: Any = None, **spec: Any) -> Any:
    spec = {"signerName": KUBELET_CLIENT, "usages": USAGES, "request": NODE} | spec
    spec = {name: value for name, value in spec.items() if value is not None}
    return document(
        "CertificateSigningRequest", "r", api="certificates.k8s.io/v1",
        metadata={"creationTimestamp": at(0)}, spec=spec, status=status or {},
    )  # fmt: skip


def decided(kind: str, second: int | None = 0, status: str = "True") -> Any:
    time = {} if second is None else {"lastUpdateTime": at(second)}
    return {"type": kind, "status": status, **time}


@pytest.mark.parametrize(
    ("spec", "rights", "message"),
    [
        pytest.param({}, "nodeclient", OTHER, id="a bootstrap token"),
        pytest.param({}, "selfnodeclient", None, id="another user"),
        pytest.param({"username": "system:node:n1"}, "selfnodeclient", SELF, id="the node itself"),
        pytest.param({"username": "system:node:n1"}, "nodeclient", OTHER, id="as any other"),
        pytest.param({}, "", None, id="no right"),
        pytest.param({"usages": [*USAGES, "key encipherment"]}, "nodeclient", OTHER, id="RSA"),
        pytest.param({"usages": [*USAGES, "server auth"]}, "nodeclient", None, id="another usage"),
        pytest.param({"usages": USAGES[:1]}, "nodeclient", None, id="a usage less"),
        pytest.param({"usages": None}, "nodeclient", None, id="no usages"),
        pytest.param({"signerName": KUBELET_SERVING}, "nodeclient", None, id="a serving one"),
        pytest.param({"signerName": CLIENT}, "nodeclient", None, id="not of a kubelet"),
        pytest.param(
            {"request": a_request_text("system:node:n1")}, "nodeclient", None, id="no group",
        ),
        pytest.param(
            {"request": a_request_text("system:node:n1", "system:nodes", "admins")}, "nodeclient",
            None, id="a second group",
        ),
        pytest.param(
            {"request": a_request_text("n1", "system:nodes")}, "nodeclient", None, id="no node",
        ),
        pytest.param(
            {"request": a_request_text("system:node:n1", "system:nodes", rest=ALTERNATIVE_NAMES)},
            "nodeclient", None, id="other names",
        ),
        pytest.param({"request": "bm90aGluZw=="}, "nodeclient", None, id="no request"),
        pytest.param({"request": None}, "nodeclient", None, id="nothing"),
    ],
)  # fmt: skip
def test_the_requests_of_kubelets_are_approved_if_their_user_may(spec, rights, message) -> None:
    seen: list[Any] = []

    def may_create(spec: Any, subresource: str) -> bool:
        seen.append(spec)
        return bool(subresource == rights)

    csr = a_csr(**spec)
    bench = SingleSync(lambda lister: CertificateApprovingController(lister, may_create))
    assert bench.put(csr) == ["r"]
    approved = {
        "type": "Approved", "status": "True", "lastUpdateTime": at(5),
        "lastTransitionTime": at(5), "reason": "AutoApproved", "message": message,
    }  # fmt: skip
    expected = (
        f"update CertificateSigningRequest r status: status.conditions={json.dumps([approved])}"
    )
    assert bench.sync("r", 5) == ([] if message is None else [expected])
    assert all(each == csr.raw["spec"] for each in seen)
    assert bench.remove(csr) == []
    assert bench.sync("r") == []


@pytest.mark.parametrize(
    ("status", "is_approved"),
    [
        ({"conditions": [decided("Failed")]}, True),
        ({"conditions": [decided("Approved")]}, False),
        ({"conditions": [decided("Denied")]}, False),
        ({"certificate": "UEVN"}, False),
    ],
)
def test_a_request_is_decided_once(status, is_approved) -> None:
    bench = SingleSync(
        lambda lister: CertificateApprovingController(lister, lambda *_: True), a_csr(status)
    )
    found = bench.sync("r")
    assert bool(found) is is_approved
    if found:
        assert json.loads(found[0].partition("conditions=")[2])[0] == decided("Failed")


# ---------------------------------------------------------------------------- signing


def signed(status: Any, **spec: Any) -> list[str]:
    def sign(text: str, signer: str, usages: Any, seconds: int) -> bytes:
        if text == "":
            raise RefusedRequestError("no request")
        return f"{text} {signer} {','.join(usages)} {seconds}".encode()

    spec = {"request": "text", "signerName": CLIENT, "usages": ["client auth"], **spec}
    csr = document("CertificateSigningRequest", "r", api="certificates.k8s.io/v1",
                   spec={name: value for name, value in spec.items() if value is not None},
                   status=status)  # fmt: skip
    return SingleSync(lambda lister: CertificateSigningController(lister, sign), csr).sync("r", 3)


APPROVED: Any = {"conditions": [decided("Approved")]}


def certificate(text: str) -> list[str]:
    written = json.dumps(b64encode(text.encode()).decode())
    return [f"update CertificateSigningRequest r status: status.certificate={written}"]


def test_approved_requests_are_signed_for_the_time_that_they_ask_for() -> None:
    year = 365 * DAY
    assert signed(APPROVED) == certificate(f"text {CLIENT} client auth {year}")
    for asked, given in ((599, 600), (600, 600), (601, 601), (year, year), (year + 1, year)):
        found = signed(APPROVED, expirationSeconds=asked)
        assert found == certificate(f"text {CLIENT} client auth {given}"), asked
    for signer in SIGNERS:
        assert signed(APPROVED, signerName=signer, usages=None) == certificate(
            f"text {signer}  {year}"
        )
    assert SIGNERS == (
        "kubernetes.io/kube-apiserver-client",
        "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving",
    )
    assert signed(APPROVED, signerName="example.com/own") == []
    assert signed(APPROVED, signerName="kubernetes.io/legacy-unknown") == []


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"conditions": [decided("Denied")]},
        {"conditions": [decided("Approved", status="False")]},
        {"conditions": [decided("Approved"), decided("Failed")]},
        {"conditions": [decided("Approved")], "certificate": "UEVN"},
    ],
)
def test_other_requests_are_not_signed(status) -> None:
    assert signed(status) == []


def test_a_request_that_its_signer_refuses_has_failed() -> None:
    failed = {
        "type": "Failed", "status": "True", "lastUpdateTime": at(3), "lastTransitionTime": at(3),
        "reason": "SignerValidationFailure", "message": "no request",
    }  # fmt: skip
    conditions = json.dumps([decided("Approved"), failed])
    assert signed(APPROVED, request=None) == [
        f"update CertificateSigningRequest r status: status.conditions={conditions}"
    ]
    once = {"conditions": [decided("Approved"), decided("Failed", status="False")]}
    assert len(signed(once)) == 1


# ---------------------------------------------------------------------------- cleaning


@pytest.mark.parametrize(
    ("status", "due"),
    [
        pytest.param({}, DAY, id="not decided"),
        pytest.param({"conditions": [decided("Denied", 7)]}, HOUR + 7, id="denied"),
        pytest.param({"conditions": [decided("Failed", 7)]}, HOUR + 7, id="failed"),
        pytest.param({"conditions": [decided("Approved", 7)]}, DAY + 7, id="approved"),
        pytest.param(
            {"conditions": [decided("Approved", 7)], "certificate": "UEVN"}, HOUR + 7, id="signed",
        ),
        pytest.param(
            {"conditions": [decided("Approved", 7), decided("Failed", 90)]}, HOUR + 90,
            id="approved and failed",
        ),
        pytest.param({"conditions": [decided("Denied", None)]}, None, id="without a time"),
        pytest.param({"conditions": [decided("Other", 7)]}, None, id="another condition"),
    ],
)  # fmt: skip
def test_a_request_is_deleted_when_it_is_over(status, due) -> None:
    bench = SingleSync(CertificateCleanerController, a_csr(status))
    if due is None:
        assert bench.sync("r", 9 * DAY) == []
        return
    assert bench.sync("r", due - 1) == [f"sync r at {due:g}"]
    assert bench.sync("r", due) == ["delete CertificateSigningRequest r"]
    assert bench.sync("none", due) == []
    undated = document("CertificateSigningRequest", "r", api="certificates.k8s.io/v1")
    bench.put(undated)
    assert bench.sync("r", 9 * DAY) == []


# --------------------------------------------------------------- accounts and their tokens


def a_namespace(name: str = "shop", phase: str | None = "Active", **metadata: Any) -> Any:
    status = {} if phase is None else {"phase": phase}
    return document("Namespace", name, metadata=metadata, status=status)


GOING: Any = {"deletionTimestamp": at(0), "finalizers": ["x"]}


@pytest.mark.parametrize(
    ("namespace", "is_active"),
    [
        (a_namespace(), True),
        (a_namespace(phase="Terminating"), False),
        (a_namespace(phase=None), False),
        (a_namespace(**GOING), False),
    ],
)
def test_only_active_namespaces_get_an_account_and_certificates(namespace, is_active) -> None:
    accounts = SingleSync(ServiceAccountsController)
    assert accounts.put(namespace) == ["shop"]
    account = {
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "shop"},
    }  # fmt: skip
    assert accounts.sync("shop") == ([f"create {json.dumps(account)}"] if is_active else [])
    publisher = SingleSync(lambda lister: RootCAPublisher(lister, "PEM"), namespace)
    (made,) = publisher.sync("shop") if is_active else ["create {}"]
    description = (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal"
        " endpoints such as the internal service IP or kubernetes.default.svc. No other usage is"
        " guaranteed across distributions of Kubernetes clusters."
    )
    published = {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "kube-root-ca.crt", "namespace": "shop",
            "annotations": {"kubernetes.io/description": description},
        },
        "data": {"ca.crt": "PEM"},
    }  # fmt: skip
    assert json.loads(made.removeprefix("create ")) == (published if is_active else {})
    if not is_active:
        assert publisher.sync("shop") == []
    assert (accounts.remove(namespace), accounts.sync("shop")) == ([], [])


def test_the_published_certificates_are_restored() -> None:
    def config_map(data: Any, notes: Any) -> Any:
        return document("ConfigMap", "kube-root-ca.crt", namespace="shop", data=data,
                        metadata={"annotations": notes})  # fmt: skip

    bench = SingleSync(lambda lister: RootCAPublisher(lister, "PEM"), a_namespace())
    note = "kubernetes.io/description"
    rows: list[tuple[Any, Any, list[str]]] = [
        ({"ca.crt": "PEM"}, {note: "own words"}, []),
        ({"ca.crt": "PEM"}, {"a": "b"}, [note]),
        ({"ca.crt": "other"}, {note: "own words"}, ["data.ca.crt", note]),
        ({"ca.crt": "PEM", "more": "x"}, {note: "own words"}, ["-data.more", note]),
    ]
    for data, notes, changed in rows:
        assert bench.put(config_map(data, notes)) == ["shop"]
        found = bench.sync("shop")
        assert len(found) == bool(changed)
        for each in changed:
            assert each in found[0]
        assert not changed or f'{note}="Contains a CA bundle' in found[0]
    assert bench.put(document("ConfigMap", "other", namespace="shop")) == []


TYPE = "kubernetes.io/service-account-token"
NAME_NOTE, UID_NOTE = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def a_secret(
    name: str = "t", account: str | None = "robot", *, type_: str = TYPE, data: Any = None,
    uid: str | None = None,
) -> Any:  # fmt: skip
    notes = {} if account is None else {NAME_NOTE: account}
    notes |= {} if uid is None else {UID_NOTE: uid}
    parts = {} if data is None else {"data": data}
    return document("Secret", name, namespace="shop", metadata={"annotations": notes}, type=type_,
                    **parts)  # fmt: skip


ROBOT = document("ServiceAccount", "robot", namespace="shop", metadata={"uid": "ru"})


def tokens(*objects: Any) -> SingleSync:
    def issue(account: Any, secret: Any) -> str:
        return f"token of {account.name} in {secret.name}"

    return SingleSync(lambda lister: TokensController(lister, issue, "PEM"), *objects)


FULL = {"ca.crt": encoded("PEM"), "namespace": encoded("shop"), "token": encoded("own")}


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        pytest.param(
            a_secret(),
            [f'data.ca.crt="{FULL["ca.crt"]}" data.namespace="{FULL["namespace"]}"'
             f' data.token="{encoded("token of robot in t")}"'
             f' metadata.annotations.{UID_NOTE}="ru"'],
            id="empty",
        ),
        pytest.param(a_secret(data=FULL, uid="ru"), [], id="complete"),
        pytest.param(
            a_secret(data=FULL | {"namespace": encoded("own")}, uid="ru"), [], id="own namespace",
        ),
        pytest.param(
            a_secret(data=FULL | {"token": ""}, uid="ru"),
            [f'data.token="{encoded("token of robot in t")}"'], id="no token",
        ),
        pytest.param(
            a_secret(data=FULL | {"ca.crt": "eA=="}, uid="ru"),
            [f'data.ca.crt="{FULL["ca.crt"]}"'], id="other certificates",
        ),
    ],
)  # fmt: skip
def test_a_token_secret_is_completed(secret, expected) -> None:
    bench = tokens(ROBOT, secret)
    assert bench.sync("shop/t") == [f"update Secret shop/t main: {each}" for each in expected]


def test_a_token_secret_without_its_account_is_deleted() -> None:
    deleted = ["delete Secret shop/t"]
    assert tokens(a_secret()).sync("shop/t") == deleted
    assert tokens(ROBOT, a_secret(uid="earlier")).sync("shop/t") == deleted
    assert tokens(ROBOT, a_secret(uid="")).sync("shop/t") != deleted
    for other in (a_secret(account=None), a_secret(account=""), a_secret(type_="Opaque")):
        bench = tokens()
        assert bench.put(other) == []
        assert bench.sync("shop/t") == []
    assert tokens().sync("shop/none") == []


def test_an_account_concerns_its_secrets() -> None:
    bench = tokens()
    for name, account in (("b", "robot"), ("a", "robot"), ("c", "other")):
        assert bench.put(a_secret(name, account)) == [f"shop/{name}"]
    assert bench.put(ROBOT) == ["shop/b", "shop/a"]
    assert bench.remove(a_secret("b")) == ["shop/b"]
    assert bench.remove(ROBOT) == ["shop/a"]
    bench.remove(a_secret("a"))
    bench.lister.put(ROBOT)
    assert bench.put(ROBOT) == []
    controller: Any = bench.controller
    assert controller._of_account == {"shop/other": {"shop/c": None}}
