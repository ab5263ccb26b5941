"""Strategies for histories: documents with few distinct names and values, so that they coincide.

`documents` draws Kubernetes objects as the API server stores them, and `own_plugins` has plugins as
users write them.
"""
