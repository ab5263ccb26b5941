"""The commands that compare: decisions, runs, rules, and runs with what is expected."""
