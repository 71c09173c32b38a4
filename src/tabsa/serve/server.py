"""A worker: uvicorn's server, with a stop that loses nobody's request and ends in time."""

import asyncio
import os
import socket
import sys
import threading
from types import FrameType
from typing import Final

import uvicorn

_SWITCH_SECONDS: Final = 0.0005  # that a thread computes while others wait: a request is passed on several times
_LAST_SECONDS: Final = 5  # for what is left when the time of a stop is over: a model call, files


class Server(uvicorn.Server):
    """Takes what is on its way when it is told to stop; afterwards connections are refused, as by a closed port."""

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        super().run(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn. A worker that still loads its model has taken nothing, but would keep the port open."""
        if not self.started and self.config.workers > 1:
            os._exit(0)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        seconds = self.config.timeout_graceful_shutdown or 0
        timer = threading.Timer(seconds + _LAST_SECONDS, os._exit, (1,))
        timer.daemon = True
        timer.start()
        await self._take_the_last(sockets or [])
        await super().shutdown(sockets)
        timer.cancel()

    async def _take_the_last(self, sockets: list[socket.socket]) -> None:
        """Accept what the system has connected already; closing the socket would break it off."""
        copies = [listener.dup() for listener in sockets]
        for server in self.servers:
            server.close()
        for listener in sockets:
            listener.close()
        for _ in range(3):  # turns of the event loop in which the server lets go of its socket
            await asyncio.sleep(0)
        taken: list[socket.socket] = []
        for copy in copies:
            copy.setblocking(False)
            try:
                while True:
                    taken.append(copy.accept()[0])
            except OSError:
                copy.close()
        loop = asyncio.get_running_loop()
        for connection in taken:
            await loop.connect_accepted_socket(
                lambda: self.config.http_protocol_class(  # type: ignore[call-arg]
                    config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
                ),
                connection,
            )
