"""Small parts of the API by themselves: types of values, depths, volumes, precondition keys."""

from __future__ import annotations

import json
import random
from typing import Any, get_args

import pytest

from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.authorization.node_authorizer import _volume_secrets
from podwright.cluster.api.authorization.role_resolver import _name_of
from podwright.cluster.api.create_update import created
from podwright.cluster.api.endpoints.decoding.go_type_errors import conversion_error, go_kind
from podwright.cluster.api.endpoints.decoding.json_bodies import nesting_depth
from podwright.cluster.api.endpoints.replies.negotiation import accepts, negotiate
from podwright.cluster.api.object_edits import with_defaults
from podwright.cluster.api.object_validation import check_new, check_update, object_problems
from podwright.cluster.api.preconditions import check_path_segment, other_value
from podwright.cluster.api.rejections import Invalid, Rejection
from podwright.cluster.api.requests import WriteRequest
from podwright.cluster.api.strategies.kinds import strategy_of
from podwright.cluster.api.versions.resources import built_in_resources

# ---------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"), ({}, "object"), ([], "array"), ("", "string"), (False, "bool"),
        (0, "number"), (1.5, "number"), (2**70, "number"),
    ],
)  # fmt: skip
def test_what_gos_decoder_calls_a_value(value, name):
    assert go_kind(value) == name


@pytest.mark.parametrize(
    ("kind", "path", "value", "text"),
    [
        # Upstream: converter.go, fromUnstructured
        ("Pod", "spec.containers", {}, "cannot restore slice from map"),
        ("Pod", "spec.containers", "x", "cannot restore slice from string"),
        ("Pod", "spec.containers", 5, "cannot restore slice from int64"),
        ("Pod", "spec.nodeSelector", [], "cannot restore map from slice"),
        ("Pod", "spec.nodeSelector", True, "cannot restore map from bool"),
        ("Pod", "spec.containers[0]", "x", "cannot restore struct from: string"),
        ("Pod", "spec.securityContext", 1.5, "cannot restore struct from: float64"),
        ("Pod", "spec.nodeName", 5, "cannot convert int64 to string"),
        ("Pod", "spec.nodeName", 1.5, "unrecognized type: string"),
        ("Pod", "spec.nodeName", {}, "unrecognized type: string"),
        ("Pod", "spec.priority", 1.5, "cannot convert float64 to int32"),
        ("Pod", "spec.terminationGracePeriodSeconds", 1.5, "cannot convert float64 to int64"),
        ("Pod", "spec.priority", "x", "unrecognized type: int32"),
        ("Pod", "spec.hostNetwork", "x", "unrecognized type: bool"),
        ("Secret", "data[k]", 5, "cannot restore slice from int64"),
        ("Secret", "data", [], "cannot restore map from slice"),
    ],
)
def test_what_upstreams_converter_says_of_a_value(kind, path, value, text):
    found = built_in().find("v1", kind)
    assert found is not None
    assert conversion_error(found, (path, "", value)) == text


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0), ("5", 0), ('"[[["', 0), ("[]", 1), ("{}", 1), ("[[]]", 2), ('{"a": [{}]}', 3),
        ("[[], [[]], []]", 3), (r'"\"["', 0), (r'["\\", []]', 2), (r'["\\\"[[", []]', 2),
        ('{"[": "{", "a\\"": {"]": []}}', 3),
    ],
)  # fmt: skip
def test_the_depth_of_a_text_is_that_of_its_brackets_outside_of_texts(text, depth):
    assert nesting_depth(text.encode()) == depth


@pytest.mark.parametrize("seed", range(20))
def test_the_depth_of_any_document_is_that_of_its_values(seed):
    choose = random.Random(seed)

    def made(levels: int) -> Any:
        texts = ['"', "\\", "[", "{}", 'a"]', "\\\\"]
        if not levels or choose.random() < 0.2:
            return choose.choice([1, None, True, *texts])
        inner = [made(levels - 1) for _ in range(choose.randrange(4))]
        if choose.random() < 0.5:
            return inner
        return {f"{number}{choose.choice(texts)}": each for number, each in enumerate(inner)}

    def depth_of(value: Any) -> int:
        if not isinstance(value, dict | list):
            return 0
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth_of, inner), default=0)

    document = made(6)
    for indent in (None, 2):
        assert nesting_depth(json.dumps(document, indent=indent).encode()) == depth_of(document)


