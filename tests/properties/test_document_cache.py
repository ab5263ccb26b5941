"""A cached file is read as without the cache: objects, places, errors and warnings."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import yaml
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import FieldError, encode
from podwright.simulation.files import DocumentCache, load_bytes
from podwright.simulation.files.documents import read_documents
from podwright.simulation.files.manifests import PartialObjects

TEXTS = st.text(max_size=6) | st.sampled_from(
    ["yes", "1e3", "0777", "~", "1.0", "2026-01-01", "<<", "a: b", "", "null", "\u2028", "é"]
)
SCALARS = TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"]))
PODS = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "apps/v1"]),
        "kind": st.sampled_from(["Pod", "Node", "Deployment", "Deploymnt"]),
        "metadata": st.fixed_dictionaries(
            {"name": st.sampled_from(["a", "b", "c"]), "labels": LABELS},
            optional={"uid": st.just("1"), "resourceVersion": st.just("1"), "odd": VALUES},
        ),
    },
    optional={
        "spec": VALUES
        | st.fixed_dictionaries(
            {"containers": st.just([{"name": "c", "image": "i"}])},
            optional={"priority": SCALARS, "nodeNam": TEXTS},
        ),
        "status": VALUES,
    },
)
DOCUMENTS = (
    PODS
    | st.lists(PODS | VALUES, max_size=4).map(
        lambda items: {"apiVersion": "v1", "kind": "List", "items": items}
    )
    | st.lists(PODS, max_size=3).map(lambda pods: {"pods": pods, "nodes": []})
    | VALUES
)
STREAMS = st.tuples(
    st.lists(DOCUMENTS, max_size=4),
    st.booleans(),
    st.sampled_from(["", "a: 1\na: 2\n", "- {a: 1, a: 2}\n", "a: [\n", "a: &x {b: 1}\nc: *x\n"]),
)


def text_of(documents: list[Any], is_flow: bool, more: str) -> bytes:
    dumped = [
        yaml.safe_dump(one, default_flow_style=is_flow, allow_unicode=True) for one in documents
    ]
    text = "\n---\n".join([*dumped, more] if more else dumped)
    return f"# {'-' * 4_000}\n{text}".encode()


def everything_read(data: bytes, source: str, cache: DocumentCache | None) -> Any:
    """Return all that reading the file yields, with types and places."""
    errors: list[FieldError] = []
    duplicates: list[FieldError] = []
    found = [
        (str(one.place), one.place.of("spec.priority"), repr(one.document), one.is_stored)
        for one in read_documents(data, source, errors, duplicates, cache=cache)
    ]
    problems: tuple[FieldError, ...] = ()
    try:
        loaded = load_bytes([(source, data)], cache=cache)
    except PartialObjects as error:
        loaded, problems = error.loaded, error.errors
    objects = [(one.source, repr(encode(one.object))) for one in loaded.sourced]
    return (
        found,
        list(map(msgspec.structs.astuple, (*errors, *duplicates, *problems))),
        objects,
        loaded.warnings,
    )


@given(STREAMS)
def test_a_cached_file_is_read_as_without_the_cache(stream):
    data = text_of(*stream)
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "dump.yaml")
        cache = DocumentCache(least_bytes=1)
        expected = everything_read(data, source, None)
        # The first call writes the entry in its first part, and reads it in the second one.
        assert everything_read(data, source, cache) == expected
        assert everything_read(data, source, cache) == expected
