"""The user of a client certificate."""

import pytest

from podwright.cluster.api.endpoints import User
from podwright.online.apiserver.access.certificates import certified_user

UID = "1.3.6.1.4.1.57683.2"


class Connection:
    """What `ssl.SSLObject` returns for a verified certificate."""

    def __init__(self, *subject, encoded=b"certificate"):
        self.subject = tuple(((name, value),) for name, value in subject)
        self.encoded = encoded

    def getpeercert(self, binary_form=False):
        return self.encoded if binary_form else {"subject": self.subject}


def test_the_subject_is_the_user():
    found = certified_user(
        Connection(
            ("organizationName", "dev"),
            ("organizationName", "ops"),
            ("commonName", "jane"),
            ("1.3.6.1.4.1.57683.2", "7"),
        )
    )
    fingerprint = "X509SHA256=03d66dd08835c1ca3f128cceacd1f31ac94163096b20f445ae84285bc0832d72"
    assert found == User(
        "jane",
        "7",
        ("dev", "ops"),
        {"authentication.kubernetes.io/credential-id": (fingerprint,)},
    )


@pytest.mark.parametrize(
    "connection",
    [
        Connection(encoded=None),
        Connection(("organizationName", "dev")),
        Connection(("commonName", "")),
    ],
    ids=["no certificate", "no common name", "an empty common name"],
)
def test_no_name_is_no_user(connection):
    assert certified_user(connection) is None


@pytest.mark.parametrize(
    ("subject", "name", "uid"),
    [
        ([("commonName", "a"), ("commonName", "b")], "b", ""),
        ([("commonName", "a"), (UID, "7"), (UID, "8")], "a", ""),
        ([(UID, "7"), ("commonName", "a")], "a", "7"),
    ],
    ids=["the last common name", "two uids are none", "any order"],
)
def test_repeated_parts_of_a_subject(subject, name, uid):
    found = certified_user(Connection(*subject))
    assert found is not None
    assert (found.name, found.uid, found.groups) == (name, uid, ())
