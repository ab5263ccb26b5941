"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "BackoffRecord", "CoveredPod", "DrainNode", "FailureVerdict", "JobCounts", "Missed",
    "ParsedJob", "PodCriteria", "ReportedWrite", "RevisionNaming", "RolloutSet",
    "ScalingHistory", "SyncAt", "SyncDue", "WriteRejected", "_Candidate", "_NodeHealth",
    "_ParsedDeployment",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("cluster.controllers", by_position=BY_POSITION)
