"""The longer fuzzing of files, guided by coverage: ``make fuzz``, or ``python -m tests.persist.fuzz_files FOLDER``.

What libFuzzer makes is taken as a file where it begins like one, and else as the seed of changes to a sound file: its
header, its blocks, the schema and the arrays of its part.  A finding is any error but a ValueError while loading, more
than 2 GB of memory, or the end of the interpreter, on loading or on use.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from random import Random

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["shortlist.persist", "skops"]):
    import skops.io  # noqa: F401

    from shortlist.persist._container import MAGIC
    from tests.persist.forge import Part, apart, attempt, changed_array, changed_block, mutated, saved, together
    from tests.persist.test_fuzz import X, models

FOLDER = Path(tempfile.mkdtemp())
FILES = {name: saved(model, FOLDER) for name, model in models().items()}


def one_input(data: bytes) -> None:
    if data.startswith(MAGIC[:7]):
        attempt(data, X)
        return
    random = Random(data)
    name = random.choice(list(FILES))
    what = random.randrange(4 if name not in ("linear", "kernel") else 2)
    if what < 2:
        header, blocks = apart(FILES[name])
        del header["blocks"]
        if what == 0:
            header = mutated(header, random, random.randint(1, 3))
        else:
            changed_block(blocks, random)
        attempt(together(header, blocks, FOLDER), X)
        return
    part = Part(FILES[name])
    if what == 2:
        part.schema = mutated(part.schema, random, random.randint(1, 3))
    else:
        changed_array(part, random)
    attempt(part.data(FOLDER), X)


def main() -> None:
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for name, data in FILES.items():
        (corpus / name).write_bytes(data)
    atheris.Setup([*sys.argv, "-rss_limit_mb=4000", "-timeout=120", "-max_len=200000"], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
