"""The commands that plan changes of a cluster."""
