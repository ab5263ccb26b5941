"""The simulated kubelet: KWOK's Stages change nodes and pods over time.

The room decides which stage applies to an object, when it is due, and how it changes the object.
It does not write objects, keep time or schedule pods: `Lifecycle` receives events and returns
actions, which its driver executes.

Words used here:

- A *stage* (KWOK's term) is a rule: which objects it matches, a weight, a delay, and steps.
- To *play* a stage is to execute its steps on an object.
- A *step* patches the object, changes its finalizers, records an Event, or deletes it.
- The *basis* of a scheduled stage is the text of everything that its choice and its delay depend
  on. An object's change reschedules its stage only if the basis changes.
- A *fast path* computes the new status of a common pod without documents and patches.

Start with `stage.py` (the structure of a stage), `lifecycle.py` (the state machine that plays
stages) and `stage_scheduler.py` (which one is next, and when). `built_in_stages.py`
contains the built-in stages, and `stage_reader.py` reads Stage documents.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.cluster.api import RecordEvent as RecordEvent
    from podwright.cluster.kubelets.kubelet import (
        ImageBehavior as ImageBehavior,
        read_image_behaviors as read_image_behaviors,
    )
    from podwright.cluster.kubelets.lifecycle import Lifecycle as Lifecycle
    from podwright.cluster.kubelets.object_state import (
        LifecycleAction as LifecycleAction,
        LifecycleEvent as LifecycleEvent,
        LifecycleState as LifecycleState,
        ScheduleStage as ScheduleStage,
        StageDue as StageDue,
    )
    from podwright.cluster.kubelets.pod_statuses import (
        EXIT_CODE as EXIT_CODE,
        RUN_DELAY as RUN_DELAY,
    )
    from podwright.cluster.kubelets.stages.built_in_stages import (
        default_stages as default_stages,
        fast_stages as fast_stages,
        with_own_stages as with_own_stages,
    )
    from podwright.cluster.kubelets.stages.stage import (
        Delay as Delay,
        FastPath as FastPath,
        Requirement as Requirement,
        Stage as Stage,
        Step as Step,
        Weight as Weight,
    )
    from podwright.cluster.kubelets.stages.stage_objects import STAGE as STAGE
    from podwright.cluster.kubelets.stages.stage_play import StageError as StageError
    from podwright.cluster.kubelets.stages.stage_reader import (
        API_VERSION as API_VERSION,
        read_stage as read_stage,
        read_stages as read_stages,
    )
    from podwright.cluster.kubelets.templates.go_templates import Template as Template
    from podwright.cluster.kubelets.templates.template_parser import (
        TemplateError as TemplateError,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
