"""The settings for the tests of Django."""

import json
import os
from importlib.util import find_spec

SECRET_KEY = "only for tests"
USE_TZ = True
DATABASES = {"default": json.loads(os.environ["SHOP_DATABASE"])}
INSTALLED_APPS = ["holdfast.contrib.django"]
if find_spec("django.tasks") is None:
    INSTALLED_APPS.append("django_tasks")
TASKS = {"default": {"BACKEND": "adapted_backends.DummyBackend", "QUEUES": []}}
TEST_RUNNER = "upstream_runner.Runner"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
