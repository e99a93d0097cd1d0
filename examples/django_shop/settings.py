"""The settings of the shop."""

import json
import os

SECRET_KEY = "only for this example"
DEBUG = False
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "holdfast.contrib.django", "shop"]
DATABASES = {
    "default": json.loads(
        os.environ.get("SHOP_DATABASE", '{"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}')
    )
}
HOLDFAST = {"DATABASE": "default"}
