"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "LoadedObjects", "Manifest", "SchedulerLog", "Sourced", "SourcedDocument",
    "Unrendered", "_Document", "_Header", "_Reading",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("simulation.files", by_position=BY_POSITION)
