"""Every feature gate of kube-scheduler 1.36: stage, default, lock and dependencies, as data.

The binary registers the gates of all components, so most of them have no effect on scheduling.
`gates` lists those that have an effect in podwright.

Upstream: pkg/features/kube_features.go, staging/src/k8s.io/apiserver/pkg/features/kube_features.go,
staging/src/k8s.io/apiextensions-apiserver/pkg/features, staging/src/k8s.io/component-base
"""

from collections.abc import Mapping
from typing import Final, Literal

Stage = Literal["Alpha", "Beta", "GA", "Deprecated"]

GATES_BY_STATE: Final[Mapping[tuple[Stage, bool, bool], str]] = {
    ("Alpha", False, False): """
        APIServingWithRoutine AllowUnsafeMalformedObjectDeletion
        CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming
        CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
        CloudControllerManagerWatchBasedRoutesReconciliation
        CloudControllerManagerWebhook ContainerStopSignals
        CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources
        DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG GangScheduling
        GenericWorkload HPAScaleToZero ImageVolumeWithDigest
        InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
        KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig
        MemoryQoS MutablePVNodeAffinity NativeHistograms
        PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI
        PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
        ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi ShardedListAndWatch
        StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators
        TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions
        UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity
        WorkloadAwarePreemption WorkloadWithJob
    """,
    ("Beta", True, False): """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth
        AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission
        CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
        ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
        ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
        ContainerCheckpoint ContainerRestartRules ContextualLogging
        DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints
        DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus
        DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
        DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
        DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
        InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
        InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
        KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
        KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        LoggingBetaOptions MatchLabelKeysInPodTopologySpread
        MatchLabelKeysInPodTopologySpreadSelectorMerge
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
        NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums
        OpportunisticBatching PLEGOnDemandRelist PodDeletionCost PodLevelResources
        PodReadyToStartContainersCondition PodTopologyLabelsAdmission
        PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation
        ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
        RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate
        SchedulerAsyncPreemption SchedulerPopFromBackoffQ
        ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
        StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector
        StructuredAuthenticationConfigurationJWKSMetrics
        TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions
        TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
        UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
        WatchCacheInitializationPostStartHook WatchList WatchListClient
        WindowsGracefulNodeShutdown
    """,
    ("Beta", False, False): """
        ClusterTrustBundle ClusterTrustBundleProjection
        ConcurrentWatchObjectDecode CoordinatedLeaderElection DRADeviceTaintRules
        LocalStorageCapacityIsolationFSQuotaMonitoring MaxUnavailableStatefulSet
        PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls StorageVersionMigrator
    """,
    ("GA", True, False): """
        AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList
        InformerResourceVersion MutatingAdmissionPolicy
    """,
    ("GA", True, True): """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
        AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache
        CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
        ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess
        DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation
        ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume
        InOrderInformers InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy
        JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI
        KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown
        MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
        MutableCSINodeAllocatableCount NFTablesProxyMode
        NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
        OrderedNamespaceDeletion PodLifecycleSleepAction
        PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
        PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType
        RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation
        RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization
        RetryGenerateName SELinuxChangePolicy SELinuxMountReadWriteOncePod
        SchedulerQueueingHints SeparateTaintEvictionController ServiceAccountTokenJTI
        ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
        ServiceAccountTokenPodNodeInfo SidecarContainers
        StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
        StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog
        TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR
        WinOverlay
    """,
    ("Deprecated", True, False): """
        DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods
        ServiceCIDRStatusFieldWiping StorageNamespaceIndex
    """,
    ("Deprecated", True, True): """
        AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
    """,
    ("Deprecated", False, False): """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        ChangeContainerStatusOnKubeletRestart DeclarativeValidationTakeover KMSv1
        KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    """,
    ("Deprecated", False, True): """
        AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver
        SeparateCacheWatchRPC
    """,
}
"""The names by stage, default, and whether the default is locked."""

REQUIRED_GATES: Final[Mapping[str, tuple[str, ...]]] = {
    "AuthorizeNodeWithSelectors": ("AuthorizeWithSelectors",),
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "DRAAdminAccess": ("DynamicResourceAllocation",),
    "DRAConsumableCapacity": ("DynamicResourceAllocation",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRADeviceTaints": ("DynamicResourceAllocation",),
    "DRAExtendedResource": ("DynamicResourceAllocation",),
    "DRAListTypeAttributes": ("DynamicResourceAllocation",),
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "DRAPartitionableDevices": ("DynamicResourceAllocation",),
    "DRAPrioritizedList": ("DynamicResourceAllocation",),
    "DRAResourceClaimGranularStatusAuthorization": (
        "DRAResourceClaimDeviceStatus",
        "DynamicResourceAllocation",
    ),
    "DRAResourcePoolStatus": ("DynamicResourceAllocation",),
    "DRASchedulerFilterTimeout": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    "DeclarativeValidationBeta": ("DeclarativeValidation",),
    "DeclarativeValidationTakeover": ("DeclarativeValidation",),
    "DisableAllocatorDualWrite": ("MultiCIDRServiceAllocator",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "GangScheduling": ("GenericWorkload",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "ImageVolumeWithDigest": ("ImageVolume",),
    "InPlacePodLevelResourcesVerticalScaling": (
        "InPlacePodVerticalScaling",
        "NodeDeclaredFeatures",
        "PodLevelResources",
    ),
    "InPlacePodVerticalScalingExclusiveCPUs": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingExclusiveMemory": ("InPlacePodVerticalScaling",),
    "InPlacePodVerticalScalingInitContainers": (
        "InPlacePodVerticalScaling",
        "NodeDeclaredFeatures",
    ),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "PodCertificateRequest": ("AuthorizeNodeWithSelectors",),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "PodLifecycleSleepActionAllowZero": ("PodLifecycleSleepAction",),
    "ProcMountType": ("UserNamespacesSupport",),
    "ResourceHealthStatus": ("DynamicResourceAllocation",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "RestartAllContainersOnContainerExits": ("ContainerRestartRules", "NodeDeclaredFeatures"),
    "ServiceAccountTokenNodeBinding": ("ServiceAccountTokenNodeBindingValidation",),
    "StaleControllerConsistencyDaemonSet": ("AtomicFIFO",),
    "StaleControllerConsistencyJob": ("AtomicFIFO",),
    "StaleControllerConsistencyReplicaSet": ("AtomicFIFO",),
    "StaleControllerConsistencyStatefulSet": ("AtomicFIFO",),
    "StorageVersionAPI": ("APIServerIdentity",),
    "StructuredAuthenticationConfigurationEgressSelector": (
        "StructuredAuthenticationConfiguration",
    ),
    "StructuredAuthenticationConfigurationJWKSMetrics": ("StructuredAuthenticationConfiguration",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures", "UserNamespacesSupport"),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
    "WorkloadAwarePreemption": ("GangScheduling",),
    "WorkloadWithJob": ("GenericWorkload",),
}
"""The gates that must be enabled with a gate, in upstream's order."""
