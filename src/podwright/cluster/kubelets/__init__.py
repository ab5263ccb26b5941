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
stages) and `stage_scheduler.py` (which one is next, and when). `fast_stages.py` and
`annotation_stages.py` contain the built-in stages, and `stage_reader.py` reads Stage documents.
"""

from podwright.cluster.api import RecordEvent
from podwright.cluster.kubelets.kubelet import ImageBehavior, read_image_behaviors
from podwright.cluster.kubelets.lifecycle import Lifecycle
from podwright.cluster.kubelets.lifecycle_events import (
    LifecycleAction,
    LifecycleEvent,
    ScheduleStage,
    StageDue,
)
from podwright.cluster.kubelets.object_state import LifecycleState
from podwright.cluster.kubelets.pod_annotations import EXIT_CODE, RUN_DELAY
from podwright.cluster.kubelets.stages.annotation_stages import default_stages
from podwright.cluster.kubelets.stages.fast_stages import FAST_STAGES, fast_stages
from podwright.cluster.kubelets.stages.stage import (
    Delay,
    FastPath,
    Requirement,
    Stage,
    Step,
    Weight,
)
from podwright.cluster.kubelets.stages.stage_failures import StageError
from podwright.cluster.kubelets.stages.stage_reader import API_VERSION, read_stage, read_stages

__all__ = [
    "API_VERSION",
    "EXIT_CODE",
    "FAST_STAGES",
    "RUN_DELAY",
    "Delay",
    "FastPath",
    "ImageBehavior",
    "Lifecycle",
    "LifecycleAction",
    "LifecycleEvent",
    "LifecycleState",
    "RecordEvent",
    "Requirement",
    "ScheduleStage",
    "Stage",
    "StageDue",
    "StageError",
    "Step",
    "Weight",
    "default_stages",
    "fast_stages",
    "read_image_behaviors",
    "read_stage",
    "read_stages",
]
