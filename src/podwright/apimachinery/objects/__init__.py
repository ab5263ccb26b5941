"""Kubernetes objects as frozen structs.

The room decodes manifests and API bodies, parses quantities and selectors, and reports errors with
field paths. It does not know scheduling. Each object keeps its whole document (`raw`), so fields
that podwright does not read are preserved.

Words used here:

- A *document* is an object as JSON: dictionaries, lists and scalars.
- A *typed* kind has a struct; an object of any other kind is `Unknown`.
- A *source* names the file or request of a document, for errors.

Start with `pod.py` and `node.py` (the structs), then `decode.py` (documents to objects).
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use
from podwright.apimachinery.objects.decode import (
    DEFAULT_NAMESPACE as DEFAULT_NAMESPACE,
    UNDECODABLE as UNDECODABLE,
    Document as Document,
    SharedSpecs as SharedSpecs,
    decode as decode,
    decode_as as decode_as,
    decode_json as decode_json,
    decode_node as decode_node,
    decode_pod as decode_pod,
    without_nulls as without_nulls,
    wrong_with as wrong_with,
)
from podwright.apimachinery.objects.draw import (
    DELAY_STREAM as DELAY_STREAM,
    DRAW_BITS as DRAW_BITS,
    EXTENDER_STREAM as EXTENDER_STREAM,
    OFFSET_STREAM as OFFSET_STREAM,
    PODS_STREAM as PODS_STREAM,
    STAGE_STREAM as STAGE_STREAM,
    TIE_STREAM as TIE_STREAM,
    draw as draw,
)
from podwright.apimachinery.objects.encode import (
    encode as encode,
    with_condition as with_condition,
    with_fields as with_fields,
    with_node_name as with_node_name,
    with_nominated_node_name as with_nominated_node_name,
)

if TYPE_CHECKING:
    from podwright.apimachinery.objects.admission import (
        DEFAULT_SCHEDULER_NAME as DEFAULT_SCHEDULER_NAME,
        admit as admit,
        default_priority_class as default_priority_class,
        with_allocatable as with_allocatable,
        with_runtime_class as with_runtime_class,
        without_pod_level_resources as without_pod_level_resources,
    )
    from podwright.apimachinery.objects.devices import (
        DELETE_PROTECTION as DELETE_PROTECTION,
        AllocatedDeviceStatus as AllocatedDeviceStatus,
        AllocationResult as AllocationResult,
        CapacityRequestPolicy as CapacityRequestPolicy,
        CapacityRequirements as CapacityRequirements,
        CounterSet as CounterSet,
        Device as Device,
        DeviceAllocationConfiguration as DeviceAllocationConfiguration,
        DeviceAllocationResult as DeviceAllocationResult,
        DeviceAttribute as DeviceAttribute,
        DeviceCapacity as DeviceCapacity,
        DeviceClaim as DeviceClaim,
        DeviceClass as DeviceClass,
        DeviceClassSpec as DeviceClassSpec,
        DeviceConstraint as DeviceConstraint,
        DeviceCounterConsumption as DeviceCounterConsumption,
        DeviceRequest as DeviceRequest,
        DeviceRequestAllocationResult as DeviceRequestAllocationResult,
        DeviceSelector as DeviceSelector,
        DeviceSubRequest as DeviceSubRequest,
        DeviceTaint as DeviceTaint,
        DeviceTaintRule as DeviceTaintRule,
        DeviceTaintRuleSpec as DeviceTaintRuleSpec,
        DeviceTaintSelector as DeviceTaintSelector,
        DeviceToleration as DeviceToleration,
        ExactDeviceRequest as ExactDeviceRequest,
        OpaqueDeviceConfiguration as OpaqueDeviceConfiguration,
        ResourceClaim as ResourceClaim,
        ResourceClaimConsumerReference as ResourceClaimConsumerReference,
        ResourceClaimSpec as ResourceClaimSpec,
        ResourceClaimStatus as ResourceClaimStatus,
        ResourceSlice as ResourceSlice,
        ResourceSliceSpec as ResourceSliceSpec,
    )
    from podwright.apimachinery.objects.errors import (
        ArgumentError as ArgumentError,
        FieldError as FieldError,
        InputError as InputError,
        InvalidObject as InvalidObject,
        PodwrightError as PodwrightError,
        described_type as described_type,
        invalid as invalid,
        nearest as nearest,
        quoted as quoted,
        require_type as require_type,
        required as required,
        unsupported as unsupported,
    )
    from podwright.apimachinery.objects.event_series import (
        EventSeries as EventSeries,
        Recent as Recent,
        RecentEvent as RecentEvent,
    )
    from podwright.apimachinery.objects.kinds import (
        TYPE_OF as TYPE_OF,
        TYPES as TYPES,
        Object as Object,
        ObjectDeleted as ObjectDeleted,
        ObjectPut as ObjectPut,
        Unknown as Unknown,
        api_group as api_group,
        require_objects as require_objects,
    )
    from podwright.apimachinery.objects.meta import (
        SOURCE_UID as SOURCE_UID,
        Condition as Condition,
        Int32 as Int32,
        KubernetesObject as KubernetesObject,
        LabelSelector as LabelSelector,
        LabelSelectorOperator as LabelSelectorOperator,
        LabelSelectorRequirement as LabelSelectorRequirement,
        NamespacedName as NamespacedName,
        ObjectMeta as ObjectMeta,
        OwnerReference as OwnerReference,
        QuantityText as QuantityText,
        ResourceList as ResourceList,
        Struct as Struct,
    )
    from podwright.apimachinery.objects.names import (
        label_key_errors as label_key_errors,
        label_value_errors as label_value_errors,
        subdomain_errors as subdomain_errors,
    )
    from podwright.apimachinery.objects.node import (
        BETA_REGION as BETA_REGION,
        BETA_ZONE as BETA_ZONE,
        REGION as REGION,
        ZONE as ZONE,
        ContainerImage as ContainerImage,
        Node as Node,
        NodeSpec as NodeSpec,
        NodeStatus as NodeStatus,
        Taint as Taint,
        zone_key as zone_key,
    )
    from podwright.apimachinery.objects.openb import (
        CREATION_TIME as CREATION_TIME,
        DELETION_TIME as DELETION_TIME,
        GPU_CARD_MODEL as GPU_CARD_MODEL,
        GPU_COUNT as GPU_COUNT,
        GPU_INDEX as GPU_INDEX,
        GPU_MILLI as GPU_MILLI,
        SCHEDULED_TIME as SCHEDULED_TIME,
        OpenbTimes as OpenbTimes,
        TableError as TableError,
        is_openb as is_openb,
        openb_times as openb_times,
        read_openb as read_openb,
    )
    from podwright.apimachinery.objects.owners import workload_of as workload_of
    from podwright.apimachinery.objects.pods.pod import (
        Affinity as Affinity,
        AWSElasticBlockStoreVolumeSource as AWSElasticBlockStoreVolumeSource,
        AzureDiskVolumeSource as AzureDiskVolumeSource,
        AzureFileVolumeSource as AzureFileVolumeSource,
        CinderVolumeSource as CinderVolumeSource,
        Container as Container,
        ContainerPort as ContainerPort,
        ContainerRestartRule as ContainerRestartRule,
        ContainerStatus as ContainerStatus,
        CSIVolumeSource as CSIVolumeSource,
        EphemeralVolumeSource as EphemeralVolumeSource,
        ExitCodes as ExitCodes,
        GCEPersistentDiskVolumeSource as GCEPersistentDiskVolumeSource,
        HostPathVolumeSource as HostPathVolumeSource,
        ImageVolumeSource as ImageVolumeSource,
        InclusionPolicy as InclusionPolicy,
        ISCSIVolumeSource as ISCSIVolumeSource,
        NodeAffinity as NodeAffinity,
        PersistentVolumeClaimTemplate as PersistentVolumeClaimTemplate,
        PersistentVolumeClaimVolumeSource as PersistentVolumeClaimVolumeSource,
        Pod as Pod,
        PodAffinity as PodAffinity,
        PodAffinityTerm as PodAffinityTerm,
        PodAntiAffinity as PodAntiAffinity,
        PodOS as PodOS,
        PodPhase as PodPhase,
        PodResourceClaim as PodResourceClaim,
        PodSchedulingGate as PodSchedulingGate,
        PodSchedulingGroup as PodSchedulingGroup,
        PodSpec as PodSpec,
        PodStatus as PodStatus,
        PodTemplateSpec as PodTemplateSpec,
        PortworxVolumeSource as PortworxVolumeSource,
        PreemptionPolicy as PreemptionPolicy,
        PreferredSchedulingTerm as PreferredSchedulingTerm,
        Protocol as Protocol,
        RBDVolumeSource as RBDVolumeSource,
        ResourceClaimUse as ResourceClaimUse,
        ResourceRequirements as ResourceRequirements,
        RestartPolicy as RestartPolicy,
        TaintEffect as TaintEffect,
        Toleration as Toleration,
        TolerationEffect as TolerationEffect,
        TolerationOperator as TolerationOperator,
        TopologySpreadConstraint as TopologySpreadConstraint,
        UnsatisfiableAction as UnsatisfiableAction,
        Volume as Volume,
        VsphereVolumeSource as VsphereVolumeSource,
        WeightedPodAffinityTerm as WeightedPodAffinityTerm,
        condition_of as condition_of,
        is_ready as is_ready,
    )
    from podwright.apimachinery.objects.pods.requests import (
        DEFAULT_MEMORY_REQUEST_BYTES as DEFAULT_MEMORY_REQUEST_BYTES,
        DEFAULT_MILLI_CPU_REQUEST as DEFAULT_MILLI_CPU_REQUEST,
        HUGE_PAGES_PREFIX as HUGE_PAGES_PREFIX,
        assigned_request_millis as assigned_request_millis,
        assigned_requests as assigned_requests,
        has_actual_resources as has_actual_resources,
        has_same_actual_resources as has_same_actual_resources,
        is_extended_resource as is_extended_resource,
        is_scalar_resource as is_scalar_resource,
        limit_nanos as limit_nanos,
        non_zero_requests as non_zero_requests,
        pending_requests as pending_requests,
        request_key as request_key,
        request_nanos as request_nanos,
        score_requests_balanced as score_requests_balanced,
        score_requests_fit as score_requests_fit,
        status_changes_requests as status_changes_requests,
    )
    from podwright.apimachinery.objects.pods.toleration import (
        SCHEDULING_EFFECTS as SCHEDULING_EFFECTS,
        tolerates as tolerates,
        untolerated_taint as untolerated_taint,
    )
    from podwright.apimachinery.objects.policy import (
        PodDisruptionBudget as PodDisruptionBudget,
        PodDisruptionBudgetSpec as PodDisruptionBudgetSpec,
        PodDisruptionBudgetStatus as PodDisruptionBudgetStatus,
        PriorityClass as PriorityClass,
    )
    from podwright.apimachinery.objects.quantity import (
        Quantity as Quantity,
        QuantityError as QuantityError,
        QuantityFormat as QuantityFormat,
        format_quantity as format_quantity,
        parse_quantity as parse_quantity,
        parse_quantity_text as parse_quantity_text,
        quantity_milli_value as quantity_milli_value,
        quantity_value as quantity_value,
    )
    from podwright.apimachinery.objects.raw_object import (
        RawObject as RawObject,
        patched_raw as patched_raw,
        raw_text as raw_text,
        with_raw_text as with_raw_text,
    )
    from podwright.apimachinery.objects.selecting.field_selector import (
        FieldRequirement as FieldRequirement,
        FieldSelector as FieldSelector,
        parse_field_selector as parse_field_selector,
    )
    from podwright.apimachinery.objects.selecting.node_selector import (
        NodeSelector as NodeSelector,
        NodeSelectorOperator as NodeSelectorOperator,
        NodeSelectorRequirement as NodeSelectorRequirement,
        NodeSelectorTerm as NodeSelectorTerm,
    )
    from podwright.apimachinery.objects.selecting.node_terms import (
        NODE_NAME_FIELD as NODE_NAME_FIELD,
        NodeTerm as NodeTerm,
        NodeTerms as NodeTerms,
        node_selector as node_selector,
        preferred_node_terms as preferred_node_terms,
    )
    from podwright.apimachinery.objects.selecting.selector import (
        EVERYTHING as EVERYTHING,
        NOTHING as NOTHING,
        Labels as Labels,
        Requirement as Requirement,
        RequirementOperator as RequirementOperator,
        Selector as Selector,
        SelectorError as SelectorError,
        label_selector as label_selector,
        labels_as_selector as labels_as_selector,
        parse_int64 as parse_int64,
        parse_label_selector as parse_label_selector,
        requirement_problems as requirement_problems,
    )
    from podwright.apimachinery.objects.storage import (
        AccessMode as AccessMode,
        CSIDriver as CSIDriver,
        CSIDriverSpec as CSIDriverSpec,
        CSINode as CSINode,
        CSINodeDriver as CSINodeDriver,
        CSINodeSpec as CSINodeSpec,
        CSIPersistentVolumeSource as CSIPersistentVolumeSource,
        CSIStorageCapacity as CSIStorageCapacity,
        LocalVolumeSource as LocalVolumeSource,
        NamedDisk as NamedDisk,
        ObjectReference as ObjectReference,
        PersistentVolume as PersistentVolume,
        PersistentVolumeClaim as PersistentVolumeClaim,
        PersistentVolumeClaimSpec as PersistentVolumeClaimSpec,
        PersistentVolumeClaimStatus as PersistentVolumeClaimStatus,
        PersistentVolumeSpec as PersistentVolumeSpec,
        PersistentVolumeStatus as PersistentVolumeStatus,
        StorageClass as StorageClass,
        TopologySelectorLabelRequirement as TopologySelectorLabelRequirement,
        TopologySelectorTerm as TopologySelectorTerm,
        VolumeAttachment as VolumeAttachment,
        VolumeAttachmentSource as VolumeAttachmentSource,
        VolumeAttachmentSpec as VolumeAttachmentSpec,
        VolumeAttachmentStatus as VolumeAttachmentStatus,
        VolumeBindingMode as VolumeBindingMode,
        VolumeMode as VolumeMode,
        VolumeNodeAffinity as VolumeNodeAffinity,
        VolumeNodeResources as VolumeNodeResources,
        VolumeResourceRequirements as VolumeResourceRequirements,
    )
    from podwright.apimachinery.objects.texts.cron_schedule import (
        CronSchedule as CronSchedule,
        parse_schedule as parse_schedule,
        time_zone as time_zone,
    )
    from podwright.apimachinery.objects.texts.duration import (
        SECOND_NS as SECOND_NS,
        format_duration as format_duration,
        parse_duration as parse_duration,
    )
    from podwright.apimachinery.objects.texts.go_text import (
        go_json_error as go_json_error,
        go_quoted as go_quoted,
        write_go_json as write_go_json,
    )
    from podwright.apimachinery.objects.texts.short_texts import cache_short as cache_short
    from podwright.apimachinery.objects.texts.text_encoding import (
        decoding_message as decoding_message,
        utf8 as utf8,
    )
    from podwright.apimachinery.objects.texts.times import (
        EPOCH as EPOCH,
        FIRST_NS as FIRST_NS,
        LAST_NS as LAST_NS,
        POSSIBLE_YEARS as POSSIBLE_YEARS,
        Duration as Duration,
        Time as Time,
        check_time_ns as check_time_ns,
        delta_ns as delta_ns,
        length_ns as length_ns,
        numpy_time_ns as numpy_time_ns,
        parse_days as parse_days,
        read_duration as read_duration,
        read_time as read_time,
        shortest_time_text as shortest_time_text,
        timestamp_ns as timestamp_ns,
        timestamp_text as timestamp_text,
        timestamp_text_micro as timestamp_text_micro,
        timestamp_text_nano as timestamp_text_nano,
    )
    from podwright.apimachinery.objects.texts.yaml_events import (
        YamlDocument as YamlDocument,
        YamlError as YamlError,
        read_yaml as read_yaml,
        yaml_line_of as yaml_line_of,
    )
    from podwright.apimachinery.objects.workload import (
        BasicSchedulingPolicy as BasicSchedulingPolicy,
        CoschedulingPodGroup as CoschedulingPodGroup,
        CoschedulingPodGroupSpec as CoschedulingPodGroupSpec,
        CoschedulingPodGroupStatus as CoschedulingPodGroupStatus,
        GangSchedulingPolicy as GangSchedulingPolicy,
        Namespace as Namespace,
        PodGroup as PodGroup,
        PodGroupResourceClaim as PodGroupResourceClaim,
        PodGroupSchedulingConstraints as PodGroupSchedulingConstraints,
        PodGroupSchedulingPolicy as PodGroupSchedulingPolicy,
        PodGroupSpec as PodGroupSpec,
        PodGroupStatus as PodGroupStatus,
        PodGroupTemplate as PodGroupTemplate,
        PodGroupTemplateReference as PodGroupTemplateReference,
        ReplicaSet as ReplicaSet,
        ReplicaSetSpec as ReplicaSetSpec,
        ReplicationController as ReplicationController,
        ReplicationControllerSpec as ReplicationControllerSpec,
        Service as Service,
        ServiceSpec as ServiceSpec,
        StatefulSet as StatefulSet,
        StatefulSetSpec as StatefulSetSpec,
        TopologyConstraint as TopologyConstraint,
        Workload as Workload,
        WorkloadControllerReference as WorkloadControllerReference,
        WorkloadPodGroupTemplateReference as WorkloadPodGroupTemplateReference,
        WorkloadSpec as WorkloadSpec,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
