"""Texts in objects and files: times, durations, cron schedules, YAML, Go's notations."""
