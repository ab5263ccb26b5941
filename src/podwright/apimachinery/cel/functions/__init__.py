"""The functions of expressions: the language's own, its extensions', Kubernetes'."""
