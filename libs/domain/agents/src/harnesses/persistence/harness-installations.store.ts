import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import type { DetectedHarness } from '#execution/runner';

/** Of one agent in one place, which may be several machines: installed on at least one of them. */
export interface HarnessInstallation {
  readonly id: string;
  /** Null: the machines that execute hosted runs. */
  readonly workerHost: string | null;
  readonly installed: boolean;
  /** The highest one, as text orders them. */
  readonly version: string | null;
  /** As a worker tells it, of an agent that its own file defines; of several the first as text orders them. */
  readonly installHint: string | null;
  readonly lastSeenAt: Date;
}

/** Processors report every minute. One without a report for this time has stopped. */
const STALE = `interval '3 minutes'`;

/** The reports of workers are stored with their connections. */
const LIST = statement('agents_list_harness_installations')`
  WITH reported AS (
  SELECT NULL::text AS worker_host, harnesses, last_seen_at FROM headrace.harness_installations
  WHERE last_seen_at > headrace.now() - ${STALE}
  UNION ALL
  SELECT worker_host, harnesses, last_seen_at FROM headrace.worker_connections
  WHERE team_uid = ANY($1::text[]) AND alive_until > headrace.now())
SELECT h.id, reported.worker_host AS "workerHost", bool_or(coalesce(h.installed, false)) AS installed,
  max(h.version) FILTER (WHERE h.installed) AS version, min(h.install_hint) AS "installHint",
  max(reported.last_seen_at) AS "lastSeenAt"
FROM reported, jsonb_to_recordset(reported.harnesses) AS h (id text, installed boolean, version text, install_hint text)
WHERE h.id IS NOT NULL
GROUP BY h.id, reported.worker_host ORDER BY reported.worker_host NULLS FIRST, h.id`;

const PUT = statement('agents_put_harness_installations')`
  WITH gone AS (DELETE FROM headrace.harness_installations WHERE last_seen_at < headrace.now() - 2 * ${STALE})
INSERT INTO headrace.harness_installations (instance, harnesses, last_seen_at) VALUES ($1, $2::jsonb, headrace.now())
ON CONFLICT (instance) DO UPDATE SET harnesses = excluded.harnesses, last_seen_at = excluded.last_seen_at`;

const REMOVE = statement('agents_remove_harness_installations')`
  DELETE FROM headrace.harness_installations WHERE instance = $1`;

@Injectable()
export class HarnessInstallationsStore {
  constructor(private readonly database: Database) {}

  list(teamUids: readonly string[]): Promise<HarnessInstallation[]> {
    return this.database.query<HarnessInstallation>(LIST, [teamUids]);
  }

  async put(instance: string, harnesses: readonly DetectedHarness[]): Promise<void> {
    await this.database.query(PUT, [instance, JSON.stringify(harnesses)]);
  }

  async remove(instance: string): Promise<void> {
    await this.database.query(REMOVE, [instance]);
  }
}
