import pg, { type Pool, type PoolClient, type PoolConfig } from 'pg';
import { CONNECT_TIMEOUT_MS } from './connection-options.js';

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

/** A small pool for one task, besides that of the application. */
export function openPool(connectionString: string, options: PoolConfig = {}): Pool {
  const pool = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, ...options });
  surviveConnectionLoss(pool);
  return pool;
}
