import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, statement } from '#platform/persistence';
import { WORKER_OFFERS_CHANNEL } from '../domain/lease.js';
import type { WorkerOffer } from '../domain/worker-assignment.js';

export interface WorkerPlace {
  readonly team: string;
  readonly host: string;
}

const PLACE = statement('worker-offers.place')`
  SELECT execution_id, connection_id, team, host FROM place_worker_runs($1::text[], $2::text[], $3, $4, $5)`;
/** Marks what it returns, so that every offer is given to its socket once. */
const TAKE = statement('worker-offers.take')`WITH taken AS (
    UPDATE executions SET offer_sent_at = headrace.now()
     WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL AND phase = 'offered' AND offer_sent_at IS NULL
       AND lease_expires_at > headrace.now()
     RETURNING id, run_id, worker_connection_id)
  SELECT t.id AS "executionId", t.run_id AS "runId", t.worker_connection_id AS "connectionId", r.title, r.prompt, r.config,
    r.conversation_id AS "conversationId", r.created_at AS "createdAt", r.updated_at AS "updatedAt" FROM taken t JOIN runs r ON r.id = t.run_id ORDER BY t.id`;
const PUT_BACK = statement('worker-offers.put-back')`
  UPDATE executions SET offer_sent_at = NULL WHERE id = ANY($1::bigint[]) AND phase = 'offered' AND ended_at IS NULL`;
const TELL = statement('worker-offers.tell')`
  SELECT pg_notify('${WORKER_OFFERS_CHANNEL}', c::text) FROM unnest($1::uuid[]) AS c`;
const TO_STOP = statement('worker-offers.to-stop')`
  SELECT worker_connection_id AS "connectionId", run_id AS "runId", id AS "executionId" FROM executions
   WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL AND desired IN ('stop', 'kill')`;

export type WorkerStop = Pick<WorkerOffer, 'connectionId' | 'runId' | 'executionId'>;

const OFFERS_AT_ONCE = 20;

@Injectable()
export class WorkerOffersStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** Offers what waits for these workers and can be offered, up to 20 runs each. One round trip. */
  async place(places: readonly WorkerPlace[], placedBy: string) {
    const rows = await this.database.query<PlacedRow>(PLACE, [
      places.map(({ team }) => team),
      places.map(({ host }) => host),
      OFFERS_AT_ONCE,
      this.settings.claimDeadline,
      placedBy,
    ]);
    const offers = rows.filter(({ execution_id: id }) => id !== null);
    const count = ({ team, host }: WorkerPlace): number =>
      offers.filter((row) => row.team === team && row.host === host).length;
    return {
      /** Connections that were given an offer. */
      connectionIds: new Set(offers.flatMap(({ connection_id: id }) => id ?? [])),
      /** Workers that are full while runs wait for them. */
      full: rows.filter(({ execution_id: id }) => id === null),
      /** Where maybe more can be offered at once. */
      more: places.filter((place) => count(place) >= OFFERS_AT_ONCE),
    };
  }

  /** The offers of these connections that were not sent yet; the caller has to send them. One round trip. */
  take(connectionIds: readonly string[]): Promise<WorkerOffer[]> {
    return this.database.query<WorkerOffer>(TAKE, [connectionIds]);
  }

  async putBack(executionIds: readonly string[]): Promise<void> {
    await this.database.query(PUT_BACK, [executionIds]);
  }

  /** Tells the processes that hold these connections that offers wait for them. */
  async tell(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(TELL, [connectionIds]);
  }

  toStop(connectionIds: readonly string[]): Promise<WorkerStop[]> {
    return this.database.query<WorkerStop>(TO_STOP, [connectionIds]);
  }
}

type PlacedRow = { execution_id: string | null; connection_id: string | null; team: string; host: string };
