"""The objects of generated requests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import yaml
from tests.real_parts.requests.mistakes import Document

from podwright.apimachinery.schema import built_in

OWN_KIND: Final = "boxes.example.org/v1"
"""The version of the custom resources."""


@cache
def documents() -> list[Document]:
    """Return the valid documents."""
    text = (Path(__file__).parent / "valid_documents.yaml").read_text()
    return list(yaml.load_all(text, yaml.CSafeLoader))


class Subject:
    """An object of a sequence: its document and its paths."""

    def __init__(self, document: Document) -> None:
        self.document = document
        version, kind = document["apiVersion"], document["kind"]
        prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
        if version == OWN_KIND:
            resource, namespaced, self.subresources = "crates", True, {"status", "scale"}
            self.graceful = False
        else:
            found = built_in().find(version, kind)
            assert found is not None, document
            resource, namespaced = found.row.resource, found.row.namespaced
            self.subresources = set(found.row.subresources)
        self.resource = resource
        self.namespaced = namespaced
        self.collection = (
            f"{prefix}/namespaces/{{ns}}/{resource}" if namespaced else f"{prefix}/{resource}"
        )
        self.everywhere = f"{prefix}/{resource}"
        self.name = document["metadata"].get("name", "gen-")
        self.path = f"{self.collection}/{self.name}"
        self.answers: list[str] = []
        """Steps whose answer may be the object."""
