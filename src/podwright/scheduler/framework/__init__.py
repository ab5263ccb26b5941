"""The scheduling framework: the plugin interface, and the runner of its extension points.

The room defines what plugins implement and return (`Plugin`, `Cycle`, `Status`, `Verdicts`,
`Scores`) and runs one scheduling cycle for one profile: PreFilter, Filter, PostFilter, PreScore,
Score, and the choice of a node. It does not name any plugin, keep a queue, or run Reserve,
Permit and binding; these are `plugins`, `queueing` and `machine`. Start with `plugin`, then
`run`.

Words of this room:

- *row*: the result of one plugin for one pod key over all slots (`rows`). A row is *local* if
  the result for a slot depends on that slot alone, otherwise *sweeping*.
- *pod key*: one number per plugin for the parts of a pod that the plugin reads (`keys`). Pods
  with equal keys share results.
- *ranking*: the totals of all nodes for one pod key, updated incrementally (`ranking`); a
  *frame* is a ranking without the rows of the plugins whose key varies (`ranking_cache`).
- *verdicts*: the results of a filter, one code per slot; 0 means that the slot passes.
- *sums*: filters that depend on other pods only through the sums of their requests (`sums`).
- *steps*: a generator that yields calls to extenders and returns a result (`extenders`).
- *signature*: equal for pods that opportunistic batching treats the same (`signature`).
"""

from podwright.scheduler.columns import NodeColumns, PlacedPod, Reads
from podwright.scheduler.framework.adapter import (
    PluginFailure,
    described,
    filter_on_columns,
    raised,
    raised_at,
    score_on_columns,
)
from podwright.scheduler.framework.binding import (
    BIND_BY_API,
    Answer,
    ApiCall,
    CallError,
    ClaimUpdate,
    ExtendedClaimPatch,
    Pending,
    PodBinding,
    PodMetadataPatch,
    Progress,
    ResourceClaimOperation,
    ResourceClaimWrite,
    VolumeUpdate,
)
from podwright.scheduler.framework.cycle import Cycle, PreFilterResult, StateKey
from podwright.scheduler.framework.decision import (
    NO_NODES,
    BatchReport,
    Decision,
    Diagnosis,
    PostFilterResult,
    Rejection,
    fit_error,
)
from podwright.scheduler.framework.events import (
    ALL_RESOURCES,
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    COSCHEDULING_POD_GROUP,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    FORCE_ACTIVATE,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_GROUP,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    VOLUME_ATTACHMENT,
    WILDCARD,
    ActionType,
    ClusterEvent,
    EventHint,
    Hint,
    HintFunction,
)
from podwright.scheduler.framework.extended_resources.device_classes import extended_requests
from podwright.scheduler.framework.extended_resources.extended_claims import (
    RequestMapping,
    claim_for_node,
    in_memory_claim,
    is_in_memory,
)
from podwright.scheduler.framework.extenders.extender_verbs import (
    MAX_EXTENDER_PRIORITY,
    Binding,
    bind_steps,
    is_bound_by,
    wrap_int64,
)
from podwright.scheduler.framework.extenders.extenders import (
    EXTENDER,
    Answers,
    CalledExtender,
    CallExtender,
    ExtenderAnswers,
    ExtenderError,
    MissingExtenderCaller,
    Steps,
    extenders_of,
    pod_argument,
    run_steps,
)
from podwright.scheduler.framework.extenders.go_json import (
    MalformedJSON,
    read_first_value,
    typed_field,
)
from podwright.scheduler.framework.handle import NO_MEMBERS, Handle, Members
from podwright.scheduler.framework.misspelt import misspelt_names
from podwright.scheduler.framework.node_search import SearchPosition, nodes_to_find
from podwright.scheduler.framework.nominated import NominatedCheck, SlotFilter, counting_nominated
from podwright.scheduler.framework.observing.explain import (
    Explanation,
    FilterExplanation,
    NotExaminedReason,
    ScoreExplanation,
    explain,
)
from podwright.scheduler.framework.observing.plugin_observation import (
    OBSERVED_POINTS,
    ObservedMethod,
    PluginObserver,
    node_of,
    observe_plugins,
    pod_of,
    status_of,
)
from podwright.scheduler.framework.observing.plugin_trace import PluginCall, Point, trace_plugins
from podwright.scheduler.framework.permit_answer import read_permit
from podwright.scheduler.framework.plugin import KeyReads, NodeView, Plugin
from podwright.scheduler.framework.post_filter import FailedCycle
from podwright.scheduler.framework.prepare import PreFilterOutcome, run_pre_filters
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.rankings.ranking import Ranking, normalize
from podwright.scheduler.framework.rankings.scores import (
    MAX_NODE_SCORE,
    Normalization,
    RequestScore,
    ScoreGroups,
    Scores,
)
from podwright.scheduler.framework.rankings.sums import SumFilters
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.run import FilterNode, PluginRunner, Suggest
from podwright.scheduler.framework.runner import Runner
from podwright.scheduler.framework.shape import shape_table
from podwright.scheduler.framework.signature import (
    FEATURES,
    HOST_PORTS,
    IMAGE_NAMES,
    LABELS,
    NODE_NAME,
    Signature,
    Signer,
    node_affinity_fragment,
    resources_fragment,
    tolerations_fragment,
    volumes_fragment,
)
from podwright.scheduler.framework.status import Code, Status

