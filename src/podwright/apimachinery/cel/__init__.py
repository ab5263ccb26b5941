"""Expressions of the Common Expression Language, as Kubernetes evaluates them.

The room compiles an expression in an environment, estimates its cost, and evaluates it with a
limit. It reads no objects itself: callers pass decoded values. Start with `environment`; the way of
an expression is `parser` (with `macros`), `checker`, `estimate`, `program` and its `steps`. The
libraries are in `functions`, the costs of their functions in `call_costs`. What expressions are
used for is in `uses`: `device_selectors`, `schema_rules`, `admission_policies` and
`stage_expressions`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.cel.estimate import UNBOUNDED as UNBOUNDED
    from podwright.apimachinery.cel.functions.addresses import (
        AddressError as AddressError,
        parse_url as parse_url,
    )
    from podwright.apimachinery.cel.functions.authorizations import (
        Access as Access,
        Decision as Decision,
    )
    from podwright.apimachinery.cel.functions.formats import (
        PatternError as PatternError,
        compile_pattern as compile_pattern,
        parse_duration as parse_duration,
    )
    from podwright.apimachinery.cel.uses.admission_expressions import (
        AdmissionInput as AdmissionInput,
    )
    from podwright.apimachinery.cel.uses.admission_policies import (
        ExpressionProblem as ExpressionProblem,
        MatchedKind as MatchedKind,
        MutatingPolicy as MutatingPolicy,
        PolicyDecision as PolicyDecision,
        PolicyError as PolicyError,
        PolicyResult as PolicyResult,
        ValidatingPolicy as ValidatingPolicy,
        match_condition_problems as match_condition_problems,
        type_warnings as type_warnings,
    )
    from podwright.apimachinery.cel.uses.device_selectors import (
        MAX_SELECTOR_COST as MAX_SELECTOR_COST,
        DeviceError as DeviceError,
        DeviceSelector as DeviceSelector,
        SelectorError as SelectorError,
        compile_new_selector as compile_new_selector,
        compile_selector as compile_selector,
        device_value as device_value,
    )
    from podwright.apimachinery.cel.uses.rule_nodes import RuleError as RuleError
    from podwright.apimachinery.cel.uses.schema_rules import (
        OBJECT_COST_BUDGET as OBJECT_COST_BUDGET,
        SchemaRules as SchemaRules,
        compile_rules as compile_rules,
    )
    from podwright.apimachinery.cel.uses.stage_expressions import (
        StageExpression as StageExpression,
        StageExpressionError as StageExpressionError,
        stage_expression as stage_expression,
        usage_expression as usage_expression,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
