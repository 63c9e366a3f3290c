import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { MirrorCache } from '#platform/git';
import { CONFORMANCE_FILES, GitFixture, GitServer, skillSourceConformance } from '#testing';
import { MirrorSkillSource } from './mirror-skill-source.js';

const root = mkdtempSync(join(tmpdir(), 'headrace-skill-mirrors-'));
const source = new MirrorSkillSource(
  new MirrorCache({ directory: join(root, 'mirrors'), localRoots: [join(root, 'open')] }),
);
let closed: GitServer;

beforeAll(async () => {
  new GitFixture(join(root, 'open/full')).commit(CONFORMANCE_FILES);
  new GitFixture(join(root, 'open/empty')).git('status');
  closed = await GitServer.start({ root: join(root, 'open'), login: { username: 'u', password: 'swordfish' } });
});
afterAll(async () => {
  await closed.stop();
  rmSync(root, { recursive: true, force: true });
});

describe('MirrorSkillSource', () => {
  const at = (url: string) => ({ owner: 'acme', name: 'tools', url, isGithub: false });
  skillSourceConformance(() => ({
    source,
    full: at(join(root, 'open/full')),
    empty: at(join(root, 'open/empty')),
    missing: at(join(root, 'open/missing')),
    closed: at(`${closed.url}/full/.git`),
  }));
});
