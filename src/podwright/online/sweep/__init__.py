"""Many simulations of one question: configurations x inputs x seeds, on Dask.

Start with `plan.py` (what is run), `figures_of_run.py` (one run, in a worker), `execution.py` (all
runs) and `dataset.py` (their results); `summary.py` compares them by the `goals.py`, and
`report_page.py` makes a page of them. `tuning/` searches for better configurations with sweeps.
"""

from podwright.online.sweep.dataset import SweepDataset as SweepDataset, SweepError as SweepError
from podwright.online.sweep.execution import (
    in_flight as in_flight,
    missing_runs as missing_runs,
    run_missing as run_missing,
    sweep as sweep,
    workers as workers,
)
from podwright.online.sweep.figures_of_run import (
    RunFigures as RunFigures,
    figures_of_run as figures_of_run,
)
from podwright.online.sweep.goals import (
    Constraint as Constraint,
    Goal as Goal,
    read_constraint as read_constraint,
    read_goal as read_goal,
)
from podwright.online.sweep.plan import (
    Files as Files,
    PlanSource as PlanSource,
    SweepCase as SweepCase,
    SweepConfiguration as SweepConfiguration,
    SweepInput as SweepInput,
    SweepOptions as SweepOptions,
    SweepPlan as SweepPlan,
    SweepRun as SweepRun,
    load_plan as load_plan,
    read_plan as read_plan,
    read_seeds as read_seeds,
)
from podwright.online.sweep.report_page import (
    all_values as all_values,
    figure_cells as figure_cells,
    inline as inline,
    page as page,
    sweep_page as sweep_page,
    table_of as table_of,
)
from podwright.online.sweep.summary import (
    SweepFigure as SweepFigure,
    SweepSummary as SweepSummary,
    summarize_sweep as summarize_sweep,
)
from podwright.online.sweep.tuning import (
    Parameter as Parameter,
    TuningPlan as TuningPlan,
    TuningResult as TuningResult,
    load_tuning_plan as load_tuning_plan,
    tune as tune,
)
