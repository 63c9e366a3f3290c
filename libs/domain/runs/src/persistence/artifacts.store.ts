import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import { type Artifact, MAX_ARTIFACTS_PER_RUN, MAX_SOURCE_PULL_REQUESTS } from '../domain/artifact.js';
import { LEASED, RunTransitions, type RunOwner } from '#execution/executions';
import { type OwnerRow, toOwner } from './runs.store.js';

const PROBE = statement(
  'artifacts.probe',
)`SELECT e.run_id AS "runId", a.uid AS known, d.uid AS "diffUid", d.object_key AS "diffKey", coalesce(d.size_bytes, 0)::float8 AS "diffBytes",
      (SELECT coalesce(sum(s.size_bytes), 0) FROM artifacts s WHERE s.run_id = e.run_id)::float8 AS "usedBytes" FROM executions e
    LEFT JOIN artifacts a ON a.run_id = e.run_id AND a.source_key = $3
    LEFT JOIN artifacts d ON d.run_id = e.run_id AND d.artifact_type = 'DIFF' AND d.data->>'filepath' = $4 WHERE ${LEASED}`;

/** Under the run's lock, so that nobody else counts at the same time. */
const INSERT = statement('artifacts.insert')`
  INSERT INTO artifacts (uid, run_id, slot_key, execution_id, source_key, artifact_type, data, object_key, locator, size_bytes, own_since, run_created_at, created_at)
    SELECT $4, r.id, r.slot_key, e.id, $3, $5, $6::jsonb, $7, $8, $9::bigint, CASE WHEN $11 THEN headrace.now() END, r.created_at, headrace.now()
      FROM executions e JOIN runs r ON r.id = e.run_id
     WHERE ${LEASED} AND (SELECT count(*) < ${MAX_ARTIFACTS_PER_RUN} AND coalesce(sum(a.size_bytes), 0) + $9::bigint <= $10::bigint
       FROM artifacts a WHERE a.run_id = r.id)
    ON CONFLICT DO NOTHING RETURNING uid`;

/** What a run has reported of the same address before; its uid stays, what is not reported again, since when it is the run's own, and the status that the server has reported. */
const UPDATE_REFERENCE = statement('artifacts.update-reference')`
  UPDATE artifacts a SET execution_id = e.id, source_key = $3, own_since = coalesce(a.own_since, CASE WHEN $7 THEN headrace.now() END), data = a.data || CASE WHEN a.status_at IS NULL THEN $6::jsonb ELSE $6::jsonb - 'status' END
    FROM executions e WHERE ${LEASED} AND a.run_id = e.run_id AND a.artifact_type = $4 AND a.locator = $5
     AND a.data->>'reference_type' IS NOT DISTINCT FROM $6::jsonb->>'reference_type'
     AND NOT EXISTS (SELECT 1 FROM artifacts o WHERE o.run_id = a.run_id AND o.source_key = $3 AND o.uid <> a.uid) RETURNING a.uid`;

/** The content of a DIFF that has changed; its uid stays. `$9`: the object that it replaces. */
const REPLACE = statement('artifacts.replace')`
  UPDATE artifacts a SET execution_id = e.id, source_key = $3, data = $5::jsonb, object_key = $6, size_bytes = $7::bigint, created_at = headrace.now()
    FROM executions e WHERE ${LEASED} AND a.run_id = e.run_id AND a.uid = $4 AND a.object_key = $9
     AND (SELECT coalesce(sum(o.size_bytes), 0) + $7::bigint <= $8::bigint FROM artifacts o WHERE o.run_id = a.run_id AND o.uid <> a.uid)
    RETURNING a.uid`;

const REMOVE = statement('artifacts.remove')`
  DELETE FROM artifacts a USING executions e WHERE ${LEASED} AND a.run_id = e.run_id AND a.uid = $3 AND a.object_key = $4 RETURNING a.uid`;

const FIND = statement('artifacts.find')`
  SELECT a.uid, a.artifact_type AS type, a.data, a.object_key AS "objectKey", a.created_at AS "createdAt", a.run_id AS "runId", r.team_uid, r.owner_user_uid
    FROM artifacts a JOIN runs r ON r.id = a.run_id WHERE a.uid = $1`;

