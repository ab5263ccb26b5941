"""Kubernetes' objects as data and types: the terms of all other floors.

Start in `objects`, the structs of what scheduling reads; `schema` knows the fields of every kind.
"""
