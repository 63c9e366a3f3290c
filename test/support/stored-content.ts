import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect } from 'vitest';
import { decodeBlock, decodeManifest, partOf, type SnapshotFile } from '#execution/runner-protocol';
import { parseSettings, withSettings } from '#platform/config';
import { findEmbeddedPostgres } from '#platform/embedded-postgres';
import { SystemClock } from '#platform/kernel';
import { SecretBox } from '#platform/secrets';
import { LocalObjectStore, SignedLinks } from '#platform/storage';
import { SnapshotObjects } from '../../libs/execution/executions/src/adapters/snapshot-objects.js';
import { type Place, unpacked } from './secret-search.js';

interface StoredObject {
  readonly id: string;
  readonly objectKey: string;
  readonly contentKey: string;
}

const LIMITS = { max_bytes: 1_000_000_000, max_entries: 1_000_000 };

/**
 * Manifests and files of all snapshots that the installation stores, decrypted and decompressed. Rejects if a stored object has bytes that
 * are in none of them.
 */
export async function storedSnapshots(dataDir: string): Promise<{ places: Place[]; snapshots: number }> {
  const { manifests, packs } = await storedObjects(dataDir);
  const secretsKey = readFileSync(join(dataDir, 'secrets', 'secrets-key'), 'utf8').trim();
  const settings = withSettings(parseSettings({}), { dataDir, secretsKey });
  const objects = new SnapshotObjects(
    new LocalObjectStore(settings, new SignedLinks(settings, new SystemClock())),
    new SecretBox(settings),
  );
  const read = async (object: StoredObject): Promise<Buffer> => {
    const content = await objects.get(object);
    if (content === null) throw new Error(`${object.objectKey} is not stored.`);
    return content;
  };
  const contents = new Map<string, Buffer>();
  for (const pack of packs) contents.set(pack.id, await read(pack));
  /** Of each pack, by their offsets. */
  const blocks = new Map([...contents.keys()].map((id) => [id, new Map<number, { bytes: number; decoded: Buffer }>()]));
  const places: Place[] = [];
  for (const manifest of manifests) {
    const content = await read(manifest);
    const place = { name: manifest.objectKey, content };
    places.push(place, ...unpacked(place));
    const { header, entries } = await decodeManifest(content, LIMITS);
    const contentOf = async ({ content: extents }: SnapshotFile): Promise<Buffer> => {
      const parts: Buffer[] = [];
      for (const [pack, offset, bytes, from, length] of extents) {
        const id = header.packs[pack] ?? '';
        const ofPack = blocks.get(id);
        const decoded =
          ofPack?.get(offset)?.decoded ?? (await decodeBlock(contents.get(id) ?? Buffer.alloc(0), offset, bytes));
        ofPack?.set(offset, { bytes, decoded });
        parts.push(partOf(decoded, from, length));
      }
      return Buffer.concat(parts);
    };
    for (const entry of entries)
      if (entry.type === 'file') {
        const file = { name: `${manifest.id}: ${entry.path}`, content: await contentOf(entry) };
        places.push(file, ...unpacked(file));
      }
  }
  for (const [id, pack] of contents) {
    const found = [...(blocks.get(id)?.values() ?? [])];
    expect(found.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(pack.length);
    places.push(...found.map(({ decoded }) => ({ name: `a block of ${id}`, content: decoded })));
  }
  return { places, snapshots: manifests.length };
}

/** The rows of all tables; bytes are hexadecimal. */
export function storedRows(dataDir: string): Promise<Place[]> {
  return inDatabase(dataDir, async (database) => {
    const tables = await database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'headrace' AND table_type = 'BASE TABLE'`,
    );
    const places: Place[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await database.query<{ row: string }>(`SELECT t::text AS row FROM headrace."${name}" t`);
      places.push({ name: `table ${name}`, content: Buffer.from(rows.map(({ row }) => row).join('\n')) });
    }
    return places;
  });
}

const storedObjects = (dataDir: string): Promise<Record<'manifests' | 'packs', StoredObject[]>> =>
  inDatabase(dataDir, async (database) => {
    const { rows } = await database.query<StoredObject & { isManifest: boolean }>(
      `SELECT id, object_key AS "objectKey", content_key AS "contentKey",
         EXISTS (SELECT 1 FROM headrace.run_snapshots s WHERE s.manifest_id = p.id) AS "isManifest"
       FROM headrace.snapshot_packs p`,
    );
    const [manifests, packs] = [true, false].map((wanted) => rows.filter(({ isManifest }) => isManifest === wanted));
    return { manifests: manifests ?? [], packs: packs ?? [] };
  });

async function inDatabase<T>(dataDir: string, read: (database: Client) => Promise<T>): Promise<T> {
  const found = findEmbeddedPostgres(dataDir);
  if (found.kind !== 'running') throw new Error('The database is not running.');
  const client = new Client({ connectionString: found.url });
  await client.connect();
  try {
    return await read(client);
  } finally {
    await client.end();
  }
}
