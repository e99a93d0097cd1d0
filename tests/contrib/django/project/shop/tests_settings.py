"""The settings of Holdfast, and the checks of them."""

from unittest.mock import patch

from django.conf import settings
from django.db import connection
from django.test import SimpleTestCase, override_settings

from holdfast.contrib.django import client
from holdfast.contrib.django.checks import check_settings
from holdfast.contrib.django.models import Attempt, Chain, Job, Schedule
from holdfast.contrib.django.testing import drain
from shop import holdfast_jobs, tasks


class ConfigurationCases(SimpleTestCase):
    def test_mistakes_are_reported(self):
        for given, text in {
            "redis://": "is a dict",
            ("DATABASE", "nowhere"): "DATABASES has: default, other",
            ("DATABSE", "default"): "unknown keys: DATABSE",
            ("DATABASE", 7): "is a text, not int",
            ("STORE", "redi://x"): "there is no store for redi://",
        }.items():
            with override_settings(HOLDFAST=dict([given]) if isinstance(given, tuple) else given):
                assert text in " ".join(error.msg for error in check_settings(None)), given
        with override_settings(HOLDFAST={"DATABASE": "default", "STORE": "redis://x"}):
            assert "either an alias or an address" in check_settings(None)[0].msg
        with override_settings(TASKS={"default": {**settings.TASKS["default"], "OPTIONS": {"retries": 3}}}):
            assert "has retries" in tasks.add.get_backend().check()[0].msg
        with patch.dict(connection.settings_dict, OPTIONS={"pool": True}):
            assert "a pool whose connections are not checked" in check_settings(None)[0].msg
        assert check_settings(None) == []

    def test_the_models_read_the_database_of_the_setting(self):
        for model in (Attempt, Chain, Job, Schedule):
            assert model.objects.all().db == "default"
            with override_settings(HOLDFAST={"DATABASE": "other"}):
                assert model.objects.all().db == "other"
                assert model.objects.using("default").db == "default"

    def test_another_store(self):
        with override_settings(HOLDFAST={"STORE": "memory://django-tests"}):
            result = tasks.add.enqueue(1, b=5)
            chain = client().start(holdfast_jobs.fulfil.bind(order=1))
            client().cancel(chain.id)
            drain()
            result.refresh()

            assert result.return_value == 6
            assert [each.id for each in client().list_chains(type="shop.tasks.add").items] == [result.id]
