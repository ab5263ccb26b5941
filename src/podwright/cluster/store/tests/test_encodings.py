"""The JSON of objects that is made of earlier parts."""

import itertools
from typing import Any

import msgspec
import pytest

from podwright.cluster.store.encodings import Encodings, TextForm

_OWNERS = [{"manager": "100%b", "fieldsV1": {"f:spec": {}}}]


@pytest.mark.parametrize("before", [{}, {"containers": [{"name": "a"}], "priority": 0}])
@pytest.mark.parametrize("status", [{}, {"status": {"phase": "100 %"}}, {"status": None}])
@pytest.mark.parametrize(
    "owners",
    [
        pytest.param({}, id="no owners"),
        pytest.param({"managedFields": _OWNERS}, id="owners at the end"),
        pytest.param({"managedFields": _OWNERS, "uid": "u"}, id="owners before another field"),
    ],
)
@pytest.mark.parametrize("is_spec_first", [False, True])
def test_an_extended_section_gives_the_same_text(before, status, owners, is_spec_first):
    encodings = Encodings()
    status = dict(status)
    for number in range(4):
        metadata = {"metadata": {"name": f'a"{number}\n%b', **owners}}
        spec = {"spec": {**before, "nodeName": f'node-"{number}\n%b'}}
        sections = spec | metadata if is_spec_first else metadata | spec
        document = {"kind": "Pod", **sections, **status}
        encodings.keep_extended(document, "spec", before, "nodeName")
        text = msgspec.json.encode(document)
        assert encodings.of(document) == encodings.peek(document) == text
        assert encodings.size_of(document) == len(text)


def test_a_document_without_metadata_is_kept_whole():
    encodings = Encodings()
    for number in range(3):
        document = {"kind": "Pod", "spec": {"nodeName": f"n{number}"}, "status": None}
        encodings.keep_extended(document, "spec", {}, "nodeName")
        assert encodings.of(document) == msgspec.json.encode(document)


def test_the_oldest_encodings_are_released_when_there_are_too_many():
    encodings = Encodings(max_bytes=64_000)
    documents = [{"text": "x" * 800, "number": number} for number in range(100)]
    for document in documents:
        encodings.of(document)
        assert encodings._bytes <= 64_000
        assert encodings._bytes == sum(len(text) + 200 for _, _, text in encodings._kept.values())
    kept = [document for document in documents if id(document) in encodings._kept]
    assert kept == documents[-len(kept) :]
    assert len(kept) > 58
    for document in documents:
        encodings.forget(document)
    assert encodings._bytes == 0


def test_documents_with_the_same_sections_keep_only_their_values():
    encodings = Encodings()
    before, status = {"text": "x" * 10_000}, {"phase": "Pending"}
    documents = [
        {
            "metadata": {"name": f"a{number}", "managedFields": _OWNERS},
            "spec": {**before, "nodeName": "n"},
            "status": status,
        }
        for number in range(10)
    ]
    for document in documents:
        encodings.keep_extended(document, "spec", before, "nodeName")
    sizes = [len(text) for _, _, text in encodings._kept.values()]
    assert sizes[0] > 10_000
    assert max(sizes[1:]) < 60


def test_other_sections_are_not_taken_for_those_that_are_forgotten():
    encodings = Encodings()
    for number, _ in itertools.product(range(1_100), range(3)):
        before = {"number": number}
        owners = [{"time": number}]
        document = {
            "metadata": {"name": "a", "managedFields": owners},
            "spec": {**before, "nodeName": "a"},
        }
        encodings.keep_extended(document, "spec", before, "nodeName")
        assert encodings.of(document) == msgspec.json.encode(document)


def test_sections_of_forms_that_are_in_use_are_not_taken_for_others():
    encodings = Encodings()
    before: dict[str, Any] = {"containers": []}
    owners = [{"manager": "m"}]
    for turn in range(3):
        # Other dictionaries at the same addresses, if nothing kept those of the last turn.
        statuses = [{"turn": turn} for _ in range(100)]
        for status, name in itertools.product(statuses, "abc"):
            document = {
                "metadata": {"name": name, "managedFields": owners},
                "spec": {**before, "nodeName": "n"},
                "status": status,
            }
            encodings.keep_extended(document, "spec", before, "nodeName")
            assert encodings.of(document) == msgspec.json.encode(document)
            encodings.forget(document)
            del status, document
        del statuses


def test_documents_that_differ_in_their_status_have_different_forms():
    encodings = Encodings()
    before: dict[str, Any] = {"containers": []}
    owners = [{"manager": "m"}]
    statuses = [{"number": number} for number in range(4)]
    for status in statuses * 3:
        document = {
            "metadata": {"name": "a", "managedFields": owners},
            "spec": {**before, "nodeName": "n"},
            "status": status,
        }
        encodings.keep_extended(document, "spec", before, "nodeName")
        assert encodings.of(document) == msgspec.json.encode(document)


@pytest.mark.parametrize("values", [[b""], [b"a%b", b"%"], [b"", b"", b"xyz"]])
def test_a_form_knows_the_size_of_its_texts(values):
    form = TextForm([b"50 %", *[b"%b"] * len(values)])
    text = form.filled(values)
    assert text == b"50 %" + b"".join(value + b"%b" for value in values)
    assert form.size_with(b"\n".join(values)) == len(text)
