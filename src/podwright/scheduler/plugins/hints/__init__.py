"""Queueing hints of the in-tree plugins, one module per plugin.

Each module has `events_to_register(...)`: the cluster events that could undo the plugin's
rejection, with their hint functions. What a hint needs besides the objects of the
event (namespace labels, arguments) is a parameter. The plugin modules return these from
their own `events_to_register`; nothing here knows a plugin.
"""
