"""Where Kubernetes has expressions: policies, device selectors, schemas, stages."""
