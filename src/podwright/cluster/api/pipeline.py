"""What happens to a write: its stages, in order, for each kind of request and profile of a cluster.

Theory of operation
-------------------
A request becomes a `Write` (`stages/write.py`): an HTTP request once its body is decoded, a request
of a component with the typed object that it has. The `route` of the write is a tuple of stages,
computed once for each profile, verb and form of the object: the steps below that such writes pass,
from top to bottom. Each stage reads and extends the write, and returns why it is rejected,
or None; what a stage calls may raise the rejection. The first rejection ends the write. The last
stage stores the object. HTTP encodes what it returns.

What kinds need of their own is in `strategies` and `stages/kinds`.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers; pkg/registry/core/pod/storage
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.cluster.api.admission import AdmissionChain
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.stages.admitting import (
    admit,
    admit_deletion,
    admit_valid,
    authorize_creation,
    own,
    refuse_escalation,
    warn,
)
from podwright.cluster.api.stages.checking import check_change, check_new
from podwright.cluster.api.stages.draft_admission import read_draft
from podwright.cluster.api.stages.drafts import (
    allocate_draft,
    check_before_allocation,
    check_draft,
    complete_applied,
    complete_change,
    complete_new,
    complete_recorded,
    form_conditions,
    make_namespace,
    merge,
    own_draft,
    prepare_draft,
    restore,
)
from podwright.cluster.api.stages.pod_requests import (
    announce_eviction,
    bind,
    charge_budget,
    check_binding,
    check_name,
    read_binding,
    read_options,
)
from podwright.cluster.api.stages.preparation import (
    check_sent_version,
    keep_distinct_owners,
    prepare_change,
    prepare_new,
    set_metadata,
)
from podwright.cluster.api.stages.storing import (
    allocate,
    check_deletion,
    create,
    delete,
    encode,
    find,
    replace,
)
from podwright.cluster.api.stages.write import Form, Parts, Profile, Stage, StatusWrites, Write
from podwright.cluster.store import ObjectStore, Stored

Verb: TypeAlias = Literal["create", "update", "restore", "bind", "evict", "delete"]


BARE: Final = Profile(name="bare")
"""What a server writes itself: all objects are complete, and nothing is admitted."""

SIMULATED: Final = Profile(name="simulated")
"""The cluster of a simulation, whose components have the rights that they need."""

SERVED: Final = Profile(
    name="served",
    added_plugins=("ServiceAccount",),
    keeps_fields=True,
    allocates=True,
    labels_pods=True,
    limits_sizes=True,
    in_go_form=True,
)
"""A cluster with an API server, whose clients send objects too."""


SENT: Final = frozenset({"sent"})
DRAFTS: Final = frozenset({"draft"})
APPLIED: Final = frozenset({"applied"})
RECORDED: Final = frozenset({"recorded"})
OF_FILES: Final = APPLIED | RECORDED
UNCHECKED: Final = DRAFTS | APPLIED
TYPED: Final = UNCHECKED | RECORDED
ALL: Final = SENT | TYPED | {"status", "complete"}


class Step(msgspec.Struct, frozen=True):
    """A stage, and which writes pass it.

    Attributes
    ----------
    stage : Stage
    forms : set of Form
        Those of the objects of these writes.
    where : str
        The field of the profiles of clusters in which they pass it; "" for all.
    """

    stage: Stage
    forms: frozenset[str] = ALL
    where: str = ""


STAGES: Final[dict[Verb, tuple[Step, ...]]] = {
    "create": (
        Step(make_namespace, OF_FILES),
        Step(set_metadata, SENT),
        Step(own, SENT),
        Step(complete_new, TYPED),
        Step(admit, SENT | TYPED),
        Step(refuse_escalation, SENT),
        Step(prepare_draft, TYPED),
        Step(read_draft, TYPED),
        Step(prepare_new, SENT),
        Step(check_new, SENT),
        Step(check_draft, UNCHECKED),
        Step(own_draft, UNCHECKED, where="keeps_fields"),
        Step(allocate, SENT),
        Step(allocate_draft, UNCHECKED, where="allocates"),
        Step(warn, SENT),
        Step(check_sent_version, SENT),
        Step(authorize_creation, SENT),
        Step(admit_valid, SENT | TYPED),
        Step(encode, SENT),
        Step(create),
    ),
    "update": (
        Step(make_namespace, OF_FILES),
        Step(keep_distinct_owners, SENT),
        Step(own, SENT),
        Step(complete_change, DRAFTS),
        Step(complete_applied, APPLIED),
        Step(complete_recorded, RECORDED),
        Step(admit, SENT | DRAFTS),
        Step(refuse_escalation, SENT),
        Step(read_draft, DRAFTS),
        Step(prepare_change, SENT),
        Step(check_change, SENT),
        Step(check_draft, APPLIED),
        Step(allocate, SENT),
        Step(check_before_allocation, DRAFTS, where="allocates"),
        Step(allocate_draft, UNCHECKED, where="allocates"),
        Step(warn, SENT),
        Step(admit_valid, SENT | DRAFTS),
        Step(encode, SENT),
        Step(form_conditions, frozenset({"status"}), where="in_go_form"),
        Step(merge, TYPED | {"status"}),
        Step(replace, SENT | {"complete"}),
    ),
    "restore": (
        Step(make_namespace),
        Step(restore),
    ),
    "bind": (
        Step(admit, SENT),
        Step(read_binding, SENT),
        Step(admit_valid, SENT),
        Step(check_name, SENT),
        Step(find),
        Step(check_binding),
        Step(bind),
    ),
    "evict": (
        Step(admit, SENT),
        Step(admit_valid, SENT),
        Step(check_name, SENT),
        Step(find),
        Step(charge_budget),
        Step(announce_eviction),
        Step(read_options),
        Step(check_deletion),
        Step(delete),
    ),
    "delete": (
        Step(find),
        Step(check_deletion),
        Step(admit_deletion),
        Step(delete),
    ),
}
"""By verb, the stages in order, each with the forms of the objects whose writes pass it."""


@lru_cache(maxsize=256)
def route(profile: Profile, verb: Verb, form: Form) -> tuple[Stage, ...]:
    """Return the stages of a write."""
    return tuple(
        step.stage
        for step in STAGES[verb]
        if form in step.forms and (not step.where or getattr(profile, step.where))
    )


def execute(parts: Parts, verb: Verb, write: Write) -> Stored | Rejection:
    """Take a write through the stages of its verb."""
    try:
        for stage in route(parts.profile, verb, write.form):
            rejection = stage(parts, write)
            if rejection is not None:
                return rejection
    except Rejection as error:
        return error
    assert write.stored is not None, "the last stage writes"
    return write.stored


def executed(parts: Parts, verb: Verb, write: Write) -> Stored:
    """Take a write through the stages of its verb.

    Raises
    ------
    Rejection
        A stage rejects it.
    """
    done = execute(parts, verb, write)
    if isinstance(done, Rejection):
        raise done
    return done


def bare_parts(store: ObjectStore, *, owners: ComponentOwners | None = None) -> Parts:
    """Return the parts for what a server writes itself."""
    storage = ResourceStorage(store)
    return Parts(
        profile=BARE,
        storage=storage,
        server_status=StatusWrites(storage, owners),
        admission=AdmissionChain(()),
    )
