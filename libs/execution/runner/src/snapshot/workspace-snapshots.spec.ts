import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeManifest } from '#execution/runner-protocol';
import { placesIn } from './open-directory.js';
import { WorkspaceSnapshots } from './workspace-snapshots.js';

const LIMITS = { max_bytes: 1_000_000, max_entries: 1000 };
let root: string;
let packs: Set<string>;
let isAccepted: boolean;
let snapshots: WorkspaceSnapshots;
let stored: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'headrace-snapshots-'));
  for (const name of ['home', 'work']) mkdirSync(join(root, name));
  packs = new Set();
  isAccepted = true;
  stored = 0;
  snapshots = new WorkspaceSnapshots({
    places: placesIn(root),
    limits: LIMITS,
    store: {
      putPack: (packId) => {
        if (!isAccepted) return Promise.reject(new Error('The pack is rejected.'));
        packs.add(packId);
        return Promise.resolve();
      },
      // As the control plane: all packs of the header must be stored.
      putManifest: async (manifest) => {
        const { header } = await decodeManifest(manifest, LIMITS);
        if (!header.packs.every((id) => packs.has(id))) throw new Error('A pack is not stored.');
        stored += 1;
        return String(stored);
      },
    },
  });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('WorkspaceSnapshots', () => {
  it('stores the next snapshot after a pack was rejected', async () => {
    writeFileSync(join(root, 'work/a'), 'one');
    isAccepted = false;
    await expect(snapshots.create('turn')).rejects.toThrow('The pack is rejected.');
    isAccepted = true;
    expect(await snapshots.create('turn')).toMatchObject({ snapshotId: '1' });
    writeFileSync(join(root, 'work/b'), 'two');
    isAccepted = false;
    await expect(snapshots.create('turn')).rejects.toThrow('The pack is rejected.');
    isAccepted = true;
    expect(await snapshots.create('turn')).toMatchObject({ snapshotId: '2' });
    expect(await snapshots.create('turn')).toBeNull();
  });

  it('rejects when a place does not exist any more', async () => {
    writeFileSync(join(root, 'work/a'), 'one');
    await snapshots.create('turn');
    rmSync(join(root, 'work'), { recursive: true });
    await expect(snapshots.create('turn')).rejects.toThrow('The directory work does not exist.');
  });
});
