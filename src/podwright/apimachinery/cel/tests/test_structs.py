"""Which structs of the room can be changed, and which are made by position."""

from tests.struct_settings import check_structs

BY_POSITION = {
    "AuditAnnotation", "Decision", "DeclaredType", "Duration", "Environment",
    "Evaluation", "ExpressionProblem", "Function", "Library", "MatchedKind", "Optional",
    "Overload", "ParsedURL", "PolicyDecision", "PolicyExpression", "PolicyResult", "Rule",
    "RuleError", "RuleNode", "Timestamp", "Type", "TypeValue",
}  # fmt: skip


def test_records_are_values_whose_fields_have_names_unless_they_are_listed() -> None:
    check_structs("apimachinery.cel", by_position=BY_POSITION)
