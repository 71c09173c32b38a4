"""The service and its page: FastAPI under uvicorn. Needs `pip install 'tabsa[serve]'`."""
