"""The semantics of kube-apiserver's write requests, without a server.

`Api.handle(request, user, now_ns)` executes every write of an object: those of users, the
scheduler, controllers and stages. Admission and validation accept, complete or reject a request.
`ResourceStorage` computes the next version of the object, and the store, which knows versions
and indexes only, commits it. The room serves no HTTP, reads no clock, opens no files, and does
not deliver changes to subscribers.

Start with `api.py` and `pipeline.py` (the stages), then `requests.py` (the requests) and
`resource_storage.py`.

Words of this room: a *strategy* says how the objects of a kind are written, as in upstream's
registries. A *scope* is the part of an object that an update replaces. A *section* is
`metadata`, `spec` or `status` of an object's document.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.cluster.api.admission import (
        QuotaEvaluators as QuotaEvaluators,
        exceeds_quota as exceeds_quota,
    )
    from podwright.cluster.api.admission.identities.certificate_requests import (
        UnreadableRequest as UnreadableRequest,
        certificate_subject as certificate_subject,
    )
    from podwright.cluster.api.admission.pods.pod_amounts import pod_amounts as pod_amounts
    from podwright.cluster.api.admission.quota.resource_quota import PodQuotas as PodQuotas
    from podwright.cluster.api.api import Api as Api
    from podwright.cluster.api.bootstrap_objects import BOOTSTRAP_OBJECTS as BOOTSTRAP_OBJECTS
    from podwright.cluster.api.create_update import Scope as Scope
    from podwright.cluster.api.deletion import FOREGROUND as FOREGROUND, ORPHAN as ORPHAN
    from podwright.cluster.api.gated_fields import (
        GATED_FIELDS as GATED_FIELDS,
        has_field as has_field,
    )
    from podwright.cluster.api.identity import generated_name as generated_name
    from podwright.cluster.api.object_edits import (
        annotations_patch as annotations_patch,
        conditions_with as conditions_with,
        finalizers_without as finalizers_without,
        patched as patched,
        section as section,
    )
    from podwright.cluster.api.object_validation import (
        check_objects as check_objects,
        object_problems as object_problems,
        unknown_fields as unknown_fields,
        update_problems as update_problems,
    )
    from podwright.cluster.api.pods.declared_usage import (
        MEASURED as MEASURED,
        RESOURCE_USAGE as RESOURCE_USAGE,
        SHARED_USAGE_PREFIX as SHARED_USAGE_PREFIX,
        USAGE_KINDS as USAGE_KINDS,
        USAGE_PREFIX as USAGE_PREFIX,
        ClusterUsageSpec as ClusterUsageSpec,
        DeclaredUsages as DeclaredUsages,
        UsageError as UsageError,
        usage_problem as usage_problem,
        usage_spec as usage_spec,
    )
    from podwright.cluster.api.pods.eviction import (
        decide_eviction as decide_eviction,
        with_disruption_target as with_disruption_target,
    )
    from podwright.cluster.api.rejections import (
        Invalid as Invalid,
        Rejection as Rejection,
    )
    from podwright.cluster.api.requests import (
        ApplyObject as ApplyObject,
        BindPod as BindPod,
        CreateObject as CreateObject,
        DeleteObject as DeleteObject,
        EvictPod as EvictPod,
        NodeDown as NodeDown,
        NodeUp as NodeUp,
        PatchObject as PatchObject,
        RecordEvent as RecordEvent,
        Reply as Reply,
        UpdateObject as UpdateObject,
        WriteRequest as WriteRequest,
    )
    from podwright.cluster.api.stages.draft_admission import Admission as Admission
    from podwright.cluster.api.strategies.kinds import (
        GENERATED_JOB_LABELS as GENERATED_JOB_LABELS,
        with_generated_selector as with_generated_selector,
        without_generated_selector as without_generated_selector,
    )
    from podwright.cluster.api.users import SCHEDULER_USER as SCHEDULER_USER
    from podwright.cluster.api.versions.conversions import conversion_of as conversion_of
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
