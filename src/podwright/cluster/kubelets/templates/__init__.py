"""What Stage documents contain besides YAML: Go templates, jq, CEL."""
