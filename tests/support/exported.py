"""Rules out of Python, loaded into the SCIP of this process."""

import ctypes
from pathlib import Path

import pyscipopt

from bench.export import build
from bife_core.solver.export import INCLUDE_FUNCTION, export_c
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.libscip import check, scip_address
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solve import SolveSettings, apply


def load(file):
    """Load a library, or build a C file without SCIP's headers first, so that it finds this process's SCIP."""
    built = file.with_suffix(".so")
    if built != file:
        build(file, built)
    ctypes.CDLL(pyscipopt.scip.__file__, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(built))


def include(code, model):
    """Include the plugin of a library in a model."""
    function = getattr(code, INCLUDE_FUNCTION)
    function.argtypes = [ctypes.c_void_p]
    check(function(scip_address(model)), "include the exported rule")


def exported(reference, folder):
    """Return what attaches an exported rule to a model, without a guard."""
    method = load_method(reference)
    source = folder / f"{Path(method.name).stem}_{method.identity[:8]}.c"
    source.write_text(export_c(reference), encoding="utf-8")
    code = load(source)

    def attach(model):
        include(code, model)
        if "branching/bife/maxshare" in model.getParams():
            model.setParam("branching/bife/maxshare", 0.0)

    return attach


class Branchings(pyscipopt.Eventhdlr):
    """Writes down the branching that led to each node, in the order in which SCIP works on them."""

    def __init__(self):
        self.seen = []

    def eventinit(self):
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEFOCUSED, self)

    def eventexit(self):
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODEFOCUSED, self)

    def eventexec(self, event):
        node = self.model.getCurrentNode()
        change = node.getParentBranchings()
        names = None if change is None else ([v.name for v in change[0]], list(change[1]), list(change[2]))
        self.seen.append((node.getNumber(), names))


def branchings(path, attach, **settings):
    """Solve an instance and return every branching, then the number of LP iterations."""
    model = read_model(path)
    apply(SolveSettings(**settings), model)
    kept = attach(model)
    log = Branchings()
    model.includeEventhdlr(log, "branchings", "")
    model.optimize()
    del kept
    return [*log.seen, model.getNLPIterations()]
