"""What `lint-imports` does not see: a package and its own modules that import each other."""

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_by_a_detour():
    graph = grimp.build_graph("bife_core", "bife_tasks", "bife_flows", "bife_rivals", cache_dir=None)
    edges = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(edges).prepare()  # raises an error that names the circle
