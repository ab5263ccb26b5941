"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {"ReasonDetail"}


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("scheduler.advice", by_position=BY_POSITION)
