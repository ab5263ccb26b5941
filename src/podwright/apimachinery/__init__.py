"""Kubernetes' objects as data and types: what all other floors speak of.

Start in `objects`, the structs of what scheduling reads; `schema` knows the fields of every kind.
"""
