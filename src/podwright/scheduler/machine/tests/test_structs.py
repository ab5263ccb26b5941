"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "BatchSnapshot", "Bind", "CallDone", "CallExtender", "DecisionCount", "DeletePod",
    "Distribution", "EmitEvent", "ExtenderReplied", "Family", "MetricsSnapshot", "OnNode",
    "PatchExtendedClaim", "PatchPodGroupStatus", "PatchPodMetadata", "PatchPodStatus",
    "PathCount", "PodActivated", "PodAllowed", "PodRejected", "UpdateClaim",
    "UpdateVolume", "Value", "WakeAt", "WriteResourceClaim", "_Stored",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("scheduler.machine", by_position=BY_POSITION)
