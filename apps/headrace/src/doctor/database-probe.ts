import type pg from 'pg';
import type { Settings } from '#platform/config';
import { findEmbeddedPostgres } from '#platform/embedded-postgres';
import { openPool } from '#platform/persistence';

export type DatabaseState =
  | { readonly kind: 'open'; readonly pool: pg.Pool; readonly url: string; readonly isEmbedded: boolean }
  /** The embedded database, which `headrace up` starts. `existed`: whether its directory exists. */
  | { readonly kind: 'stopped'; readonly existed: boolean; readonly major: string }
  | { readonly kind: 'unusable'; readonly error: Error; readonly url: string | null };

const CONNECT_TIMEOUT_MS = 4_000;
const RESPONSE_TIMEOUT_MS = 5_000;
const CONNECTIONS = 2;

export const openProbePool = (url: string): pg.Pool =>
  openPool(url, {
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: RESPONSE_TIMEOUT_MS,
    options: '-c timezone=UTC',
    application_name: 'headrace-doctor',
  });

/** Connects to the database at most once for all checks. Starts and changes nothing. */
export class DatabaseProbe {
  private opening: Promise<DatabaseState> | null = null;

  constructor(private readonly settings: Pick<Settings, 'databaseUrl' | 'dataDir'>) {}

  open(): Promise<DatabaseState> {
    this.opening ??= this.connect();
    return this.opening;
  }

  async close(): Promise<void> {
    const state = await this.opening;
    if (state?.kind === 'open') await state.pool.end();
  }

  private async connect(): Promise<DatabaseState> {
    let url: string | null = this.settings.databaseUrl ?? null;
    const isEmbedded = url === null;
    try {
      if (url === null) {
        const embedded = findEmbeddedPostgres(this.settings.dataDir);
        if (embedded.kind !== 'running')
          return { kind: 'stopped', existed: embedded.kind === 'stopped', major: embedded.major };
        url = embedded.url;
      }
      const pool = openProbePool(url);
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
