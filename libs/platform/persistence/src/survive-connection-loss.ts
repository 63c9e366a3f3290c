import type { Pool, PoolClient } from 'pg';

const ignore = (): void => undefined;

/**
 * Keeps a lost connection from ending the process. `pg` emits `error` on a client whose connection breaks, also while
 * a caller holds it, and the pool listens on idle clients only. The holder needs no event: its statement, or its next
 * one, rejects, and the pool drops the client. The pool itself passes on the errors of those that are idle or just ending,
 * which a server that is stopped at that moment causes.
 */
export function surviveConnectionLoss(pool: Pool): void {
  if (!pool.listeners('error').includes(ignore)) pool.on('error', ignore);
  pool.on('acquire', (client: PoolClient) => {
    if (!client.listeners('error').includes(ignore)) client.on('error', ignore);
  });
}
