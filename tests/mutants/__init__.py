"""Mutation tests: whether tests detect changes of the code. `make mutants` runs them.

A mutant is one small change of one line. The tests that run the changed line run on a copy of the
tree that has the change. A mutant is killed when one of them fails, and survives otherwise.
`areas.toml` lists the mutated folders and the tests that may kill mutants, `equivalent.toml` the
mutants that change no behavior.

Start with `__main__`. `sample` draws mutants with the operators of Cosmic Ray and those in
`operators` and `expressions`, `reach` records which test runs which line, `workers` runs tests on
copies, `stages` performs a whole run, and `report` prints it. `javascript` is a tool by itself, for
the page's modules.
"""
