"""The semantics of kube-apiserver's write requests, without a server.

`Api.handle(request, user, now_ns)` executes every write of an object: those of users, the
scheduler, controllers and stages. Admission and validation accept, complete or reject a request.
`ResourceStorage` computes the next version of the object, and the store, which knows versions
and indexes only, commits it. The room serves no HTTP, reads no clock, opens no files, and does
not deliver changes to subscribers.

Start with `api.py`, then `requests.py` (the requests) and `resource_storage.py`.

Words of this room: a *strategy* says how the objects of a kind are written, as in upstream's
registries. A *scope* is the part of an object that an update replaces. A *section* is
`metadata`, `spec` or `status` of an object's document.
"""

from podwright.cluster.api.admission import (
    Admission,
    Forbidden,
    NamespaceTerminating,
    QuotaEvaluators,
)
from podwright.cluster.api.admission.identities.certificate_requests import (
    UnreadableRequest,
    certificate_subject,
)
from podwright.cluster.api.api import Api
from podwright.cluster.api.bootstrap_objects import BOOTSTRAP_OBJECTS
from podwright.cluster.api.create_update import Scope
from podwright.cluster.api.deletion import FOREGROUND, ORPHAN
from podwright.cluster.api.events import RecordEvent
from podwright.cluster.api.gated_fields import FIELD_GATES, GATED_FIELDS, has_field
from podwright.cluster.api.invalid import Invalid
from podwright.cluster.api.job_selectors import (
    GENERATED_JOB_LABELS,
    with_generated_selector,
    without_generated_selector,
)
from podwright.cluster.api.node_faults import NodeDown, NodeUp
from podwright.cluster.api.object_edits import (
    annotations_patch,
    conditions_with,
    finalizers_without,
    patched,
    section,
)
from podwright.cluster.api.object_validation import (
    check_objects,
    object_problems,
    unknown_fields,
    update_problems,
)
from podwright.cluster.api.pods.eviction import EvictionRejected, with_disruption_target
from podwright.cluster.api.pods.pod_quotas import PodQuotas
from podwright.cluster.api.requests import (
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    Reply,
    ScaleObject,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.api.stored_sizes import TooLarge
from podwright.cluster.api.users import SCHEDULER_USER

__all__ = [
    "BOOTSTRAP_OBJECTS",
    "FIELD_GATES",
    "FOREGROUND",
    "GATED_FIELDS",
    "GENERATED_JOB_LABELS",
    "ORPHAN",
    "SCHEDULER_USER",
    "Admission",
    "Api",
    "ApplyObject",
    "BindPod",
    "CreateObject",
    "DeleteObject",
    "EvictPod",
    "EvictionRejected",
    "Forbidden",
    "Invalid",
    "NamespaceTerminating",
    "NodeDown",
    "NodeUp",
    "PatchObject",
    "PodQuotas",
    "QuotaEvaluators",
    "RecordEvent",
    "Reply",
    "ScaleObject",
    "Scope",
    "TooLarge",
    "UnreadableRequest",
    "UpdateObject",
    "WriteRequest",
    "annotations_patch",
    "certificate_subject",
    "check_objects",
    "conditions_with",
    "finalizers_without",
    "has_field",
    "object_problems",
    "patched",
    "section",
    "unknown_fields",
    "update_problems",
    "with_disruption_target",
    "with_generated_selector",
    "without_generated_selector",
]
