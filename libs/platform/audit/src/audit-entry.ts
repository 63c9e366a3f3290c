import { createHash } from 'node:crypto';

/** The chain of entries that belong to no team. */
export const INSTALLATION_CHAIN = 'installation';

/**
 * `command_line`: a command of the server, next to the database. `system`: the installation itself. `notification_webhook` and
 * `chat_user`: a signed decision in a message, with which no user has authenticated.
 */
export const AUDIT_ACTORS = [
  'user',
  'service_account',
  'command_line',
  'system',
  'notification_webhook',
  'chat_user',
] as const;

export interface AuditActor {
  readonly type: (typeof AUDIT_ACTORS)[number];
  readonly uid?: string;
  readonly name?: string;
  /** Token or browser session that was used. */
  readonly token_uid?: string;
}

export interface AuditTarget {
  /** `member`, `secret`, `webhook` … */
  readonly type: string;
  readonly uid?: string;
  readonly name?: string;
}

export interface AuditSource {
  /** IP address of the sender. */
  readonly address?: string;
  readonly user_agent?: string;
  readonly trace_id?: string;
}

export interface AuditEvent {
  /** `<resource>.<verb in the past tense>`, such as `member.updated`. */
  readonly action: string;
  readonly actor: AuditActor;
  readonly target: AuditTarget;
  readonly source?: AuditSource;
  /** Never contains values of secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface AuditEntry extends AuditEvent {
  readonly chain: string;
  /** From 1, without gaps. */
  readonly seq: number;
  /** RFC 3339 in UTC with milliseconds. */
  readonly occurred_at: string;
}

/** An entry with what proves it. */
export interface ChainedEntry {
  /** The JSON text that was hashed. */
  readonly entry: string;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}

export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

const FIRST_PREVIOUS = '00'.repeat(32);

export type ChainResult =
  | { readonly kind: 'valid'; readonly head: ChainHead }
  | { readonly kind: 'invalid'; readonly seq: number; readonly reason: 'changed' | 'missing' };

/** Checks a chain from its first entry. `head`: as the database has it; entries after the last one are then noticed, too. */
export class ChainVerifier {
  private chain: unknown;
  private seq = 0;
  private hash = FIRST_PREVIOUS;
  private fault: ChainResult | null = null;

  add({ entry, hash }: ChainedEntry): void {
    if (this.fault) return;
    const expected = this.seq + 1;
    const { seq, chain } = placeOf(entry);
    this.chain ??= chain;
    if (seq !== null && seq > expected) {
      this.fault = { kind: 'invalid', seq: expected, reason: 'missing' };
      return;
    }
    const digest = createHash('sha256').update(Buffer.from(this.hash, 'hex')).update(entry).digest('hex');
    if (digest !== hash || seq !== expected || chain !== this.chain) {
      this.fault = { kind: 'invalid', seq: expected, reason: 'changed' };
      return;
    }
    this.seq = expected;
    this.hash = hash;
  }

  end(head: ChainHead): ChainResult {
    if (this.fault) return this.fault;
    if (head.seq > this.seq) return { kind: 'invalid', seq: this.seq + 1, reason: 'missing' };
    if (head.seq < this.seq || head.hash !== this.hash)
      return { kind: 'invalid', seq: Math.max(head.seq, 1), reason: 'changed' };
    return { kind: 'valid', head };
  }
}

function placeOf(entry: string): { readonly seq: number | null; readonly chain: unknown } {
  try {
    const { seq, chain } = JSON.parse(entry) as { seq?: unknown; chain?: unknown };
    return { seq: typeof seq === 'number' ? seq : null, chain };
  } catch {
    return { seq: null, chain: null };
  }
}
