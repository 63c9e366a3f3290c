import type { Pool, PoolClient } from 'pg';

const ignore = (): void => undefined;

/**
 * Keeps a lost connection from ending the process. `pg` emits `error` on a client whose connection breaks, also while
 * a caller holds it, and the pool listens on idle clients only. The holder needs no event: its statement, or its next
 * one, rejects, and the pool drops the client.
 */
export function surviveConnectionLoss(pool: Pool): void {
  pool.on('acquire', (client: PoolClient) => {
    if (!client.listeners('error').includes(ignore)) client.on('error', ignore);
  });
}
