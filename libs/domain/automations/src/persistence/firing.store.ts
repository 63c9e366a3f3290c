import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import type { Automation } from '../domain/automation.js';
import type { Trigger, TriggerEvent } from '../domain/trigger.js';

/** A trigger that an event reaches, without the fields that are only needed when it matches. */
export interface ReachedTrigger {
  readonly automationId: string;
  readonly automationUid: string;
  readonly version: string;
  readonly enabled: boolean;
  readonly position: number;
  readonly trigger: Trigger;
}

export type FiringAutomation = Pick<
  Automation,
  | 'id'
  | 'uid'
  | 'name'
  | 'prompt'
  | 'agentConfig'
  | 'agentIdentityUid'
  | 'concurrency'
  | 'answers'
  | 'eventRepository'
  | 'author'
>;

/** Without the columns of a trigger when there is none, or when the stamp has not changed. */
type ReachedRow = ReachedTrigger & { readonly stamp: string; readonly automationId: string | null };

/** All triggers of a subject, or only the stamp when it is still `$5`. */
const REACHED = statement('automations.find-reached')`
  SELECT s.stamp, t.* FROM automation_stamps s LEFT JOIN LATERAL (
    SELECT t.automation_id AS "automationId", a.uid AS "automationUid", a.version, a.enabled, t.position, t.trigger
      FROM automation_triggers t JOIN automations a ON a.id = t.automation_id
     WHERE s.stamp <> $5 AND t.factory_uid = $1 AND t.provider = $2 AND t.event = $3 AND t.subject = $4) t ON true
 WHERE s.factory_uid = $1 ORDER BY t."automationId", t.position`;
const MAX_CACHED = 50_000;

const FIRING = statement('automations.load-firing')`
  SELECT a.id, a.uid, a.name, a.prompt, a.agent_config AS "agentConfig", a.agent_identity_uid AS "agentIdentityUid", a.concurrency, a.answers,
         a.event_repository AS "eventRepository",
         json_build_object('type', a.author_type, 'uid', a.author_uid) AS author
  FROM unnest($1::bigint[], $2::bigint[]) AS f (id, version)
  JOIN automations a ON a.id = f.id AND a.version = f.version`;

export interface FiringCounter {
  readonly key: string;
  readonly windowSeconds: number;
}

export interface CountedFiring {
  /** The key of the counter. */
  readonly target: string;
  readonly firings: number;
  /** Microseconds are significant. */
  readonly windowEndsAt: string;
}

/**
 * Counts a firing in the windows of `$2`, and deletes some rows of other windows. Rows are skipped that another transaction has
 * locked; the others are locked in one order.
 */
const COUNT_FIRING = statement('automations.count-firing')`
  WITH ended AS (
    DELETE FROM automation_targets WHERE automation_id = $1 AND target IN (
      SELECT target FROM automation_targets
       WHERE automation_id = $1 AND window_ends_at < headrace.now() - interval '1 day' AND target <> ALL ($2)
       ORDER BY window_ends_at LIMIT 10 FOR UPDATE SKIP LOCKED))
  INSERT INTO automation_targets AS t (automation_id, target, window_ends_at, firings)
  SELECT $1, c.target, headrace.now() + make_interval(secs => c.seconds), 1
    FROM unnest($2::text[], $3::int[]) AS c (target, seconds) ORDER BY c.target
  ON CONFLICT (automation_id, target) DO UPDATE SET
    window_ends_at = CASE WHEN t.window_ends_at > headrace.now() THEN t.window_ends_at ELSE EXCLUDED.window_ends_at END,
    firings = CASE WHEN t.window_ends_at > headrace.now() THEN t.firings + 1 ELSE 1 END
  RETURNING target, firings, window_ends_at::text AS "windowEndsAt"`;
const UNCOUNT_FIRING = statement('automations.uncount-firing')`
  UPDATE automation_targets t SET firings = greatest(t.firings - 1, 0)
    FROM (SELECT o.target, o.window_ends_at FROM automation_targets o
            JOIN unnest($2::text[], $3::timestamptz[]) AS c (target, window_ends_at) USING (target, window_ends_at)
           WHERE o.automation_id = $1 ORDER BY o.target FOR UPDATE OF o) AS counted
   WHERE t.automation_id = $1 AND t.target = counted.target AND t.window_ends_at = counted.window_ends_at`;

@Injectable()
export class FiringStore {
  private readonly cache = new Map<string, { readonly stamp: string; readonly triggers: readonly ReachedTrigger[] }>();
  private cachedCount = 0;

  constructor(private readonly database: Database) {}

  /**
   * All triggers of the subject of the event, including those of disabled automations, in the order of their automations.
   * One round trip, which returns them only when an automation of the factory has changed since the last time.
   */
  async reached({ factoryUid, provider, event, subject }: TriggerEvent): Promise<readonly ReachedTrigger[]> {
    const key = `${factoryUid}/${provider}/${event}/${subject}`;
    const known = this.cache.get(key);
    const values = [factoryUid, provider, event, subject, known?.stamp ?? '-1'];
    const rows = await this.database.query<ReachedRow>(REACHED, values);
    const [{ stamp } = { stamp: null }] = rows;
    // A factory without a stamp has never had an automation.
    if (stamp === null) return [];
    if (known?.stamp === stamp) return known.triggers;
    const triggers = rows.filter((row) => row.automationId !== null);
    this.store(key, stamp, triggers);
    return triggers;
  }

  private store(key: string, stamp: string, triggers: readonly ReachedTrigger[]): void {
    this.cachedCount += 1 + triggers.length;
    if (this.cachedCount > MAX_CACHED) {
      this.cache.clear();
      this.cachedCount = 1 + triggers.length;
    }
    this.cache.set(key, { stamp, triggers });
  }

  /** By id, those that still have the version that was decided on. */
  async load(
    fired: readonly Pick<ReachedTrigger, 'automationId' | 'version'>[],
  ): Promise<Map<string, FiringAutomation>> {
    const rows = await this.database.query<FiringAutomation>(FIRING, [
      fired.map(({ automationId }) => automationId),
      fired.map(({ version }) => version),
    ]);
    return new Map(rows.map((automation) => [automation.id, automation]));
  }

  /** How often the automation has started in the current windows, with this time. One round trip. */
  async countFiring(automationId: string, counters: readonly FiringCounter[]): Promise<readonly CountedFiring[]> {
    return this.database.query<CountedFiring>(COUNT_FIRING, [
      automationId,
      counters.map(({ key }) => key),
      counters.map(({ windowSeconds }) => windowSeconds),
    ]);
  }

  /** For a counted firing that has started nothing; windows that have ended since are not changed. One round trip. */
  async uncountFiring(automationId: string, counted: readonly CountedFiring[]): Promise<void> {
    await this.database.query(UNCOUNT_FIRING, [
      automationId,
      counted.map(({ target }) => target),
      counted.map(({ windowEndsAt }) => windowEndsAt),
    ]);
  }
}
