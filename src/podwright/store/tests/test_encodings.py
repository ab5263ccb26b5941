"""The JSON of objects that is made of earlier parts."""

import msgspec
import pytest

from podwright.store.encodings import Encodings


@pytest.mark.parametrize("before", [{}, {"containers": [{"name": "a"}], "priority": 0}])
@pytest.mark.parametrize("status", [{}, {"status": {"phase": "Pending"}}, {"status": None}])
@pytest.mark.parametrize("owners", [{}, {"managedFields": [{"fieldsV1": {"f:spec": {}}}]}])
def test_an_extended_section_gives_the_same_text(before, status, owners):
    encodings = Encodings()
    for number in range(3):
        document = {
            "metadata": {"name": f'a"{number}', **owners, "uid": "u"},
            "spec": {**before, "nodeName": f'node-"{number}'},
            **status,
        }
        encodings.keep_extended(document, "spec", before, "nodeName")
        assert encodings.of(document) == msgspec.json.encode(document)


def test_sections_are_kept_while_others_are_forgotten():
    encodings = Encodings()
    for number in range(1_100):
        before = {"number": number}
        document = {"spec": {**before, "nodeName": "a"}}
        encodings.keep_extended(document, "spec", before, "nodeName")
        assert encodings.of(document) == msgspec.json.encode(document)
