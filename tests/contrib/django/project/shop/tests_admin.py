"""The pages and actions of the admin."""

from django.contrib.auth.models import Permission, User
from django.test import TestCase, override_settings
from django.utils import timezone

from holdfast.contrib.django import client
from holdfast.contrib.django.models import Job
from shop import holdfast_jobs


class AdminCases(TestCase):
    def setUp(self):
        self.user = User.objects.create_user("ops", password="x", is_staff=True)
        self.client.force_login(self.user)
        client().start(holdfast_jobs.remember.bind(text="waits"), delay=3600, key="k")
        self.job = Job.objects.get()

    def test_only_users_with_the_permission_see_and_act(self):
        assert self.client.get("/admin/holdfast/job/").status_code == 403

        self.permit("view_job", "view_chain", "view_schedule")
        for page in ("job/", "chain/", "schedule/", f"job/{self.job.pk}/change/"):
            assert self.client.get(f"/admin/holdfast/{page}").status_code == 200, page
        assert self.client.get("/admin/holdfast/job/add/").status_code == 403
        assert b'value="cancel"' not in self.client.get("/admin/holdfast/job/").content
        self.act("cancel")
        assert client().get(self.job.pk).status == "pending"
        with override_settings(HOLDFAST={"STORE": "memory://admin"}):
            assert self.client.get("/admin/holdfast/job/").status_code == 403

    def test_actions_are_recorded_with_the_user(self):
        self.permit("view_job", "operate_job")

        self.act("run_now")
        assert client().get(self.job.pk).scheduled_at <= timezone.now()
        self.act("cancel")
        assert client().get(self.job.pk).status == "cancelled"
        refused = self.act("run_now")
        self.act("retry")
        assert client().get(self.job.pk).status == "pending"
        assert self.job.pk.encode() in refused.content
        self.act("remove")
        assert client().get(self.job.pk) is not None
        self.permit("delete_job")
        self.act("remove")
        assert client().get(self.job.pk) is None
        assert {(entry.user, entry.action) for entry in client().audit()} == {
            ("ops", action) for action in ("run_now", "cancel", "retry", "delete")
        }

    def permit(self, *names):
        self.user.user_permissions.add(*Permission.objects.filter(codename__in=names))

    def act(self, action):
        data = {"action": action, "_selected_action": [self.job.pk]}
        return self.client.post("/admin/holdfast/job/", data, follow=True)
