"""What is observed of a cycle: explanations, traces, durations."""