# ------------------------------------------------------------------------------ negotiation


@pytest.mark.parametrize(
    ("accept", "media_type", "is_accepted"),
    [
        ("*/*", "application/json", True),
        ("*", "application/json", True),
        ("application/*", "application/json", True),
        ("application/json", "application/json", True),
        ("application/json;charset", "application/json", True),
        ("text/plain, application/json;q=0.1", "application/json", True),
        ("text/plain", "application/json", False),
        ("application", "application/json", False),
        ("text/*", "application/json", False),
    ],
)
def test_which_representations_a_header_accepts(accept, media_type, is_accepted):
    assert accepts(accept, media_type) is is_accepted


@pytest.mark.parametrize(
    ("accept", "media_format"),
    [
        ("application/json", "json"),
        ("application/yaml", "yaml"),
        ("application/yaml;q=0.5, application/json", "json"),
        ("application/yaml, application/json", "yaml"),
        ("application/json;q=0.4, application/yaml;q=0.5", "yaml"),
        ("*/*, application/yaml", "yaml"),
        ("application/*, application/yaml", "yaml"),
        ("application/yaml;q=x, application/json;q=0.9", "yaml"),
        ("application/yaml;stream, text/plain", "yaml"),
        ("text, application/yaml", "yaml"),
        ("text/plain, */*;q=0.1", "json"),
    ],
)
def test_the_preferred_representation_is_sent(accept, media_format):
    """A wildcard comes after types of the same quality, and what is not a parameter is left out."""
    assert negotiate(accept).format == media_format


# ------------------------------------------------------------------------------ references


@pytest.mark.parametrize(
    ("volume", "secrets"),
    [
        ({}, []),
        ({"spec": None}, []),
        ({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["x"], "nfs": None}}, []),
        ({"spec": {"azureFile": {"secretName": "s"}}}, [("", "s")]),
        ({"spec": {"azureFile": {"secretName": ""}}}, []),
        (
            {"spec": {"azureFile": {"secretName": "s"}, "claimRef": {"namespace": "a"}}},
            [("a", "s")],
        ),
        (
            {"spec": {"azureFile": {"secretName": "s", "secretNamespace": "b"},
                      "claimRef": {"namespace": "a"}}},
            [("b", "s")],
        ),
        (
            {"spec": {"cephfs": {"secretRef": {"name": "s"}}, "claimRef": {"namespace": "a"}}},
            [("a", "s")],
        ),
        ({"spec": {"cephfs": {"secretRef": {"name": "s", "namespace": "b"}}}}, [("b", "s")]),
        ({"spec": {"cephfs": {"secretRef": None}}}, []),
        ({"spec": {"claimRef": {"name": "c"}, "rbd": {"secretRef": {}}}}, [("", "")]),
    ],
)  # fmt: skip
def test_the_secrets_of_a_volume(volume, secrets):
    """Upstream: pkg/api/v1/persistentvolume/util.go, VisitPVSecretNames"""
    assert list(_volume_secrets(volume)) == secrets


@pytest.mark.parametrize(
    ("subject", "namespace", "name"),
    [
        ({"kind": "User", "name": "a"}, "", ("User", "a")),
        ({"kind": "Group", "name": "g"}, "x", ("Group", "g")),
        ({"kind": "User"}, "", ("User", "")),
        (
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"}, "x",
            ("User", "system:serviceaccount:n:s"),
        ),
        ({"kind": "ServiceAccount", "name": "s"}, "x", ("User", "system:serviceaccount:x:s")),
        ({"kind": "ServiceAccount", "name": "s"}, "", None),
        ({"kind": "Robot", "name": "r"}, "x", None),
        ({}, "x", None),
    ],
)  # fmt: skip
def test_whom_a_subject_of_a_binding_names(subject, namespace, name):
    assert _name_of(subject, namespace) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a", ""), ("a.b", ""), ("...", ""), ("", ""),
        (".", "may not be '.'"), ("..", "may not be '..'"),
        ("a/b", "may not contain '/'"), ("a%", "may not contain '%'"),
        ("%/", "may not contain '/';may not contain '%'"),
    ],
)  # fmt: skip
def test_names_that_no_object_can_have(name, problem):
    if not problem:
        check_path_segment(name)
        return
    with pytest.raises(Rejection) as refused:
        check_path_segment(name)
    assert str(refused.value) == f'Name parameter invalid: "{name}": {problem}'


