"""Small parts of the room: elements of DER, equality, reasons, formats, indexes of kinds."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podwright.apimachinery import cel
from podwright.apimachinery.objects import with_raw_text
from podwright.apimachinery.schema import Schema, built_in, decode
from podwright.apimachinery.schema.container_totals import container_totals
from podwright.apimachinery.schema.der import (
    Certificate,
    PemBlock,
    PublicKey,
    elements,
    parts,
    pem_blocks,
    read_certificate,
    read_public_key,
)
from podwright.apimachinery.schema.go_form import canonical_micro_time, canonical_time
from podwright.apimachinery.schema.structural.field_paths import schema_at
from podwright.apimachinery.schema.structural.formats import has_format
from podwright.apimachinery.schema.structural.shape import approval_of, pruned
from podwright.apimachinery.schema.structural.values import rule_problems
from podwright.apimachinery.schema.table import Table, built_in_table
from podwright.apimachinery.schema.tests.test_single_rules import BITS, INT, KEY_INFO, NAME, der
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    reason_of,
    same,
)

TRUNCATED = "asn1: syntax error: data truncated"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\x30", TRUNCATED),
        (b"\x30\x02a", TRUNCATED),
        (b"\x30\x02ab", [(0x30, b"ab")]),
        (b"\x30\x81\x02ab\x02\x00", [(0x30, b"ab"), (2, b"")]),
        (b"\x30\x82\x00\x01a", [(0x30, b"a")]),
        (b"\x30\x82\x01\x00a", TRUNCATED),
    ],
)
def test_elements_have_a_tag_a_length_and_content(data: bytes, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(ValueError, match=found):
            list(elements(data))
    else:
        assert list(elements(data)) == found


def test_data_is_one_element() -> None:
    assert parts(b"\x31\x02\x05\x00", 0x31) == [(5, b"")]
    for data, text in ((b"", TRUNCATED), (b"\x30\x00\x30\x00", "x509: trailing data")):
        with pytest.raises(ValueError, match=text):
            parts(data)
    with pytest.raises(ValueError, match="asn1: structure error: tags don't match"):
        parts(b"\x31\x00")


RSA = der(6, bytes.fromhex("2a864886f70d010101"))
ECDSA = der(6, bytes.fromhex("2a8648ce3d0201"))
P256 = der(6, bytes.fromhex("2a8648ce3d030107"))


def rsa_bits(modulus: bytes) -> bytes:
    return der(3, b"\0", der(0x30, der(2, modulus), INT))


@pytest.mark.parametrize(
    ("info", "key"),
    [
        (der(0x30, RSA) + rsa_bits(b"\0\x80" + b"\0" * 63), PublicKey("RSA", modulus_bits=512)),
        (der(0x30, RSA) + rsa_bits(b"\x01" + b"\0" * 63), PublicKey("RSA", modulus_bits=512)),
        (der(0x30, ECDSA, P256) + BITS, PublicKey("ECDSA", curve="P-256")),
        (
            der(0x30, ECDSA, der(6, bytes.fromhex("2b81040021"))) + BITS,
            PublicKey("ECDSA", curve="P-224"),
        ),
        (
            der(0x30, ECDSA, der(6, bytes.fromhex("2b81040022"))) + BITS,
            PublicKey("ECDSA", curve="P-384"),
        ),
        (
            der(0x30, ECDSA, der(6, bytes.fromhex("2b81040023"))) + BITS,
            PublicKey("ECDSA", curve="P-521"),
        ),
        (der(0x30, der(6, b"\x2b\x65\x70")) + BITS, PublicKey("Ed25519")),
        (der(0x30, der(6, b"\x2b\x65\x6e")) + BITS, PublicKey("X25519")),
        (der(0x30, der(6, b"\x01")) + BITS, PublicKey("")),
        (der(0x30, ECDSA, der(6, b"\x01")) + BITS, "x509: unsupported elliptic curve"),
        (der(0x30, INT) + BITS, "asn1: structure error: tags don't match"),
        (der(0x31, RSA) + BITS, "asn1: structure error: tags don't match"),
        (der(0x30, RSA) + INT, "asn1: structure error: tags don't match"),
    ],
)
def test_a_public_key_has_an_algorithm(info: bytes, key: Any) -> None:
    if isinstance(key, str):
        with pytest.raises(ValueError, match=key):
            read_public_key(info)
    else:
        assert read_public_key(info) == key


SPAN = der(0x30, der(0x17, b"260101000000Z"), der(0x18, b"20500102030405Z"))
FIELDS = (INT, NAME, NAME, SPAN, NAME, KEY_INFO)


def extension(identifier: str, constraints: bytes) -> bytes:
    listed = der(0x30, der(6, bytes.fromhex(identifier)), der(1, b"\xff"), der(4, constraints))
    return der(0xA3, der(0x30, listed))


@pytest.mark.parametrize(
    ("fields", "is_authority"),
    [
        (FIELDS, False),
        ((der(0xA0, INT), *FIELDS), False),
        ((*FIELDS, der(0x81, b"x")), False),
        ((*FIELDS, extension("551d13", der(0x30, der(1, b"\xff")))), True),
        ((*FIELDS, der(0x81, b"x"), extension("551d13", der(0x30, der(1, b"\1")))), True),
        ((*FIELDS, extension("551d13", der(0x30, der(1, b"\0")))), False),
        ((*FIELDS, extension("551d13", der(0x30))), False),
        ((*FIELDS, extension("551d13", der(0x30, INT))), False),
        ((*FIELDS, extension("551d0f", der(0x30, der(1, b"\xff")))), False),
        ((NAME, *FIELDS[1:]), None),
        ((*FIELDS[:4], INT, KEY_INFO), None),
        ((*FIELDS[:5], INT), None),
        (FIELDS[:5], None),
    ],
)
def test_a_certificate_has_its_parts(
    fields: tuple[bytes, ...], *, is_authority: bool | None
) -> None:
    data = der(0x30, der(0x30, *fields), NAME, BITS)
    if is_authority is None:
        with pytest.raises(ValueError, match=r"tags don't match|not enough values"):
            read_certificate(data)
        return
    begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2050, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read_certificate(data) == Certificate(begin, end, b"key", is_authority)
    for wrong in ((INT, BITS), (NAME, INT)):
        with pytest.raises(ValueError, match="tags don't match"):
            read_certificate(der(0x30, der(0x30, *fields), *wrong))


def block(name: str, body: str, end: str = "") -> str:
    return f"-----BEGIN {name}-----\n{body}\n-----END {end or name}-----\n"


DATA = b64encode(b"data").decode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (block("A", DATA), [PemBlock("A", False, b"data")]),
        (f"x\n{block('A', DATA)}y\n{block('B', DATA)}",
         [PemBlock("A", False, b"data"), PemBlock("B", False, b"data")]),
        (block("A", "no base64!") + block("B", DATA), [PemBlock("B", False, b"data")]),
        (block("A", f"Key: value\n\n{DATA}"), [PemBlock("A", True, b"data")]),
        (block("A", f"key\n\n{DATA}"), []),
        (block("A", DATA, end="B"), []),
        (block("A", f"{DATA[:4]}\n{DATA[4:]}"), [PemBlock("A", False, b"data")]),
    ],
)  # fmt: skip
def test_blocks_of_pem(text: str, found: list[PemBlock]) -> None:
    assert list(pem_blocks(text)) == found


# --------------------------------------------------------------------------------- equality


def raw(text: bytes) -> Any:
    return with_raw_text(msgspec.json.decode(text), text, ())


@pytest.mark.parametrize(
    ("new", "old", "is_same"),
    [
        (None, {}, True),
        (None, [], True),
        (None, "", True),
        (None, 0, True),
        (None, False, False),
        (False, None, False),
        ({}, [], True),
        ({"a": 1}, [1], False),
        ({"a": 1}, "a", False),
        ([1], {"a": 1}, False),
        ({"a": None}, {}, True),
        ({"a": {"b": []}}, {}, True),
        ({"a": 1}, {"a": 2}, False),
        ([{"a": None}], [{}], True),
        ([], None, True),
        ([1], None, False),
        (None, [1], False),
        ([], {"a": 1}, False),
        ([1, 2], [1], False),
        ([1, 2], [2, 1], False),
        ({"labels": {"a": ""}}, {"labels": {}}, False),
        ({"labels": {"a": ""}}, {"labels": None}, False),
        ({"nodeSelector": {"a": ""}}, {"nodeSelector": {"a": ""}}, True),
        ({"other": {"a": ""}}, {"other": {}}, True),
        (raw(b'{"a": 1}'), raw(b'{"a": 1}'), True),
        (raw(b'{"a": 1}'), raw(b'{"a":  1}'), False),
        (raw(b'{"a": 1}'), {"a": 1}, False),
        (None, raw(b'{"a": 1}'), False),
    ],
)
def test_absent_null_and_empty_are_the_same(new: Any, old: Any, *, is_same: bool) -> None:
    assert same(new, old) == is_same


@pytest.mark.parametrize(
    ("new", "old", "is_same"),
    [
        ({"rules": []}, {}, True),
        ({}, {"rules": []}, True),
        ({"rules": [{}]}, {"rules": [{"resourceRules": []}]}, True),
        ({"rules": [{}]}, {"rules": [{}, {}]}, False),
        ({"rules": [{"subjects": [{"kind": "a"}]}]}, {"rules": [{"subjects": []}]}, False),
        ({"distinguisherMethod": {}}, {}, False),
        ({}, {"distinguisherMethod": {}}, False),
        ({"distinguisherMethod": {"type": ""}}, {"distinguisherMethod": {}}, True),
    ],
)
def test_a_pointer_to_an_empty_struct_is_not_none(new: Any, old: Any, *, is_same: bool) -> None:
    assert same(new, old, "FlowSchemaSpec") == is_same


def test_parts_of_the_security_context_are_in_it_in_the_internal_form() -> None:
    for spec in ({"hostNetwork": True}, {"hostNetwork": True, "securityContext": {}}):
        assert internal_form(spec, "PodSpec")["SecurityContext"]["HostNetwork"] is True


def test_long_texts_have_no_values_and_details_after_a_limit() -> None:
    errors = FieldErrors()
    errors.required("a", "x" * (4_194_304 - len("Required value: ")))
    errors.invalid("b", "v", "d")
    errors.invalid("c", "v", "d")
    assert errors.problems[1:] == [
        ("b", 'Invalid value: "v": d', "v"),
        ("c", 'Invalid value: "..."', "v"),
    ]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Required value", "FieldValueRequired"),
        ("Required value: a", "FieldValueRequired"),
        ("Invalid value: 1: a", "FieldValueInvalid"),
        ('Invalid value: "x": a.b in body must be of type integer: "x"', "FieldValueTypeInvalid"),
        ('Invalid value: "x\ny": a in body must be of type a: "x"', "FieldValueTypeInvalid"),
        ('Invalid value: "x": in body must be of type a', "FieldValueInvalid"),
        ("Unsupported value: a", "FieldValueNotSupported"),
        ("Duplicate value: a", "FieldValueDuplicate"),
        ("Not found: a", "FieldValueNotFound"),
        ("Forbidden: a", "FieldValueForbidden"),
        ("Too long: a", "FieldValueTooLong"),
        ("Too many: a", "FieldValueTooMany"),
        ("Internal error: a", "InternalError"),
        ("unknown field", "FieldValueInvalid"),
    ],
)
def test_a_message_begins_with_its_reason(message: str, reason: str) -> None:
    assert reason_of(message) == reason


def rule_error(reason: Any, value: Any = msgspec.UNSET, path: str = "a") -> cel.RuleError:
    return cel.RuleError(path=path, reason=reason, detail="d", value=value)


@pytest.mark.parametrize(
    ("error", "path", "expected"),
    [
        (rule_error("FieldValueRequired"), "", ("a", "Required value: d")),
        (rule_error("FieldValueForbidden"), "", ("a", "Forbidden: d")),
        (rule_error("FieldValueDuplicate"), "", ("a", "Duplicate value")),
        (rule_error("FieldValueDuplicate", 1), "", ("a", "Duplicate value: 1")),
        (rule_error("FieldValueInvalid"), "", ("a", "Invalid value: d")),
        (rule_error("FieldValueInvalid", "x"), "", ("a", 'Invalid value: "x": d')),
        (rule_error("FieldValueForbidden"), "b", ("b.a", "Forbidden: d")),
        (rule_error("FieldValueForbidden", path=""), "b", ("b", "Forbidden: d")),
        (rule_error("FieldValueForbidden", path=""), "", ("<nil>", "Forbidden: d")),
    ],
)
def test_the_error_of_a_rule_has_its_reason(
    error: cel.RuleError, path: str, expected: tuple[str, str]
) -> None:
    (problem,) = rule_problems([error], path)
    assert problem[:2] == expected


# ------------------------------------------------------------------- structural schemas


NEEDED = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


@pytest.mark.parametrize(
    ("group", "value", "expected"),
    [
        ("example.com", "", None),
        ("", "", None),
        ("mk8s.io", "", None),
        ("k8s.io.example", "", None),
        ("k8s.io", "//a.b/c", ("False", "InvalidAnnotation",
                               f'{NEEDED} with either a URL or a reason starting with'
                               f' "unapproved", {SEE}')),
        ("k8s.io", "https:a", ("False", "InvalidAnnotation",
                               f'{NEEDED} with either a URL or a reason starting with'
                               f' "unapproved", {SEE}')),
        ("k8s.io", "", ("False", "MissingAnnotation", f"{NEEDED}, {SEE}")),
        ("a.b.kubernetes.io", "https://a.b/c", ("True", "ApprovedAnnotation",
                                                "approved in https://a.b/c")),
        ("a.k8s.io", "unapproved, alpha", ("False", "UnapprovedAnnotation",
                                           'not approved: "unapproved, alpha"')),
        ("a.k8s.io", "https://", ("False", "InvalidAnnotation", f"{NEEDED} with either a URL or a"
                                  f' reason starting with "unapproved", {SEE}')),
        ("a.k8s.io", "a.b/c", ("False", "InvalidAnnotation", f"{NEEDED} with either a URL or a"
                               f' reason starting with "unapproved", {SEE}')),
    ],
)  # fmt: skip
def test_groups_of_kubernetes_need_an_approval(
    group: str, value: str, expected: tuple[str, str, str] | None
) -> None:
    notes = {"annotations": {"api-approved.kubernetes.io": value}} if value else {}
    assert approval_of({"metadata": notes, "spec": {"group": group}}) == expected


KEEPS = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "value", "kept", "unknown"),
    [
        (KEEPS, [{"a": 1}], [{"a": 1}], []),
        (KEEPS | {"items": {"properties": {"a": {}}}}, [{"a": {"c": 1}, "b": 1}],
         [{"a": {}, "b": 1}], ["[0].a.c"]),
        ({"items": {}}, [{"a": 1}], [{}], ["[0].a"]),
        (None, [{"a": 1}, 2], [{}, 2], ["[0].a"]),
        (None, {"a": 1}, {}, ["a"]),
        (None, {}, {}, []),
        (None, 3, 3, []),
        ({"additionalProperties": True}, {"a": {"b": 1}}, {"a": {}}, ["a.b"]),
        ({"additionalProperties": {"properties": {"b": {}}}}, {"a": {"b": 1, "c": 2}},
         {"a": {"b": 1}}, ["a.c"]),
        ({}, {"b": 1, "a": 1, "kind": "x"}, {}, ["a", "b", "kind"]),
    ],
)  # fmt: skip
def test_unknown_fields_have_their_paths(
    schema: Any, value: Any, kept: Any, unknown: list[str]
) -> None:
    assert pruned(value, schema) == (kept, unknown)


@pytest.mark.parametrize(
    ("name", "text", "holds"),
    [
        ("email", "a@b.c\n", False),
        ("email", "a@b.c", True),
        ("email", "A <a@b.c>", True),
        ("email", "a@b.c, d@e.f", False),
        ("email", "a", False),
        ("email", "<>", False),
        ("email", '""@b.c', False),
        ("email", '"a b"@b.c', True),
        ("hostname", "a." + "b" * 63, True),
        ("hostname", "a." + "b" * 64, False),
        ("date", "2026-02-29", False),
        ("date", "2024-02-29", True),
        ("date", "20240229", False),
        ("uri", "http://a b", False),
        ("uri", "http://a/b", True),
        ("cidr", "10.0.0.0/33", False),
        ("cidr", "10.0.0.0/32", True),
        ("cidr", "::/128", True),
        ("cidr", "::/129", False),
        ("cidr", "::", False),
        ("mac", "01:23:45:67:89:ab", True),
        ("mac", "0123.4567.89ab", True),
        ("mac", "01-23:45:67:89:ab", False),
        ("isbn10", "0-306-40615-2", True),
        ("isbn10", "0-306-40615-3", False),
        ("isbn10", "030640615", False),
        ("isbn10", "080442957X", True),
        ("isbn13", "978-0-306-40615-7", True),
        ("isbn13", "978-0-306-40615-8", False),
        ("isbn13", "978030640615", False),
        ("creditcard", "4111 1111 1111 1111", True),
        ("creditcard", "4111 1111 1111 1112", False),
    ],
)
def test_formats(name: str, text: str, *, holds: bool) -> None:
    assert has_format(text, name) == holds


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (r".a['\a\b\f\n\r\t\v']", "a[\a\b\f\n\r\t\v]"),
        (r".a['x\\y\'z']", "a[x\\y'z]"),
    ],
)
def test_escapes_in_paths_are_those_of_go(path: str, shown: str) -> None:
    fields = {"properties": {"a": {"additionalProperties": {"type": "string"}}}}
    assert schema_at(path, fields) == (shown, {"type": "string"})


# ------------------------------------------------------------------------- other parts


@pytest.mark.parametrize(
    ("text", "whole", "fine"),
    [
        ("2020-01-01T02:00:00.5+02:00", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.500000Z"),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z"),
        ("2020-01-01T00:00:00.1234567Z", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123456Z"),
        ("x", "x", "x"),
    ],
)
def test_times_are_written_as_upstream_writes_them(text: str, whole: str, fine: str) -> None:
    assert (canonical_time(text), canonical_micro_time(text)) == (whole, fine)


def test_a_kind_that_was_served_once_is_replaced_or_gone() -> None:
    built = built_in_table()
    schema = Schema(
        Table(
            kinds=built.kinds,
            types=built.types,
            unserved={"apps/v1beta1/Deployment": "apps/v1", "v1beta3/Pod": ""},
        )
    )
    for api_version, kind, is_replaced, successor in (
        ("apps/v1beta1", "Deployment", True, "apps/v1"),
        ("v1beta3", "Pod", False, ""),
        ("apps/v1beta9", "Deployment", False, "apps/v1"),
        ("apps/v1", "Ship", False, ""),
    ):
        assert schema.is_replaced(api_version, kind) == is_replaced
        assert schema.successor(api_version, kind) == successor


@pytest.mark.parametrize(
    ("api_version", "kind", "metadata", "namespace"),
    [
        ("v1", "ConfigMap", {"name": "a"}, "default"),
        ("v1", "ConfigMap", {"name": "a", "namespace": ""}, "default"),
        ("v1", "ConfigMap", {"name": "a", "namespace": "d"}, "d"),
        ("coordination.k8s.io/v1", "Lease", {"name": "a"}, "default"),
        ("v1", "Namespace", {"name": "a"}, ""),
        ("example.com/v1", "Car", {"name": "a"}, ""),
    ],
)
def test_an_object_in_no_namespace_is_in_the_default_one(
    api_version: str, kind: str, metadata: Any, namespace: str
) -> None:
    document = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    assert decode(document).metadata.namespace == namespace
    assert document["metadata"] is metadata, "the given document does not change"


def test_values_in_base64_are_texts() -> None:
    secret = built_in().find("v1", "Secret")
    assert secret is not None
    (problem,) = secret.decoding_problems({"data": {"a": 5}})
    assert problem[:2] == ("data[a]", "Invalid value: 5: must be a string in base64")
    assert secret.decodable({"data": {"a": 5, "b": "YQ=="}}) == {"data": {"b": "YQ=="}}


def test_long_names_of_fields_have_no_suggestion() -> None:
    pod = built_in().find("v1", "Pod")
    assert pod is not None
    name = "terminationGracePeriodSecond"
    found = [text for _, text, _ in pod.decoding_problems({"spec": {name: 1, name + "s" * 99: 1}})]
    assert found == [
        'unknown field; did you mean "terminationGracePeriodSeconds"?', "unknown field",
    ]  # fmt: skip


def test_lists_in_maps_are_stored_as_null() -> None:
    types = {
        "example.v1.Widget": {"a": "{example.v1.Part} 1", "b": "[example.v1.Part] 2",
                              "c": "example.v1.Part 3"},
        "example.v1.Part": {"l": "[string] 1 null", "m": "{string} 2 null", "s": "string 3"},
    }  # fmt: skip
    built = built_in_table()
    row = msgspec.structs.replace(built.kinds["v1/ConfigMap"], type="example.v1.Widget")
    found = Schema(Table(kinds={"v1/ConfigMap": row}, types=built.types | types, unserved={})).find(
        "v1", "ConfigMap"
    )
    assert found is not None
    full: dict[str, Any] = {"l": ["x"], "s": ""}
    empty: dict[str, Any] = {"l": [], "m": {}}
    stored = {"l": None, "m": None}
    same_part = {"a": {"k": full}, "b": [full, {}], "c": full}
    assert found.as_stored(same_part) is same_part
    made = found.as_stored({"a": {"k": empty, "j": full}, "b": [empty, full], "c": empty})
    assert made == {"a": {"k": stored, "j": full}, "b": [stored, full], "c": stored}
    assert made["a"]["j"] is full
    assert found.as_stored({"a": {}, "b": [], "c": None}) == {"a": {}, "b": [], "c": None}


def test_errors_know_how_many_they_are() -> None:
    errors = FieldErrors()
    assert len(errors) == 0
    errors.required("a")
    assert len(errors) == 1


def using(cpu: str, **others: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}, "limits": {"a.b/c": "1"}}} | others


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"containers": [using("1"), {}, using("500m")]}, 1500, id="a sum"),
        pytest.param({"containers": [using("1")], "initContainers": [using("3"), using("2")]},
                     3000, id="the largest of those that run one after the other"),
        pytest.param({"containers": [using("4")], "initContainers": [using("3")]}, 4000,
                     id="less before the start"),
        pytest.param({"containers": [using("1")],
                      "initContainers": [using("2", restartPolicy="Always")]}, 3000,
                     id="a sidecar stays"),
        pytest.param({"containers": [using("1")],
                      "initContainers": [using("2", restartPolicy="Always"), using("3")]}, 5000,
                     id="a sidecar runs beside what comes after it"),
        pytest.param({"containers": [using("1")],
                      "initContainers": [using("3"), using("2", restartPolicy="Always")]}, 3000,
                     id="a sidecar does not run beside what came before it"),
        pytest.param({"containers": [],
                      "initContainers": [using("1", restartPolicy="Always"),
                                         using("1", restartPolicy="Always"), using("3"),
                                         using("1")]}, 5000, id="two sidecars"),
        pytest.param({"initContainers": [using("2")]}, 2000, id="only before the start"),
    ],
)  # fmt: skip
def test_containers_use_resources_at_once(spec: dict[str, Any], cpu: int | None) -> None:
    found = container_totals(spec, "requests")
    assert found == ({} if cpu is None else {"cpu": cpu * 10**6})
    assert set(container_totals(spec, "limits")) == ({"a.b/c"} if cpu else set())


def checked_pod(**spec: Any) -> tuple[dict[str, Any], list[str]]:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    spec = {"containers": [{"name": "c", "image": "a:1"}]} | spec
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    made, problems = kind.checked(document)
    return made, [f"{path}: {text}" for path, text, _ in problems]


def test_an_object_with_unknown_fields_only_has_its_defaults() -> None:
    made, problems = checked_pod(bogus=1, nodeName="N")
    assert [line.partition(": ")[0] for line in problems] == ["spec.bogus", "spec.nodeName"]
    assert made["spec"]["restartPolicy"] == "Always"
    assert made["spec"]["bogus"] == 1


def test_what_is_left_of_an_object_is_validated_with_its_defaults() -> None:
    made, problems = checked_pod(activeDeadlineSeconds=[])
    assert problems == ["spec.activeDeadlineSeconds: Invalid value: []: must be an integer"]
    assert "restartPolicy" not in made["spec"], "an object that cannot be decoded stays as it is"
