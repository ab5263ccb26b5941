"""Descriptions: a sentence for each field of the kinds that people look up, and no others."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from podwright.apimachinery.schema import built_in, description
from podwright.apimachinery.schema.types import COMMON, LIKE, SCALARS, read_descriptions

KINDS = ["v1/Pod", "v1/Node", "v1/Service", "v1/PersistentVolumeClaim", "v1/ConfigMap", "v1/Secret",
         "v1/ReplicationController", "apps/v1/Deployment", "apps/v1/StatefulSet",
         "apps/v1/DaemonSet", "apps/v1/ReplicaSet", "batch/v1/Job", "batch/v1/CronJob"]  # fmt: skip
NOT_OUR_WORDS = re.compile(r"\b(told|tells?|heard|asked|asks|wanted|wants|nobody)\b")


def structs() -> list[str]:
    """Return the structs of which the objects of `KINDS` consist."""
    schema = built_in()
    pending = []
    for name in KINDS:
        kind = schema.find(*name.rsplit("/", maxsplit=1))
        assert kind is not None, name
        pending.append(kind.row.type)
    found: dict[str, None] = {}
    while pending:
        struct = pending.pop()
        if struct in found or struct in SCALARS:
            continue
        found[struct] = None
        pending += [each.type.innermost for each in schema.type(struct).fields.values()]
    return sorted(found)


def is_kind(struct: str) -> bool:
    return any(kind.row.type == struct for kind in built_in())


def test_every_field_is_described():
    common = read_descriptions()[COMMON]
    fields = [
        (struct, field)
        for struct in structs()
        for field in built_in().type(struct).fields
        if not (is_kind(struct) and field in common)
    ]
    missing = [f"{struct}.{field}" for struct, field in fields if not description(struct, field)]
    assert len(fields) > 900
    assert not missing


def test_every_struct_is_described():
    assert not [struct for struct in structs() if not description(struct)]


def test_no_description_is_orphaned():
    schema = built_in()
    known = set(schema.type_names())
    tables = {name: table for name, table in read_descriptions().items() if name != COMMON}
    assert not tables.keys() - known
    orphans = [
        f"{struct}.{field}"
        for struct, table in tables.items()
        for field in table
        if field not in ("", LIKE, *schema.type(struct).fields)
    ]
    assert not orphans
    likes = {table[LIKE] for table in tables.values() if LIKE in table}
    assert likes <= tables.keys()


@pytest.mark.parametrize("struct", sorted(read_descriptions()))
def test_descriptions_are_short_sentences(struct):
    for field, sentence in read_descriptions()[struct].items():
        if field == LIKE:
            continue
        assert re.fullmatch(r"[A-Z$].*\.", sentence), (field, sentence)
        assert len(sentence) <= 200, (field, sentence)
        assert not NOT_OUR_WORDS.search(sentence), (field, sentence)


def test_a_struct_can_share_the_sentences_of_another():
    like = description("core.v1.EphemeralContainer", "image")
    assert like == description("core.v1.Container", "image")
    assert description("core.v1.EphemeralContainer", "targetContainerName")
    assert description("core.v1.Container", "targetContainerName") == ""


def test_descriptions_are_read_when_they_are_needed():
    code = (
        "import podwright.apimachinery.schema, podwright.apimachinery.schema.types as found;"
        " assert not found.read_descriptions.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
