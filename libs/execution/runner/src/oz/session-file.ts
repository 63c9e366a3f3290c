import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseJson } from '#platform/kernel';
import type { SessionUpdate } from '@agentclientprotocol/sdk';

export type SessionRecord =
  | { type: 'session'; version: 1; session_id: string; cwd: string }
  | { type: 'prompt'; turn: number; text: string }
  /** An update as it was sent; streamed text as one record, tool calls at their start and end. */
  | { type: 'update'; turn: number; update: SessionUpdate }
  /** `done` instructions of the turn's prompt are completed. */
  | { type: 'progress'; turn: number; done: number }
  | { type: 'turn_ended'; turn: number; stop_reason: string };

/** Session log of the built-in agent: one JSON line per record with its time, written before the update is sent. */
export class SessionFile {
  private constructor(
    private readonly path: string,
    readonly records: SessionRecord[],
    private readonly now: () => Date,
  ) {}

  static create(home: string, sessionId: string, cwd: string, now: () => Date): SessionFile {
    const path = pathOf(home, sessionId);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = new SessionFile(path, [], now);
    file.append({ type: 'session', version: 1, session_id: sessionId, cwd });
    return file;
  }

  /** null: the session does not exist. Lines that are not JSON (an interrupted write) are skipped. */
  static open(home: string, sessionId: string, now: () => Date): SessionFile | null {
    if (!/^[A-Za-z0-9-]{1,100}$/.test(sessionId)) return null;
    const path = pathOf(home, sessionId);
    let content: string;
    try {
      content = readFileSync(path, 'utf8');
    } catch {
      return null;
    }
    const records = content.split('\n').flatMap(parseRecord);
    if (records[0]?.type !== 'session') return null;
    // The next record must not continue an incomplete line.
    if (!content.endsWith('\n')) appendFileSync(path, '\n');
    return new SessionFile(path, records, now);
  }

  append(record: SessionRecord): void {
    this.records.push(record);
    appendFileSync(this.path, `${JSON.stringify({ ...record, at: this.now().toISOString() })}\n`, { mode: 0o600 });
  }

  get turns(): number {
    return this.records.filter(({ type }) => type === 'prompt').length;
  }

  /** The prompt of an interrupted last turn, and how many of its instructions are done. */
  get unfinished(): { text: string; done: number } | null {
    const start = this.records.findLastIndex(({ type }) => type === 'prompt');
    const prompt = this.records[start];
    if (prompt?.type !== 'prompt') return null;
    const rest = this.records.slice(start);
    const end = rest.find((record) => record.type === 'turn_ended');
    if (end?.type === 'turn_ended' && end.stop_reason !== 'cancelled') return null;
    const progress = rest.findLast((record) => record.type === 'progress');
    return { text: prompt.text, done: progress?.type === 'progress' ? progress.done : 0 };
  }
}

const pathOf = (home: string, sessionId: string): string =>
  join(home, '.headrace-agent', 'sessions', `${sessionId}.jsonl`);

function parseRecord(line: string): SessionRecord[] {
  const record = parseJson(line);
  return record === undefined ? [] : [record as SessionRecord];
}
