"""Many simulations of one question: configurations x inputs x seeds, on Dask.

Start with `plan.py` (what is run), `figures_of_run.py` (one run, in a worker), `execution.py` (all
runs) and `dataset.py` (their results); `summary.py` compares them by the `goals.py`, and
`report_page.py` makes a page of them. `tuning/` searches for better configurations with sweeps.
"""

from podwright.online.sweep.dataset import SweepDataset as SweepDataset, SweepError as SweepError
from podwright.online.sweep.execution import (
    in_flight as in_flight,
    run_missing as run_missing,
    sweep as sweep,
    workers as workers,
)
from podwright.online.sweep.figures_of_run import RunFigures as RunFigures
from podwright.online.sweep.goals import (
    Constraint as Constraint,
    Goal as Goal,
    read_goal as read_goal,
)
from podwright.online.sweep.plan import (
    Files as Files,
    SweepConfiguration as SweepConfiguration,
    SweepInput as SweepInput,
    SweepOptions as SweepOptions,
    SweepPlan as SweepPlan,
    SweepRun as SweepRun,
    load_plan as load_plan,
    read_seeds as read_seeds,
)
from podwright.online.sweep.report_page import (
    FIGURE_HEADS as FIGURE_HEADS,
    figure_cells as figure_cells,
    sweep_page as sweep_page,
)
from podwright.online.sweep.summary import (
    SweepFigure as SweepFigure,
    SweepSummary as SweepSummary,
)
from podwright.online.sweep.tuning import (
    Parameter as Parameter,
    TuningResult as TuningResult,
    load_tuning_plan as load_tuning_plan,
    tune as tune,
)
