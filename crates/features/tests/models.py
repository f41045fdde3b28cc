"""Prints the products of a feature model, a line of concrete features each, as uvllang and a SAT solver find them."""

import sys

from pysat.solvers import Solver
from uvllang import UVL

model, abstract = sys.argv[1], set(sys.argv[2:])
cnf = UVL(from_file=model).to_cnf()
names = {}
for comment in cnf.comments:
    _, number, name = comment.split(" ", 2)
    names[int(number)] = name.strip('"')
with Solver(bootstrap_with=cnf.clauses) as solver:
    for selection in solver.enum_models():
        features = {names[literal] for literal in selection if literal > 0 and literal in names}
        print(*sorted(features - abstract))
