"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "Apply", "Cordon", "Create", "Delete", "Drain", "Due", "EventFile", "FailNode",
    "InputOperation", "Issued", "KubernetesEvent", "OnNodes", "Patch", "PodEnd", "Put",
    "RestoreNode", "Scale", "SimulationState", "StepDue", "Update", "Watched", "Written",
    "_Attempt",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("simulation.world", by_position=BY_POSITION)
