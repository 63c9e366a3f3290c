import { createHash, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { ExecutionTokens } from '#execution/executions';
import {
  type Assignment,
  type BatchAck,
  encodeManifest,
  type RunnerEvent,
  type RunnerEventKind,
  SNAPSHOT_VERSION,
  type SnapshotEntry,
} from '#execution/runner-protocol';
import type { TestApi } from './test-api.js';

/**
 * A runner that reports what a test tells it to, over the runner protocol. For applications without a processor, which
 * would place the run itself:
 *
 *   const runner = await TestRunner.take(api, runId);
 *   await runner.startAgent();
 *   await runner.report(['turn_started', { turn_id: 't1', prompt: 'go' }], ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
 */
export class TestRunner {
  private sent = 0;

  private constructor(
    private readonly api: TestApi,
    readonly token: string,
    readonly assignment: Assignment,
  ) {}

  /** Offers the queued run to this runner, which claims it. */
  static async take(api: TestApi, runId: string): Promise<TestRunner> {
    await api.database.query(
      `INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:hosted', 0, 1000) ON CONFLICT (key) DO UPDATE SET capacity = 1000`,
    );
    await api.database.query(
      `SELECT execution_id FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 1000, 1000, 60000, 'test')`,
    );
    const [execution] = await api.database.query<{ id: string }>(
      'SELECT id FROM executions WHERE run_id = $1 AND ended_at IS NULL',
      [runId],
    );
    if (!execution) throw new Error(`The run ${runId} was not placed.`);
    return TestRunner.claim(api, execution.id, new ExecutionTokens(api.settings.secretsKey ?? '').mint(execution.id));
  }

  /** Claims an execution that was offered already. */
  static async claim(api: TestApi, executionId: string, token: string): Promise<TestRunner> {
    const { body } = await api.request(200, `POST /runner/v1/executions/${executionId}/claim`, {
      token,
      body: { protocol_version: 1, instance_id: 'test' },
    });
    return new TestRunner(api, token, body as Assignment);
  }

  /** Numbers the events on; `at` is left to the server. */
  async report(...events: readonly (readonly [RunnerEventKind, object?])[]): Promise<BatchAck> {
    const numbered = events.map(([kind, data = {}]): RunnerEvent => {
      this.sent += 1;
      return { source_seq: this.sent, kind, data: data as Record<string, unknown> };
    });
    const { body } = await this.request(200, 'POST', 'events', {
      lease_epoch: this.assignment.lease_epoch,
      events: numbered,
    });
    return body as BatchAck;
  }

  /** The usual beginning: sandbox, session, agent. The run is INPROGRESS and has a conversation. */
  startAgent(sessionId = 'session-1'): Promise<BatchAck> {
    return this.report(
      ['sandbox_ready'],
      ['session_started', { session_id: sessionId, resumed: false }],
      ['agent_started', { harness: 'oz' }],
    );
  }

  /** A turn whose agent says the text. */
  completeTurn(text = 'Done.'): Promise<BatchAck> {
    return this.report(
      ['turn_started', { turn_id: 't', prompt: 'Go.' }],
      ['message_chunk', { message_id: 'm', text }],
      ['turn_ended', { turn_id: 't', stop_reason: 'end_turn' }],
    );
  }

  /** Stores a snapshot of a workspace with the one file `work/file`. Resolves with its id. */
  async snapshot(text = 'abc'): Promise<string> {
    const packId = randomUUID();
    await this.call(204, `PUT snapshots/packs/${packId}`, {}, Buffer.from(`\0${text}`));
    const entries: SnapshotEntry[] = [
      { type: 'directory', path: 'work', mode: 0o700 },
      {
        type: 'file',
        path: 'work/file',
        mode: 0o644,
        mtime: 1,
        size: text.length,
        hash: createHash('sha256').update(text).digest('hex'),
        content: [[0, 0, text.length + 1, 0, text.length]],
      },
    ];
    const facts = { entries: entries.length, bytes: text.length, problems: [], excluded: [], root: '/srv/1' };
    const manifest = gzipSync(encodeManifest({ version: SNAPSHOT_VERSION, packs: [packId], ...facts }, entries));
    const { body } = await this.call(200, 'PUT snapshots', { reason: 'turn', stored_bytes: '9' }, manifest);
    await this.report(['workspace_snapshot', body]);
    return body.snapshot_id as string;
  }

  async finish(
    outcome: 'closed' | 'failed' | 'cancelled' | 'handed_back' = 'closed',
    fields: object = {},
  ): Promise<void> {
    await this.request(200, 'POST', 'finish', { lease_epoch: this.assignment.lease_epoch, outcome, ...fields });
  }

  /** Any other call of the protocol, its lease's epoch included: `runner.call(200, 'PUT artifacts', { source_key: 'a' }, bytes)`. */
  call(status: number, line: string, query: Readonly<Record<string, string>> = {}, body?: unknown) {
    const [method = '', path = ''] = line.split(' ');
    const parameters = new URLSearchParams({ lease_epoch: String(this.assignment.lease_epoch), ...query });
    return this.request(status, method, `${path}?${parameters.toString()}`, body);
  }

  private request(status: number, method: string, call: string, body: unknown) {
    return this.api.request(status, `${method} /runner/v1/executions/${this.assignment.execution_id}/${call}`, {
      token: this.token,
      body,
    });
  }
}
