"""KubeSchedulerConfiguration v1: read, default, validate.

The room turns text into an effective configuration, with upstream's defaults and upstream's error
messages. It does not know which plugins are implemented, and makes none: `assembly` does.
Start with `schema` (the document), then read `defaults` (what is filled in) and `expand` (which
plugins run at each extension point).

Words of this room: a configuration is *effective* once defaults are filled in, it is valid and its
plugins are expanded; *args* are the arguments of one plugin; *rules* select the scheduling rules,
those of v1.36 (`modern`) or of v1.16 (`classic`).
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.documents import (
        DID_YOU_MEAN as DID_YOU_MEAN,
        decode as decode,
        duplicate as duplicate,
        forbidden as forbidden,
        has_more_documents as has_more_documents,
        invalid as invalid,
        not_supported as not_supported,
        parse_document as parse_document,
        problem as problem,
        required as required,
    )
    from podwright.apimachinery.objects import (
        format_duration as format_duration,
        parse_duration as parse_duration,
    )
    from podwright.scheduler.config.defaults import (
        EffectiveConfiguration as EffectiveConfiguration,
        EffectiveProfile as EffectiveProfile,
        default_plugins as default_plugins,
        effective as effective,
        merge_plugin_set as merge_plugin_set,
        set_defaults as set_defaults,
    )
    from podwright.scheduler.config.expand import (
        IN_TREE_POINTS as IN_TREE_POINTS,
        POINT_TYPES as POINT_TYPES,
        REPLACED_BY as REPLACED_BY,
        Implements as Implements,
        expand_plugins as expand_plugins,
        in_tree_points as in_tree_points,
        meant_plugin as meant_plugin,
    )
    from podwright.scheduler.config.gates import (
        DEFAULT_GATES as DEFAULT_GATES,
        EFFECTS as EFFECTS,
        GATES as GATES,
        Effect as Effect,
        Gate as Gate,
        Gates as Gates,
        parse_gates as parse_gates,
        set_gates as set_gates,
        without_effect as without_effect,
    )
    from podwright.scheduler.config.read import (
        PartialConfiguration as PartialConfiguration,
        args_to_document as args_to_document,
        effective_document as effective_document,
        read_configuration as read_configuration,
        to_document as to_document,
    )
    from podwright.scheduler.config.schema import (
        API_VERSION as API_VERSION,
        ARGS_TYPES as ARGS_TYPES,
        KIND as KIND,
        ClientConnection as ClientConnection,
        CoschedulingArgs as CoschedulingArgs,
        DefaultPreemptionArgs as DefaultPreemptionArgs,
        DurationNs as DurationNs,
        DynamicResourcesArgs as DynamicResourcesArgs,
        Extender as Extender,
        ExtenderCall as ExtenderCall,
        ExtenderManagedResource as ExtenderManagedResource,
        ExtenderReply as ExtenderReply,
        ExtenderTLSConfig as ExtenderTLSConfig,
        ExtenderVerb as ExtenderVerb,
        Int64 as Int64,
        InterPodAffinityArgs as InterPodAffinityArgs,
        KubeSchedulerConfiguration as KubeSchedulerConfiguration,
        KubeSchedulerProfile as KubeSchedulerProfile,
        LeaderElection as LeaderElection,
        NodeAffinityArgs as NodeAffinityArgs,
        NodeResourcesBalancedAllocationArgs as NodeResourcesBalancedAllocationArgs,
        NodeResourcesFitArgs as NodeResourcesFitArgs,
        Plugin as Plugin,
        PluginArgs as PluginArgs,
        PluginConfig as PluginConfig,
        Plugins as Plugins,
        PluginSet as PluginSet,
        PodTopologySpreadArgs as PodTopologySpreadArgs,
        RequestedToCapacityRatio as RequestedToCapacityRatio,
        ResourceSpec as ResourceSpec,
        Rules as Rules,
        ScoringStrategy as ScoringStrategy,
        UtilizationShapePoint as UtilizationShapePoint,
        VolumeBindingArgs as VolumeBindingArgs,
    )
    from podwright.scheduler.config.validation import (
        tls_errors as tls_errors,
        validate as validate,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
