import pg from 'pg';
import type { Settings } from '#platform/config';
import { findEmbeddedPostgres } from '#platform/embedded-postgres';
import { surviveConnectionLoss } from '#platform/persistence';

/** What became of the attempt to reach the database. */
export type DatabaseState =
  | { readonly kind: 'open'; readonly pool: pg.Pool; readonly url: string; readonly isEmbedded: boolean }
  /** The embedded one, which `headrace up` starts. `made`: it was there before. */
  | { readonly kind: 'at_rest'; readonly made: boolean; readonly major: string }
  | { readonly kind: 'unusable'; readonly error: Error; readonly url: string | null };

const CONNECT_MS = 4_000;
const ANSWER_MS = 5_000;
const CONNECTIONS = 2;

/** A pool of few connections that give up early. */
export function impatientPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    options: '-c timezone=UTC',
    application_name: 'headrace-doctor',
  });
  surviveConnectionLoss(pool);
  return pool;
}

/** The database, reached at most once, for all checks that need it. Starts and changes nothing. */
export class DatabaseDoor {
  private opening: Promise<DatabaseState> | null = null;

  constructor(private readonly settings: Pick<Settings, 'databaseUrl' | 'dataDir'>) {}

  open(): Promise<DatabaseState> {
    this.opening ??= this.reach();
    return this.opening;
  }

  async close(): Promise<void> {
    const state = await this.opening;
    if (state?.kind === 'open') await state.pool.end();
  }

  private async reach(): Promise<DatabaseState> {
    let url: string | null = this.settings.databaseUrl ?? null;
    const isEmbedded = url === null;
    try {
      if (url === null) {
        const embedded = findEmbeddedPostgres(this.settings.dataDir);
        if (embedded.kind !== 'running')
          return { kind: 'at_rest', made: embedded.kind === 'stopped', major: embedded.major };
        url = embedded.url;
      }
      const pool = impatientPool(url);
      try {
        await pool.query('SELECT 1');
        return { kind: 'open', pool, url, isEmbedded };
      } catch (error) {
        await pool.end();
        throw error;
      }
    } catch (error) {
      return { kind: 'unusable', error: error instanceof Error ? error : new Error(String(error)), url };
    }
  }
}
