"""What a write means: the semantics of kube-apiserver, without a server.

`Api.handle(request, user, now_ns)` is the only door for changes of objects: from a user, by the
scheduler, by controllers and by stages. Admission and validation judge a request, the storage
works out what it makes of the object, and the store below, which knows versions and indexes only,
commits it. The room reads no clock and opens nothing.

Start with `api.py`, then `requests.py` (the vocabulary) and `resource_storage.py`.
"""

from podwright.api.admission import Admission, Forbidden, NamespaceTerminating
from podwright.api.api import Api
from podwright.api.bootstrap_objects import BOOTSTRAP_OBJECTS
from podwright.api.cron_schedule import CronSchedule, parse_schedule, time_zone
from podwright.api.events import RecordEvent
from podwright.api.eviction import EvictionRejected, with_disruption_target
from podwright.api.job_defaults import with_job_defaults
from podwright.api.kind_strategies import STRATEGIES
from podwright.api.lifecycle import FOREGROUND, ORPHAN, Scope
from podwright.api.node_faults import NodeDown, NodeUp
from podwright.api.object_edits import (
    annotations_patch,
    conditions_with,
    finalizers_without,
    patched,
    section,
)
from podwright.api.requests import (
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
from podwright.api.scheduler_requests import API_CALLS, ApiCall, execute
from podwright.api.validation import check_workloads, validate_workload

__all__ = [
    "API_CALLS",
    "BOOTSTRAP_OBJECTS",
    "FOREGROUND",
    "ORPHAN",
    "STRATEGIES",
    "Admission",
    "Api",
    "ApiCall",
    "ApplyObject",
    "BindPod",
    "CreateObject",
    "CronSchedule",
    "DeleteObject",
    "EvictPod",
    "EvictionRejected",
    "Forbidden",
    "NamespaceTerminating",
    "NodeDown",
    "NodeUp",
    "PatchObject",
    "RecordEvent",
    "Reply",
    "ScaleObject",
    "Scope",
    "UpdateObject",
    "WriteRequest",
    "annotations_patch",
    "check_workloads",
    "conditions_with",
    "execute",
    "finalizers_without",
    "parse_schedule",
    "patched",
    "section",
    "time_zone",
    "validate_workload",
    "with_disruption_target",
    "with_job_defaults",
]
