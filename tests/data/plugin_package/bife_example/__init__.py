"""A package that adds a family, a search, a generator and a method to BiFE, as the pages in docs/ describe."""
