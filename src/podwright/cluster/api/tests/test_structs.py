"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "ActivePolicy", "ApplyObject", "BindPod", "CreateObject", "Decision", "Decoded",
    "DeleteObject", "Deletion", "EvictPod", "Grant", "Grants", "HttpReply", "HttpRequest",
    "Invocation", "MediaType", "MissingRole", "NodeDown", "NodeUp", "Part", "PatchObject",
    "Policy", "RecordEvent", "Reply", "Role", "Rules", "Standard", "Step", "Subject",
    "TableContent", "Trial", "UpdateObject", "User", "Varying", "VersionConversion",
    "_Clause", "_Denial", "_Encoded", "_Known", "_Marked", "_Mode", "_Question", "_Row",
    "_Scheduled", "_Served", "_Write",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("cluster.api", by_position=BY_POSITION)
