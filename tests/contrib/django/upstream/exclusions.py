"""The tests of Django that do not apply to a backend that stores tasks in a database, each with its reason."""

_STORED = "the test expects an error; results are stored: get_result, refresh and run_after are supported"
_ROWS = "the test changes a result in the memory of the dummy backend; ours are rows"
_BLOCKING = "the test reads results with a blocking method in an async function, where Django refuses database access"
_PICKLE = "django-tasks cannot pickle tasks"

EXCLUDED = {
    "test_dummy_backend.DummyBackendTestCase.test_enqueue_task_async": _BLOCKING,
    "test_dummy_backend.DummyBackendTestCase.test_get_missing_result": _BLOCKING,
    "test_dummy_backend.DummyBackendTestCase.test_refresh_result": _ROWS,
    "test_dummy_backend.DummyBackendTestCase.test_refresh_result_async": _ROWS,
    "test_immediate_backend.ImmediateBackendTestCase.test_cannot_get_result": _STORED,
    "test_immediate_backend.ImmediateBackendTestCase.test_cannot_refresh_result": _STORED,
    "test_immediate_backend.ImmediateBackendTestCase.test_cannot_pass_run_after": _STORED,
    "test_immediate_backend.ImmediateBackendTestCase.test_throws_keyboard_interrupt": (
        "a task that raises KeyboardInterrupt fails, and does not end its worker"
    ),
    "test_tasks.TaskTestCase.test_enqueue_task_async": _BLOCKING,
    "test_tasks.TaskTestCase.test_get_missing_result": _BLOCKING,
    "test_tasks.TaskTestCase.test_refresh_result": _BLOCKING,
}

EXCLUDED_WITH_PACKAGE = {
    "test_custom_backend.CustomBackendTestCase.test_no_enqueue": "the test expects the message of Python 3.12",
    "test_tasks.TaskTestCase.test_pickle_task": _PICKLE,
    "test_tasks.TaskTestCase.test_pickle_task_result": _PICKLE,
    "test_tasks.TaskTestCase.test_unpickle_arbitrary_string": _PICKLE,
    "test_tasks.TaskTestCase.test_unpickle_non_task_object": _PICKLE,
    "test_tasks.TaskTestCase.test_run_after_in_decorator": "django-tasks raises another message",
}
"""With the package django-tasks, in addition: its API differs from that of Django 6.1."""
