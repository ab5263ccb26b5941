"""The scheduler: events in, actions out. It knows no cluster, clock or network.

Start in `machine`, which processes an event at a time; `assembly` builds one for a configuration.
"""
