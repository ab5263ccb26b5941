// Functions without a body in main.go need an assembly file in their package.
