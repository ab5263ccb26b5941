"""Tokens of secrets: what makes them good; upstream: pkg/serviceaccount/legacy.go."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.cluster.api.endpoints.access.service_account_tokens import (
    LegacyTokens,
    SignedClaims,
    unverified_claims,
)
from podwright.cluster.api.users import User
from podwright.cluster.store import ObjectStore


def account(name="a", uid="account-uid", **metadata):
    metadata = {"name": name, "namespace": "shop", "uid": uid, **metadata}
    return decode({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


def secret(token=None, name="s", **metadata):
    metadata = {"name": name, "namespace": "shop", "uid": "secret-uid", **metadata}
    data = {} if token is None else {"data": {"token": b64encode(token.encode()).decode()}}
    return decode({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **data})


ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
INVALID = {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}}


def test_a_token_has_the_claims_of_upstream():
    token = LegacyTokens(ObjectStore(seed=3)).issue(account(), secret())
    prefix = "kubernetes.io/serviceaccount/"
    assert unverified_claims(token) == {
        "iss": "kubernetes/serviceaccount",
        f"{prefix}namespace": "shop",
        f"{prefix}secret.name": "s",
        f"{prefix}service-account.name": "a",
        f"{prefix}service-account.uid": "account-uid",
        "sub": "system:serviceaccount:shop:a",
    }


def found(*change):
    """Return the user of a token of the account and the secret, some of which are replaced."""
    store = ObjectStore(seed=3)
    tokens = LegacyTokens(store)
    token = tokens.issue(account(), secret())
    objects: dict[Any, Any] = {"ServiceAccount": account(), "Secret": secret(token)}
    objects |= {kind: make(token) for kind, make in change}
    for each in objects.values():
        if each is not None:
            store.put(each)
    return tokens.lookup(token, 0)


def test_a_good_token_is_that_of_its_account():
    groups = (
        "system:serviceaccounts", "system:serviceaccounts:shop",
    )  # fmt: skip
    user = found()
    assert isinstance(user, User)
    assert (user.name, user.uid) == ("system:serviceaccount:shop:a", "account-uid")
    assert set(groups) <= set(user.groups)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("Secret", lambda _: None), id="without the secret"),
        pytest.param(("ServiceAccount", lambda _: None), id="without the account"),
        pytest.param(("Secret", lambda token: secret(token, **ENDING)), id="the secret ends"),
        pytest.param(("ServiceAccount", lambda _: account(**ENDING)), id="the account ends"),
        pytest.param(("ServiceAccount", lambda _: account(uid="new")), id="a new account"),
        pytest.param(("Secret", lambda _: secret()), id="no token in the secret"),
        pytest.param(("Secret", lambda token: secret(f"{token}x")), id="another in the secret"),
        pytest.param(("Secret", lambda t: secret(t, namespace="other")), id="elsewhere"),
        pytest.param(("Secret", lambda t: secret(t, **INVALID)), id="marked as invalid"),
    ],
)
def test_a_token_ends_with_its_secret_and_its_account(change):
    assert found(change) is None


def test_other_tokens_are_unknown():
    store = ObjectStore(seed=3)
    tokens = LegacyTokens(store)
    token = tokens.issue(account(), secret())
    for each in (account(), secret(token)):
        store.put(each)
    assert tokens.lookup(token, 0) is not None
    claims = unverified_claims(token)
    assert claims is not None
    of_others = SignedClaims("legacy tokens/4").token(claims)
    store.put(secret(of_others))
    assert tokens.lookup(of_others, 0) is None, "signed by another cluster"
    foreign = SignedClaims("legacy tokens/3").token({**claims, "iss": "https://issuer"})
    store.put(secret(foreign))
    assert tokens.lookup(foreign, 0) is None, "of another issuer"
    for text in ("", "x", "a.b.c"):
        assert tokens.lookup(text, 0) is None
