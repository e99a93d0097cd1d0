"""The orders of the shop."""

from django.db import models


class Order(models.Model):
    customer = models.TextField()
    amount = models.IntegerField()
    state = models.TextField(default="new")
    chain = models.TextField(default="")


class Report(models.Model):
    text = models.TextField()
