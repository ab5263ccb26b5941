"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "AddressesState", "AndOr", "ApplyStep", "Arithmetic", "Bound", "Call", "Case",
    "ClaimedVolumes", "CommandRun", "ContainerRecord", "Delay", "Ended", "EventStep",
    "Field", "FinalizersStep", "For", "Function", "Group", "Hook", "If", "Image", "Jump",
    "LeaseRenewal", "LifecycleState", "Literal", "Loop", "ObjectState", "ObjectSync",
    "Output", "Parameter", "PatchStep", "Pipe", "Pipeline", "PodSyncResult", "PodUse",
    "ProbeRecord", "Program", "Range", "Redirected", "Redirection", "Rejection",
    "Rendering", "Requirement", "Resize", "RunRecord", "SavedObjectState",
    "ScheduleStage", "ScheduledStage", "Simple", "StageContext", "StageDue",
    "Substitution", "Text", "Tree", "Variable", "Weight", "_Piece", "_Place",
    "_SharedStatus", "_Token",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("cluster.kubelets", by_position=BY_POSITION)
