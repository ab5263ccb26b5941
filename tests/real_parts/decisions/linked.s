// Functions without a body in linked.go need an assembly file in their package.
