"""The feature gates of kube-scheduler 1.36.

A gate has a stage, a default and possibly a lock. `parse_gates` reads what
`--feature-gates` takes; `Gates` answers `"Name" in gates`.

Upstream: pkg/features/kube_features.go, staging/src/k8s.io/component-base/featuregate;
pkg/features/kube_features.go, staging/src/k8s.io/apiserver/pkg/features/kube_features.go,
staging/src/k8s.io/apiextensions-apiserver/pkg/features, staging/src/k8s.io/component-base.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

import msgspec

from podwright.apimachinery.documents import did_you_mean, problem, raise_errors
from podwright.apimachinery.objects import GO_BOOLEANS, FieldError

# Every feature gate of kube-scheduler 1.36: stage, default, lock and dependencies, as data.
#
# The binary registers the gates of all components, so most of them have no effect on scheduling.
# `gates` lists those that have an effect in podwright.

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


Effect = Literal["configuration", "decisions", "machine", "resources"]
"""The parts of podwright that a gate changes: defaults and validation of the configuration;
scheduling decisions; the queue and the order of work in a machine; the resources that the API of
a cluster serves."""

EFFECTS: tuple[Effect, ...] = get_args(Effect)


class Gate(msgspec.Struct, frozen=True):
    """One gate of 1.36.

    Parameters
    ----------
    locked : bool
        Whether the gate is locked to its default.
    requires : tuple of str
        The gates that must be enabled with it.
    effects : tuple of Effect
        Its effects in podwright; empty: it is accepted and changes nothing.
    """

    stage: Stage
    default: bool
    locked: bool = False
    requires: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()


_EFFECTS: Mapping[str, tuple[Effect, ...]] = {
    "ClusterTrustBundle": ("resources",),
    "CoordinatedLeaderElection": ("resources",),
    "DRAConsumableCapacity": ("decisions",),
    "DRADeviceBindingConditions": ("configuration", "decisions"),
    "DRADeviceTaintRules": ("decisions", "machine", "resources"),
    "DRADeviceTaints": ("decisions", "machine"),
    "DRAExtendedResource": ("decisions", "machine"),
    "DRAPartitionableDevices": ("decisions",),
    "DRAPrioritizedList": ("decisions",),
    "DRAResourceClaimDeviceStatus": ("configuration", "decisions"),
    "DRAResourcePoolStatus": ("resources",),
    "DRASchedulerFilterTimeout": ("configuration", "decisions"),
    "GangScheduling": ("configuration", "machine"),
    "GenericWorkload": ("configuration", "resources"),
    "MatchLabelKeysInPodTopologySpread": ("decisions",),
    "NodeDeclaredFeatures": ("configuration", "decisions"),
    "NominatedNodeNameForExpectation": ("machine",),
    "OpportunisticBatching": ("machine",),
    "PodLevelResources": ("decisions", "machine"),
    "SchedulerAsyncPreemption": ("machine",),
    "SchedulerPopFromBackoffQ": ("machine",),
    "StorageCapacityScoring": ("configuration", "decisions"),
    "PodCertificateRequest": ("resources",),
    "StorageVersionAPI": ("resources",),
    "StorageVersionMigrator": ("resources",),
    "TaintTolerationComparisonOperators": ("decisions",),
    "TopologyAwareWorkloadScheduling": ("configuration", "decisions", "machine"),
    "VolumeLimitScaling": ("decisions",),
    "WorkloadAwarePreemption": ("machine",),
}

GATES: Mapping[str, Gate] = {
    name: Gate(stage, default, locked, REQUIRED_GATES.get(name, ()), _EFFECTS.get(name, ()))
    for name, (stage, default, locked) in sorted(
        (name, state) for state, names in GATES_BY_STATE.items() for name in names.split()
    )
}
"""Every gate of the kube-scheduler binary, by name."""

_GROUPS: Mapping[str, Stage] = {"AllAlpha": "Alpha", "AllBeta": "Beta"}


class Gates(msgspec.Struct, frozen=True):
    """The enabled gates; a gate that is not set has its default of 1.36.

    Parameters
    ----------
    changed : dict of str to bool
        The gates that differ from their default, sorted by name. `parse_gates` and
        `set_gates` build it and reject what upstream rejects.
    """

    changed: Mapping[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        """Report whether a gate is enabled; an unknown name is a programming error."""
        assert isinstance(name, str), name
        return self.changed.get(name, GATES[name].default)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the enabled gates, sorted."""
        return (name for name in GATES if name in self)


