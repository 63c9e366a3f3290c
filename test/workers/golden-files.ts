import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import type { Frame } from '../support/scripted-worker.js';

export interface Golden {
  readonly type: string;
  readonly from: 'server' | 'worker';
  /** JSON Schema of `data`. */
  readonly schema: Record<string, unknown>;
  readonly frames: readonly { readonly type: string; readonly data?: Record<string, unknown> }[];
  /** Of this type, and yet no such message. */
  readonly not_frames: readonly { readonly type: string; readonly data?: Record<string, unknown> }[];
}

const DIRECTORY = join(import.meta.dirname, 'golden');
const ajv = new Ajv({ allErrors: true });

/** Every message of the contract, one file each. */
export const GOLDENS: readonly Golden[] = readdirSync(DIRECTORY)
  .sort()
  .map((file) => JSON.parse(readFileSync(join(DIRECTORY, file), 'utf8')) as Golden);

const validators = new Map(GOLDENS.map((golden) => [golden.type, ajv.compile(golden.schema)]));

export function goldenOf(type: string): Golden {
  const golden = GOLDENS.find((candidate) => candidate.type === type);
  if (!golden) throw new Error(`The contract has no message ${type}.`);
  return golden;
}

/** What is wrong with a frame by the contract; empty when nothing is. */
export function faultsOf({ type, data }: { readonly type: string; readonly data?: unknown }): string[] {
  const validate = validators.get(type);
  if (!validate) return [`the contract has no message ${type}`];
  if (validate(data)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${type}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** Everything that a worker has received is a message that the contract lets a server send. */
export const faultsOfReceived = (frames: readonly Frame[]): string[] =>
  frames.flatMap((frame) => {
    const golden = GOLDENS.find(({ type }) => type === frame.type);
    return golden?.from === 'server' ? faultsOf(frame) : [`a server does not send ${frame.type}`];
  });

/** A golden message about another run. */
export function goldenAbout(type: string, index: number, changes: Record<string, unknown>): Record<string, unknown> {
  return { ...goldenOf(type).frames[index]?.data, ...changes };
}
