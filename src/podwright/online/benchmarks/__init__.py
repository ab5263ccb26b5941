"""Benchmarks: upstream's benchmark files, executed and measured with a clock.

`benchmark_files` gives the processor time and the memory of the process to the room
`scheduler_perf`, which has the operations and the measurements.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.online.benchmarks.benchmark_files import (
        run_workloads as run_workloads,
        scheduler_perf as scheduler_perf,
        selected as selected,
        topic_of as topic_of,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