DEFAULT_GATES: Gates = Gates()


def without_effect(gates: Gates, *concerned: Effect) -> tuple[str, ...]:
    """Return the changed gates without any of these effects, sorted by name."""
    return tuple(name for name in gates.changed if not {*GATES[name].effects} & {*concerned})


def parse_gates(text: str, *, source: str = "--feature-gates") -> Gates:
    """Read `Name=true,Other=false`, with the groups AllAlpha and AllBeta.

    Every name may have the prefix `kube:`, the component of all these gates. The last value of a
    duplicate name applies.

    Parameters
    ----------
    text : str
        The gates; an empty text has the defaults.
    source : str
        Where the text is from, for errors.

    Raises
    ------
    InputError
        If names are unknown, gates are locked, or values are missing or malformed; all errors
        together.

    Notes
    -----
    Upstream: staging/src/k8s.io/component-base/compatibility/registry.go, `Set`
    """
    values: dict[str, bool] = {}
    errors: list[FieldError] = []
    components: set[str] = set()
    for part in filter(None, text.split(",")):
        component, gate = _split_component(part)
        components.add(component)
        if component in _COMPONENTS:
            _parse_value(gate, values, errors)
    if components >= _COMPONENTS:
        errors.insert(0, problem("", _MIXED_PREFIXES))
    errors += [
        problem("", f"component not registered: {name}")
        for name in sorted(components - _COMPONENTS)
    ]
    gates = _apply(values, errors)
    raise_errors(errors, source=source)
    return gates


_COMPONENTS = frozenset({"", "kube"})
_MIXED_PREFIXES = (
    "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
)


def _split_component(part: str) -> tuple[str, str]:
    component, colon, gate = part.partition(":")
    return (component.strip(), gate.strip()) if colon else ("", part.strip())


def _parse_value(text: str, values: dict[str, bool], errors: list[FieldError]) -> None:
    if not text:
        return
    name, equals, value = (piece.strip() for piece in text.partition("="))
    if not equals:
        errors.append(problem("", f"missing bool value for {name}"))
    elif value not in GO_BOOLEANS:
        reason = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        errors.append(problem("", f"invalid value of {name}={value}, err: {reason}"))
    else:
        values[name] = GO_BOOLEANS[value]


def set_gates(values: Mapping[str, bool], *, source: str = "feature gates") -> Gates:
    """Set gates by name, with the errors of `parse_gates`."""
    errors: list[FieldError] = []
    gates = _apply(values, errors)
    raise_errors(errors, source=source)
    return gates


def _apply(values: Mapping[str, bool], errors: list[FieldError]) -> Gates:
    enabled = {name: gate.default for name, gate in GATES.items()}
    # A group applies to gates that are not set by name, in any order of the list.
    for group, stage in _GROUPS.items():
        if group in values:
            enabled |= {n: values[group] for n, gate in GATES.items() if gate.stage == stage}
    for name, value in sorted(values.items()):
        if name in _GROUPS:
            continue
        gate = GATES.get(name)
        if gate is None:
            hint = did_you_mean(name, [*GATES, *_GROUPS])
            errors.append(problem("", f"unrecognized feature gate: {name}{hint}"))
        elif gate.locked and value != gate.default:
            errors.append(
                problem(
                    "",
                    f"cannot set feature gate {name} to {str(value).lower()}, "
                    f"feature is locked to {str(gate.default).lower()}",
                )
            )
        else:
            enabled[name] = value
    for name, gate in GATES.items():
        off = [required for required in gate.requires if not enabled[required]]
        if enabled[name] and off:
            errors.append(
                problem(
                    "",
                    f"{name} is enabled, but depends on features that are disabled: "
                    f"[{' '.join(off)}]",
                )
            )
    changed = {name: on for name, on in enabled.items() if on != GATES[name].default}
    return Gates(changed)
