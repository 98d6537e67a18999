"""Sparse matrices of neighbours in files: all of SciPy's formats are read, and nothing that they claim is believed."""

import numpy as np
import pytest
from scipy import sparse

from coaltree.cli.tables.sparse_files import read_sparse_matrix
from coaltree.errors import InputError

DENSE = np.array([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0, 4], [5, 0, 6, 0]], float)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia"])
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
@pytest.mark.parametrize("compressed", [True, False])
def test_read_sparse_matrix_reads_what_scipy_writes(kind, make, compressed, tmp_path):
    sparse.save_npz(tmp_path / "x.npz", make(DENSE).asformat(kind), compressed=compressed)
    np.testing.assert_array_equal(read_sparse_matrix(tmp_path / "x.npz", 4).toarray(), DENSE)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 2), (2, 4)])
def test_read_sparse_matrix_reads_blocks(blocks, tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(DENSE).tobsr(blocks))
    np.testing.assert_array_equal(read_sparse_matrix(tmp_path / "x.npz", 4).toarray(), DENSE)


def test_read_sparse_matrix_leaves_out_room_behind_the_last_entry(tmp_path):
    matrix = sparse.csr_array(DENSE)
    parts = {"indices": np.append(matrix.indices, 99), "indptr": matrix.indptr, "data": np.append(matrix.data, 7.0)}
    np.savez(tmp_path / "x.npz", format=b"csr", shape=(4, 4), **parts)
    np.testing.assert_array_equal(read_sparse_matrix(tmp_path / "x.npz", 4).toarray(), DENSE)


def test_read_sparse_matrix_wants_a_row_for_each_row_of_the_table(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(DENSE))
    with pytest.raises(InputError, match="a row and a column for each of the 5 rows of the table, not 4 x 4"):
        read_sparse_matrix(tmp_path / "x.npz", 5)
