import { newUuid } from '#platform/kernel';
import { facetsOf } from '#domain/runs';
import type { TestDatabase } from '#testing';
import { at, type ModelRun } from './list-model.js';

/** Address and owners of a data set in the database. */
export interface Place {
  readonly team: string;
  readonly other: string;
  readonly userUid: string;
}

const COLUMNS = `id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
  creator_type, creator_uid, executor_type, executor_uid, config, metadata, parent_run_id, ancestor_run_ids, schedule, status_message,
  offers, prompt_taken, busy_ms, queued_at, created_at, updated_at`;

/** Writes the runs, in one statement a table. */
export async function store(database: TestDatabase, runs: readonly ModelRun[], place: Place): Promise<void> {
  const rows = JSON.stringify(runs.map((run) => rowOf(run, place)));
  await database.query(
    `WITH r AS (INSERT INTO runs (${COLUMNS}) SELECT ${COLUMNS} FROM jsonb_populate_recordset(NULL::runs, $1) RETURNING *)
     INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT ${facetsOf('r')} FROM r`,
    [rows],
  );
  const artifacts = runs.flatMap((run) =>
    run.artifacts.map((type) => ({ uid: newUuid(), run_id: run.id, source_key: type, artifact_type: type })),
  );
  await database.query(
    `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, object_key, locator, run_created_at, created_at)
     SELECT a.uid, a.run_id, r.slot_key, a.source_key, a.artifact_type, '{}',
            CASE WHEN a.artifact_type IN ('PLAN','SCREENSHOT','FILE','DIFF') THEN a.uid END,
            CASE WHEN a.artifact_type = 'EXTERNAL_REFERENCE' THEN a.uid END, r.created_at, r.created_at
       FROM jsonb_to_recordset($1) AS a (uid text, run_id uuid, source_key text, artifact_type text) JOIN runs r ON r.id = a.run_id`,
    [JSON.stringify(artifacts)],
  );
}

/** PostgreSQL's microseconds. */
const timestamp = (microseconds: number): string =>
  at(microseconds).replace('Z', `${String(microseconds % 1000).padStart(3, '0')}Z`);

function rowOf(run: ModelRun, { team, other, userUid }: Place): Record<string, unknown> {
  const teamUid = run.owner === 'self' ? null : run.owner === 'team' ? team : other;
  return {
    id: run.id,
    team_uid: teamUid,
    owner_user_uid: teamUid === null ? userUid : null,
    slot_key: teamUid === null ? `user:${userUid}` : `team:${teamUid}`,
    pool: 'hosted',
    state: run.state,
    title: run.title,
    prompt: run.prompt,
    source: run.source,
    execution_location: run.location,
    mode: 'normal',
    interactive: false,
    creator_type: 'user',
    creator_uid: run.creator,
    executor_type: 'user',
    executor_uid: run.executor,
    config: {
      ...(run.name === null ? {} : { name: run.name }),
      ...(run.model === null ? {} : { model_id: run.model }),
      ...(run.harnessModel === null ? {} : { harness: { type: 'claude', model_id: run.harnessModel } }),
      ...(run.environment === null ? {} : { environment_id: run.environment }),
      ...(run.host === null ? {} : { worker_host: run.host }),
      ...(run.skill === null ? {} : { skill_spec: run.skill }),
    },
    metadata: run.metadata,
    parent_run_id: run.ancestors.at(-1) ?? null,
    ancestor_run_ids: run.ancestors,
    schedule:
      run.schedule === null ? null : { schedule_id: run.schedule, schedule_name: 'x', cron_schedule: '* * * * *' },
    status_message: { message: 'Text.', retryable: false },
    offers: 0,
    prompt_taken: false,
    busy_ms: 0,
    queued_at: timestamp(run.created),
    created_at: timestamp(run.created),
    updated_at: timestamp(run.updated),
  };
}
