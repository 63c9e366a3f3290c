import { OnWorkerEvent, WorkerHost } from '@nestjs/bullmq';
import { Logger } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { JobDefinition } from './job-definition.js';

export interface JobHandler {
  readonly job: JobDefinition;
  handle(payload: object): Promise<void>;
}

/** Typed pairing of a job and what handles it. */
export function handles<Payload extends object>(
  job: JobDefinition<Payload>,
  handle: (payload: Payload) => Promise<void>,
): JobHandler {
  return { job, handle: (payload) => handle(payload as Payload) };
}

/** One BullMQ processor per queue; lists what it handles, so that a job without handler stops the process at start. */
export abstract class JobProcessor extends WorkerHost {
  abstract readonly handlers: readonly JobHandler[];

  /** BullMQ reconnects by itself; without a listener it would write raw stacks to the console. */
  @OnWorkerEvent('error')
  onWorkerError(error: Error): void {
    new Logger(this.constructor.name).warn(`The worker reports: ${error.message}`);
  }

  override async process(job: Job): Promise<void> {
    const handler = this.handlers.find((candidate) => candidate.job.name === job.name);
    if (!handler) throw new Error(`Queue ${job.queueName} got a job ${job.name} that nothing handles.`);
    await handler.handle(job.data as object);
  }
}
