"""What the Python programs share, as commands.js for Node: a command is one JSON object a line on standard input,
{"do": name, …}, and is answered by one line on standard output, {"result": …} or {"error": text}. The end of the input ends
the program."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

PATIENCE = 60  # seconds, for what other processes bring about


def serve(commands):
    """Answers each command with the method of that name of commands, which takes what comes with it as keywords."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print write to standard error
    for line in sys.stdin:
        args = json.loads(line)
        try:
            answer = {"result": getattr(commands, args.pop("do"))(**args)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


def wait(what, condition, log=None):
    """Waits for a condition; log is the file that says why it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}:\n{log.read_text() if log else ''}")
        time.sleep(0.02)


class Crew:
    """A worker process with those that it starts, which holds jobs until told how they end."""

    def __init__(self, command, size, **environ):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="leadsman-crew-"))
        self.log = self.dir / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "HELD": str(self.dir), **environ})
        try:
            wait(f"{size} jobs to begin", lambda: len(list(self.dir.glob("begun *"))) == size or self.ended(), self.log)
            self.check()
        except BaseException:
            self.kill()
            raise

    def ended(self):
        return self.process.poll() is not None

    def check(self):
        if self.ended():
            raise ChildProcessError(f"the worker has ended:\n{self.log.read_text()}")

    def decide(self, verdict):
        """Says how the held jobs end: None for well, or what they are to fail with."""
        draft = self.dir / "draft"
        draft.write_text(json.dumps(verdict))
        draft.rename(self.dir / "verdict")

    def stop(self):
        """Ends the worker in order."""
        self.process.terminate()
        self.gone()

    def kill(self):
        """Ends the worker as a crash does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.gone()

    def gone(self):
        self.process.wait(PATIENCE)
        self.process.stdin.close()  # the leash, which would have cut its end short
        shutil.rmtree(self.dir)


def leash():
    """Has a worker process end with the program that started it, whose end is that of its standard input."""
    def hold():
        os.read(0, 1)  # with no lock of Python's, which forked processes would find held
        os.killpg(0, signal.SIGKILL)
    threading.Thread(target=hold, daemon=True).start()


def held(job):
    """Is what a job does: it tells by a file that it has begun, waits for the verdict, and returns that."""
    crew = pathlib.Path(os.environ["HELD"])
    (crew / f"begun {job}").touch()
    verdict = crew / "verdict"
    while not verdict.exists():
        time.sleep(0.02)
    return json.loads(verdict.read_text())
