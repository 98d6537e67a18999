"""Options that commands share, and the files they name."""

from coaltree.cli import commands


def test_out_has_its_short_form_in_every_command():
    n_seen = 0
    for command in commands.commands.values():
        names = [name for param in command.params for name in param.opts]
        assert len(names) == len(set(names))
        assert [opts for opts in (param.opts for param in command.params) if {"-o", "--out"} & {*opts}] in (
            [],
            [["-o", "--out"]],
        )
        n_seen += "-o" in names
    assert n_seen >= 7
