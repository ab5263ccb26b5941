"""scheduler_perf: upstream's benchmark files, executed as they are.

A *test case* is a list of operations, and a *workload* gives their parameters values. `test_cases`
reads files with all mistakes, `operations` has the opcodes, `execution` executes one workload on a
`tested_cluster`, `measuring` measures what upstream measures, and `results` compares it with the
thresholds.

The room measures, so it depends on a clock; its callers pass one.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.scheduler_perf.measuring import DataItem as DataItem
    from podwright.simulation.scheduler_perf.results import (
        Comparison as Comparison,
        WorkloadResult as WorkloadResult,
        data_items_document as data_items_document,
        data_items_name as data_items_name,
        run_workload as run_workload,
    )
    from podwright.simulation.scheduler_perf.test_cases import (
        PerfWorkload as PerfWorkload,
        load_test_cases as load_test_cases,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
