"""What becomes of nodes and pods by themselves, after KWOK's Stages.

Start with `stage.py` (what a stage is), then `lifecycle.py` (the machine that plays them),
`fast_stages.py` and `run_stages.py` (those that are built in), `documents.py` (how others
are read).
"""

from podwright.api import RecordEvent
from podwright.stages.annotation_stages import EXIT_CODE, RUN_DELAY, default_stages
from podwright.stages.fast_stages import FAST_STAGES, fast_stages
from podwright.stages.lifecycle import (
    Lifecycle,
    LifecycleAction,
    LifecycleEvent,
    ScheduleStage,
    StageDue,
    StageError,
)
from podwright.stages.object_state import LifecycleState
from podwright.stages.stage import Stage
from podwright.stages.stage_reader import API_VERSION, read_stage, read_stages

__all__ = [
    "API_VERSION",
    "EXIT_CODE",
    "FAST_STAGES",
    "RUN_DELAY",
    "Lifecycle",
    "LifecycleAction",
    "LifecycleEvent",
    "LifecycleState",
    "RecordEvent",
    "ScheduleStage",
    "Stage",
    "StageDue",
    "StageError",
    "default_stages",
    "fast_stages",
    "read_stage",
    "read_stages",
]
