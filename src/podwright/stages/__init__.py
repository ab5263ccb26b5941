"""What becomes of nodes and pods by themselves, after KWOK's Stages.

Start with `stage.py` (what a stage is), then `lifecycle.py` (the machine that plays them),
`fast_stages.py` and `run_stages.py` (those that are built in), `documents.py` (how others
are read).
"""

from podwright.api.events import RecordEvent
from podwright.stages.documents import read_stage, read_stages
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
from podwright.stages.run_stages import default_stages
from podwright.stages.stage import Stage

__all__ = [
    "FAST_STAGES",
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
