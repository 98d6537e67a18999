"""``coaltree check``: does the model describe the data?"""

from typing import Any

from ..options import posterior_command
from ..shell import echo


@posterior_command()
def check(posterior: Any) -> None:
    """Check whether the model describes the data.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Each check has a p-value, what was seen and,
    where something is wrong, which option to try. The exit status is 0 in any case.

    \b
    Examples:
      coaltree check wines
      coaltree check wines/posterior.npz
    """
    echo(posterior.check().to_text(options=True))
