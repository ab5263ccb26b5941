"""Tuning of a configuration: Optuna proposes, sweeps run, held-out seeds decide.

Start with `tuning_plan.py` (what is tuned), `search_space.py` (which fields, which values) and
`tuning.py` (the trials); `evidence.py` is the result.
"""

from podwright.online.sweep.tuning.evidence import TuningResult as TuningResult
from podwright.online.sweep.tuning.search_space import Parameter as Parameter
from podwright.online.sweep.tuning.tuning import tune as tune
from podwright.online.sweep.tuning.tuning_plan import load_tuning_plan as load_tuning_plan
