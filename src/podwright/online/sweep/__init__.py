"""Many simulations of one question: configurations x inputs x seeds, on Dask.

Start with `plan.py` (what is run), `figures_of_run.py` (one run, in a worker), `execution.py` (all
runs) and `dataset.py` (their results); `summary.py` compares them.
"""

from podwright.online.sweep.dataset import SweepDataset as SweepDataset, SweepError as SweepError
from podwright.online.sweep.execution import (
    missing_runs as missing_runs,
    run_missing as run_missing,
    sweep as sweep,
    workers as workers,
)
from podwright.online.sweep.figures_of_run import (
    RunFigures as RunFigures,
    figures_of_run as figures_of_run,
)
from podwright.online.sweep.plan import (
    Files as Files,
    SweepConfiguration as SweepConfiguration,
    SweepInput as SweepInput,
    SweepOptions as SweepOptions,
    SweepPlan as SweepPlan,
    SweepRun as SweepRun,
    load_plan as load_plan,
    read_plan as read_plan,
    read_seeds as read_seeds,
)
from podwright.online.sweep.summary import (
    SweepFigure as SweepFigure,
    SweepSummary as SweepSummary,
    summarize_sweep as summarize_sweep,
)
