import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newUuid } from '#platform/kernel';
import { parseManifest } from '#execution/runner-protocol';
import { applyWorkTreeSteps, gitStateOf, initWorkTree, listSnapshotted, listWorkTree, workTreeStep } from '#testing';
import { placesIn } from './open-directory.js';
import { restoreWorkspace } from './restore-workspace.js';
import { scanWorkspace } from './scan-workspace.js';
import { listTree } from './tree-listing.js';
import { WorkspaceSnapshots } from './workspace-snapshots.js';

const CASES = process.env.HEADRACE_TEST_LONG === '1' ? 2000 : 4;
const LIMITS = { max_bytes: 1_000_000_000, max_entries: 100_000 };

/** Objects in memory, as the control plane stores them. */
class Objects {
  readonly packs = new Map<string, Buffer>();
  manifest: Buffer = Buffer.alloc(0);

  snapshotsOf(root: string): WorkspaceSnapshots {
    return new WorkspaceSnapshots({
      places: placesIn(root),
      limits: LIMITS,
      store: {
        putPack: (packId, content) => Promise.resolve(void this.packs.set(packId, Buffer.concat(content))),
        putManifest: (manifest) => {
          this.manifest = manifest;
          return Promise.resolve(newUuid());
        },
      },
    });
  }

  /** Resolves with what takes the snapshots of the restored workspace. */
  async restore(root: string): Promise<WorkspaceSnapshots> {
    const manifest = await parseManifest(gunzipSync(this.manifest), LIMITS);
    const { problems } = await restoreWorkspace({
      places: placesIn(root),
      manifest,
      getPack: (packId) => Promise.resolve(this.packs.get(packId) ?? null),
      signal: new AbortController().signal,
    });
    expect(problems).toEqual([]);
    const snapshots = this.snapshotsOf(root);
    await snapshots.adopt(manifest);
    return snapshots;
  }
}

const directories: string[] = [];
function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'headrace-snapshot-'));
  directories.push(root);
  for (const part of ['home', 'work']) mkdirSync(join(root, part));
  return root;
}
function removeRoots(): void {
  for (const directory of directories.splice(0)) {
    execFileSync('chmod', ['-R', 'u+rwx', directory]);
    rmSync(directory, { recursive: true, force: true });
  }
}

describe('a snapshot of a workspace', () => {
  it(`contains every file, and the same state of git, of random work trees`, { timeout: CASES * 15_000 }, async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.array(workTreeStep, { minLength: 1, maxLength: 14 }),
          fc.array(workTreeStep, { maxLength: 6 }),
          async (first, more) => {
            const root = newRoot();
            initWorkTree(root);
            const objects = new Objects();
            const snapshots = objects.snapshotsOf(root);
            for (const steps of [first, more]) {
              applyWorkTreeSteps(root, steps);
              await snapshots.create('turn');
            }
            // The two ways to read a work tree agree.
            const places = placesIn(root);
            const [walked, listed] = [null, listTree(places, new Set(), LIMITS.max_entries)].map((tree) =>
              scanWorkspace({ places, maxEntries: LIMITS.max_entries, listing: tree }),
            );
            expect((await listed)?.entries).toEqual((await walked)?.entries);
            const expected = listSnapshotted(root);
            const other = newRoot();
            const ofOther = await objects.restore(other);
            expect(listWorkTree(other)).toEqual(expected);
            expect(gitStateOf(other)).toEqual(gitStateOf(root));
            // And once more, of a workspace that was restored itself.
            await ofOther.create('turn');
            const third = newRoot();
            await objects.restore(third);
            expect(listWorkTree(third)).toEqual(listSnapshotted(other));
          },
        )
        .afterEach(removeRoots),
      { numRuns: CASES },
    );
  });

  it('keeps the worktrees of repositories in the workspaces of all later sessions', async () => {
    const root = newRoot();
    try {
      initWorkTree(root);
      applyWorkTreeSteps(root, [
        { do: 'write', path: 'a', content: { text: 'a' }, mode: 0o644 },
        { do: 'git', args: ['add', '--all'] },
        { do: 'git', args: ['commit', '--quiet', '--message=first'] },
        { do: 'git', args: ['push', '--quiet', 'origin', 'main'] },
        { do: 'git', args: ['worktree', 'add', '-q', '../tree', '-b', 'tree'] },
        { do: 'git', at: '../../home/origin.git', args: ['worktree', 'add', '-q', '../../work/bare', 'main'] },
      ]);
      const objects = new Objects();
      let snapshots = objects.snapshotsOf(root);
      const state = gitStateOf(root);
      expect(state.join('\n')).toContain('<root>/work/bare');
      for (let session = 0, current = root; session < 3; session += 1) {
        // Git has written its indexes.
        const files = listWorkTree(current);
        await snapshots.create('turn');
        current = newRoot();
        snapshots = await objects.restore(current);
        expect(listWorkTree(current)).toEqual(files);
        expect(gitStateOf(current)).toEqual(state);
      }
    } finally {
      removeRoots();
    }
  });
});
