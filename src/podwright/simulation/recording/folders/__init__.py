"""Run folders: inputs, options, tables and states of a recorded run."""
