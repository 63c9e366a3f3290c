import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './database.js';
import { EmbeddedPostgres } from '#platform/embedded-postgres';
import { surviveConnectionLoss } from './survive-connection-loss.js';

const dataDir = mkdtempSync(join(tmpdir(), 'headrace-loss-'));
let server: EmbeddedPostgres;
let dataSource: DataSource;
let database: Database;

beforeAll(async () => {
  server = await EmbeddedPostgres.start({ dataDir, durable: false });
  dataSource = await new DataSource({ type: 'postgres', url: server.url, poolSize: 2 }).initialize();
  database = new Database(dataSource);
});

afterAll(async () => {
  await dataSource.destroy();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const pid = 'SELECT pg_backend_pid() AS pid';

describe('a connection that breaks in the middle of a transaction', () => {
  it('while its holder does something else rejects the transaction and ends nothing', async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', note);
    try {
      const lost = database.transaction(async (tx) => {
        const [backend] = await tx.query<{ pid: number }>(pid);
        await database.query('SELECT pg_terminate_backend($1, 5000)', [backend?.pid]);
        // Not a statement: nothing of ours waits on the connection while it breaks.
        await new Promise((resolve) => setImmediate(resolve));
        await tx.query('SELECT 1');
      });
      await expect(lost).rejects.toThrow(/terminat|not queryable/i);
      const [again] = await database.transaction((tx) => tx.query<{ pid: number }>(pid));
      expect(again?.pid).toBeGreaterThan(0);
    } finally {
      process.off('uncaughtException', note);
    }
    expect(uncaught).toEqual([]);
  });
});

describe('a connection of a pool of one’s own that the server ends', () => {
  it('while nobody uses it ends nothing, and the next use has another one', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    surviveConnectionLoss(pool);
    try {
      const first = await pool.query<{ pid: number }>(pid);
      const removed = new Promise((resolve) => pool.once('remove', resolve));
      // Without a listener of the pool this is an uncaught exception.
      await database.query('SELECT pg_terminate_backend($1, 5000)', [first.rows[0]?.pid]);
      await removed;
      const second = await pool.query<{ pid: number }>(pid);
      expect(second.rows[0]?.pid).not.toBe(first.rows[0]?.pid);
    } finally {
      await pool.end();
    }
  });
});
