import type { z } from 'zod';
import { SERVER_DATA, WORKER_DATA } from './frame-schemas.js';
import type { ServerFrame } from './server-frames.js';
import type { WorkerFrame } from './worker-frames.js';

export type ParsedFrame<Frame> =
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** A type of another version: log it, and go on. */
  | { readonly kind: 'unknown'; readonly type: string }
  /** A known type whose data lacks something or has it in another shape: log it, and go on. */
  | { readonly kind: 'invalid'; readonly type: string; readonly detail: string }
  /** No JSON object with a type: the other end does not speak this protocol. */
  | { readonly kind: 'malformed'; readonly detail: string };

/** Reads what a worker sent. Fields that are not known are left out. */
export const parseWorkerFrame = (text: string): ParsedFrame<WorkerFrame> => parse<WorkerFrame>(text, WORKER_DATA);

/** Reads what the server sent. Fields that are not known are left out. */
export const parseServerFrame = (text: string): ParsedFrame<ServerFrame> => parse<ServerFrame>(text, SERVER_DATA);

function parse<Frame>(text: string, schemas: Readonly<Record<string, z.ZodType | null>>): ParsedFrame<Frame> {
  const value = parseJson(text);
  if (value === undefined) return { kind: 'malformed', detail: 'The frame is no JSON.' };
  if (!isObject(value)) return { kind: 'malformed', detail: 'The frame is no JSON object.' };
  const { type, data } = value;
  if (typeof type !== 'string') return { kind: 'malformed', detail: 'The frame has no type.' };
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined) return { kind: 'unknown', type: type.slice(0, 64) };
  // The frame is of that type because its data fits the schema of the type.
  if (schema === null) return { kind: 'frame', frame: { type } as Frame };
  const result = schema.safeParse(data ?? {});
  if (!result.success) return { kind: 'invalid', type, detail: firstFault(result.error) };
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

function firstFault({ issues: [issue] }: z.ZodError): string {
  return `data.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unfit'}`;
}
