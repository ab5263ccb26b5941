"""Small clusters with placed and pending pods."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.properties.strategies.documents import NODES, nodes, others, pod_templates

Document = dict[str, Any]
_CLASSES = [
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
]


@st.composite
def clusters(draw: st.DrawFn) -> list[Document]:
    """Draw a small cluster with placed and pending pods."""
    count = draw(st.integers(1, 5))
    documents = [draw(nodes(name)) for name in NODES[:count]]
    documents += draw(st.lists(others(), max_size=4))
    documents += draw(st.sampled_from([[], _CLASSES]))
    for number in range(draw(st.integers(1, 7))):
        pod = draw(pod_templates())
        pod["metadata"]["name"] = f"p{number}"
        requests = (
            pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        )
        requests["cpu"] = draw(st.sampled_from(["100m", "700m", "2", "3", "9"]))
        node = draw(st.sampled_from(["", "", *NODES[:count]]))
        if node:
            pod["spec"]["nodeName"] = node
        documents.append(pod)
    return list({key_of(document): document for document in documents}.values())


def key_of(document: Document) -> tuple[str, str, str]:
    """Return the kind, the namespace and the name of an object."""
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]
