"""What is trusted of an extender, and the report of a sync as a document."""

from __future__ import annotations

import datetime as dt
import json
import ssl
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podwright.apimachinery.objects import InputError
from podwright.online.client import sync_status as sync
from podwright.online.client.extender import MOST_BODY_BYTES, ExtenderClient, _context
from podwright.scheduler.config import Extender, ExtenderTLSConfig, KubeSchedulerConfiguration


@pytest.fixture(scope="module")
def pem() -> tuple[bytes, bytes]:
    """Return a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(encoding), private


def extender(**settings: Any) -> Extender:
    return Extender(**{"url_prefix": "https://x", "filter_verb": "filter", **settings})


@pytest.mark.parametrize(
    ("settings", "tls", "is_verified", "authorities"),
    [
        pytest.param({}, {}, True, None, id="as the system trusts"),
        pytest.param({"enable_https": True}, {}, False, 0, id="https without an authority"),
        pytest.param({}, {"insecure": True}, False, 0, id="insecure"),
        pytest.param({}, {"ca_data": True}, True, 1, id="an authority"),
        pytest.param({"enable_https": True}, {"ca_file": True}, True, 1, id="that of a file"),
        pytest.param({}, {"cert_data": True, "key_file": True}, True, None, id="a certificate"),
        pytest.param({}, {"cert_file": True, "key_data": True}, True, None, id="that of a file "),
    ],
)
def test_what_is_trusted_of_an_extender(tmp_path, pem, settings, tls, is_verified, authorities):
    certificate, key = pem
    (tmp_path / "ca").write_bytes(certificate)
    (tmp_path / "key").write_bytes(key)
    values = {
        "ca_data": certificate, "ca_file": str(tmp_path / "ca"), "cert_data": certificate,
        "key_file": str(tmp_path / "key"), "insecure": True, "cert_file": str(tmp_path / "ca"),
        "key_data": key,
    }  # fmt: skip
    given = ExtenderTLSConfig(**{name: values[name] for name in tls})
    found = _context(extender(**settings), given)
    assert found.verify_mode == (ssl.CERT_REQUIRED if is_verified else ssl.CERT_NONE)
    assert found.check_hostname is is_verified
    if authorities is not None:
        assert found.cert_store_stats()["x509"] == authorities


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        ({"insecure": True, "ca_file": "ca"},
         "a root certificates file with the insecure flag is not allowed"),
        ({"cert_file": "c"}, "a client certificate needs its key, and a key its certificate"),
        ({"key_data": b"k"}, "a client certificate needs its key, and a key its certificate"),
        ({"ca_file": "/none/ca"}, "No such file or directory"),
    ],
)  # fmt: skip
def test_settings_of_tls_that_cannot_be_used_are_errors_of_their_extender(tls, message):
    wrong = extender(tls_config=ExtenderTLSConfig(**tls))
    configuration = KubeSchedulerConfiguration(
        extenders=(extender(url_prefix="http://x"), wrong, wrong)
    )
    with pytest.raises(InputError) as error:
        ExtenderClient(configuration, source="c.yaml")
    assert [str(each) for each in error.value.errors] == [
        f"c.yaml: extenders[{index}].tlsConfig: {message}" for index in (1, 2)
    ]
    with pytest.raises(InputError) as error:
        ExtenderClient(configuration)
    assert {each.source for each in error.value.errors} == {"configuration"}
    assert MOST_BODY_BYTES == 512 << 20


# -------------------------------------------------------------------- the report of a sync

STATUS = sync.SyncStatus(
    source=sync.SyncSource(name="n", server="s", identity="i"),
    phase="following",
    started_at="1",
    reported_at="2",
    scope=sync.SyncScope(kinds=["pods"], namespaces=[], selector="a=b"),
    policies=sync.SyncPolicies(),
    lag=sync.SyncLag(changes=1, waiting=2, last_seconds=3, mean_seconds=4, longest_seconds=5),
    counts=sync.SyncCounts(
        created=1, updated=2, deleted=3, rescheduled=4, ignored=5, kept_deleted=6
    ),
    drift=sync.SyncDrift(pods=1, claims=2),
    unfreed=sync.Unfreed(pods=1, milli_cpu=2, memory_bytes=3),
    errors=[sync.SyncError(kind="Pod", reason="Forbidden", count=4)],
    last_error="e",
    source_failures=7,
    warnings=["w"],
    sides=["source", "here"],
    here=1,
    differences=[sync.SyncDifference("a/p", ["n", "m"])],
    differences_left_out=8,
)  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "source": {"name": "n", "server": "s", "identity": "i"},
    "phase": "following",
    "startedAt": "1",
    "reportedAt": "2",
    "scope": {"kinds": ["pods"], "namespaces": [], "selector": "a=b"},
    "policies": {
        "bound": "initial", "excludesRunning": False, "followsLabels": False,
        "followsResources": False, "mirrorsPodStatus": False, "hasExplicitSpread": False,
        "keepsOwners": False, "keepsAccounts": False, "ignoresDeletions": False,
        "restoresDeleted": False, "freezesNodeStatus": False,
    },
    "lag": {"changes": 1, "waiting": 2, "lastSeconds": 3, "meanSeconds": 4, "longestSeconds": 5},
    "counts": {"created": 1, "updated": 2, "deleted": 3, "rescheduled": 4, "ignored": 5,
               "keptDeleted": 6},
    "drift": {"pods": 1, "claims": 2},
    "unfreed": {"pods": 1, "milliCpu": 2, "memoryBytes": 3, "option": "--pod-status"},
    "errors": [{"kind": "Pod", "reason": "Forbidden", "count": 4}],
    "lastError": "e",
    "sourceFailures": 7,
    "warnings": ["w"],
    "sides": ["source", "here"],
    "here": 1,
    "differences": [{"pod": "a/p", "nodes": ["n", "m"]}],
    "differencesLeftOut": 8,
}  # fmt: skip
CHECK = sync.SyncCheck(
    checked_at="3", compared=1, kinds=[sync.SyncKind(kind="pods", source=1, here=2)],
    differences=[sync.SyncFieldDifference(kind="pods", key="a/p", path="x", source="1", here="2",
                                          policy="p")],
    differences_left_out=4, unexplained=5, error="e",
)  # fmt: skip


def test_the_report_of_a_sync_as_a_document():
    assert json.loads(msgspec.json.encode(STATUS)) == DOCUMENT
    whole = msgspec.structs.replace(STATUS, check=CHECK, seconds_since_report=1.5)
    found = json.loads(msgspec.json.encode(whole))
    assert found == DOCUMENT | {
        "check": {
            "checkedAt": "3", "compared": 1, "kinds": [{"kind": "pods", "source": 1, "here": 2}],
            "differences": [{"kind": "pods", "key": "a/p", "path": "x", "source": "1", "here": "2",
                             "policy": "p"}],
            "differencesLeftOut": 4, "unexplained": 5, "error": "e",
        },
        "secondsSinceReport": 1.5,
    }  # fmt: skip
    assert json.loads(msgspec.json.encode(msgspec.convert(found, sync.SyncStatus))) == found
    assert json.loads(msgspec.json.encode(sync.SyncCheck(checked_at="1"))) == {
        "checkedAt": "1", "compared": 0, "kinds": [], "differences": [], "differencesLeftOut": 0,
        "unexplained": 0, "error": "",
    }  # fmt: skip
    assert json.loads(msgspec.json.encode(sync.SyncRequest())) == {"check": False}
    assert [each.value for each in sync.BoundPods] == ["initial", "none", "kss", "source"]


@pytest.mark.parametrize(
    "part", ["source", "scope", "policies", "lag", "counts", "drift", "unfreed", ""]
)
def test_an_unknown_field_of_a_report_is_an_error(part):
    document = json.loads(json.dumps(DOCUMENT))
    (document[part] if part else document)["odd"] = 1
    with pytest.raises(msgspec.ValidationError, match="unknown field `odd`"):
        msgspec.convert(document, sync.SyncStatus)
