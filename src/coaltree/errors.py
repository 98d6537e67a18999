"""What goes wrong in a way the user can mend."""


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence that says what was wrong and what would be right."""


class CoaltreeWarning(UserWarning):
    """A result is usable, but the user should know something about it."""


class ConvergenceWarning(CoaltreeWarning):
    """The chains have not mixed well enough for the figures to be trusted."""
