"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs


def test_records_are_values_whose_fields_have_names() -> None:
    check_structs("simulation.scheduler_perf")
