import { readFileSync, statSync } from 'node:fs';
import { WorkerFault } from '../backend.js';

const VARIABLES = ['HEADRACE_TOKEN', 'WARP_API_KEY'] as const;

/**
 * How the key is found out for each connection: from the file, so that it can be replaced while the worker runs, else once
 * from the environment. Throws WorkerFault when there is none.
 */
export function apiKeySource(
  file: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): () => string {
  if (file !== undefined) {
    readKey(file);
    return () => readKey(file);
  }
  const key = VARIABLES.map((name) => environment[name]?.trim()).find((value) => value !== undefined && value !== '');
  if (key === undefined)
    throw new WorkerFault(
      'An API key is needed: name a file with --api-key-file, or set HEADRACE_TOKEN or WARP_API_KEY.',
    );
  return checked(key);
}

/** Whether every user of this machine can read the file: those that runs have, too. */
export function isOpenToAll(file: string): boolean {
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
}

function readKey(file: string): string {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new WorkerFault(
      `What --api-key-file names cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`,
    );
  }
  return checked(key)();
}

function checked(key: string): () => string {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new WorkerFault('The API key is none: it is empty or has characters that no key has.');
  return () => key;
}
