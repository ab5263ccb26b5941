"""The table of kinds: its size, and the time to load it and to compile all kinds."""

from __future__ import annotations

import time
from importlib import resources

from tests.perf.case import MEBIBYTES, MILLISECONDS, Case

from podwright.apimachinery.schema import Schema
from podwright.apimachinery.schema.table import built_in_table


def table_size() -> float:
    """Return the size of the table."""
    table = resources.files("podwright.apimachinery.schema").joinpath("table.json")
    return len(table.read_bytes()) / 2**20


def load_table() -> float:
    """Read the table and index its kinds."""
    built_in_table.cache_clear()
    start_s = time.process_time()
    Schema(built_in_table())
    return (time.process_time() - start_s) * 1_000


def compile_pod() -> float:
    """Compile what decodes, defaults and validates pods, for the first pod."""
    schema = Schema(built_in_table())
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }
    start_s = time.process_time()
    kind = schema.of("", "Pod")
    assert kind is not None, "pods are built in"
    assert not kind.decoding_problems(pod), "the pod is valid"
    assert not kind.validation_problems(kind.with_defaults(pod)), "the pod is valid"
    return (time.process_time() - start_s) * 1_000


CASES = (
    Case(name="schema_table", unit=MEBIBYTES, measure=table_size, target=0.25, runs=1),
    Case(name="schema_load", unit=MILLISECONDS, measure=load_table, target=10),
    Case(name="schema_compile_pod", unit=MILLISECONDS, measure=compile_pod, target=50),
)
