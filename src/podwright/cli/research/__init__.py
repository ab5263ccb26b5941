"""Commands that repeat published experiments: many runs, and a table at the end."""
