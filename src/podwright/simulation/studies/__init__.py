"""Published experiments, repeated: the policies, the workloads and the measures of a paper.

The first is the study of GPU fragmentation on the openb trace: `fgd.py` has its procedure,
`gpu_policies.py` its policies as plugins, and `fragments.py` its measure. `go_random.py` draws as
the published runs did.

Upstream: hkust-adsl/kubernetes-scheduler-simulator
"""

from podwright.simulation.studies.fgd import (
    POLICIES as POLICIES,
    FgdRun as FgdRun,
    FgdTrace as FgdTrace,
    Measure as Measure,
    fgd_configuration as fgd_configuration,
    run_fgd as run_fgd,
)
from podwright.simulation.studies.fgd_table import (
    REPORTED_PCT as REPORTED_PCT,
    FgdMeans as FgdMeans,
    FgdResult as FgdResult,
    FgdTable as FgdTable,
    PublishedMeans as PublishedMeans,
    published_means as published_means,
    read_published as read_published,
    summarize_fgd as summarize_fgd,
)
from podwright.simulation.studies.gpu_policies import (
    BestFitGpu as BestFitGpu,
    ClusteringGpu as ClusteringGpu,
    DotProductGpu as DotProductGpu,
    FragmentationGradientDescent as FragmentationGradientDescent,
    PackingGpu as PackingGpu,
    RandomGpu as RandomGpu,
)
from podwright.simulation.studies.intervals import Interval as Interval
