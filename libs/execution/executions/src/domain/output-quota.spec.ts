import { describe, expect, it } from 'vitest';
import { OutputQuota } from './output-quota.js';
import type { NewRunEvent } from './run.js';

const LIMIT = 100_000;
/** What the server keeps, with its margin. */
const KEPT = LIMIT + 1_048_576;
const TEXT = 'x'.repeat(10_000);
const chunk: NewRunEvent = { kind: 'message_chunk', data: { message_id: 'm', text: TEXT } };

describe('OutputQuota', () => {
  it('stores everything within the limit and its margin', () => {
    const quota = new OutputQuota(LIMIT, 0);
    expect(quota.admit(chunk)).toEqual([chunk]);
    expect(quota.usedBytes).toBe(JSON.stringify(chunk.data).length + 500);
  });

  it('says once that something is left out, also over several batches', () => {
    const first = new OutputQuota(LIMIT, KEPT - 5);
    expect(first.admit(chunk)).toEqual([{ kind: 'output_truncated', data: { limit_bytes: LIMIT } }]);
    expect(first.admit(chunk)).toEqual([]);
    expect(new OutputQuota(LIMIT, first.usedBytes).admit(chunk)).toEqual([]);
  });

  it('keeps the end of a tool call without its content', () => {
    const quota = new OutputQuota(LIMIT, KEPT + 1);
    const data = { tool_call_id: 'c', status: 'failed', content: [TEXT] };
    expect(quota.admit({ kind: 'tool_call', data })).toEqual([
      { kind: 'tool_call', data: { tool_call_id: 'c', status: 'failed' } },
    ]);
    expect(quota.admit({ kind: 'tool_call', data: { ...data, status: 'in_progress' } })).toEqual([]);
  });

  it('keeps other events, with their texts cut', () => {
    const quota = new OutputQuota(LIMIT, KEPT + 1);
    const ended = { kind: 'turn_ended', data: { turn_id: 't', stop_reason: 'end_turn' } } as const;
    expect(quota.admit(ended)).toEqual([ended]);
    const data = { turn_id: 't', prompt: TEXT, attachments: [{ file_name: 'a' }] };
    expect(quota.admit({ kind: 'turn_started', data })).toEqual([
      { kind: 'turn_started', data: { turn_id: 't', prompt: TEXT.slice(0, 1024), truncated: true } },
    ]);
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`field-${n}`, TEXT]));
    expect(quota.admit({ kind: 'usage', data: many })).toEqual([{ kind: 'usage', data: { truncated: true } }]);
  });

  it('stores nothing beyond twice the limit', () => {
    const quota = new OutputQuota(LIMIT, 2 * KEPT);
    expect(quota.admit({ kind: 'turn_ended', data: { turn_id: 't', stop_reason: 'end_turn' } })).toEqual([]);
  });
});
