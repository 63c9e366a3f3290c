import { createHash } from 'node:crypto';
import { truncateUtf8 } from '#platform/kernel';
import { fields } from '#execution/runner';
import {
  PERMISSION_SUBJECTS,
  type PermissionDecided,
  type PermissionRequested,
  type PermissionSubject,
} from '#execution/runner-protocol';
import type { PrincipalRef } from './run.js';

export const APPROVAL_STATES = ['pending', 'allowed', 'denied'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];
/** `rule`: by an answer that was given for the rest of the run. `cancel`: nobody waits for an answer any more. */
export const DECISION_MAKERS = ['user', 'rule', 'timeout', 'cancel'] as const;
export type DecisionMaker = (typeof DECISION_MAKERS)[number];
/** `allow_always`: this request, and the same kind of it for the rest of the run. */
export const APPROVAL_DECISIONS = ['allow', 'allow_always', 'deny'] as const;
export type ApprovalDecisionWord = (typeof APPROVAL_DECISIONS)[number];

export interface Approval {
  readonly id: string;
  readonly run_id: string;
  readonly execution_id: string;
  readonly tool_call_id: string | null;
  readonly title: string;
  readonly input: unknown;
  readonly options: { option_id: string; name: string; kind: string }[];
  /** What makes requests the same; null in those of older versions. */
  readonly subject: PermissionSubject | null;
  readonly state: ApprovalState;
  /** The decision counts for the rest of the run: the approval is a rule. */
  readonly always: boolean;
  /** The rule that has decided. */
  readonly rule_id: string | null;
  readonly decided_via: DecisionMaker | null;
  readonly decided_by_type: PrincipalRef['type'] | null;
  readonly decided_by_uid: string | null;
  readonly note: string | null;
  readonly requested_at: Date;
  readonly expires_at: Date;
  readonly decided_at: Date | null;
}

export interface ApprovalDecision {
  readonly state: 'allowed' | 'denied';
  readonly always?: boolean;
  readonly via: DecisionMaker;
  readonly by: PrincipalRef | null;
  readonly note: string | null;
}

const APPROVAL_ID = /^[A-Za-z0-9._-]{1,128}$/;
const MAX_TITLE_BYTES = 8_192;
const MAX_SUBJECT_LENGTH = 2_048;
const MAX_ID_LENGTH = 256;
const MAX_OPTION_NAME_BYTES = 512;
const HASH = /^[0-9a-f]{64}$/;
const HASHED_TITLE = /^sha256:[0-9a-f]{64}$/;
const MAX_OPTIONS = 32;
const MAX_INPUT_BYTES = 131_072;

export function decidedEvent(
  approval: Pick<Approval, 'id' | 'title' | 'rule_id'>,
  { state, always, via, by, note }: ApprovalDecision,
): { readonly kind: 'permission_decided'; readonly data: PermissionDecided } {
  const data: PermissionDecided = {
    approval_id: approval.id,
    decision: state === 'allowed' ? 'allow' : 'deny',
    by: via,
    ...(always === true ? { always } : {}),
    ...(approval.rule_id === null ? {} : { rule_id: approval.rule_id }),
    title: approval.title,
    ...(note === null ? {} : { note }),
    ...(by === null ? {} : { principal: { type: by.type, uid: by.uid } }),
  };
  return { kind: 'permission_decided', data };
}

/** A request as a runner tells it, in the shape that it should have; null when nobody could ever answer it. */
export function readRequest(
  data: Readonly<Record<string, unknown>>,
): (PermissionRequested & { subject: PermissionSubject }) | null {
  const { approval_id: id, tool_call_id: callId, title: given, input, options, ask, subject } = data;
  if (typeof id !== 'string' || !APPROVAL_ID.test(id)) return null;
  const whole = typeof given === 'string' && given !== '' ? given : 'Permission';
  const title = truncateUtf8(whole, MAX_TITLE_BYTES).text;
  return {
    approval_id: id,
    ...(typeof callId === 'string' && callId.length <= MAX_ID_LENGTH ? { tool_call_id: callId } : {}),
    title,
    ...(input === undefined ? {} : { input: bounded(input) }),
    options: (Array.isArray(options) ? options : []).slice(0, MAX_OPTIONS).flatMap(readOption),
    ask: ask === true,
    subject: readSubject(subject) ?? { type: 'title', value: subjectValue(whole) },
  };
}

/** An answer for always must not cover what only begins the same. */
const subjectValue = (title: string): string =>
  title.length <= MAX_SUBJECT_LENGTH && !HASHED_TITLE.test(title)
    ? title
    : `sha256:${createHash('sha256').update(title).digest('hex')}`;

/** Our runner has cut it before; lists show many of them. */
function bounded(input: unknown): unknown {
  const bytes = Buffer.byteLength(JSON.stringify(input));
  return bytes <= MAX_INPUT_BYTES ? input : { truncated: true, size_bytes: bytes };
}

function readOption(value: unknown): { option_id: string; name: string; kind: string }[] {
  const { option_id: id, name, kind } = fields(value);
  const isShort = (text: unknown): text is string => typeof text === 'string' && text.length <= MAX_ID_LENGTH;
  if (!isShort(id) || typeof name !== 'string' || !isShort(kind)) return [];
  return [{ option_id: id, name: truncateUtf8(name, MAX_OPTION_NAME_BYTES).text, kind }];
}

function readSubject(given: unknown): PermissionSubject | null {
  const { type: word, value, tool, directory, input_sha256: inputHash } = fields(given);
  const type = PERMISSION_SUBJECTS.find((known) => known === word);
  const isText = (text: unknown): text is string => typeof text === 'string' && text.length <= MAX_SUBJECT_LENGTH;
  const isOptionalText = (text: unknown): text is string | undefined => text === undefined || isText(text);
  if (type === undefined || !isText(value) || !isOptionalText(tool) || !isOptionalText(directory)) return null;
  if (inputHash !== undefined && !(typeof inputHash === 'string' && HASH.test(inputHash))) return null;
  return {
    type,
    value,
    ...(tool === undefined ? {} : { tool }),
    ...(directory === undefined ? {} : { directory }),
    ...(inputHash === undefined ? {} : { input_sha256: inputHash }),
  };
}
