import type { ServerResponse } from 'node:http';

/**
 * Calls `release` once, when the response is finished or its connection is closed. Both are needed: a response that waits
 * for an earlier one does not see the connection close, and one whose connection has closed already emits no event at all.
 */
export function onceClosed(response: ServerResponse, release: () => void): void {
  const { socket } = response.req;
  if (response.closed || socket.destroyed) {
    release();
    return;
  }
  const end = (): void => {
    response.off('close', end);
    socket.off('close', end);
    release();
  };
  response.on('close', end);
  socket.on('close', end);
}