__all__ = [
    "ALL_RESOURCES",
    "ASSIGNED_POD",
    "ASSIGNED_POD_ADD",
    "ASSIGNED_POD_DELETE",
    "BIND_BY_API",
    "COSCHEDULING_POD_GROUP",
    "CSI_DRIVER",
    "CSI_NODE",
    "CSI_STORAGE_CAPACITY",
    "DEVICE_CLASS",
    "EXTENDER",
    "FEATURES",
    "FORCE_ACTIVATE",
    "HOST_PORTS",
    "IMAGE_NAMES",
    "LABELS",
    "MAX_EXTENDER_PRIORITY",
    "MAX_NODE_SCORE",
    "NODE",
    "NODE_NAME",
    "NO_MEMBERS",
    "NO_NODES",
    "OBSERVED_POINTS",
    "PERSISTENT_VOLUME",
    "PERSISTENT_VOLUME_CLAIM",
    "POD",
    "POD_GROUP",
    "RESOURCE_CLAIM",
    "RESOURCE_SLICE",
    "STORAGE_CLASS",
    "UNSCHEDULABLE_POD",
    "UNSCHEDULABLE_POD_ADD",
    "UNSCHEDULABLE_POD_UPDATE",
    "UNSCHEDULABLE_TIMEOUT",
    "VOLUME_ATTACHMENT",
    "WILDCARD",
    "ActionType",
    "Answer",
    "Answers",
    "ApiCall",
    "BatchReport",
    "Binding",
    "CallError",
    "CallExtender",
    "CalledExtender",
    "ClaimUpdate",
    "ClusterEvent",
    "Code",
    "Cycle",
    "Decision",
    "Diagnosis",
    "EventHint",
    "Explanation",
    "ExtendedClaimPatch",
    "ExtenderAnswers",
    "ExtenderError",
    "FailedCycle",
    "FilterExplanation",
    "FilterNode",
    "Handle",
    "Hint",
    "HintFunction",
    "KeyReads",
    "MalformedJSON",
    "Members",
    "MissingExtenderCaller",
    "NodeColumns",
    "NodeView",
    "NominatedCheck",
    "Normalization",
    "NotExaminedReason",
    "ObservedMethod",
    "Pending",
    "PlacedPod",
    "Plugin",
    "PluginCall",
    "PluginFailure",
    "PluginObserver",
    "PluginRunner",
    "PodBinding",
    "PodMetadataPatch",
    "Point",
    "PostFilterResult",
    "PreFilterOutcome",
    "PreFilterResult",
    "Profile",
    "Progress",
    "Ranking",
    "Reads",
    "Rejection",
    "RequestMapping",
    "RequestScore",
    "ResourceClaimOperation",
    "ResourceClaimWrite",
    "Runner",
    "ScoreExplanation",
    "ScoreGroups",
    "Scores",
    "SearchPosition",
    "Signature",
    "Signer",
    "SlotFilter",
    "StateKey",
    "Status",
    "Steps",
    "Suggest",
    "SumFilters",
    "TieRule",
    "Verdicts",
    "VolumeUpdate",
    "bind_steps",
    "claim_for_node",
    "counting_nominated",
    "described",
    "explain",
    "extended_requests",
    "extenders_of",
    "filter_on_columns",
    "fit_error",
    "in_memory_claim",
    "is_bound_by",
    "is_in_memory",
    "misspelt_names",
    "node_affinity_fragment",
    "node_of",
    "nodes_to_find",
    "normalize",
    "observe_plugins",
    "pod_argument",
    "pod_of",
    "raised",
    "raised_at",
    "read_first_value",
    "read_permit",
    "resources_fragment",
    "run_pre_filters",
    "run_steps",
    "score_on_columns",
    "shape_table",
    "status_of",
    "tolerations_fragment",
    "trace_plugins",
    "typed_field",
    "volumes_fragment",
    "wrap_int64",
]
