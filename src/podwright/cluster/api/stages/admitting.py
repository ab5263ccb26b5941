"""Owners of fields, admission, and warnings."""

from __future__ import annotations

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Spec
from podwright.apimachinery.schema import Kind
from podwright.cluster.api.admission import Attributes
from podwright.cluster.api.authorization import (
    GROUP,
    Access,
    EscalationCheck,
    MissingRole,
    RoleWrite,
    denied,
)
from podwright.cluster.api.rejections import bad_request, forbidden, not_found
from podwright.cluster.api.stages.kinds.custom_resources import write_warnings
from podwright.cluster.api.stages.write import (
    ObjectWrite,
    Parts,
    SentWrite,
    ServedParts,
    WithAdmission,
    Write,
)


def own(parts: ServedParts, write: SentWrite) -> None:
    """Give the sender the fields that it changes."""
    if write.tracks_fields:
        facts = write.attributes
        write.new = parts.field_management.updated(
            facts.resource,
            facts.old,
            write.new,
            manager=write.manager,
            subresource="" if facts.old is None else facts.subresource,
            now_ns=write.now_ns,
        )


def admit(parts: WithAdmission, write: ObjectWrite) -> None:
    """Run the plugins that mutate."""
    sent, facts = write.new, write.attributes
    if facts is not None and write.part_of is None:
        facts.object = sent
        parts.admission.admit(facts)
        assert facts.object is not None, "admission keeps the object of a write"
        write.new, kind = facts.object, facts.resource.kind
        if type(sent.get("spec")) is Spec and isinstance(kind, Kind):
            write.new = kind.with_shared_spec(write.new)


def refuse_escalation(parts: ServedParts, write: SentWrite) -> None:
    """Check that no role gives more than its writer has."""
    if write.attributes.resource.group == GROUP:
        _check_rights(parts.escalation, write.attributes, write.name)


def authorize_creation(parts: ServedParts, write: SentWrite) -> None:
    """Check that the user of an update or an apply request may create an absent object.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/update.go, withAuthorization

    Raises
    ------
    Rejection
        The user may not.
    """
    if write.is_post:
        return
    facts, resource = write.attributes, write.attributes.resource
    access = Access(
        user=facts.user,
        verb="create",
        group=resource.group,
        version=resource.version,
        resource=resource.plural,
        subresource=facts.subresource,
        namespace=facts.namespace if resource.namespaced else "",
        name=write.name,
    )
    decision = parts.authorizers.authorize(access)
    if decision.is_allowed is not True:
        raise denied(access, decision.reason)


def warn(_parts: ServedParts, write: SentWrite) -> None:
    """Add the warnings about a valid object, which a rejection by admission has too."""
    facts, new = write.attributes, write.new
    resource, old = facts.resource, facts.old
    # A change of the scale is one of the object.
    part = "" if facts.subresource == "scale" else facts.subresource
    with interlude():
        if isinstance(resource.kind, Kind):
            write.warnings += resource.kind.write_warnings(new, old, subresource=part)
        write.warnings += write_warnings(resource, new, old, subresource=part)


def admit_valid(parts: WithAdmission, write: ObjectWrite) -> None:
    """Run the plugins that validate."""
    facts = write.attributes
    if facts is not None:
        facts.object = write.new
        if write.part_of is not None:
            assert facts.old is not None, "parts of objects are changed only"
            new, old = write.part_of(write.new), write.part_of(facts.old)
            facts = msgspec.structs.replace(facts, object=new, old=old)
        parts.admission.validate(facts)


def admit_deletion(parts: Parts, write: Write) -> None:
    """Run the admission plugins."""
    if write.attributes is not None:
        parts.admission.admit(write.attributes)
        parts.admission.validate(write.attributes)


def _check_rights(check: EscalationCheck, attributes: Attributes, request_name: str) -> None:
    """Reject a write of a role or a binding that grants more than the user has.

    Raises
    ------
    Rejection
        The user does not have the rights, or the role of a binding does not exist.
    """
    resource = attributes.resource
    assert attributes.object is not None, "a deletion grants nothing"
    write = RoleWrite(
        user=attributes.user,
        resource=resource.plural,
        namespace=attributes.namespace,
        request_name=request_name,
        new=attributes.object,
        old=attributes.old,
    )
    problem = check.problem_of(write)
    if isinstance(problem, MissingRole):
        if not problem.is_known_kind:
            raise bad_request(problem.text)
        if problem.kind == "Role" and not attributes.namespace:
            raise bad_request("Namespace parameter required.")
        if not problem.name:
            raise bad_request("Name parameter required.")
        # Upstream's storage names the resource of the request, not that of the role.
        raise not_found(GROUP, resource.plural, problem.name)
    if problem is not None:
        name = str((attributes.object.get("metadata") or {}).get("name") or "")
        raise forbidden(GROUP, resource.plural, name, problem)
