"""Every file that noregret reads, spoiled in many ways: each ends in success or one clear line, soon, and in little memory.

``pytest tests/fuzz --fuzz-cases 100000`` tries more; ``python -m tests.fuzz.worker agent 17 18`` tries case 17 again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.reader import ALL
from tests.fuzz.readers import READERS


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_spoiled_files_end_in_success_or_one_line(name: str, request: pytest.FixtureRequest) -> None:
    cases, shares = request.config.getoption("--fuzz-cases"), {name: reader.share for name, reader in READERS.items()}
    cases = (
        round(cases * shares[name] / sum(share for share in shares.values() if share < ALL)) if shares[name] < ALL else cases
    )
    limit = 120 + cases  # a case that cannot be interrupted ends here
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.worker", name, "0", str(cases)],
        capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=limit, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    wrong = [json.loads(line) for line in lines if line.startswith("{")]
    assert not wrong, "\n\n".join(f"case {each['case']}: {each['wrong']}" for each in wrong[:5])
    assert done.returncode == 0, f"ended with {done.returncode} at case {lines[-1:]}: {done.stderr[-2000:]}"
    assert lines[-1] == str(cases - 1)
