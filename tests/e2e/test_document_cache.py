"""The second question about a large dump is answered from its parsed documents."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.e2e.command_line import NODES, run

from podwright.simulation.files import documents

PODS = 300
LONG = "x" * 400
"""So that few pods make a file that is large enough for an entry."""


def pod_of_server(number: int) -> dict[str, object]:
    resources = {"requests": {"cpu": "1m", "memory": f"{number % 7}Mi"}}
    environment = [{"name": f"VARIABLE_{n}", "value": f"{LONG} {n}"} for n in range(20)]
    container = {"name": "main", "image": "web", "resources": resources, "env": environment}
    metadata = {
        "name": f"web-{number:04}",
        "namespace": "default",
        "uid": f"uid-{number}",
        "resourceVersion": str(number),
        "labels": {"app": f"web-{number % 50}"},
    }
    spec: dict[str, object] = {"containers": [container], "oddField": number}
    if number % 10:
        spec["nodeName"] = "large"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def text() -> str:
    items = [pod_of_server(number) for number in range(PODS)]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    nodes = NODES.replace('pods: "110"', 'pods: "4000"')
    text = f"{nodes}---\n{yaml.dump(dump, Dumper=yaml.CSafeDumper)}"
    assert len(text) > 2 << 20, "such a file is cached"
    return text


@pytest.fixture
def dump(text, tmp_path, monkeypatch):
    monkeypatch.delenv("PODWRIGHT_CACHE", raising=False)
    (tmp_path / "dump.yaml").write_text(text)
    return tmp_path / "dump.yaml"


def fail(_):
    raise AssertionError("the file is parsed")


@pytest.fixture
def no_parser(monkeypatch):
    def refuse():
        # An iterator, because the call alone parses nothing.
        monkeypatch.setattr(documents, "read_yaml", lambda *_, **__: map(fail, [0]))

    return refuse


@pytest.mark.parametrize(
    "line",
    [
        "schedule DUMP -o json",
        "explain web-0010 DUMP",
        "simulate DUMP -o json",
        "diff DUMP --to-seed 1 -o json",
        "convert DUMP -o kss",
    ],
)
def test_the_second_answer_is_that_of_the_first(line, dump, no_parser):
    line = line.replace("DUMP", str(dump))
    first = run(line)
    assert {path.name for path in dump.parent.iterdir()} == {
        "dump.yaml",
        ".dump.yaml.podwright-cache",
    }
    no_parser()
    second = run(line)
    assert (second.stdout, second.stderr) == (first.stdout, first.stderr)


def test_a_changed_dump_has_another_answer(dump):
    run(f"schedule {dump} --pod web-0010")
    dump.write_text(dump.read_text().replace("cpu: 1m", "cpu: 100", 12))
    assert "Insufficient cpu" in run(f"schedule {dump} --pod web-0010", status=1).stdout


def test_errors_have_the_same_lines(dump, no_parser):
    dump.write_text(
        dump.read_text() + "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {cpu: 1}\n"
    )
    first = run(f"schedule {dump}", status=2)
    assert "spec.cpu: unknown" in first.stderr
    assert "(line " in first.stderr
    no_parser()
    assert run(f"schedule {dump}", status=2).stderr == first.stderr


def test_the_cache_can_be_switched_off(dump, monkeypatch):
    monkeypatch.setenv("PODWRIGHT_CACHE", "off")
    run(f"schedule {dump} -o json")
    assert [path.name for path in dump.parent.iterdir()] == ["dump.yaml"]


def test_the_folder_of_a_dump_is_read_without_the_entry(dump):
    first = json.loads(run(f"schedule {dump.parent} -o json").stdout)
    assert json.loads(run(f"schedule {dump.parent} -o json").stdout) == first
