"""Annotations of workloads that upstream reads as numbers, and what is wrong with others."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.versions.conversions import (
    ROLLBACK,
    TEMPLATE_GENERATION,
    conversion_problem,
)

SYNTAX = 'strconv.ParseInt: parsing "{}": invalid syntax'
RANGE = 'strconv.ParseInt: parsing "{}": value out of range'
HUGE = "9" * 20


@pytest.mark.parametrize(
    ("text", "error"),
    [(None, ""), ("7", ""), ("-7", ""), ("x", SYNTAX), ("1.5", SYNTAX), (HUGE, RANGE)],
)
def test_an_annotation_that_is_no_number_is_an_error_of_its_kind(text, error):
    found = error.format(text)
    for kind, name, message in (
        ("DaemonSet", TEMPLATE_GENERATION, found),
        ("Deployment", ROLLBACK, found and f"failed to parse annotation[{ROLLBACK}]={text} as"
         f" int64: {found}"),
        ("DaemonSet", ROLLBACK, ""), ("Deployment", TEMPLATE_GENERATION, ""), ("Job", ROLLBACK, ""),
    ):  # fmt: skip
        document = {
            "metadata": {"annotations": {"a": "b"} | ({} if text is None else {name: text})}
        }
        assert conversion_problem(("apps", kind), document) == message


def test_an_empty_annotation_is_an_error_of_daemon_sets_only():
    def problem(kind: str, name: str) -> str:
        return conversion_problem(("apps", kind), {"metadata": {"annotations": {name: ""}}})

    assert problem("DaemonSet", TEMPLATE_GENERATION) == SYNTAX.format("")
    assert problem("Deployment", ROLLBACK) == ""
    documents: list[Document] = [{}, {"metadata": {}}, {"metadata": {"annotations": None}}]
    for document in documents:
        assert conversion_problem(("apps", "DaemonSet"), document) == ""
