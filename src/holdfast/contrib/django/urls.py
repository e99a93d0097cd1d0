"""The dashboard under a path of the project: `path("ops/jobs/", include("holdfast.contrib.django.urls"))`."""

from __future__ import annotations

from django.urls import re_path

from holdfast.contrib.django.dashboard import dashboard_view

app_name = "holdfast"
urlpatterns = [re_path(r"^(?P<path>.*)$", dashboard_view, name="dashboard")]
