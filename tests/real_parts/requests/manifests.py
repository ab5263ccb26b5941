"""Comparison of the answers of podwright with those of kube-apiserver about given manifests.

    python -m tests.real_parts.requests.manifests FOLDER...

Each object of the YAML files in the folders, such as those of Go modules, is created, applied and
replaced on both servers; custom resources after their definitions, which are looked for in the same
folders. Templates and files that are not YAML are left out, as are objects of unknown kinds and of
those that would change what both servers do with all other requests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml
from tests.real_parts.requests.compare import HEADERS, Summary, compare_seeds, servers, show
from tests.real_parts.requests.sequences import APPLY, MERGE_PATCH
from tests.real_parts.requests.steps import Step

from podwright.cluster.api.versions.resources import built_in_resources

Document = dict[str, Any]
Kinds = dict[tuple[str, str], tuple[str, bool]]
"""The path of the API with the resource, and whether it has namespaces, by version and kind."""

_DEFINITION: Final = "CustomResourceDefinition"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ONLY_TRIED: Final = frozenset({
    "LimitRange", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
    "Namespace", "PersistentVolume", "ResourceQuota", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
})  # fmt: skip
"""The kinds whose objects are created in dry runs only."""
_LEFT_OUT: Final = frozenset({"APIService", "FlowSchema", "PriorityLevelConfiguration"})
"""A new APIService says that podwright forwards no requests."""


class _Loader(yaml.CSafeLoader):
    """Leaves times as they are written."""


_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def documents_of(folders: Iterable[Path]) -> Iterator[tuple[str, Document]]:
    """Yield the objects of all YAML files with their files."""
    files = chain.from_iterable(sorted(folder.rglob("*.y*ml")) for folder in folders)
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "{{" in text or "kind:" not in text:
            continue
        try:
            found = list(yaml.load_all(text, _Loader))
        except yaml.YAMLError:
            continue
        for document in found:
            items = document.get("items") if isinstance(document, dict) else None
            for each in items if isinstance(items, list) else [document]:
                if isinstance(each, dict) and all(
                    isinstance(each.get(name), str) for name in ("apiVersion", "kind")
                ):
                    yield str(file), each


def _of_definition(document: Document) -> Iterator[tuple[tuple[str, str], tuple[str, bool]]]:
    """Yield the kinds of a definition, one for each version."""
    spec = document.get("spec") or {}
    names = spec.get("names") or {}
    for version in spec.get("versions") or ():
        group_version = f"{spec.get('group')}/{version.get('name')}"
        path = f"/apis/{group_version}/{names.get('plural')}"
        yield (group_version, str(names.get("kind"))), (path, spec.get("scope") != "Cluster")


def known_kinds() -> Kinds:
    """Return the built-in kinds."""
    return {
        key: (
            f"/{'apis' if '/' in key[0] else 'api'}/{key[0]}/{resource.plural}",
            resource.kind.row.namespaced,
        )
        for key, resource in built_in_resources().items()
    }


def _in_namespace(path: str, has_namespaces: bool) -> str:
    head, _, plural = path.rpartition("/")
    return f"{head}/namespaces/{{ns}}/{plural}" if has_namespaces else path


def _writes(number: int, source: str, path: str, document: Document) -> Iterator[Step]:
    """Yield the requests about one object."""

    def step(method: str, name: str, query: str = "", *, form: str = "", body: Any = None) -> Step:
        headers = HEADERS | ({"content-type": form} if form else {})
        place = f"{path}/{name}" if name else path
        sent = document if body is None and method in ("POST", "PUT") else body
        key = f"{number} {method} {query} {form}"
        return Step(key, method, place, query, source, headers, sent)

    yield step("POST", "", "dryRun=All&fieldValidation=Strict")
    if document["kind"] in _ONLY_TRIED:
        yield step("POST", "", "dryRun=All")
        return
    yield step("POST", "")
    name = (document.get("metadata") or {}).get("name")
    if isinstance(name, str) and name.isascii() and "/" not in name and " " not in name:
        yield step("GET", name)
        applied = {key: value for key, value in document.items() if key != "status"}
        yield step("PATCH", name, "fieldManager=other&force=true", form=APPLY, body=applied)
        yield step("PUT", name)
        labels = {"metadata": {"labels": {"x": "y"}}}
        yield step("PATCH", name, form=MERGE_PATCH, body=labels)
        yield step("DELETE", name, "gracePeriodSeconds=0")


def definitions_of(documents: list[tuple[str, Document]], kinds: Kinds) -> Iterator[list[Step]]:
    """Yield the requests about each definition, and add its kinds to the known ones."""
    for number, (source, document) in enumerate(documents):
        if document["kind"] == _DEFINITION:
            served = dict(_of_definition(document))
            tried, created, *_ = _writes(number, source, _DEFINITIONS, document)
            yield [tried, *([created] if served.keys() - kinds.keys() else [])]
            kinds |= served


def objects_of(documents: list[tuple[str, Document]], kinds: Kinds) -> Iterator[list[Step]]:
    """Yield the requests about each other object of a known kind, in a namespace of its own."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}}
    start = Step("namespace", "POST", "/api/v1/namespaces", headers=HEADERS, body=namespace)
    for number, (source, document) in enumerate(documents):
        found = kinds.get((document["apiVersion"], document["kind"]))
        if found is None or document["kind"] in {_DEFINITION, *_LEFT_OUT}:
            continue
        path = _in_namespace(*found)
        given = document.get("metadata")
        metadata = given if isinstance(given, dict) else {}
        place = {"namespace": "{ns}"} if found[1] else {}
        body = document | {"metadata": metadata | place}
        yield [start, *_writes(number, source, path, body)]


def compare_manifests(folders: Iterable[Path]) -> Summary:
    """Compare what both servers answer about the objects in folders."""
    documents, kinds = list(documents_of(folders)), known_kinds()
    summary = Summary()
    with servers() as pair:
        for steps_of in (definitions_of, objects_of):
            sequences = list(steps_of(documents, kinds))
            seeds = range(len(sequences))
            compare_seeds(pair, seeds, sequences.__getitem__, reduces=False, summary=summary)
            pair.wait_for_definitions()
    return summary


def main(arguments: list[str] | None = None) -> int:
    """Compare; exit status 1 if any answer differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_parts.requests.manifests")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--causes", type=int, default=60, help="how many to show")
    given = parser.parse_args(arguments)
    summary = compare_manifests(given.folders)
    show(summary, given.causes)
    count = sum(map(len, summary.different.values()))
    print(f"\n{summary.requests} requests, {count} differ in {len(summary.different)} ways")
    return 1 if count or not summary.requests else 0


if __name__ == "__main__":
    sys.exit(main())
