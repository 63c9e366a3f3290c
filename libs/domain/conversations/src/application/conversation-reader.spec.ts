import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#platform/kernel';
import type { Database } from '#platform/persistence';
import type { RunEvent } from '#execution/runner-protocol';
import { RunTail } from '#execution/executions';
import { RunDataOwners } from '#domain/runs';
import { RunLogBuilder } from '#testing';
import type { ConversationProjection, StoredProjection } from '../domain/conversation-normalizer.js';
import { projectConversation } from '#testing';
import { ConversationProjectionStore } from '../persistence/conversation-projections.store.js';
import { NormalizerRegistry, HeadraceEventsNormalizer } from './normalizer-registry.js';
import { ConversationReader } from './conversation-reader.js';

class GivenLog extends RunTail {
  constructor() {
    super({} as never);
  }
  events: readonly RunEvent[] = [];
  /** `afterSeq` of every read. */
  reads: number[] = [];
  override holdWhole = () => Promise.resolve(true);
  override read(_runId: string, afterSeq: number, limit: number): Promise<RunEvent[]> {
    this.reads.push(afterSeq);
    return Promise.resolve(this.events.filter(({ seq }) => seq > afterSeq).slice(0, limit));
  }
}

class MemoryFolds extends ConversationProjectionStore {
  kept: StoredProjection = { seq: 0, steps: [] };
  broken = false;
  constructor() {
    super({} as Database, new GivenLog(), new RunDataOwners());
  }
  override load = () => Promise.resolve(structuredClone(this.kept));
  override save = (_runId: string, _of: unknown, { state }: ConversationProjection) => {
    if (this.broken) return Promise.reject(new Error('read-only'));
    this.kept = structuredClone(state);
    return Promise.resolve();
  };
}

class HandClock extends Clock {
  time = 0;
  override now = () => new Date(this.time);
}

const RUN = { id: '01900000-0000-7000-8000-000000000001', conversationId: 'c1', conversationFormat: null };

describe('ConversationReader', () => {
  let log: GivenLog;
  let projections: MemoryFolds;
  let clock: HandClock;
  let read: ConversationReader;
  beforeEach(() => {
    log = new GivenLog();
    projections = new MemoryFolds();
    const registry = new NormalizerRegistry(new DiscoveryService(new ModulesContainer()));
    const ours = new HeadraceEventsNormalizer();
    vi.spyOn(registry, 'find').mockImplementation((format) => (format === ours.format ? ours : undefined));
    clock = new HandClock();
    read = new ConversationReader(log, registry, projections, clock);
  });

  it('reads only newer events after a finished turn was stored', async () => {
    const builder = new RunLogBuilder().prepared().turn('t1', 'go').says('m', 'done').ended('t1');
    log.events = builder.events;
    expect(await read.getOfRun(RUN)).toEqual({
      kind: 'found',
      conversation: projectConversation('c1', builder.events),
    });
    builder.add('run_done').turn('t2', 'on').says('m2', 'again');
    expect(await read.getOfRun(RUN)).toEqual({
      kind: 'found',
      conversation: projectConversation('c1', builder.events),
    });
    expect(log.reads).toEqual([0, 8]);
  });

  it('stores nothing of a running turn, unless it is long', async () => {
    const builder = new RunLogBuilder().prepared().turn('t1', 'go').says('m', 'a');
    log.events = builder.events;
    await read.getOfRun(RUN);
    expect(projections.kept.seq).toBe(0);
    for (let count = 0; count < 2500; count += 1) builder.says('m', 'b');
    expect(await read.getOfRun(RUN)).toEqual({
      kind: 'found',
      conversation: projectConversation('c1', builder.events),
    });
    expect(log.reads).toEqual([0, 0, 1000, 2000]);
    expect(projections.kept.seq).toBe(builder.events.length);
  });

  it('returns the conversation although the projection cannot be stored', async () => {
    const builder = new RunLogBuilder().prepared().turn('t1', 'go').ended('t1');
    log.events = builder.events;
    projections.broken = true;
    expect(await read.getOfRun(RUN)).toMatchObject({ kind: 'found' });
  });

  describe('with several runs', () => {
    const runs = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ ...RUN, id: `${RUN.id.slice(0, -2)}${10 + index}` }));
    beforeEach(() => {
      vi.spyOn(projections, 'load').mockImplementation(() => Promise.resolve({ seq: 0, steps: [] }));
    });

    it('continues with the next run only below 32 MiB, and never rejects a single one', async () => {
      const builder = new RunLogBuilder().prepared().turn('t1', 'go');
      for (let index = 0; index < 17; index += 1) builder.says(`m${index}`, 'x'.repeat(1024 * 1024));
      log.events = builder.ended('t1').events;
      expect(await read.getOfRuns(runs(2))).toMatchObject({ kind: 'found' });
      log.reads = [];
      expect(await read.getOfRuns(runs(100))).toEqual({ kind: 'too_large' });
      expect(log.reads).toHaveLength(2);
      for (let index = 0; index < 17; index += 1) builder.turn(`u${index}`, 'x'.repeat(1024 * 1024)).ended(`u${index}`);
      log.events = builder.events;
      expect(await read.getOfRuns(runs(1))).toMatchObject({ kind: 'found' });
    });

    it('continues with the next run only within 10 s', async () => {
      log.events = new RunLogBuilder().prepared().turn('t1', 'go').ended('t1').events;
      vi.spyOn(log, 'read').mockImplementation(() => {
        clock.time += 3000;
        return Promise.resolve(log.events as RunEvent[]);
      });
      expect(await read.getOfRuns(runs(4))).toMatchObject({ kind: 'found' });
      expect(await read.getOfRuns(runs(5))).toEqual({ kind: 'too_large' });
    });
  });

  it('reports a run without a conversation and an unknown format', async () => {
    expect(await read.getOfRun({ ...RUN, conversationId: null })).toEqual({ kind: 'no_conversation' });
    expect(await read.getOfRun({ ...RUN, conversationFormat: 'odd' })).toEqual({
      kind: 'unsupported_format',
      format: 'odd',
    });
    expect(log.reads).toEqual([]);
  });
});
