"""What becomes of nodes and pods by themselves, after KWOK's Stages.

Start with `stage.py` (what a stage is), then `lifecycle.py` (the machine that plays them),
`fast_stages.py` and `run_stages.py` (those that are built in), `documents.py` (how others
are read).
"""

from podwright.api import RecordEvent
from podwright.stages.documents import API_VERSION, read_stage, read_stages
from podwright.stages.fast_stages import FAST_STAGES, fast_stages
from podwright.stages.lifecycle import (
    Lifecycle,
    LifecycleAction,
    LifecycleEvent,
    PlayAt,
    StageDue,
    StageError,
)
from podwright.stages.lives import LifecycleState
from podwright.stages.run_stages import EXIT_CODE, RUN_DELAY, default_stages
from podwright.stages.stage import Stage

__all__ = [
    "API_VERSION",
    "EXIT_CODE",
    "FAST_STAGES",
    "RUN_DELAY",
    "Lifecycle",
    "LifecycleAction",
    "LifecycleEvent",
    "LifecycleState",
    "PlayAt",
    "RecordEvent",
    "Stage",
    "StageDue",
    "StageError",
    "default_stages",
    "fast_stages",
    "read_stage",
    "read_stages",
]
