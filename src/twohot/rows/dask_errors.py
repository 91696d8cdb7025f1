"""What can go wrong where Dask works: a chunk that cannot be computed, a cluster that is gone."""

from twohot._checks.messages import ArgumentError, counted


class ChunkError(RuntimeError):
    """A chunk on which something failed."""


class ClusterLostError(ArgumentError):
    """A cluster that went away, or lost what it held, while it was working."""


def cluster_lost(address: str, cause: str) -> ClusterLostError:
    """Return an error that says which cluster is gone, why, and how a fit could resume.

    Examples
    --------
    >>> print(cluster_lost("tcp://10.0.0.1:8786", "connection closed"))
    the Dask cluster at tcp://10.0.0.1:8786 went away or was restarted in the middle of the work
    (connection closed): start one and fit again; with checkpoint=… a fit resumes after its last
    finished round.
    """
    happened = "went away or was restarted in the middle of the work"
    problem = f"the Dask cluster at {address} {happened} ({cause})"
    resume = "with {checkpoint} a fit resumes after its last finished round."
    return ClusterLostError("", problem, f"start one and fit again; {resume}", checkpoint=...)


def lost_after(error: ClusterLostError, n_rounds: int, path: str) -> ClusterLostError:
    """Return the error of a fit that has a file of finished rounds: what is kept, and where."""
    are = "is" if n_rounds == 1 else "are"
    kept = f"{counted(n_rounds, 'finished round')} {are} kept"
    advice = f"start a cluster and fit again with {{checkpoint}} to resume: {kept} there."
    return ClusterLostError("", error.problem, advice, checkpoint=path)
