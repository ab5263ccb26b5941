"""Tuning of a configuration: Optuna proposes, sweeps run, held-out seeds decide.

Start with `tuning_plan.py` (what is tuned), `search_space.py` (which fields, which values) and
`tuning.py` (the trials); `evidence.py` is the result.
"""

from podwright.online.sweep.tuning.evidence import (
    Comparison as Comparison,
    TunedTrial as TunedTrial,
    TuningResult as TuningResult,
)
from podwright.online.sweep.tuning.search_space import (
    Parameter as Parameter,
    with_values as with_values,
)
from podwright.online.sweep.tuning.tuning import tune as tune
from podwright.online.sweep.tuning.tuning_plan import (
    TuningPlan as TuningPlan,
    load_tuning_plan as load_tuning_plan,
)
