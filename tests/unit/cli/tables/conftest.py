"""Tables written to files and read again."""

import pytest

from coaltree import InputError
from coaltree.cli.tables.reading import TableOptions, read_file


@pytest.fixture(scope="session")
def read():
    """Read the table in a file."""
    return lambda path, **options: read_file(path, TableOptions(**options)).table


@pytest.fixture
def table(read, tmp_path):
    """Write text (or bytes) to a file and read it as a table."""

    def write_and_read(text, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path, **options)

    return write_and_read


@pytest.fixture
def refused(table):
    """The message, in one line, with which such a file is refused."""

    def message(*args, **options):
        with pytest.raises(InputError) as info:
            table(*args, **options)
        assert "\n" not in str(info.value)
        return str(info.value)

    return message
