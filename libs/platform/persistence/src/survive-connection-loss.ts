import type { Pool, PoolClient } from 'pg';

const ignore = (): void => undefined;

/**
 * Prevents a lost connection from ending the process. `pg` emits `error` on a client whose connection breaks, also while a caller
 * holds it, and the pool listens on idle clients only. The holder needs no event: its current or next statement rejects, and the
 * pool closes the client. The pool itself emits the errors of clients that are idle or closing, which a stopping server causes.
 */
export function surviveConnectionLoss(pool: Pool): void {
  if (!pool.listeners('error').includes(ignore)) pool.on('error', ignore);
  pool.on('acquire', (client: PoolClient) => {
    if (!client.listeners('error').includes(ignore)) client.on('error', ignore);
  });
}
