// Functions without a body in controllers.go need an assembly file in their package.
