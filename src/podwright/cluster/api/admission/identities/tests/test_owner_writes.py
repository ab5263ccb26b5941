"""Owner references on single writes: the rights that they need, and whole messages."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.identities import OwnerReferencesPermissionEnforcement
from podwright.cluster.api.admission.tests.contexts import a_context, a_write, outcome
from podwright.cluster.api.authorization import Access, Decision
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import built_in_resources

NO_FINALIZERS = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"
    " finalizers on: why, <nil>"
)
NO_DELETION = "cannot set an ownerRef on a resource you can't delete: why, <nil>"
NO_KIND = (
    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion"
    ' apps/v9 Kind Deployment: no matches for kind "Deployment" in version "apps/v9"'
)
FINALIZERS = "update apps/v1 deployments/finalizers default/d"
NODE_FINALIZERS = "update /v1 nodes/finalizers /n"
ALL_FINALIZERS = "update */* */finalizers /*"
DELETION = "delete /v1 configmaps default/m"


class Rights:
    """Allows accesses by their text, and keeps the texts."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.accesses: list[str] = []

    def authorize(self, access: Access) -> Decision:
        resource = access.resource + (f"/{access.subresource}" if access.subresource else "")
        group = f"{access.group}/{access.version}"
        text = f"{access.verb} {group} {resource} {access.namespace}/{access.name}"
        self.accesses.append(text)
        assert access.user.name == "ada"
        return Decision(is_allowed=text in self._allowed or None, reason="why")

    def rules_for(self, user: User, namespace: str) -> Any:
        raise AssertionError((user, namespace))


def owner(uid: str = "1", *, blocks: bool | None = None, **fields: str) -> Document:
    found = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": uid} | fields
    return found if blocks is None else found | {"blockOwnerDeletion": blocks}


NODE = owner("2", blocks=True, apiVersion="v1", kind="Node", name="n")


def owned(*owners: Document) -> Document:
    metadata: Document = {"name": "m", "namespace": "default"}
    return {"metadata": metadata | ({"ownerReferences": [*owners]} if owners else {})}


@pytest.mark.parametrize(
    ("new", "old", "allowed", "refusal"),
    [
        pytest.param(owned(), None, [], None, id="no owner"),
        pytest.param(owned(owner()), None, [], None, id="a new object with an owner"),
        pytest.param(owned(owner(blocks=False)), None, [], None, id="one that does not block"),
        pytest.param(
            owned(owner(blocks=True)), None, [], NO_FINALIZERS, id="an owner that is held"
        ),
        pytest.param(owned(owner(blocks=True)), None, [FINALIZERS], None, id="with the right"),
        pytest.param(
            owned(owner(blocks=True)), None, [ALL_FINALIZERS], None, id="with the right to all"
        ),
        pytest.param(
            owned(owner(blocks=True), NODE), None, [FINALIZERS], NO_FINALIZERS, id="two owners"
        ),
        pytest.param(
            owned(owner(blocks=True), NODE), None, [FINALIZERS, NODE_FINALIZERS], None,
            id="with the rights to both",
        ),
        pytest.param(
            owned(owner(blocks=True, apiVersion="apps/v9")), None, [], NO_KIND,
            id="of an unknown version",
        ),
        pytest.param(owned(owner()), owned(), [], NO_DELETION, id="an owner that is added"),
        pytest.param(owned(), owned(owner()), [], NO_DELETION, id="an owner that is removed"),
        pytest.param(owned(owner()), owned(), [DELETION], None, id="with the right to delete"),
        pytest.param(owned(owner()), owned(owner()), [], None, id="no change"),
        pytest.param(
            owned(owner(blocks=True)), owned(owner(blocks=True)), [], None, id="held as before"
        ),
        pytest.param(
            owned(owner(blocks=True)), owned(owner()), [DELETION], NO_FINALIZERS,
            id="an owner that is held now",
        ),
        pytest.param(
            owned(owner(blocks=True), NODE), owned(owner(blocks=True)), [DELETION, NODE_FINALIZERS],
            None, id="one that was held and one more",
        ),
        pytest.param(
            owned(owner("3", blocks=True)), owned(owner(blocks=True)), [DELETION], NO_FINALIZERS,
            id="another owner of the name",
        ),
    ],
)  # fmt: skip
def test_the_rights_that_owners_need(
    new: Document, old: Any, allowed: list[str], refusal: str | None
) -> None:
    rights = Rights(*allowed)
    context = a_context(authorizer=rights, resources=tuple(built_in_resources().values()))
    plugin = OwnerReferencesPermissionEnforcement(context)
    write = a_write("v1 ConfigMap", new, old, name="m")
    expected = new if refusal is None else f'configmaps "m" is forbidden: {refusal}'
    assert outcome(plugin, write) == expected
    assert plugin.decides_by_template(write) is (new == owned())


@pytest.mark.parametrize(
    ("kind", "facts"),
    [("v1 ConfigMap", {"operation": "DELETE"}), ("v1 Pod", {"subresource": "status"})],
)
def test_writes_that_change_no_owners(kind: str, facts: Document) -> None:
    rights = Rights()
    plugin = OwnerReferencesPermissionEnforcement(a_context(authorizer=rights))
    write = a_write(kind, owned(owner(blocks=True)), owned(), name="m", **facts)
    assert outcome(plugin, write) == write.object
    assert rights.accesses == []
