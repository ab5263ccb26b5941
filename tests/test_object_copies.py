"""A copy of an object with another part says what becomes of the document it was decoded from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, decode, encode, with_fields

SOURCE = Path(__file__).parents[1] / "src" / "podwright"
PARTS = {"metadata", "spec", "status"}
REPLACE = ("msgspec.structs.replace", "structs.replace", "replace")

NO_OBJECTS = {
    "scheduler/machine/cycles/cycle.py: result",
    "scheduler/plugins/default_preemption.py: result",
    "simulation/recording/folders/run_folder.py: self.manifest",
    "simulation/scenarios/reading.py: found.document",
}
"""Structs with a field of such a name that are no Kubernetes objects."""


def silent_copies(source: str) -> Iterator[str]:
    """Yield what is copied with another part, without a word about its document."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in REPLACE:
            names = {each.arg for each in call.keywords}
            if names & PARTS and "raw" not in names:
                yield ast.unparse(call.args[0])


def test_a_copy_of_an_object_names_its_document() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {copied}"
        for path in SOURCE.rglob("*.py")
        if "tests" not in path.parts
        for copied in silent_copies(path.read_text(encoding="utf-8"))
    }
    assert found == NO_OBJECTS, (
        "with_fields changes an object and its document; where only the structs are read, "
        "structs.replace is given raw=pod.raw (as it was written) or raw={} (as the structs say)"
    )


@pytest.mark.parametrize(
    "call", ["msgspec.structs.replace(pod, status=new)", "replace(pod, spec=new, metadata=other)"]
)
def test_a_silent_copy_is_found(call: str) -> None:
    assert list(silent_copies(call)) == ["pod"]
    assert not list(silent_copies(call.replace(")", ", raw={})")))


def test_what_with_fields_changes_is_in_the_document() -> None:
    metadata = {"name": "web", "labels": {"app": "web"}, "selfLink": "/unread"}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    pod = decode(document)
    assert isinstance(pod, Pod), "a Pod is decoded"
    moved = with_fields(pod, "metadata", namespace="shop")
    assert encode(moved)["metadata"] == {**metadata, "namespace": "shop"}
    typed = msgspec.structs.replace(pod.metadata, namespace="shop")
    built = msgspec.structs.replace(pod, metadata=typed, raw={})
    assert encode(built)["metadata"]["namespace"] == "shop"
