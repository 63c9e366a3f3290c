import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What carried the token. The codes are signed and never change. */
const CHANNEL_TYPES = { notification_webhook: 1, chat_app: 2 } as const;
export type DecisionChannelType = keyof typeof CHANNEL_TYPES;

export interface DecisionChannel {
  readonly type: DecisionChannelType;
  readonly uid: string;
  /** The channel has another one when its tokens have been revoked. */
  readonly revision: number;
}

/** `option`: the position in the options of the question, which never change. `text`: the text is sent with the token. */
export type DecisionChoice =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny' }
  | { readonly kind: 'option'; readonly index: number }
  | { readonly kind: 'text' };

export interface SignedDecision {
  readonly channel: DecisionChannel;
  readonly runId: string;
  readonly approvalId: string;
  readonly choice: DecisionChoice;
  /** Whole seconds count. */
  readonly expiresAt: Date;
}

const VERSION = 1;
const MAC_BYTES = 32;
const UUID_BYTES = 16;
const HEADER_BYTES = 12;
/** The longest one has 128 characters of an approval, 128 of a channel and 60 other bytes. */
const TOKEN = /^[A-Za-z0-9_-]{80,430}$/;
const MAX_TEXT_BYTES = 128;
/** Options have the codes from here. */
const CHOICE_CODES = { allow: 1, deny: 2, text: 3, firstOption: 16 } as const;
const MAX_OPTION = 0xff - CHOICE_CODES.firstOption;
const MAX_UINT32 = 0xffff_ffff;

/**
 * Tokens that decide one permission request or question in one way: base64url of the fields and their HMAC-SHA256. Nothing is
 * stored. A token works once because a request is decided once. Tokens of previous keys remain valid.
 */
export class DecisionTokens {
  private readonly signingKey: Buffer;
  private readonly keys: readonly Buffer[];

  constructor(secretsKey: string, previousKeys: readonly string[] = []) {
    this.signingKey = derive(secretsKey);
    this.keys = [this.signingKey, ...previousKeys.map(derive)];
  }

  sign(decision: SignedDecision): string {
    const payload = encode(decision);
    return Buffer.concat([payload, macOf(this.signingKey, payload)]).toString('base64url');
  }

  /** What a token says, or null: it is forged. Its expiry is not checked: an expired token may still say who has decided. */
  verify(token: string): SignedDecision | null {
    if (!TOKEN.test(token)) return null;
    const bytes = Buffer.from(token, 'base64url');
    // Each token has one text only.
    if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null;
    const payload = bytes.subarray(0, -MAC_BYTES);
    const mac = bytes.subarray(-MAC_BYTES);
    return this.keys.some((key) => timingSafeEqual(macOf(key, payload), mac)) ? decode(payload) : null;
  }
}

const derive = (secretsKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretsKey, '', 'headrace/decision-tokens/v1', MAC_BYTES));

const macOf = (key: Buffer, payload: Buffer): Buffer => createHmac('sha256', key).update(payload).digest();

/** Version, channel type, choice, length of the approval id, revision, expiry, run id, approval id, channel uid. */
function encode({ channel, runId, approvalId, choice, expiresAt }: SignedDecision): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const [approval, uid] = [textBytes(approvalId), textBytes(channel.uid)];
  header.writeUInt8(VERSION, 0);
  header.writeUInt8(CHANNEL_TYPES[channel.type], 1);
  header.writeUInt8(codeOf(choice), 2);
  header.writeUInt8(approval.length, 3);
  header.writeUInt32BE(channel.revision, 4);
  header.writeUInt32BE(Math.min(Math.floor(expiresAt.getTime() / 1000), MAX_UINT32), 8);
  const run = Buffer.from(runId.replaceAll('-', ''), 'hex');
  if (run.length !== UUID_BYTES) throw new Error('The id of a run is a UUID.');
  return Buffer.concat([header, run, approval, uid]);
}

/** Null for a version that this process does not know: a newer one has signed it. */
function decode(payload: Buffer): SignedDecision | null {
  const start = HEADER_BYTES + UUID_BYTES;
  if (payload.length <= start || payload.readUInt8(0) !== VERSION) return null;
  const typeCode = payload.readUInt8(1);
  const type = (Object.keys(CHANNEL_TYPES) as DecisionChannelType[]).find((name) => CHANNEL_TYPES[name] === typeCode);
  const choice = choiceOf(payload.readUInt8(2));
  if (type === undefined || choice === null) return null;
  const end = start + payload.readUInt8(3);
  const hex = payload.subarray(HEADER_BYTES, start).toString('hex');
  return {
    channel: { type, uid: payload.subarray(end).toString('utf8'), revision: payload.readUInt32BE(4) },
    runId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    approvalId: payload.subarray(start, end).toString('utf8'),
    choice,
    expiresAt: new Date(payload.readUInt32BE(8) * 1000),
  };
}

function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length === 0 || bytes.length > MAX_TEXT_BYTES)
    throw new Error(`An id in a decision token has 1 to ${MAX_TEXT_BYTES} bytes.`);
  return bytes;
}

function codeOf(choice: DecisionChoice): number {
  if (choice.kind !== 'option') return CHOICE_CODES[choice.kind];
  if (!Number.isInteger(choice.index) || choice.index < 0 || choice.index > MAX_OPTION)
    throw new Error(`The position of an option is an integer between 0 and ${MAX_OPTION}.`);
  return CHOICE_CODES.firstOption + choice.index;
}

function choiceOf(code: number): DecisionChoice | null {
  if (code >= CHOICE_CODES.firstOption) return { kind: 'option', index: code - CHOICE_CODES.firstOption };
  const kind = (['allow', 'deny', 'text'] as const).find((name) => CHOICE_CODES[name] === code);
  return kind === undefined ? null : { kind };
}