/** The run at the top of run `$1`, and the pull requests of it and of the runs of its owner below it. */
const SOURCE_LINKS = statement('artifacts.source-links')`
  WITH top AS (SELECT coalesce(r.ancestor_run_ids[1], r.id) AS id, r.slot_key FROM runs r WHERE r.id = $1)
  SELECT top.id AS "rootRunId", ARRAY(
      SELECT a.data->>'url' FROM artifacts a
       WHERE a.artifact_type = 'PULL_REQUEST' AND a.slot_key = top.slot_key AND (a.run_id = top.id OR a.run_id IN (
         SELECT f.run_id FROM run_facets f WHERE f.tokens @> ARRAY[headrace.run_token(top.slot_key, 'ancestor_run_id', top.id::text)]))
       GROUP BY 1 ORDER BY min(a.created_at), 1 LIMIT ${MAX_SOURCE_PULL_REQUESTS}) AS "pullRequestUrls" FROM top`;

/** `$4`: the time of the server. */
const UPDATE_PULL_REQUESTS = statement('artifacts.update-pull-requests')`
  UPDATE artifacts SET data = data || jsonb_build_object('status', $3::text), status_at = $4
   WHERE md5(locator) = md5($1) AND slot_key = $2 AND locator = $1 AND artifact_type = 'PULL_REQUEST'
     AND (status_at IS NULL OR status_at <= $4)`;
/**
 * The first run that has created the pull request, or the newest one that continues its work for a person: with its conversation, its
 * input or its files. Agents start none of these, so no other run takes the events. None that a person has cancelled.
 */
const RUN_OF_PULL_REQUEST = statement('artifacts.run-of-pull-request')`
  WITH RECURSIVE c AS MATERIALIZED (
    SELECT r.id, a.own_since, r.created_at, r.state, r.conversation_id, r.rerun_of, r.forked_from_run_id FROM artifacts a JOIN runs r ON r.id = a.run_id
     WHERE md5(a.locator) = md5($1) AND a.slot_key = $2 AND a.locator = $1 AND a.artifact_type = 'PULL_REQUEST' AND a.own_since IS NOT NULL
  ), line AS (
    (SELECT c.* FROM c ORDER BY own_since, id LIMIT 1)
    UNION
    SELECT c.* FROM line l JOIN c ON l.id IN (c.rerun_of, c.forked_from_run_id) OR c.conversation_id = l.conversation_id
  )
  SELECT id AS run_id FROM line WHERE state <> 'CANCELLED' ORDER BY created_at DESC, id DESC LIMIT 1`;
/** One probe per owner that the caller stands for: what others own is not even looked at, so it costs no time either. */
const RUN_BY_LOCATOR = statement('artifacts.run-by-locator')`
  SELECT found.run_id FROM unnest($2::text[]) AS owner (slot_key) CROSS JOIN LATERAL (
      SELECT a.run_id, a.run_created_at FROM artifacts a
       WHERE md5(a.locator) = md5($1) AND a.slot_key = owner.slot_key AND a.locator = $1 AND a.locator IS NOT NULL
       ORDER BY a.run_created_at DESC, a.run_id DESC LIMIT 1) found
    ORDER BY found.run_created_at DESC, found.run_id DESC LIMIT 1`;

export interface NewArtifact extends Pick<StoredArtifact, 'uid' | 'type' | 'data' | 'objectKey'> {
  readonly sourceKey: string;
  readonly locator: string | null;
  /** A pull request in a repository of the run, which the run has created. */
  readonly createdByRun: boolean;
  readonly sizeBytes: number;
}

export interface StoredArtifact extends Artifact {
  readonly runId: string;
  readonly uid: string;
  readonly owner: RunOwner;
  readonly objectKey: string | null;
}

export interface SourceLinks {
  readonly rootRunId: string;
  readonly pullRequestUrls: readonly string[];
}

/** The run of a live lease, and the artifact that was reported under the key before. */
export interface ProbedArtifact {
  readonly runId: string;
  readonly known: string | null;
  /** The DIFF with the path of the reported one, and its object. */
  readonly diffUid: string | null;
  readonly diffKey: string | null;
  readonly diffBytes: number;
  readonly usedBytes: number;
}

