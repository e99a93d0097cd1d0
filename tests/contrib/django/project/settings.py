"""The settings of the test project. Environment variables choose the database and the setting HOLDFAST."""

import json
import os
from importlib import import_module
from importlib.util import find_spec

SECRET_KEY = "only for tests"
DEBUG = bool(os.environ.get("SHOP_DEBUG"))
USE_TZ = True
ROOT_URLCONF = "urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "holdfast.contrib.django",
    "shop",
]
if find_spec("django.tasks") is None:
    INSTALLED_APPS.append("django_tasks")
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {
    "default": json.loads(
        os.environ.get("SHOP_DATABASE", '{"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}')
    ),
    "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": "other.sqlite3"},
}
DATABASES["default"].setdefault("CONN_MAX_AGE", None)
HOLDFAST = json.loads(os.environ.get("SHOP_HOLDFAST", '{"DATABASE": "default"}'))
TASKS = {"default": {"BACKEND": "holdfast.contrib.django.HoldfastBackend", "QUEUES": []}}
if extra := os.environ.get("SHOP_IMPORT"):
    import_module(extra)
