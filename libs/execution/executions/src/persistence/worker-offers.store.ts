import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import { WORKER_OFFERS_CHANNEL } from '../domain/lease.js';
import type { WorkerOffer } from '../domain/worker-assignment.js';

/** Marks what it returns, so that every offer is given to its socket once. */
const DEQUEUE = statement('worker-offers.dequeue')`WITH dequeued AS (
    UPDATE executions SET offer_sent_at = headrace.now()
     WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL AND phase = 'offered' AND offer_sent_at IS NULL
       AND lease_expires_at > headrace.now()
     RETURNING id, run_id, worker_connection_id)
  SELECT t.id AS "executionId", t.run_id AS "runId", t.worker_connection_id AS "connectionId", r.title, r.prompt, r.config,
    r.conversation_id AS "conversationId", r.created_at AS "createdAt", r.updated_at AS "updatedAt" FROM dequeued t JOIN runs r ON r.id = t.run_id ORDER BY t.id`;
const REQUEUE = statement('worker-offers.requeue')`
  UPDATE executions SET offer_sent_at = NULL WHERE id = ANY($1::bigint[]) AND phase = 'offered' AND ended_at IS NULL`;
const NOTIFY = statement('worker-offers.notify')`
  SELECT pg_notify('${WORKER_OFFERS_CHANNEL}', c::text) FROM unnest($1::uuid[]) AS c`;
const TO_STOP = statement('worker-offers.to-stop')`
  SELECT worker_connection_id AS "connectionId", run_id AS "runId", id AS "executionId" FROM executions
   WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL AND desired IN ('stop', 'kill')`;

export type WorkerStop = Pick<WorkerOffer, 'connectionId' | 'runId' | 'executionId'>;

@Injectable()
export class WorkerOffersStore {
  constructor(private readonly database: Database) {}

  /** The offers of these connections that were not sent yet; the caller has to send them. One round trip. */
  dequeue(connectionIds: readonly string[]): Promise<WorkerOffer[]> {
    return this.database.query<WorkerOffer>(DEQUEUE, [connectionIds]);
  }

  /** These offers could not be sent. */
  async requeue(executionIds: readonly string[]): Promise<void> {
    await this.database.query(REQUEUE, [executionIds]);
  }

  /** Notifies the processes that hold these connections that offers wait for them. */
  async notify(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(NOTIFY, [connectionIds]);
  }

  toStop(connectionIds: readonly string[]): Promise<WorkerStop[]> {
    return this.database.query<WorkerStop>(TO_STOP, [connectionIds]);
  }
}
