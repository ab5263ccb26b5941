"""What histories are made of: documents of few distinct names and values, so that they meet.

`documents` draws Kubernetes objects as the API server stores them, `own_plugins` holds
plugins as users write them.
"""
