"""What writes mean for pods: binding, eviction, quality of service, references."""
