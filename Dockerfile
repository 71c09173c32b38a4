# syntax=docker/dockerfile:1
# The service: docker build -t tabsa . && docker run --rm -p 8000:8000 -e TABSA_API_KEY=... tabsa

FROM python:3.13-slim AS build
WORKDIR /project
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
LABEL org.opencontainers.image.title="tabsa" \
      org.opencontainers.image.description="Who is judged, on what, and how: targeted aspect-based sentiment analysis" \
      org.opencontainers.image.licenses="MIT"
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# The wheel and the pinned versions are there for this step only. The quotes keep the shell off the extra's brackets.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    set -- /wheels/tabsa-*.whl \
    && pip install --no-cache-dir --constraint /constraints.txt "$1[serve]" \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin tabsa
USER 10001
WORKDIR /srv
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
# `exec` form: signals reach the service itself, which then answers what it has taken.
ENTRYPOINT ["tabsa", "serve", "--host", "0.0.0.0", "--port", "8000"]
