import { Injectable } from '@nestjs/common';
import { lastMessage } from '#execution/executions';
import { Database, statement } from '#platform/persistence';
import type { RunOutcome } from '../domain/formats/chat-message.js';

/** A credential that the end cuts could not be recognised: it is beyond what is sent. */
const READ_RESULT_LENGTH = 12_500;
const MAX_ARTIFACTS = 20;

/** `$2`: a position of the log. */
const FIND = statement('notifications.find-run-outcome')`
  SELECT r.busy_ms::float8 AS "runTimeMs", (r.usage->>'cost_usd')::float8 AS "costUsd",
    ${lastMessage('$1', '$2::bigint', '$3')} AS result,
    (SELECT coalesce(json_agg(json_build_object('type', a.artifact_type,
        'title', coalesce(a.data->>'title', a.data->>'filename'), 'url', CASE WHEN a.artifact_type IN ('PULL_REQUEST', 'EXTERNAL_REFERENCE') THEN a.data->>'url' END) ORDER BY a.created_at DESC, a.uid), '[]')
       FROM (SELECT * FROM artifacts WHERE run_id = $1 ORDER BY created_at DESC, uid LIMIT ${MAX_ARTIFACTS}) a) AS artifacts
    FROM runs r WHERE r.id = $1`;

/** What runs have made, for the messages about them. */
@Injectable()
export class RunOutcomesStore {
  constructor(private readonly database: Database) {}

  /** Null when the run does not exist any more. One round trip. */
  async find(runId: string, seq: string, maxResult = READ_RESULT_LENGTH): Promise<RunOutcome | null> {
    const [row] = await this.database.query<RunOutcome>(FIND, [runId, seq, maxResult]);
    return row ?? null;
  }
}
