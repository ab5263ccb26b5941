"""What becomes of nodes and pods by themselves, after KWOK's Stages.

Start with `stage.py` (what a stage is), then `lifecycle.py` (the machine that plays them),
`fast_stages.py` and `run_stages.py` (those that are built in), `documents.py` (how others
are read).
"""
