"""A package that adds a family, a search, a generator, a component and a method, as the pages in docs/ describe."""
