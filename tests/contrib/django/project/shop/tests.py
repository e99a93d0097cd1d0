"""What an application's tests see: in a TestCase, and in a TransactionTestCase, in which everything commits."""

from contextlib import nullcontext
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from holdfast import ChainCancelled
from holdfast.contrib.django import client
from holdfast.contrib.django.models import Attempt, Chain, Job, Schedule
from holdfast.contrib.django.tasks_api import (
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
    task_finished,
    task_started,
)
from holdfast.contrib.django.testing import capture_jobs, drain
from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Settle, TypeTerms
from holdfast.testing.builders import released
from shop import holdfast_jobs, tasks
from shop.models import Note, Order


class Cases:
    """The same in both kinds of test."""

    def test_a_start_belongs_to_the_open_transaction(self):
        with transaction.atomic():
            order = Order.objects.create(customer="Ada")
            kept = client().start(holdfast_jobs.pay.bind(order=order.pk))
        try:
            with transaction.atomic():
                undone = client().start(holdfast_jobs.pay.bind(order=order.pk))
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

        assert client().get(kept.id) is not None
        assert client().get(undone.id) is None
        assert [job.id for job in Job.objects.all()] == [kept.id]

    def test_the_log_of_queries_contains_no_statement_with_a_payload(self):
        with CaptureQueriesContext(connection) as log, transaction.atomic():
            Note.objects.create(text="of the application")
            client().start(holdfast_jobs.remember.bind("a secret"))

        written = [query["sql"] for query in log.captured_queries if "insert" in query["sql"].lower()]
        assert "of the application" in str(written)
        assert "holdfast" not in str(written)

    def test_a_drain_turns_the_compilation_of_postgresql_off(self):
        postgres = connection.vendor == "postgresql"
        with connection.cursor() as cursor:
            cursor.execute("set jit = on" if postgres else "select 1")
            drain()
            cursor.execute("show jit" if postgres else "select 'off'")
            assert cursor.fetchone() == ("off",)

    def test_models_inside_complete_commit_with_the_job(self):
        order = Order.objects.create(customer="Ada")
        chain = client().start(holdfast_jobs.pay.bind(order=order.pk, fail_after=True))

        ends = drain()
        while client().get(chain.id).status != "completed":
            ends += drain()

        kinds = [event.kind for event in ends if event.type == "pay"]
        assert [kind for kind in kinds if kind != "released"] == ["retrying", "completed"]
        order.refresh_from_db()
        assert order.state == "paid"
        texts = {f"paid once {order.pk}", f"receipt {order.pk}", f"receipt {order.pk} committed"}
        assert {note.text for note in Note.objects.all()} == texts

    def test_models_inside_complete_of_an_async_handler_are_refused(self):
        order = Order.objects.create(customer="Ada")
        refused = client().start(holdfast_jobs.pay_async.bind(order=order.pk))
        other = client().start(holdfast_jobs.pay_async_with_sql.bind(order=order.pk))
        plain = client().start(holdfast_jobs.remember_async.bind(text="async"))

        drain()

        assert "models cannot be used inside prepare(), complete() and tx_step" in client().get(refused.id).error
        assert client().get(other.id).output == "paid"
        assert Note.objects.get(pk=client().get(plain.id).output).text == "async"
        order.refresh_from_db()
        assert order.state == "paid"

    def test_models_inside_tx_step_commit_with_the_checkpoint(self):
        order = Order.objects.create(customer="Ada")
        chain = client().start(holdfast_jobs.fulfil.bind(order=order.pk))
        refused = client().start(holdfast_jobs.fulfil_async.bind(order=order.pk))

        while client().get(chain.id).status not in ("completed", "failed"):
            drain()

        assert client().get(chain.id).output == ["reserved", "lost"]
        assert [step.name for step in client().steps(chain.id)] == ["reserve", "lose"]
        assert "models cannot be used" in client().get(refused.id).error
        order.refresh_from_db()
        assert order.state == "lost"

    def test_jobs_that_a_block_starts_are_captured_and_run(self):
        client().start(holdfast_jobs.remember.bind(text="before"))

        with capture_jobs() as started:
            client().start(holdfast_jobs.remember.bind(text="one"))
        with capture_jobs(execute=True) as run:
            client().start(holdfast_jobs.remember.bind(text="two"))

        assert [(job.type, job.status, job.input["text"]) for job in started] == [("remember", "pending", "one")]
        assert [(job.status, job.input["text"]) for job in run] == [("completed", "two")]

    async def test_an_async_test_runs_its_jobs(self):
        chain = await sync_to_async(client().start)(holdfast_jobs.remember.bind(text="async test"))
        result = await tasks.add_async.aenqueue(4)

        await sync_to_async(drain)()

        await result.arefresh()
        assert result.return_value == 5
        assert (await sync_to_async(client().get)(chain.id)).status == "completed"
        assert await Note.objects.filter(text="async test").aexists()

    def test_no_job_of_another_test_is_here(self):
        assert not Job.objects.exists()
        assert client().stats().counts["completed"] == 0
        client().start(holdfast_jobs.remember.bind(text="left behind"))

    def test_the_models_read_and_refuse_to_write(self):
        order = Order.objects.create(customer="Ada")
        chain = client().start(holdfast_jobs.pay.bind(order=order.pk), key="k")
        failed = tasks.flaky.using(max_attempts=1).enqueue(9)
        drain()

        row = Chain.objects.get(pk=chain.id)
        attempt = Attempt.objects.get(job_id=failed.id)

        assert (row.type, row.status, row.chain_status, row.key) == ("pay", "completed", "completed", "k")
        assert row.input_json == {"order": order.pk, "fail_after": False}
        assert row.output_json == "paid"
        assert timezone.now() - row.created_at < timedelta(minutes=1)
        assert Job.objects.filter(created_at__gt=timezone.now() - timedelta(hours=1), type="pay").count() == 1
        assert list(row.jobs) == [Job.objects.get(pk=chain.id)]
        assert Job.objects.get(pk=failed.id).failure.type == "LookupError"
        assert (attempt.number, attempt.outcome) == (1, "failed")
        for write in (row.save, row.delete, Job.objects.all().delete, lambda: Job.objects.update(status="failed")):
            with self.assertRaisesMessage(TypeError, "is read-only"):
                write()

    # Tasks

    def test_results_of_tasks(self):
        before = timezone.now()
        results = [tasks.add.enqueue(1, b=2), tasks.add_async.using(priority=5).enqueue(3), tasks.flaky.enqueue(2)]
        first = results[0]

        assert (first.status, first.args, first.kwargs, first.attempts) == (TaskResultStatus.READY, [1], {"b": 2}, 0)
        assert first == tasks.add.get_result(first.id)
        run = drain()
        while not results[2].is_finished:
            drain()
            results[2].refresh()
        for result in results[:2]:
            result.refresh()

        assert run[0].job_id == results[1].id  # the higher priority
        assert [each.return_value for each in results] == [3, 4, [2, results[2].id]]
        assert [each.attempts for each in results] == [1, 1, 2]
        assert [error.exception_class for error in results[2].errors] == [LookupError]
        assert 'raise LookupError(f"attempt' in results[2].errors[0].traceback
        assert before <= results[2].enqueued_at <= results[2].started_at < results[2].last_attempted_at
        assert results[2].finished_at >= results[2].last_attempted_at

    def test_an_attempt_that_was_released_does_not_count(self):
        result = tasks.add.enqueue(1)
        terms = TypeTerms("shop.tasks.add", 60_000_000, 3)
        [claimed] = client().store.perform_sync(ClaimJobs((terms,), 1, "a worker that stops", new_token()))
        client().store.perform_sync(Settle((released(claimed),)))
        result.refresh()
        assert (result.attempts, result.worker_ids) == (0, [])

        drain()
        result.refresh()

        assert (result.attempts, len(result.worker_ids)) == (1, 1)

    def test_a_deferred_and_a_cancelled_task(self):
        later = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
        client().cancel(later.id, reason="not needed")

        assert drain() == []
        later.refresh()
        assert later.status == TaskResultStatus.FAILED
        assert later.errors[0].exception_class is ChainCancelled
        with self.assertRaises(TaskResultDoesNotExist):
            tasks.add.get_result(client().start(holdfast_jobs.remember.bind(text="no task")).id)

    def test_keys_limits_and_schedules_of_tasks(self):
        first, second = tasks.bill.enqueue("Ada", number=1), tasks.bill.enqueue("Ada", 1)
        third = tasks.bill.enqueue("Ada", 2)

        assert first.id == second.id != third.id
        drain()
        assert [limit.name for limit in client().limits()] == ["per-customer"]
        assert [schedule.name for schedule in client().schedules()] == ["shop.tasks.report"]
        assert Schedule.objects.get().type == "shop.tasks.report"
        third.refresh()
        assert third.return_value == "Ada 2"

    def test_a_task_of_a_module_that_workers_do_not_import(self):
        from shop import late_tasks

        result = late_tasks.double.enqueue(4)
        drain()
        result.refresh()

        assert result.return_value == 8
        assert Job.objects.get().type == "django.task"
        with self.assertRaisesMessage(InvalidTask, "workers do not import its module"):
            late_tasks.limited.enqueue()

    def test_signals(self):
        seen = []
        receivers = {
            name: lambda sender, task_result, name=name, **_: seen.append(
                (name, task_result.id, str(task_result.status))
            )
            for name in ("enqueued", "started", "finished")
        }
        for signal, name in ((task_enqueued, "enqueued"), (task_started, "started"), (task_finished, "finished")):
            signal.connect(receivers[name])
            self.addCleanup(signal.disconnect, receivers[name])

        nested = connection.in_atomic_block
        with TestCase.captureOnCommitCallbacks(execute=True) if nested else nullcontext(), transaction.atomic():
            result = tasks.note.enqueue("signals")
            assert seen == []
        drain()

        assert seen == [
            ("enqueued", result.id, "READY"),
            ("started", result.id, "RUNNING"),
            ("finished", result.id, "SUCCESSFUL"),
        ]


class InATestCase(Cases, TestCase):
    pass


class InATransactionTestCase(Cases, TransactionTestCase):
    pass
