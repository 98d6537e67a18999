"""``coaltree check``: does the model of a posterior hold?"""

import re

import click

from ..shell import commands, debug_option, load_posterior, posterior_argument


@commands.command()
@posterior_argument
@debug_option
def check(posterior):
    """Check whether the model describes the data.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Each check has a p-value, what was seen and,
    where something is wrong, which option to try. The exit status is 0 whatever is found.

    \b
    Examples:
      coaltree check wines
      coaltree check wines/posterior.npz
    """
    click.echo(as_options(str(load_posterior(posterior).check())))


def as_options(text: str) -> str:
    """Arguments of `coaltree.fit` as options of the command line."""
    text = re.sub(rf"{_NO_OPTION} or ", "", text)
    text = re.sub(_NO_OPTION, r"\g<0> in Python, for which there is no option", text)
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    return text


_NO_OPTION = r"noise=ct\.Noise\([^)]*\)"  # degrees of freedom
OPTIONS = {
    'noise="student"': "--noise student",
    'noise="learn"': "--noise learn",
    "noise=0": "--noise 0",
    'covariance="diagonal", or "full"': "--covariance diagonal or full",
    'covariance="full"': "--covariance full",
    "groups=": "--groups",
}