@Injectable()
export class ArtifactsStore {
  constructor(
    private readonly database: Database,
    private readonly transitions: RunTransitions,
  ) {}

  /** `diffPath`: of a DIFF. */
  async probe(
    executionId: string,
    leaseEpoch: number,
    sourceKey: string,
    diffPath: string | null,
  ): Promise<ProbedArtifact | null> {
    const [row] = await this.database.query<ProbedArtifact>(PROBE, [executionId, leaseEpoch, sourceKey, diffPath]);
    return row ?? null;
  }

  /**
   * Resolves to the uid, which is that of an earlier reference to the same address. Null: the lease is gone, the key is in use, or the
   * run has as many artifacts as it may have; {@link probe} finds out which.
   */
  async insert(
    runId: string,
    executionId: string,
    leaseEpoch: number,
    artifact: NewArtifact,
    maxRunBytes: number,
  ): Promise<string | null> {
    const { uid, sourceKey, type, data, objectKey, locator, createdByRun, sizeBytes } = artifact;
    const lease = [executionId, leaseEpoch, sourceKey];
    const json = JSON.stringify(data);
    return this.database.transaction(async (tx) => {
      // Before the execution, as everywhere; see RunTransitions.
      await this.transitions.lock(tx, runId);
      if (locator !== null) {
        const [known] = await tx.query<{ uid: string }>(UPDATE_REFERENCE, [
          ...lease,
          type,
          locator,
          json,
          createdByRun,
        ]);
        if (known) return known.uid;
      }
      const described = [uid, type, json, objectKey, locator, sizeBytes];
      return (await tx.query(INSERT, [...lease, ...described, maxRunBytes, createdByRun])).length > 0 ? uid : null;
    });
  }

  /** As {@link insert}, for a DIFF that the run has already; null also when it has another object than `replacedKey` now. */
  async replace(
    runId: string,
    executionId: string,
    leaseEpoch: number,
    { uid, sourceKey, data, objectKey, sizeBytes }: NewArtifact,
    maxRunBytes: number,
    replacedKey: string | null,
  ): Promise<string | null> {
    const described = [sourceKey, uid, JSON.stringify(data), objectKey, sizeBytes];
    const values = [executionId, leaseEpoch, ...described, maxRunBytes, replacedKey];
    return this.database.transaction(async (tx) => {
      await this.transitions.lock(tx, runId);
      return (await tx.query(REPLACE, values)).length > 0 ? uid : null;
    });
  }

  /** false: the lease is gone, or the DIFF has another object now. */
  async remove(executionId: string, leaseEpoch: number, uid: string, objectKey: string | null): Promise<boolean> {
    return (await this.database.query(REMOVE, [executionId, leaseEpoch, uid, objectKey])).length > 0;
  }

  async find(uid: string): Promise<StoredArtifact | null> {
    const [row] = await this.database.query<Omit<StoredArtifact, 'owner'> & OwnerRow>(FIND, [uid]);
    return row ? { ...row, owner: toOwner(row) } : null;
  }

  async sourceLinks(runId: string): Promise<SourceLinks | null> {
    const [row] = await this.database.query<SourceLinks>(SOURCE_LINKS, [runId]);
    return row ?? null;
  }

  async updatePullRequests(locator: string, slotKey: string, status: string, updatedAt: Date): Promise<void> {
    await this.database.query(UPDATE_PULL_REQUESTS, [locator, slotKey, status, updatedAt]);
  }

  async runOfPullRequest(locator: string, slotKey: string): Promise<string | null> {
    const [row] = await this.database.query<{ run_id: string }>(RUN_OF_PULL_REQUEST, [locator, slotKey]);
    return row?.run_id ?? null;
  }

  async runByLocator(locator: string, slotKeys: readonly string[]): Promise<string | null> {
    const [row] = await this.database.query<{ run_id: string }>(RUN_BY_LOCATOR, [locator, slotKeys]);
    return row?.run_id ?? null;
  }
}
