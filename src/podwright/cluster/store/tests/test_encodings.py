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
        assert [*encodings._kept][-1] == id(document)
        text = msgspec.json.encode(document)
        assert encodings.of(document) == encodings.peek(document) == text
        assert encodings.size_of(document) == len(text)


def test_a_document_without_metadata_is_kept_whole():
    encodings = Encodings()
    for number in range(3):
        document = {"kind": "Pod", "spec": {"nodeName": f"n{number}"}, "status": None}
        encodings.keep_extended(document, "spec", {}, "nodeName")
        assert is_kept(encodings, document)
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


def is_kept(encodings: Encodings, document: dict[str, Any]) -> bool:
    """Whether the text of a document is the one that was kept, and not made for the call."""
    return encodings.peek(document) is encodings.peek(document)


def test_a_text_is_kept_by_what_reads_it_again_and_not_by_a_peek():
    encodings = Encodings()
    documents = [{"number": number} for number in range(4)]
    assert encodings.is_empty
    assert encodings.peek(documents[0]) == b'{"number":0}'
    assert encodings.peek_formed(documents[0]) == (None, b'{"number":0}')
    assert encodings.is_empty
    assert encodings.of(documents[0]) == b'{"number":0}'
    assert encodings.size_of(documents[1]) == 12
    encodings.keep(documents[2], b'{"number": 2}')
    assert [is_kept(encodings, each) for each in documents] == [True, True, True, False]
    # What was kept is not encoded again.
    assert encodings.of(documents[2]) == b'{"number": 2}'
    assert encodings.size_of(documents[2]) == 13
    assert encodings.peek_formed(documents[2]) == (None, b'{"number": 2}')
    for each in documents:
        encodings.forget(each)
    assert encodings.is_empty
    assert encodings.size_of({}) == 2


@pytest.mark.parametrize(
    ("max_bytes", "kept"),
    [
        pytest.param(3 * 300, 3, id="exactly as many as there is room for"),
        pytest.param(3 * 300 - 1, 2, id="a byte too many"),
        pytest.param(3 * 299, 2, id="each a byte too large"),
        pytest.param(299, 0, id="none has room"),
    ],
)
def test_a_kept_document_counts_its_text_and_its_entry(max_bytes, kept):
    """200 bytes are counted for each; of what is too much a 64th more is released."""
    encodings = Encodings(max_bytes)
    documents = [{"x": "x" * 92} for _ in range(3)]
    for document in documents:
        assert len(encodings.of(document)) == 100
    assert [is_kept(encodings, each) for each in documents] == [False] * (3 - kept) + [True] * kept


@pytest.mark.parametrize(("count", "released"), [(64, 0), (65, 2), (66, 2), (67, 4)])
def test_a_64th_is_released_at_once(count, released):
    encodings = Encodings(64 * 300)
    documents = [{"x": "x" * 92} for _ in range(count)]
    for document in documents:
        encodings.of(document)
    assert [is_kept(encodings, each) for each in documents].count(False) == released
    assert not any(is_kept(encodings, each) for each in documents[:released])


def test_documents_of_one_form_share_it():
    encodings = Encodings()
    before: dict[str, Any] = {"containers": []}
    status = {"phase": "Pending"}
    owners = [{"manager": "m"}]
    documents: list[dict[str, Any]] = [
        {
            "metadata": {"name": f"a{number}", "managedFields": owners},
            "spec": {**before, "nodeName": "n"},
            "status": status,
        }
        for number in range(4)
    ]
    for document in documents:
        encodings.keep_extended(document, "spec", before, "nodeName")
    first, *forms = (encodings.peek_formed(document)[0] for document in documents)
    assert first is None
    assert forms[0] is not None
    assert all(form is forms[0] for form in forms)
    # Other sections have a form of their own, also if they take turns.
    others = [document | {"status": {"phase": "Running"}} for document in documents]
    shared = others[0]["status"]
    for document in others:
        document["status"] = shared
        encodings.keep_extended(document, "spec", before, "nodeName")
    other_forms = [encodings.peek_formed(document)[0] for document in others]
    assert other_forms[1] is other_forms[2] is not forms[0]
    assert encodings.peek(others[3]) == msgspec.json.encode(others[3])


def test_documents_of_two_kinds_that_take_turns_have_a_form_each():
    encodings = Encodings()
    kinds: list[dict[str, Any]] = [
        {"before": {"image": "x" * 50, "number": number}, "status": {"phase": "Pending"},
         "owners": [{"manager": "m"}]}
        for number in range(2)
    ]  # fmt: skip
    documents = [
        {
            "metadata": {"name": f"a{number}", "managedFields": kinds[number % 2]["owners"]},
            "spec": {**kinds[number % 2]["before"], "nodeName": "n"},
            "status": kinds[number % 2]["status"],
        }
        for number in range(8)
    ]
    for number, document in enumerate(documents):
        encodings.keep_extended(document, "spec", kinds[number % 2]["before"], "nodeName")
    forms = [encodings.peek_formed(document)[0] for document in documents]
    assert forms[:2] == [None, None]
    assert None not in forms[2:]
    assert len({id(form) for form in forms[2:]}) == 2
    assert [encodings.peek(each) for each in documents] == [*map(msgspec.json.encode, documents)]
