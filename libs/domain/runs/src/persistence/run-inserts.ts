import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import { EXTERNAL_POOL, type RunState } from '#execution/executions';
import { ExternalRunInserts } from './external-run-inserts.js';
import { GroupedClaimedInserts, type RunClaim } from './grouped-claimed-inserts.js';
import { GroupedRunInserts } from './grouped-run-inserts.js';
import type { NewRun } from './new-run.js';

export interface IdempotencyClaim {
  readonly key: string;
  readonly requestHash: Buffer;
}

export type ScopedClaim = RunClaim;

const FIND_KEY: Statement = {
  name: 'runs.find-idempotency-key',
  text: `SELECT k.request_hash, k.run_id, r.state FROM idempotency_keys k JOIN runs r ON r.id = k.run_id WHERE k.scope = $1 AND k.key = $2`,
};

const LAUNCH_SCOPE = 'launch';
const FIND_LAUNCHED: Statement = {
  name: 'runs.find-launched',
  text: `SELECT key, run_id FROM idempotency_keys WHERE scope = $1 AND key = ANY($2::text[])`,
};

export const launchClaim = (key: string): ScopedClaim => ({
  scope: LAUNCH_SCOPE,
  key,
  requestHash: Buffer.alloc(0),
  isLaunch: true,
});

export type InsertResult =
  | { readonly kind: 'created'; readonly atCapacity: boolean }
  | { readonly kind: 'replayed'; readonly runId: string; readonly state: RunState }
  | { readonly kind: 'key_reused' };

@Injectable()
export class RunInserts {
  constructor(
    private readonly database: Database,
    private readonly grouped: GroupedRunInserts,
    private readonly claimed: GroupedClaimedInserts,
    private readonly external: ExternalRunInserts,
  ) {}

  /** One round trip, shared with runs created at the same time; a repeated idempotency key costs a second one. */
  async insert(run: NewRun, claim: ScopedClaim | null): Promise<InsertResult> {
    if (claim) return this.insertOnce(run, claim);
    if (run.pool === EXTERNAL_POOL) await this.external.insert(run, null);
    else return { kind: 'created', atCapacity: await this.grouped.insert(run) };
    return { kind: 'created', atCapacity: false };
  }

  private async insertOnce(run: NewRun, claim: ScopedClaim, isFirstTry = true): Promise<InsertResult> {
    const created =
      run.pool === EXTERNAL_POOL ? await this.external.insert(run, claim) : await this.claimed.insert(run, claim);
    if (created) return { kind: 'created', atCapacity: created.atCapacity };
    const known = await this.find(claim);
    if (known) return known;
    // The key was pruned between the two statements: the second try creates the run.
    if (isFirstTry) return this.insertOnce(run, claim, false);
    throw new Error('An idempotency key is taken by a run that does not exist.');
  }

  /** Runs under launch keys, by key. One round trip. */
  async findLaunched(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ key: string; run_id: string }>(FIND_LAUNCHED, [LAUNCH_SCOPE, keys]);
    return new Map(rows.map((row) => [row.key, row.run_id]));
  }

  /** What a key stands for already, or null. One round trip. */
  async find(claim: ScopedClaim): Promise<Exclude<InsertResult, { kind: 'created' }> | null> {
    const [known] = await this.database.query<{ request_hash: Buffer; run_id: string; state: RunState }>(FIND_KEY, [
      claim.scope,
      claim.key,
    ]);
    if (!known) return null;
    return known.request_hash.equals(claim.requestHash)
      ? { kind: 'replayed', runId: known.run_id, state: known.state }
      : { kind: 'key_reused' };
  }
}
