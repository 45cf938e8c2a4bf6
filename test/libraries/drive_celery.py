"""Drives Celery, as Debian's package has it; its workers are processes of Celery's own program. Times are seconds from now.
The commands, of which open answers 1, for it has one server at a time:

  open     {url, config}            config is more of Celery's settings, such as {"task_acks_late": true} or
                                    {"broker_transport_options": {"global_keyprefix": "app:"}}
  enqueue  {queue, n, job}          → [task id]; job is more of send_task's options, such as {"priority": 3}
  schedule {queue, n, after}        → [task id]; Celery puts them into the queue, and the worker that gets them waits
  start    {queue, n}               has a worker of n processes begin n tasks, and hold them. It takes more messages than it
                                    begins: for later, and without task_acks_late as many as worker_prefetch_multiplier
                                    (here 1) says for each process
  finish   {queue}                  lets the held tasks complete, and ends their workers, which give back what they did not
                                    begin
  fail     {queue, after}           lets them fail, to be tried again after a time, or never when that is absent
  abandon  {queue}                  kills their workers: what they did not acknowledge stays so for an hour
  report   {queue}                  → {counts: {messages, active, reserved, scheduled}, paused: false, workers}: how many
                                    messages are in the queue, and what the workers say that they have of it
  close    {}                       ends what is left, as abandon does
"""
import datetime
import json
import sys

import commands
from celery_held import application


class Commands:
    """The commands."""

    def __init__(self):
        self.crews = {}

    def open(self, url, config=None):
        self.config = {"broker_url": url, "worker_prefetch_multiplier": 1, **(config or {})}
        self.app = application(self.config)
        return 1

    def enqueue(self, queue, n, job=None, **_):
        return [self.app.send_task("held", queue=queue, ignore_result=True, **(job or {})).id for _ in range(n)]

    def schedule(self, queue, n, after, **_):
        eta = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=after)
        return self.enqueue(queue, n, {"eta": eta})

    def start(self, queue, n, **_):
        name = f"{queue}-{len(self.crews.get(queue, []))}@localhost"
        command = [sys.executable, "-m", "celery", "--app", "celery_held", "worker", "--queues", queue, "--concurrency", str(n),
                   "--hostname", name, "--without-mingle", "--without-gossip"]
        crew = commands.Crew(command, n, HELD_CONFIG=json.dumps(self.config))
        crew.name = name
        self.crews.setdefault(queue, []).append(crew)
        # It acknowledges what it begins, if at all then, before it answers.
        commands.wait("Celery to show the tasks", lambda: len(self.ask(crew, "active")) == n, crew.log)

    def finish(self, queue, **_):
        self.end(queue, None)

    def fail(self, queue, after=None, **_):
        self.end(queue, {"after": after})

    def end(self, queue, verdict):
        for crew in self.crews.pop(queue):
            self.app.control.cancel_consumer(queue, destination=[crew.name], reply=True, timeout=commands.PATIENCE, limit=1)
            crew.decide(verdict)
            commands.wait("the tasks to end", lambda: not self.ask(crew, "active"), crew.log)
            crew.stop()

    def abandon(self, queue, **_):
        for crew in self.crews.pop(queue, []):
            crew.kill()

    def report(self, queue, **_):
        with self.app.connection_for_read() as connection:
            messages = connection.default_channel._size(queue)
        workers = [crew for crews in self.crews.values() for crew in crews]
        counts = {"messages": messages}
        for kind in ("active", "reserved", "scheduled"):
            tasks = [task.get("request", task) for crew in workers for task in self.ask(crew, kind)]
            counts[kind] = sum(task["delivery_info"]["routing_key"] == queue for task in tasks)
        return {"counts": counts, "paused": False, "workers": len(workers)}

    def ask(self, crew, kind):
        """Asks a worker for its tasks: active, reserved or scheduled."""
        crew.check()
        inspect = self.app.control.inspect(destination=[crew.name], timeout=5, limit=1)
        return (getattr(inspect, kind)() or {}).get(crew.name, [])

    def close(self, **_):
        for queue in list(self.crews):
            self.abandon(queue)


instance = Commands()
commands.serve(instance)
instance.close()
