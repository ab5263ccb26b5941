"""What the registry of each kind does with its objects in a write, whoever makes it.

`kinds` has the facts of each kind, `preparation` prepares new and changed objects, for services,
devices and certificates with modules of their names. Nothing here validates new objects or writes
to the store.

Upstream: pkg/registry/*/*/strategy.go
"""
