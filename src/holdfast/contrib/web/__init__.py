"""What the routes of FastAPI, Starlette, Litestar and Flask share: documents, messages, and the paths of a job type."""
