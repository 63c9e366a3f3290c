import { describe, expect, it } from 'vitest';
import { parseServerFrame, parseWorkerFrame } from './frames.js';

const parse = (value: unknown) => parseWorkerFrame(JSON.stringify(value));

describe('a frame from a worker', () => {
  it('is read by its type, without what is not known', () => {
    const data = { task_id: 'r', worker_id: 'w', colour: 'red' };
    expect(parse({ type: 'task_claimed', data, more: 1 })).toEqual({
      kind: 'frame',
      frame: { type: 'task_claimed', data: { task_id: 'r', worker_id: 'w' } },
    });
  });

  it('has no data when it is a heartbeat', () => {
    expect(parse({ type: 'heartbeat', data: { any: 'thing' } })).toEqual({
      kind: 'frame',
      frame: { type: 'heartbeat' },
    });
  });

  it('may leave out what is optional, or send null for it', () => {
    const frame = { type: 'task_failed', data: { task_id: 'r', message: 'm' } };
    expect(parse(frame)).toEqual({ kind: 'frame', frame });
    expect(parse({ ...frame, data: { ...frame.data, exit_code: null } })).toEqual({ kind: 'frame', frame });
  });

  it('of a hello keeps all that it tells', () => {
    const frame = {
      type: 'hello',
      data: {
        protocol: 1,
        instance_id: 'i',
        version: '1',
        backend: 'process',
        slots: 2,
        features: ['x'],
        harnesses: [{ id: 'oz', installed: true, version: '1' }],
        skills: [{ name: 's', description: 'd' }],
        labels: { zone: 'a' },
        tasks: [{ task_id: 'r', execution_id: '7' }],
      },
    };
    expect(parse(frame)).toEqual({ kind: 'frame', frame });
  });

  it.each([
    ['task_completed', {}],
    ['task_completed', { task_id: 7, message: 'm' }],
    ['task_claimed', undefined],
    ['task_failed', { task_id: 'r', message: 'm', exit_code: 'one' }],
    ['task_failed', []],
    ['hello', { protocol: 2 }],
    ['beat', { draining: 'no', free_slots: 1, tasks: [] }],
    ['beat', { draining: false, free_slots: -1, tasks: [] }],
  ])('is invalid when %s lacks something or has it in another shape', (type, data) => {
    expect(parse({ type, data })).toMatchObject({ kind: 'invalid', type, detail: expect.stringContaining('data.') });
  });

  it.each(['gossip', '__proto__', 'constructor', 'toString'])('of the type %s is unknown', (type) => {
    expect(parse({ type })).toEqual({ kind: 'unknown', type });
  });

  it.each(['', '{', 'null', '[]', '"heartbeat"', '1', '{}', '{"type":1}', '[{"type":"heartbeat"}]'])(
    'is malformed: %s',
    (text) => {
      expect(parseWorkerFrame(text)).toMatchObject({ kind: 'malformed' });
    },
  );
});

describe('a frame from the server', () => {
  it('is read by its type', () => {
    const task = {
      id: 'r',
      title: 't',
      task_definition: { prompt: 'p' },
      created_at: '2025-01-01T00:00:00Z',
      updated_at: '2025-01-01T00:00:00Z',
      agent_config_snapshot: { model_id: 'auto', nested: { a: [1] } },
    };
    const frame = {
      type: 'task_assignment',
      data: { task_id: 'r', execution_id: '7', task, env_vars: { A: 'b' }, instance_shape: { vcpus: 2 } },
    };
    expect(parseServerFrame(JSON.stringify({ ...frame, later: true }))).toEqual({ kind: 'frame', frame });
  });

  it('is none that a worker sends', () => {
    expect(parseServerFrame('{"type":"task_claimed","data":{}}')).toEqual({ kind: 'unknown', type: 'task_claimed' });
  });
});
