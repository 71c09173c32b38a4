"""The service and its page. Needs `pip install 'tabsa[serve]'`: FastAPI, uvicorn and what they are used with.

run.py        a socket, one process or several, signals; connection.py: patience with each client
app.py        create_app: the parts below put together; service.py holds them for the routes
settings.py   every limit and choice, one documented option a field
guard.py      what stands before every request: host, key, size and pace of the body; headers and counts after it
schema.py     what goes in and out, typed: the source of the OpenAPI document
routes.py     text in, opinions out: asking.py checks the request, answers.py makes the JSON
batching.py   the requests of many clients in one model call
suggest.py    names in a text
tables.py     a file in, results out: uploads.py brings it to the disk, streaming.py answers, jobs.py keeps it
metrics.py    what Prometheus reads
problems.py   every error in one form
page/         the page: plain files
"""
