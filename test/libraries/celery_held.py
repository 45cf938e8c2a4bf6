"""The Celery application of drive_celery.py and of its workers, which Celery's own program runs."""
import json
import os

import celery

import commands


def application(config):
    """Makes an application with these settings."""
    made = celery.Celery("held", set_as_current=False)
    made.conf.update(config)

    @made.task(bind=True, name="held", max_retries=None)
    def held(self):
        verdict = commands.held(self.request.id)
        if verdict is None:
            return
        if verdict["after"] is None:
            raise RuntimeError("failed on purpose")
        raise self.retry(countdown=verdict["after"])

    return made


if "HELD" in os.environ:  # in a worker
    commands.leash()
    app = application(json.loads(os.environ["HELD_CONFIG"]))
