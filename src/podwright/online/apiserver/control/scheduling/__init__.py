"""The endpoints of the scheduler: configuration, queue, explanations, plugins."""
