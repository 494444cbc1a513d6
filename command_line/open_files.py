"""How many files a process may have open."""

import contextlib

ENOUGH = 1 << 16


def allow_many() -> None:
    """Raise the soft limit as far as the system lets: the usual 1,024 are too few for hundreds of
    directions, each of which is several files that stay open.
    """
    try:
        import resource
    except ImportError:  # not a Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # the work may do with few
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
