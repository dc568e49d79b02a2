"""Small and wide problems run on one BLAS thread, large dense ones as the user set it; nothing stays changed."""

from threadpoolctl import threadpool_info, threadpool_limits

from shortlist.solvers.threads import DENSE_AND_LARGE, blas_threads


def threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_threads_are_limited_inside_and_restored_after():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        for n_columns in (DENSE_AND_LARGE.start - 1, DENSE_AND_LARGE.stop):
            with blas_threads(n_columns):
                assert threads() == {1}
            assert threads() == before
        with blas_threads(DENSE_AND_LARGE.start):
            assert threads() == before
