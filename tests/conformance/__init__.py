"""Recorded exchanges with a real kube-apiserver, replayed without a socket."""
