"""Cells of kubectl's tables, a module for each API group or idea.

A kind has its columns in `tools/schema/completions.toml`. A column is a list of its name, type,
format, priority (1 for columns that `-o wide` adds), cell and description. The cell is one of:

`.spec.handler`
    The value of a field. If it is absent, null or "", the cell is the zero value of the column's
    type; or what follows a `|`, as JSON if it is JSON: `.spec.attachRequired|true`,
    `.spec.nodeName|<none>`.
`age .metadata.creationTimestamp`
    The time since a timestamp, `<unknown>` if it is absent and there is no `|`.
`count .spec.drivers`
    The value of a field after another conversion, see `CONVERSIONS` in `cells.py`. An absent
    value is converted like null if there is no `|`.
`pods:ready`
    A function of a module of this folder::

        def ready(pod: Document) -> Cell:
            return "1/1"

    It receives the whole object as JSON, of which any field may be absent.
`pods:restarts now`
    A function that also receives the time, in nanoseconds since 1970.

Cells have the values of the JSON of a Table; a column of type string may have numbers, as upstream.

Upstream: pkg/printers/internalversion/printers.go
"""
