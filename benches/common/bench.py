"""Shared by the benchmarks in Python."""
import os, re, subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def call(*command, **options):
    """Runs a command and returns its output; ends this program if the command fails."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def graphmap():
    """Returns the path of graphmap: the value of GRAPHMAP, or a release build."""
    if "GRAPHMAP" not in os.environ:
        call("cargo", "build", "--release", "--quiet", "--locked", cwd=ROOT)
        target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
        os.environ["GRAPHMAP"] = str(Path(target).resolve() / "release/graphmap")
    return os.environ["GRAPHMAP"]


def with_replicas(text, replicas):
    """Returns the graph with another number in its first `replicas=`."""
    text, found = re.subn(r"replicas=\d+", f"replicas={replicas}", text, count=1)
    assert found, text
    return text


def memory(pids):
    """Returns the memory of OS processes in bytes, with shared pages counted once."""
    sizes = [re.search(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1] for pid in pids]
    return 1024 * sum(map(int, sizes))
