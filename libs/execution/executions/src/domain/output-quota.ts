import { truncateUtf8 } from '#platform/kernel';
import type { NewRunEvent } from './run.js';

/** What may be left out: everything else says what happened to the run. As the runner has it. */
const DROPPABLE: ReadonlySet<string> = new Set(['message_chunk', 'thought_chunk', 'tool_call', 'plan', 'mode_changed']);
const ENDED: readonly unknown[] = ['completed', 'failed'];
/** A runner leaves out what it drops and does not count what it keeps: it reaches its own limit first. */
const MARGIN = 1.25;
const MIN_MARGIN_BYTES = 1_048_576;
/** What each event costs beside its data, to store it and to show it: very many small ones cost more than a few large ones. */
const EVENT_BYTES = 500;
const MAX_KEPT_BYTES = 4096;
const MAX_KEPT_TEXT_BYTES = 1024;

/**
 * Counts the bytes of an execution's events. Beyond the limit one `output_truncated` is stored, conversation is left out
 * but for the ends of tool calls, and other events are stored with their texts cut. Beyond twice the limit nothing is
 * stored any more but snapshots, which keep the work. What events do to the run does not depend on it.
 */
export class OutputQuota {
  private readonly limit: number;
  private used: number;

  constructor(
    private readonly maxBytes: number,
    usedBytes: number,
  ) {
    this.limit = Math.floor(Math.max(maxBytes * MARGIN, maxBytes + MIN_MARGIN_BYTES));
    this.used = usedBytes;
  }

  /** Events within it are stored as they are. */
  get limitBytes(): number {
    return this.limit;
  }

  get usedBytes(): number {
    return this.used;
  }

  admit({ kind, data }: NewRunEvent): NewRunEvent[] {
    const wasWithin = this.used <= this.limit;
    const bytes = jsonBytes(data);
    this.used += bytes + EVENT_BYTES;
    if (this.used <= this.limit) return [{ kind, data }];
    if (this.used > 2 * this.limit && !wasWithin && kind !== 'workspace_snapshot') return [];
    const truncated: NewRunEvent[] = wasWithin
      ? [{ kind: 'output_truncated', data: { limit_bytes: this.maxBytes } }]
      : [];
    return [...truncated, ...(DROPPABLE.has(kind) ? endOf({ kind, data }) : [{ kind, data: cut(data, bytes) }])];
  }
}

const jsonBytes = (data: object): number => Buffer.byteLength(JSON.stringify(data));

function endOf({ kind, data }: NewRunEvent): NewRunEvent[] {
  const { tool_call_id: id, status, denied } = data as Record<string, unknown>;
  if (kind !== 'tool_call' || typeof id !== 'string' || !ENDED.includes(status)) return [];
  return [{ kind, data: { tool_call_id: id.slice(0, 256), status, ...(denied === true ? { denied } : {}) } }];
}

/** Its short fields and the beginnings of its texts. */
function cut(data: object, bytes: number): object {
  if (bytes <= MAX_KEPT_BYTES) return data;
  const kept = Object.entries(data).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    if (typeof value === 'string') return [[name, truncateUtf8(value, MAX_KEPT_TEXT_BYTES).text]];
    return typeof value === 'object' && value !== null ? [] : [[name, value]];
  });
  const short = { ...Object.fromEntries(kept), truncated: true };
  return jsonBytes(short) <= MAX_KEPT_BYTES ? short : { truncated: true };
}
