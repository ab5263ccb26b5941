"""A cluster without a network: stored objects, the API to them, controllers and kubelets.

Start in `api`, through which each write goes. It knows no scheduler: bindings and evictions are
requests like any other.
"""
