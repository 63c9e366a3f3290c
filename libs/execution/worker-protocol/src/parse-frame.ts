import type { z } from 'zod';
import { SERVER_DATA, type ServerFrame } from './server-frames.js';
import { WORKER_DATA, type WorkerFrame } from './worker-frames.js';

export type ParsedFrame<Frame> =
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** A type of another version, to be logged and ignored. */
  | { readonly kind: 'unknown'; readonly type: string }
  /** A known type whose data does not match its schema, to be logged and ignored. */
  | { readonly kind: 'invalid'; readonly type: string; readonly detail: string }
  /** No JSON object with a type: the other end does not use this protocol. */
  | { readonly kind: 'malformed'; readonly detail: string };

/** Reads a frame of a worker. Unknown fields are removed. */
export const parseWorkerFrame = (text: string): ParsedFrame<WorkerFrame> => parse<WorkerFrame>(text, WORKER_DATA);

/** Reads a frame of the server. Unknown fields are removed. */
export const parseServerFrame = (text: string): ParsedFrame<ServerFrame> => parse<ServerFrame>(text, SERVER_DATA);

function parse<Frame>(text: string, schemas: Readonly<Record<string, z.ZodType | null>>): ParsedFrame<Frame> {
  const value = parseJson(text);
  if (value === undefined) return { kind: 'malformed', detail: 'The frame is not JSON.' };
  if (!isObject(value)) return { kind: 'malformed', detail: 'The frame is not a JSON object.' };
  const { type, data } = value;
  if (typeof type !== 'string') return { kind: 'malformed', detail: 'The frame has no type.' };
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined) return { kind: 'unknown', type: type.slice(0, 64) };
  // The type assertions hold because the types of frames are inferred from these schemas.
  if (schema === null) return { kind: 'frame', frame: { type } as Frame };
  const result = schema.safeParse(data ?? {});
  if (!result.success) return { kind: 'invalid', type, detail: firstIssue(result.error) };
  return { kind: 'frame', frame: { type, data: result.data } as Frame };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function firstIssue({ issues: [issue] }: z.ZodError): string {
  return `data.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`;
}
