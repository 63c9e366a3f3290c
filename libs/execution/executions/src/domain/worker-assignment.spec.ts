import { describe, expect, it } from 'vitest';
import { MAX_FRAME_BYTES, parseServerFrame } from '#execution/worker-protocol';
import { toAssignmentFrame, type WorkerOffer } from './worker-assignment.js';

const AT = new Date('2026-01-02T03:04:05.678Z');
const OFFER: WorkerOffer = {
  connectionId: '01900000-0000-7000-8000-000000000001',
  executionId: '42',
  runId: '01900000-0000-7000-8000-000000000002',
  title: 'Fix it',
  prompt: 'Fix the test.',
  config: {
    worker_host: 'lab-1',
    mcp_servers: { docs: { url: 'https://docs.test', headers: { Authorization: '***' } } },
  },
  conversationId: null,
  createdAt: AT,
  updatedAt: AT,
};
const frameOf = (changes: Partial<WorkerOffer> = {}, dockerImage: string | null = null) =>
  toAssignmentFrame({ ...OFFER, ...changes }, { token: 'hrx_42_mac', dockerImage, sidecarImage: null, secrets: {} });

describe('toAssignmentFrame', () => {
  it('is a frame of the protocol, with the token for the runner', () => {
    const frame = frameOf({ conversationId: '01900000-0000-7000-8000-000000000003' }, 'node:20');
    expect(frame).toEqual({
      type: 'task_assignment',
      data: {
        task_id: OFFER.runId,
        execution_id: '42',
        task: {
          id: OFFER.runId,
          title: 'Fix it',
          task_definition: { prompt: 'Fix the test.' },
          created_at: '2026-01-02T03:04:05.678Z',
          updated_at: '2026-01-02T03:04:05.678Z',
          agent_config_snapshot: {
            worker_host: 'lab-1',
            mcp_servers: { docs: { url: 'https://docs.test', headers: { Authorization: '***' } } },
          },
          agent_conversation_id: '01900000-0000-7000-8000-000000000003',
        },
        docker_image: 'node:20',
        env_vars: { HEADRACE_EXECUTION_ID: '42', HEADRACE_EXECUTION_TOKEN: 'hrx_42_mac' },
      },
    });
    expect(parseServerFrame(JSON.stringify(frame))).toEqual({ kind: 'frame', frame });
  });

  it('leaves out the end of a prompt, then the configuration, where they do not fit', () => {
    const long = '€'.repeat(400_000);
    const shortened = frameOf({ prompt: long });
    expect(shortened.data.task.task_definition.prompt).toBe('€'.repeat(21_845));
    expect(shortened.data.task).toHaveProperty('agent_config_snapshot');
    const bare = frameOf({ prompt: long, config: { base_prompt: '\u0001'.repeat(200_000) } });
    expect(bare.data.task).not.toHaveProperty('agent_config_snapshot');
    for (const frame of [shortened, bare])
      expect(Buffer.byteLength(JSON.stringify(frame))).toBeLessThanOrEqual(MAX_FRAME_BYTES);
  });
});
