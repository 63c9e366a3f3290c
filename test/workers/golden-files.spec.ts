import { describe, expect, it } from 'vitest';
import { parseServerFrame, parseWorkerFrame } from '#execution/worker-protocol';
import { faultsOf, GOLDENS } from './golden-files.js';

it('golden files exist for every message of the contract', () => {
  expect(GOLDENS.map(({ from, type }) => `${from} ${type}`)).toEqual([
    'worker heartbeat',
    'server task_assignment',
    'server task_cancellation',
    'worker task_claimed',
    'worker task_completed',
    'worker task_failed',
    'worker task_rejected',
  ]);
});

describe.each(GOLDENS)('$from $type', ({ from, type, frames, not_frames }) => {
  const parse = (text: string) => (from === 'server' ? parseServerFrame(text) : parseWorkerFrame(text));

  it('has frames that match its schema', () => {
    expect(frames.flatMap(faultsOf)).toEqual([]);
    for (const frame of not_frames) expect(faultsOf(frame), JSON.stringify(frame)).not.toEqual([]);
  });

  it.each(frames)('is parsed: $data', (frame) => {
    const read = parse(JSON.stringify(frame));
    expect(read).toMatchObject({ kind: 'frame', frame: { type } });
    const { a_field_of_tomorrow: _unknown, ...known } = frame.data ?? {};
    if (read.kind === 'frame' && 'data' in read.frame) expect(read.frame.data).toMatchObject(known);
  });

  it('is rejected in the other direction', () => {
    const other = from === 'server' ? parseWorkerFrame : parseServerFrame;
    for (const frame of frames) expect(other(JSON.stringify(frame)).kind).toBe('unknown');
  });
});

it.each(GOLDENS.flatMap(({ from, not_frames }) => not_frames.map((frame) => ({ from, frame }))))(
  'is not parsed from a similar frame: $from $frame',
  ({ from, frame }) => {
    const parse = from === 'server' ? parseServerFrame : parseWorkerFrame;
    expect(parse(JSON.stringify(frame)).kind).toBe('invalid');
  },
);
