import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Harness } from '../harness/harnesses.js';
import { Redactor } from '../redaction/redactor.js';
import type { ControlPlane } from '../protocol/control-plane.js';
import { relocateTranscript, TranscriptSync } from './transcript-sync.js';
import { Workspace } from './workspace.js';

it('changes the directory of each line that has one, and no other field', () => {
  const lines = [
    '{"cwd":"/old","text":"in /old: ü"}',
    'not json',
    '[1]',
    'null',
    '{"text":"x","in":{"cwd":"/old"}}',
    '',
  ];
  const moved = Buffer.from(relocateTranscript(Buffer.from(lines.join('\n')), 'cwd', '/new')).toString();
  expect(moved.split('\n')).toEqual(['{"cwd":"/new","text":"in /old: ü"}', ...lines.slice(1)]);
});

describe('a restored workspace', () => {
  let base: string;
  let workspace: Workspace;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'headrace-transcript-'));
    workspace = Workspace.create(join(base, 'w'));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const harness = {
    id: 'house',
    command: 'house',
    args: [],
    install_hint: 'install it',
    env: { HOUSE_HOME: '{home}/.house' },
    transcript_path: '{home}/.house/sessions/{session_id}.jsonl',
    state_paths: ['{home}/.house', '{home}/.local/share/house'],
  } as unknown as Harness;
  const syncOf = (stored: Buffer | null): TranscriptSync => {
    const plane = { getTranscript: () => Promise.resolve(stored) } as unknown as ControlPlane;
    return new TranscriptSync(plane, harness, workspace, log, new Redactor([]));
  };
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(workspace.home, path)), { recursive: true });
    writeFileSync(join(workspace.home, path), text);
  };
  const read = (path: string): string => readFileSync(join(workspace.home, path), 'utf8');
  const { signal } = new AbortController();

  it.each([
    ['the stored transcript', Buffer.from('{"stored":1}\n'), true, '{"stored":1}\n'],
    ['the transcript of the snapshot', null, false, '{"restored":1}\n'],
  ])('has %s and nothing else of what the agent knew about another workspace', async (_, stored, isStored, text) => {
    write('.house/sessions/s1.jsonl', '{"restored":1}\n');
    write('.house/state.db', 'another workspace');
    write('.local/share/other/file', 'kept');
    expect(await syncOf(stored).place('s1', { isStored, isRestored: true }, signal)).toBe(true);
    expect(read('.house/sessions/s1.jsonl')).toBe(text);
    expect(existsSync(join(workspace.home, '.house/state.db'))).toBe(false);
    expect(read('.local/share/other/file')).toBe('kept');
  });

  it('loses no file outside of it through a link of the agent, and gets no transcript there', async () => {
    const outside = join(base, 'outside');
    mkdirSync(join(outside, 'share/house'), { recursive: true });
    writeFileSync(join(outside, 'share/house/kept'), 'kept');
    symlinkSync(outside, join(workspace.home, '.local'));
    symlinkSync(outside, join(workspace.home, '.house'));
    await syncOf(null).removeState();
    expect(readFileSync(join(outside, 'share/house/kept'), 'utf8')).toBe('kept');
    rmSync(join(workspace.home, '.house'), { recursive: true, force: true });
    symlinkSync(outside, join(workspace.home, '.house'));
    const sync = syncOf(Buffer.from('x\n'));
    expect(await sync.place('s1', { isStored: true, isRestored: false }, signal)).toBe(false);
    expect(existsSync(join(outside, 'sessions'))).toBe(false);
  });
});
