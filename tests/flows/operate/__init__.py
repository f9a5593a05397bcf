"""A package, so that pytest stops its servers after the last test here."""
