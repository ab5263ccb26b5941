"""Scenarios: a cluster, what happens to it, and what is expected of it, in one file.

A scenario file is read into a `ScenarioFile`, which is complete: it holds the contents of all files
that it names, so it can be simulated anywhere. It becomes objects and operations of `world`, which
simulates them; this room schedules nothing by itself. The operations are those of event files.

Start with `document.py` (the form) and `scenario_file.py`. `kep140` reads the Scenario of
kube-scheduler-simulator, `load` makes the events of load generators; `checking` compares runs with
`expectations`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.scenarios.checking import (
        CheckReport as CheckReport,
        ScenarioRun as ScenarioRun,
        check as check,
    )
    from podwright.simulation.scenarios.document import (
        Document as Document,
        json_schema as json_schema,
    )
    from podwright.simulation.scenarios.expectations import CheckResult as CheckResult
    from podwright.simulation.scenarios.kep140 import KEP140_GROUP as KEP140_GROUP
    from podwright.simulation.scenarios.kep140_status import (
        no_files as no_files,
        run_kep140 as run_kep140,
    )
    from podwright.simulation.scenarios.new_check import (
        SNAPSHOT_END as SNAPSHOT_END,
        decision_scenario as decision_scenario,
        snapshot_scenario as snapshot_scenario,
    )
    from podwright.simulation.scenarios.reading import (
        SCENARIO_HEAD_BYTES as SCENARIO_HEAD_BYTES,
        is_scenario as is_scenario,
        load_scenario as load_scenario,
        read_scenario as read_scenario,
    )
    from podwright.simulation.scenarios.scenario_file import (
        Files as Files,
        ScenarioFile as ScenarioFile,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
