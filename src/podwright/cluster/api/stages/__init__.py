"""The stages of writes: functions of the parts of a cluster and of a `Write`.

`pipeline.py` lists which stages a write passes, and in which order. `write.py` has the write and
the parts; the modules are named after what their stages do.
"""
