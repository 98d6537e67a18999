"""``coaltree check``: does the model describe the data?"""

from pathlib import Path

from ..options import posterior_argument
from ..shell import commands, echo


@commands.command()
@posterior_argument
def check(posterior: Path) -> None:
    """Check whether the model describes the data.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Each check has a p-value, what was seen and,
    where something is wrong, which option to try. The exit status is 0 in any case.

    \b
    Examples:
      coaltree check wines
      coaltree check wines/posterior.npz
    """
    from ...posterior.io.archive import load

    echo(load(posterior).check().to_text(options=True))
