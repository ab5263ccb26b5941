"""The user that the headers of a request name."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints import Rejection
from podwright.cluster.api.endpoints.access.authorization import impersonated_user
from podwright.cluster.api.users import User


def test_headers_name_a_user():
    headers = {
        "impersonate-user": "bob",
        "impersonate-uid": "1",
        "impersonate-group": "a\nb",
        "impersonate-extra-acme.io%2fscope": "x\ny",
    }
    assert impersonated_user(headers) == User("bob", "1", ("a", "b"), {"acme.io/scope": ("x", "y")})
    assert impersonated_user({"accept": "*/*"}) is None
    assert impersonated_user({"impersonate-user": ""}) is None


def test_a_group_without_a_user_is_an_error():
    with pytest.raises(Rejection) as caught:
        impersonated_user({"impersonate-group": "a"})
    assert str(caught.value) == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"},'
        " Extra:map[string][]string(nil)} without impersonating a user name"
    )
