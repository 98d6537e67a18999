"""What a check of the model looks at, by listing: how late leaves join."""


def lateness(children):
    """For each leaf 1 / m, m the number of lineages before it joins another."""
    n = len(children) + 1
    found = [0.0] * n
    for k, pair in enumerate(children):
        for c in pair:
            if c < n:
                found[c] = 1.0 / (n - k)
    return found
