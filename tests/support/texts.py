"""Small instances as text."""


def cover(least, name="x", most=1):
    """Return a model in text: choose of five sets so that three rows are covered at least so often."""
    names = [f"{name}{number}" for number in range(5)]
    rows = [names[:3], names[1:4], [names[0], *names[3:]]]
    lines = [f" r{number}: {' + '.join(row)} >= {least}" for number, row in enumerate(rows)]
    costs = " + ".join(f"{3 + 2 * number} {each}" for number, each in enumerate(names))
    bounds = [f" 0 <= {each} <= {most}" for each in names]
    parts = ["Minimize", f" obj: {costs}", "Subject To", *lines, "Bounds", *bounds, "Generals"]
    return "\n".join([*parts, f" {' '.join(names)}", "End", ""])
