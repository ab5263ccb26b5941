"""Expressions of the Common Expression Language, as Kubernetes evaluates them.

The room compiles an expression in an environment, estimates its cost, and evaluates it with a
limit. It reads no objects itself: callers pass decoded values. Start with `environment`; the way of
an expression is `lexer`, `parser` (with `macros`), `checker`, `validators`, `estimate`, `program`
and its `steps`. The functions are in libraries: `standard`, `string_functions`, `list_functions`,
`quantities`, `addresses`, `formats`. Uses of expressions are `device_selectors`, `schema_rules`,
`admission_policies`, `policy_types` and `stage_expressions`.
"""

from podwright.apimachinery.cel.environment import KUBERNETES_BASE, Compiled, Environment
from podwright.apimachinery.cel.errors import CompileError, ProgramError
from podwright.apimachinery.cel.functions.addresses import AddressError, parse_url
from podwright.apimachinery.cel.functions.authorizations import Access, Authorize, Decision
from podwright.apimachinery.cel.functions.regular_expressions import PatternError, compile_pattern
from podwright.apimachinery.cel.functions.time_text import parse_duration
from podwright.apimachinery.cel.uses.admission_expressions import AdmissionInput
from podwright.apimachinery.cel.uses.admission_policies import (
    AuditAnnotation,
    ExpressionProblem,
    MatchConditions,
    MutatingPolicy,
    PolicyDecision,
    PolicyError,
    PolicyResult,
    ValidatingPolicy,
    compile_match_conditions,
    match_condition_problems,
)
from podwright.apimachinery.cel.uses.device_selectors import (
    MAX_SELECTOR_COST,
    UNBOUNDED,
    DeviceError,
    DeviceResult,
    DeviceSelector,
    SelectorError,
    compile_new_selector,
    compile_selector,
    device_value,
)
from podwright.apimachinery.cel.uses.policy_types import MatchedKind, type_warnings
from podwright.apimachinery.cel.uses.rule_nodes import RuleError, has_rules
from podwright.apimachinery.cel.uses.schema_rules import (
    OBJECT_COST_BUDGET,
    SchemaRules,
    compile_rules,
)
from podwright.apimachinery.cel.uses.stage_expressions import (
    StageExpression,
    StageExpressionError,
    stage_expression,
)

__all__ = [
    "KUBERNETES_BASE",
    "MAX_SELECTOR_COST",
    "OBJECT_COST_BUDGET",
    "UNBOUNDED",
    "Access",
    "AddressError",
    "AdmissionInput",
    "AuditAnnotation",
    "Authorize",
    "CompileError",
    "Compiled",
    "Decision",
    "DeviceError",
    "DeviceResult",
    "DeviceSelector",
    "Environment",
    "ExpressionProblem",
    "MatchConditions",
    "MatchedKind",
    "MutatingPolicy",
    "PatternError",
    "PolicyDecision",
    "PolicyError",
    "PolicyResult",
    "ProgramError",
    "RuleError",
    "SchemaRules",
    "SelectorError",
    "StageExpression",
    "StageExpressionError",
    "ValidatingPolicy",
    "compile_match_conditions",
    "compile_new_selector",
    "compile_pattern",
    "compile_rules",
    "compile_selector",
    "device_value",
    "has_rules",
    "match_condition_problems",
    "parse_duration",
    "parse_url",
    "stage_expression",
    "type_warnings",
]
