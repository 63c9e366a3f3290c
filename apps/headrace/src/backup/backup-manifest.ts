import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '../cli/command.js';

const FORMAT = 1;
const FILE = 'backup.json';

export interface TableDump {
  /** With its schema. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Of the file `tables/<name>.gz`: the text format of COPY, compressed. */
  readonly sha256: string;
}

export interface BackupManifest {
  readonly format: typeof FORMAT;
  /** Of Headrace. */
  readonly version: string;
  /** RFC 3339, by the clock of the database. */
  readonly created_at: string;
  /** The migrations of the database that run once, oldest first. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  readonly tables: readonly TableDump[];
  /** Names with their schema, as those of `partitions`. */
  readonly sequences: readonly { readonly name: string; readonly value: string }[];
  /** `bounds`: as in CREATE TABLE … PARTITION OF. */
  readonly partitions: readonly { readonly name: string; readonly parent: string; readonly bounds: string }[];
  /** `sha256`: of the file `objects.txt`, which has a line for each object: SHA-256, bytes, key. */
  readonly objects: { readonly count: number; readonly bytes: number; readonly sha256: string };
  /** Tells whether a key is the one of the installation, and nothing about the key. */
  readonly key_fingerprint: string;
  /** The file `secrets-key` contains the key. */
  readonly has_key: boolean;
}

export const tableFile = (directory: string, table: string): string => join(directory, 'tables', `${table}.gz`);
export const objectsFile = (directory: string): string => join(directory, 'objects.txt');
export const keyFile = (directory: string): string => join(directory, 'secrets-key');

export const fingerprintOf = (secretsKey: string): string =>
  createHmac('sha256', secretsKey).update('headrace backup').digest('hex').slice(0, 32);

/** Written last: a directory with this file is a complete backup. */
export async function writeManifest(directory: string, manifest: Omit<BackupManifest, 'format'>): Promise<void> {
  await writeFile(join(directory, FILE), `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  });
}

export async function readManifest(directory: string): Promise<BackupManifest> {
  const text = await readFile(join(directory, FILE), 'utf8').catch((error: unknown) => {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? `it has no file ${FILE}` : String(error);
    throw new CommandError(`${directory} is not a complete backup: ${reason}.`);
  });
  let manifest: Partial<BackupManifest> | null = null;
  try {
    manifest = JSON.parse(text) as Partial<BackupManifest> | null;
  } catch {
    // Reported below, as any other content that is not a manifest.
  }
  if (manifest?.format === undefined) throw new CommandError(`${join(directory, FILE)} is not the file of a backup.`);
  if (manifest.format !== FORMAT)
    throw new CommandError(
      `The backup has the format ${String(manifest.format)}, which this version does not know. Restore it with Headrace ${manifest.version ?? 'of the version that created it'}.`,
    );
  return checked(manifest as BackupManifest, directory);
}

/** Names and bounds become a part of SQL and of paths. */
const NAME = /^[a-z_][a-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*$/;
const BOUNDS = /^(DEFAULT|FOR VALUES FROM \('[0-9a-f-]{36}'\) TO \('[0-9a-f-]{36}'\))$/;

/** Of everything that a restore writes to, with its schema. */
export const namesIn = ({ tables, sequences, partitions }: BackupManifest): string[] => [
  ...[...tables, ...sequences, ...partitions].map(({ name }) => name),
  ...partitions.map(({ parent }) => parent),
];

function checked(manifest: BackupManifest, directory: string): BackupManifest {
  const { tables, sequences, partitions, migrations, objects } = manifest;
  if (
    ![tables, sequences, partitions, migrations].every(Array.isArray) ||
    typeof (objects as Partial<typeof objects> | undefined)?.count !== 'number'
  )
    throw new CommandError(`${join(directory, FILE)} is damaged: a part of it is missing.`);
  const isValid =
    namesIn(manifest).every((name) => NAME.test(name)) && partitions.every(({ bounds }) => BOUNDS.test(bounds));
  if (isValid) return manifest;
  throw new CommandError(`${join(directory, FILE)} is damaged: it has a name that no table has.`);
}
