"""Directives of strategic merge patches: valid ones, and typical mistakes."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.real_parts.requests.mistakes import Document


def with_directive(body: Any, document: Document, random: Random) -> Any:
    """Return a patch with one more part, mostly one with a directive."""
    if document["kind"] == "Pod":
        spec: Any = body.setdefault("spec", {})
    elif isinstance(document.get("spec"), dict) and "template" in document["spec"]:
        spec = body
        for name in ("spec", "template", "spec"):
            spec = spec.setdefault(name, {}) if isinstance(spec, dict) else {}
    else:
        spec = None
    labels = body.setdefault("metadata", {})
    general: list[tuple[Any, Document]] = [
        (labels, {"labels": {"$patch": "replace", "only": "this"}}),
        (labels, {"labels": {"$patch": "delete"}}),
        (labels, {"$patch": "foo"}),
        (
            labels,
            {"finalizers": ["example.com/b"], "$setElementOrder/finalizers": ["example.com/b"]},
        ),
        (labels, {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"]}),
        (labels, {"ownerReferences": [{"uid": "u", "$patch": "delete"}]}),
        (body, {"$patch": "replace"}),
        (body, {"$patch": "delete"}),
        (body, {"$retainKeys": ["metadata"]}),
    ]
    inside: list[tuple[Any, Document]] = [
        (spec, {"containers": [{"name": "main", "image": "new"}]}),
        (spec, {"containers": [{"name": "main", "$patch": "delete"}]}),
        (
            spec,
            {
                "containers": [{"name": "extra", "image": "x"}],
                "$setElementOrder/containers": [{"name": "extra"}, {"name": "main"}],
            },
        ),
        (spec, {"$setElementOrder/containers": [{"name": "other"}]}),
        (spec, {"containers": [{"$patch": "replace"}, {"name": "z", "image": "z"}]}),
        (spec, {"containers": [{"image": "no-name"}]}),
        (
            spec,
            {
                "containers": [
                    {
                        "name": "main",
                        "env": [{"name": "A", "$patch": "delete"}, {"name": "N", "value": "1"}],
                    }
                ]
            },
        ),
        (
            spec,
            {"containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "web"}]}]},
        ),
        (spec, {"containers": [{"name": "main", "resources": {"requests": {"cpu": None}}}]}),
        (spec, {"tolerations": [{"key": "z", "operator": "Exists"}]}),
        (
            spec,
            {"volumes": [{"name": "data", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}]},
        ),
        (spec, {"volumes": [{"name": "data", "emptyDir": {}}]}),
        (spec, {"nodeSelector": {"$patch": "replace", "a": "b"}}),
        (spec, {"nodeSelector": None}),
        (spec, {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 3}]}),
        (spec, {"schedulingGates": [{"name": "example.com/gate", "$patch": "delete"}]}),
        (spec, {"imagePullSecrets": [{"name": "pull", "$patch": "delete"}, {"name": "q"}]}),
        (spec, {"$deleteFromPrimitiveList/containers": ["a"]}),
        (spec, {"$setElementOrder/containers": "x"}),
        (spec, {"$retainKeys": "containers"}),
        (spec, {"hostAliases": [{"ip": "127.0.0.1", "$patch": "merge"}]}),
    ]
    holder, added = random.choice(inside + general if isinstance(spec, dict) else general)
    if isinstance(holder, dict):
        holder.update(added)
    return body
