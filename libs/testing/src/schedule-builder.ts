import { newUid } from '#platform/kernel';
import type { TestDatabase } from './database/test-database.js';

export interface ScheduleShape {
  readonly teamUid: string;
  readonly name?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly prompt?: string;
  readonly agentConfig?: object;
  readonly overlapPolicy?: 'allow' | 'skip';
  readonly jitterSeconds?: number;
  /** Default: a new user. */
  readonly authorUid?: string;
  /** The time that it waits for. */
  readonly dueAt: Date;
}

/** Enabled schedules straight into the database, as the API would leave them. */
export class ScheduleBuilder {
  constructor(private readonly database: Pick<TestDatabase, 'query'>) {}

  async build(shape: ScheduleShape): Promise<string> {
    const [uid] = await this.buildMany(1, () => shape);
    if (uid === undefined) throw new Error('No schedule was built.');
    return uid;
  }

  /** `count` schedules in one statement; their uids. */
  async buildMany(count: number, shapeOf: (index: number) => ScheduleShape): Promise<string[]> {
    const rows = Array.from({ length: count }, (_, index) => {
      const shape = shapeOf(index);
      return {
        uid: newUid(),
        team_uid: shape.teamUid,
        name: shape.name ?? `schedule ${index}`,
        cron: shape.cron ?? '* * * * *',
        timezone: shape.timezone ?? 'UTC',
        prompt: shape.prompt ?? 'Look at what is due.',
        agent_config: shape.agentConfig ?? null,
        overlap_policy: shape.overlapPolicy ?? 'allow',
        jitter_seconds: shape.jitterSeconds ?? 0,
        author_uid: shape.authorUid ?? newUid(),
        due_at: shape.dueAt.toISOString(),
      };
    });
    await this.database.query(
      `WITH n AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS n (uid text, team_uid text, name text, cron text,
         timezone text, prompt text, agent_config jsonb, overlap_policy text, jitter_seconds int, author_uid text, due_at timestamptz)
       ), s AS (
         INSERT INTO headrace.schedules (uid, team_uid, name, cron, timezone, prompt, enabled, agent_config, mode, overlap_policy,
           jitter_seconds, creator_type, creator_uid, editor_type, editor_uid)
         SELECT uid, team_uid, name, cron, timezone, prompt, true, agent_config, 'normal', overlap_policy, jitter_seconds,
           'user', author_uid, 'user', author_uid FROM n)
       INSERT INTO headrace.timers (kind, key, cron, timezone, jitter_seconds, due_at, fire_at)
       SELECT 'schedule', uid, cron, timezone, jitter_seconds, due_at, due_at FROM n`,
      [JSON.stringify(rows)],
    );
    return rows.map(({ uid }) => uid);
  }
}