# ------------------------------------------------------------------- objects of unknown kinds

WIDGET = decode({
    "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "_"}, "spec": {"a": [1]},
})  # fmt: skip
WRONG = decode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "d"},
                "spec": {}})  # fmt: skip


def test_what_has_no_rules_is_neither_completed_nor_rejected():
    assert with_defaults(WIDGET) is WIDGET
    assert object_problems(WIDGET) == []
    check_new(WIDGET)
    check_update(WIDGET, WIDGET)


def test_the_problems_of_an_object_are_those_that_a_rejection_names():
    problems = object_problems(WRONG)
    assert [(path, message) for path, message, _ in problems] == [
        ("spec.containers", "Required value")
    ]
    with pytest.raises(Invalid) as refused:
        check_new(with_defaults(WRONG))
    assert [(each.path, each.message) for each in refused.value.errors] == [
        ("spec.containers", "Required value")
    ]
    check_update(WRONG, WRONG)


# ----------------------------------------------------------------------------------- metadata


@pytest.mark.parametrize(
    ("resource", "is_dry_run", "place"),
    [
        (("", "Node"), False, "/registry/minions/a/b"),
        (("", "Service"), False, "/registry/services/specs/a/b"),
        (("networking.k8s.io", "Ingress"), False, "/registry/ingress/a/b"),
        (("apps", "Deployment"), False, "/registry/deployments/a/b"),
        (("apps", "Deployment"), True, "/deployments/a/b"),
        (("apiextensions.k8s.io", "CustomResourceDefinition"), False,
         "/registry/apiextensions.k8s.io/customresourcedefinitions/a/b"),
        (("example.com", "Train"), False, "/registry/example.com/trains/a/b"),
        ("v1 Endpoints", False, "/registry/services/endpoints/a/b"),
        ("v1 ReplicationController", False, "/registry/controllers/a/b"),
        ("apiregistration.k8s.io/v1 APIService", True,
         "/apiregistration.k8s.io/apiservices/a/b"),
    ],
)  # fmt: skip
def test_a_precondition_names_the_key_in_etcd(resource, is_dry_run, place):
    if isinstance(resource, str):
        version, kind = resource.split(" ")
        resource = built_in_resources()[version, kind]
    error = other_value(resource, "a/b", "UID", "sent", "stored", is_dry_run=is_dry_run)
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message.endswith(
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0,"
        " AdditionalErrorMsg: Precondition failed: UID in precondition: sent, UID in object meta:"
        " stored"
    )
    assert '"b"' in error.message


@pytest.mark.parametrize(
    ("sent", "is_restored", "generation", "time"),
    [
        ({"generation": 4, "creationTimestamp": "2020-01-01T00:00:00Z"}, True, 4,
         "2020-01-01T00:00:00Z"),
        ({"generation": 4, "creationTimestamp": "2020-01-01T00:00:00Z"}, False, 1,
         "2026-01-01T00:00:00Z"),
        ({}, True, 1, "2026-01-01T00:00:00Z"),
        ({"selfLink": "/x"}, False, 1, "2026-01-01T00:00:00Z"),
    ],
)  # fmt: skip
def test_a_restored_object_keeps_its_time_and_its_generation(sent, is_restored, generation, time):
    obj = decode({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"} | sent})
    made = created(
        obj, strategy=strategy_of(("apps", "Deployment")), name="a", uid="u", version=7,
        now_ns=1_767_225_600 * 10**9, is_restored=is_restored,
    )  # fmt: skip
    assert (made.metadata.generation, made.metadata.creation_timestamp) == (generation, time)
    assert made.raw["metadata"] == {
        "name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7",
        "creationTimestamp": time,
        "generation": generation,
    }  # fmt: skip


@pytest.mark.parametrize("request_type", get_args(WriteRequest))
def test_a_written_request_names_its_kind(request_type):
    config = request_type.__struct_config__
    assert (config.tag_field, config.tag) == ("kind", request_type.__name__)
