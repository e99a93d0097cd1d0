"""The models of the test project."""

from django.db import models


class Order(models.Model):
    customer = models.TextField()
    state = models.TextField(default="new")


class Note(models.Model):
    text = models.TextField(unique=True)
