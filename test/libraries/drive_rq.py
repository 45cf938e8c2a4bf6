"""Drives RQ, as Debian's package has it; its workers are forks of this program, each of which runs one job. Times are seconds
from now. The commands, besides the id that open answered:

  open     {url}                    → id
  enqueue  {queue, n}               → [job id]
  schedule {queue, n, after}        → [job id]; a negative after makes them due and not moved
  depend   {queue, n}               → [job id]: jobs that wait for one in the queue f"{queue}-first"
  start    {queue, n}               has n workers claim a job each, and hold it
  finish   {queue}                  lets the held jobs complete, and ends their workers
  fail     {queue, after}           lets them fail, to be tried again after a time, or never when that is absent
  abandon  {queue}                  ends their workers as a crash does: RQ takes the jobs for running until their time is up
  move     {queue}                  moves what is due into the queue, as the scheduler of a worker does
  clean    {queue}                  takes care of the jobs of dead workers, as a worker that starts does
  suspend  {}, resume {}            stops and starts all workers
  cancel   {queue, jobs}            cancels jobs by their ids
  report   {queue}                  → {counts: {queued, started, scheduled, …}, paused, workers}, as RQ says
  close    {}                       ends what is left, as abandon does
"""
import datetime
import json
import os
import select
import signal
import sys
import traceback
import types

import redis
import rq
import rq.job
import rq.registry
import rq.scheduler
import rq.suspension

import commands

REGISTRIES = {
    "started": rq.registry.StartedJobRegistry, "scheduled": rq.registry.ScheduledJobRegistry,
    "deferred": rq.registry.DeferredJobRegistry, "failed": rq.registry.FailedJobRegistry,
    "finished": rq.registry.FinishedJobRegistry, "canceled": rq.registry.CanceledJobRegistry,
}


class Crew:
    """Workers that hold a job each until they are told how it ends, and that end with this program."""

    RECORD = 32  # bytes of a verdict, of which each job reads one

    leashes = set()  # the ends of pipes that keep workers waiting, which no worker may keep open itself

    def __init__(self, size, work):
        """Has each of so many processes call work, and waits until each has called hold."""
        begun, self.begin = os.pipe()
        self.verdict, self.leash = os.pipe()
        self.leashes.add(self.leash)
        self.pids = [self.fork(work) for _ in range(size)]
        os.close(self.begin)
        os.close(self.verdict)
        for _ in range(size):
            if not select.select([begun], [], [], commands.PATIENCE)[0] or not os.read(begun, 1):
                raise TimeoutError("jobs did not begin")
        os.close(begun)

    def fork(self, work):
        pid = os.fork()
        if pid:
            return pid
        for leash in self.leashes:
            os.close(leash)
        try:
            work(self)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)

    def hold(self):
        """Is what a job does. It returns after how many seconds to try again, or None for never, when the job is to fail."""
        os.write(self.begin, b".")
        record = os.read(self.verdict, self.RECORD)
        if not record:
            os._exit(1)  # the program has ended, or wants a crash
        return json.loads(record)

    def end(self, **verdict):
        """Says to each job how it ends, and waits for the workers to end by themselves."""
        for _ in self.pids:
            os.write(self.leash, json.dumps(verdict).encode().ljust(self.RECORD))
        self.gone()

    def kill(self):
        """Ends the workers, and so their jobs, as a crash does."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.gone()

    def gone(self):
        self.leashes.remove(self.leash)
        os.close(self.leash)
        for pid in self.pids:
            os.waitpid(pid, 0)


# RQ knows a job by the name of what it calls.
HOLD = "held.hold"
held = sys.modules["held"] = types.ModuleType("held")


def hold():
    verdict = held.crew.hold()
    if "fail" not in verdict:
        return
    if verdict["fail"] is not None:  # RQ has the job say whether it may be tried again, and when
        job = rq.job.get_current_job()
        job.retries_left, job.retry_intervals = 1, [verdict["fail"]]
    raise RuntimeError("failed on purpose")


held.hold = hold


class Session:
    """What was opened."""

    def __init__(self, url):
        self.url = url
        self.redis = redis.Redis.from_url(url)
        self.crews = {}  # by queue

    def queue(self, name):
        return rq.Queue(name, connection=self.redis)

    def start(self, name, size):
        def work(crew):
            held.crew = crew
            worker = rq.Worker([name], connection=redis.Redis.from_url(self.url))
            worker.work(burst=True, max_jobs=1, logging_level="CRITICAL")
        self.crews.setdefault(name, []).append(Crew(size, work))


class Commands:
    """The commands."""

    def __init__(self):
        self.sessions = {}

    def open(self, url):
        self.sessions[len(self.sessions)] = Session(url)
        return len(self.sessions) - 1

    def enqueue(self, id, queue, n):
        jobs = [rq.Queue.prepare_data(HOLD) for _ in range(n)]
        return [job.id for job in self.sessions[id].queue(queue).enqueue_many(jobs)]

    def schedule(self, id, queue, n, after):
        due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=after)
        return [self.sessions[id].queue(queue).enqueue_at(due, HOLD).id for _ in range(n)]

    def depend(self, id, queue, n):
        first = self.sessions[id].queue(f"{queue}-first").enqueue(HOLD)
        return [self.sessions[id].queue(queue).enqueue(HOLD, depends_on=first).id for _ in range(n)]

    def start(self, id, queue, n):
        self.sessions[id].start(queue, n)

    def finish(self, id, queue):
        for crew in self.sessions[id].crews.pop(queue):
            crew.end()

    def fail(self, id, queue, after=None):
        for crew in self.sessions[id].crews.pop(queue):
            crew.end(fail=after)

    def abandon(self, id, queue):
        for crew in self.sessions[id].crews.pop(queue):
            crew.kill()

    def move(self, id, queue):
        scheduler = rq.scheduler.RQScheduler([queue], connection=self.sessions[id].redis)
        scheduler.acquire_locks()
        scheduler.enqueue_scheduled_jobs()
        scheduler.release_locks()

    def clean(self, id, queue):
        rq.registry.clean_registries(self.sessions[id].queue(queue))

    def suspend(self, id):
        rq.suspension.suspend(self.sessions[id].redis)

    def resume(self, id):
        rq.suspension.resume(self.sessions[id].redis)

    def cancel(self, id, queue, jobs):
        for job in jobs:
            self.sessions[id].queue(queue).fetch_job(job).cancel()

    def report(self, id, queue):
        q = self.sessions[id].queue(queue)
        counts = {state: registry(queue=q).count for state, registry in REGISTRIES.items()}
        paused = bool(rq.suspension.is_suspended(q.connection))
        return {"counts": {"queued": q.count, **counts}, "paused": paused, "workers": rq.Worker.count(queue=q)}

    def close(self, id):
        session, self.sessions[id] = self.sessions[id], None
        for crews in session.crews.values():
            for crew in crews:
                crew.kill()
        session.redis.close()


commands.serve(Commands())
