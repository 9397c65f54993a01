"""Writing files so that no reader ever sees half of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; move it into place when the block ends well.

    The directories above are made. If the block raises, or deletes what it wrote, `path` stays as it was
    and nothing is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        if aside.exists():
            with aside.open("rb") as written:
                os.fsync(written.fileno())
            aside.chmod(0o644)
            aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
