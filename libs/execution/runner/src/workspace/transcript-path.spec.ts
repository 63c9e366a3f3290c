import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BUILTIN_TRANSCRIPT, STANDARD_HARNESSES } from '../harness/harnesses.js';
import { findTranscript, transcriptPath } from './transcript-path.js';

const SESSION = '019a9d2c-1111-7222-8333-944445555666';
const NOW = new Date('2026-11-21T04:57:19.123Z');
const templateOf = (id: string): string => STANDARD_HARNESSES[id]?.transcript_path ?? '';

describe('the path of a stored transcript', () => {
  const place = { home: '/w/home', cwd: '/w/work.1', sessionId: SESSION };

  it.each([
    ['oz', BUILTIN_TRANSCRIPT, `.headrace-agent/sessions/${SESSION}.jsonl`],
    ['claude', templateOf('claude'), `.claude/projects/-w-work-1/${SESSION}.jsonl`],
    ['codex', templateOf('codex'), `.codex/sessions/2026/11/21/rollout-2026-11-21T04-57-19-${SESSION}.jsonl`],
    ['gemini', templateOf('gemini'), `.gemini/tmp/work-1/chats/session-2026-11-20T04-57-${SESSION.slice(0, 8)}.jsonl`],
    ['qwen', templateOf('qwen'), `.qwen/projects/-w-work-1/chats/${SESSION}.jsonl`],
    ['copilot', templateOf('copilot'), `.copilot/session-state/${SESSION}/events.jsonl`],
  ])('of %s is known from its template', (_harness, template, path) => {
    expect(transcriptPath(template, place, NOW)).toBe(`/w/home/${path}`);
  });

  it('is unknown where the agent chooses it, and outside of the home directory', () => {
    for (const template of [
      '{home}/*/{session_id}',
      '/etc/{session_id}',
      '{home}/../{session_id}',
      '{home}{session_id}',
      '',
    ])
      expect(transcriptPath(template, place, NOW)).toBeNull();
  });

  it.each(['../../etc/passwd', '..', '', '.hidden', 'a/b', 'a\0b', '*'])(
    'is none for the session %j',
    async (sessionId) => {
      expect(transcriptPath('{home}/{session_id}', { ...place, sessionId }, NOW)).toBeNull();
      expect(await findTranscript('{home}/*{session_id}', { ...place, sessionId })).toBeNull();
    },
  );
});

describe('findTranscript', () => {
  let home: string;
  beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'headrace-transcripts-'))));
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const find = (template: string) => findTranscript(template, { home, cwd: '/w/work', sessionId: SESSION });
  function write(path: string, at: number): string {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{}\n');
    utimesSync(file, at, at);
    return file;
  }

  it('finds the newest transcript of Codex by date and id', async () => {
    expect(await find(templateOf('codex'))).toBeNull();
    write(`.codex/sessions/2026/11/20/rollout-2026-11-20T23-59-58-${SESSION}.jsonl`, 1000);
    const newer = write(`.codex/sessions/2026/11/21/rollout-2026-11-21T00-00-02-${SESSION}.jsonl`, 2000);
    write('.codex/sessions/2026/11/21/rollout-2026-11-21T00-00-09-another.jsonl', 3000);
    write(`.codex/sessions/2026/11/latest/rollout-2026-11-21T00-00-09-${SESSION}.jsonl`, 4000);
    expect(await find(templateOf('codex'))).toBe(newer);
  });

  it('finds the transcript of Gemini by the first characters of its id, with any project name', async () => {
    const chat = write('.gemini/tmp/work-1/chats/session-2026-11-21T04-57-019a9d2c.jsonl', 1000);
    write('.gemini/tmp/work-1/chats/session-2026-11-21T04-58-ffffffff.jsonl', 2000);
    expect(await find(templateOf('gemini'))).toBe(chat);
  });

  it('finds the transcript of Claude Code under another name of the working directory', async () => {
    const file = write(`.claude/projects/-private-w-work/${SESSION}.jsonl`, 1000);
    expect(await find(templateOf('claude'))).toBe(file);
  });

  it('uses a path without a pattern as it is', async () => {
    const file = write(`.copilot/session-state/${SESSION}/events.jsonl`, 1000);
    expect(await find(templateOf('copilot'))).toBe(file);
  });

  it('follows no link, neither to a file nor out of home', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'headrace-elsewhere-'));
    try {
      mkdirSync(join(elsewhere, 'chats'));
      writeFileSync(join(elsewhere, 'chats', 'session-1-019a9d2c.jsonl'), 'secret\n');
      mkdirSync(join(home, '.gemini/tmp'), { recursive: true });
      symlinkSync(elsewhere, join(home, '.gemini/tmp/out'));
      mkdirSync(join(home, '.gemini/tmp/own/chats'), { recursive: true });
      symlinkSync(
        join(elsewhere, 'chats', 'session-1-019a9d2c.jsonl'),
        join(home, '.gemini/tmp/own/chats/session-1-019a9d2c.jsonl'),
      );
      expect(await find(templateOf('gemini'))).toBeNull();
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });
});
