"""Requests that admission plugins change or reject, drawn by seed.

A case has the objects that plugins read, such as limit ranges and classes, and requests which leave
nothing behind (`dryRun`). Each family is about one plugin or two; all plugins act on all requests.
"""

from __future__ import annotations

import json
from random import Random
from typing import Final

import msgspec
from tests.real_parts.admission.families import EDITOR, FAMILIES, NODE, Sent, security_labels
from tests.real_parts.admission.objects import Document, an_object
from tests.real_parts.requests.compare import HEADERS
from tests.real_parts.requests.subjects import Subject

from podwright.cluster.api.endpoints import HttpRequest

ENABLED: Final = ("NodeRestriction", "OwnerReferencesPermissionEnforcement", "ServiceAccount")
"""The plugins that run besides the default ones of both servers."""
RBAC: Final = "rbac.authorization.k8s.io"
RULES: Final = [
    {"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["create", "get"]},
    {"apiGroups": ["apps"], "resources": ["replicasets/finalizers"], "verbs": ["update"]},
]


class Case(msgspec.Struct):
    """Objects, and requests on them.

    Attributes
    ----------
    family, name : str
    objects : list of dict
        The namespace, which has the name of the case, then all others.
    requests : list of Sent
    """

    family: str
    name: str
    objects: list[Document]
    requests: list[Sent]


def permissions() -> list[Document]:
    """Return the objects that let nodes do all that admission lets them, and editors a little."""
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": EDITOR}}
    bindings = [
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": bound},
            "subjects": [{"kind": kind, "apiGroup": RBAC, "name": subject}],
        }
        for name, bound, kind, subject in (
            ("all-nodes", "cluster-admin", "Group", "system:nodes"),
            (EDITOR, EDITOR, "User", EDITOR),
        )
    ]
    return [role | {"rules": RULES}, *bindings]


def request(namespace: str, sent: Sent) -> HttpRequest:
    """Return a request that is not carried out."""
    subject = Subject(sent.document)
    path = subject.collection if sent.method == "POST" and not sent.subresource else subject.path
    path = "/".join(filter(None, (path, sent.subresource))).replace("{ns}", namespace)
    headers = dict(HEADERS)
    if sent.method == "PATCH":
        headers["content-type"] = "application/merge-patch+json"
    if sent.user:
        headers["impersonate-user"] = sent.user
        headers["impersonate-group"] = "system:authenticated"
    if sent.user == NODE:
        headers["impersonate-group"] = "system:nodes"
    body = b"" if sent.method == "DELETE" else json.dumps(sent.document).encode()
    return HttpRequest(sent.method, path, "dryRun=All", headers, body)


def draw(family: str, seed: int) -> Case:
    """Return a case of a family."""
    random = Random(f"admission {family} {seed}")
    name = f"{family}-{seed}"
    labels = security_labels(random) if family == "security" else {}
    objects, sent = FAMILIES[family](random)
    if not any(each["kind"] == "ServiceAccount" for each in objects):
        objects = [an_object("ServiceAccount", "default"), *objects]
    return Case(
        family, name, [an_object("Namespace", name, metadata={"labels": labels}), *objects], sent
    )
