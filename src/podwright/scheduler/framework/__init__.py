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
- *signature*: equal for pods that opportunistic batching treats the same (`keys`).
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.columns import (
        NodeColumns as NodeColumns,
        PlacedPod as PlacedPod,
        Reads as Reads,
    )
    from podwright.scheduler.framework.adapter import (
        PluginFailure as PluginFailure,
        described as described,
        filter_on_columns as filter_on_columns,
        misspelt_names as misspelt_names,
        raised as raised,
        raised_at as raised_at,
        read_permit as read_permit,
        score_on_columns as score_on_columns,
    )
    from podwright.scheduler.framework.binding import (
        BIND_BY_API as BIND_BY_API,
        Answer as Answer,
        ApiCall as ApiCall,
        CallError as CallError,
        ClaimUpdate as ClaimUpdate,
        ExtendedClaimPatch as ExtendedClaimPatch,
        Pending as Pending,
        PodBinding as PodBinding,
        PodMetadataPatch as PodMetadataPatch,
        Progress as Progress,
        ResourceClaimOperation as ResourceClaimOperation,
        ResourceClaimWrite as ResourceClaimWrite,
        VolumeUpdate as VolumeUpdate,
    )
    from podwright.scheduler.framework.cycle import (
        Cycle as Cycle,
        FailedCycle as FailedCycle,
        StateKey as StateKey,
        add_custom_result as add_custom_result,
        custom_results as custom_results,
    )
    from podwright.scheduler.framework.decision import (
        NO_NODES as NO_NODES,
        BatchReport as BatchReport,
        Decision as Decision,
        Diagnosis as Diagnosis,
        PostFilterResult as PostFilterResult,
        Rejection as Rejection,
        fit_error as fit_error,
    )
    from podwright.scheduler.framework.events import (
        ALL_RESOURCES as ALL_RESOURCES,
        ASSIGNED_POD as ASSIGNED_POD,
        ASSIGNED_POD_ADD as ASSIGNED_POD_ADD,
        ASSIGNED_POD_DELETE as ASSIGNED_POD_DELETE,
        COSCHEDULING_POD_GROUP as COSCHEDULING_POD_GROUP,
        CSI_DRIVER as CSI_DRIVER,
        CSI_NODE as CSI_NODE,
        CSI_STORAGE_CAPACITY as CSI_STORAGE_CAPACITY,
        DEVICE_CLASS as DEVICE_CLASS,
        FORCE_ACTIVATE as FORCE_ACTIVATE,
        NODE as NODE,
        PERSISTENT_VOLUME as PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM as PERSISTENT_VOLUME_CLAIM,
        POD as POD,
        POD_GROUP as POD_GROUP,
        RESOURCE_CLAIM as RESOURCE_CLAIM,
        RESOURCE_SLICE as RESOURCE_SLICE,
        STORAGE_CLASS as STORAGE_CLASS,
        UNSCHEDULABLE_POD as UNSCHEDULABLE_POD,
        UNSCHEDULABLE_POD_ADD as UNSCHEDULABLE_POD_ADD,
        UNSCHEDULABLE_POD_UPDATE as UNSCHEDULABLE_POD_UPDATE,
        UNSCHEDULABLE_TIMEOUT as UNSCHEDULABLE_TIMEOUT,
        VOLUME_ATTACHMENT as VOLUME_ATTACHMENT,
        WILDCARD as WILDCARD,
        ActionType as ActionType,
        ClusterEvent as ClusterEvent,
        Concerned as Concerned,
        EventHint as EventHint,
        Hint as Hint,
        HintFunction as HintFunction,
    )
    from podwright.scheduler.framework.extended_resources.extended_claims import (
        RequestMapping as RequestMapping,
        claim_for_node as claim_for_node,
        extended_requests as extended_requests,
        in_memory_claim as in_memory_claim,
        is_in_memory as is_in_memory,
    )
    from podwright.scheduler.framework.extenders.extender_calls import (
        EXTENDER as EXTENDER,
        Answers as Answers,
        CalledExtender as CalledExtender,
        CallExtender as CallExtender,
        ExtenderAnswers as ExtenderAnswers,
        ExtenderError as ExtenderError,
        MalformedJSON as MalformedJSON,
        MissingExtenderCaller as MissingExtenderCaller,
        Steps as Steps,
        extenders_of as extenders_of,
        pod_argument as pod_argument,
        read_first_value as read_first_value,
        run_steps as run_steps,
        typed_field as typed_field,
    )
    from podwright.scheduler.framework.extenders.extender_verbs import (
        MAX_EXTENDER_PRIORITY as MAX_EXTENDER_PRIORITY,
        Binding as Binding,
        bind_steps as bind_steps,
        is_bound_by as is_bound_by,
        wrap_int64 as wrap_int64,
    )
    from podwright.scheduler.framework.keys import (
        FEATURES as FEATURES,
        HOST_PORTS as HOST_PORTS,
        IMAGE_NAMES as IMAGE_NAMES,
        LABELS as LABELS,
        NODE_NAME as NODE_NAME,
        Signature as Signature,
        Signer as Signer,
        node_affinity_fragment as node_affinity_fragment,
        resources_fragment as resources_fragment,
        tolerations_fragment as tolerations_fragment,
        volumes_fragment as volumes_fragment,
    )
    from podwright.scheduler.framework.node_search import (
        SearchPosition as SearchPosition,
        nodes_to_find as nodes_to_find,
    )
    from podwright.scheduler.framework.nominated import (
        NominatedCheck as NominatedCheck,
        SlotFilter as SlotFilter,
        counting_nominated as counting_nominated,
    )
    from podwright.scheduler.framework.observing.explain import (
        Explanation as Explanation,
        FilterExplanation as FilterExplanation,
        NotExaminedReason as NotExaminedReason,
        RejectionDetails as RejectionDetails,
        ScoreExplanation as ScoreExplanation,
        rejection_details as rejection_details,
    )
    from podwright.scheduler.framework.observing.plugin_observation import (
        OBSERVED_POINTS as OBSERVED_POINTS,
        ObservedMethod as ObservedMethod,
        PluginCall as PluginCall,
        PluginObserver as PluginObserver,
        Point as Point,
        node_of as node_of,
        observe_plugins as observe_plugins,
        pod_of as pod_of,
        status_of as status_of,
        trace_plugins as trace_plugins,
    )
    from podwright.scheduler.framework.plugin import (
        NO_MEMBERS as NO_MEMBERS,
        Handle as Handle,
        KeyReads as KeyReads,
        Members as Members,
        NodeView as NodeView,
        Placement as Placement,
        Plugin as Plugin,
    )
    from podwright.scheduler.framework.post_filter import FilteredCycle as FilteredCycle
    from podwright.scheduler.framework.prepare import (
        PreFilterOutcome as PreFilterOutcome,
        run_pre_filters as run_pre_filters,
    )
    from podwright.scheduler.framework.profile import (
        Profile as Profile,
        TieRule as TieRule,
        shape_table as shape_table,
    )
    from podwright.scheduler.framework.rankings.ranking import (
        Ranking as Ranking,
        normalize as normalize,
    )
    from podwright.scheduler.framework.rankings.scores import (
        MAX_NODE_SCORE as MAX_NODE_SCORE,
        FilterGroups as FilterGroups,
        Normalization as Normalization,
        RequestScore as RequestScore,
        ScoreGroups as ScoreGroups,
        Scores as Scores,
    )
    from podwright.scheduler.framework.rankings.sums import SumFilters as SumFilters
    from podwright.scheduler.framework.rankings.verdicts import Verdicts as Verdicts
    from podwright.scheduler.framework.run import (
        FilterNode as FilterNode,
        PluginRunner as PluginRunner,
        Runner as Runner,
        Suggest as Suggest,
        confined as confined,
    )
    from podwright.scheduler.framework.status import (
        Code as Code,
        PreFilterResult as PreFilterResult,
        Status as Status,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
