import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GitFixture } from '#testing';
import { ForgeFixture } from '../support/forge-fixture.js';
import { type Account, Installation, runnersOf, until } from '../support/installation.js';
import { ORDINARY_USER } from '../support/ordinary-user.js';
import { filesBelow, linesOf, type Place, placesWith, processesBelow } from '../support/secret-search.js';
import { NO_SSHD, SshGitServer } from '../support/ssh-git-server.js';
import { storedRows, storedSnapshots } from '../support/stored-content.js';
import { isLong } from '../support/long-tests.js';

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
/** What the agent sees and writes: the search finds it. */
const SEEN = `seen-${randomBytes(15).toString('base64url')}`;
const APP_ID = 815;
const PERMISSIONS = { contents: 'write', metadata: 'read', pull_requests: 'write' };
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR'];
const isRoot = process.getuid?.() === 0;
const USERS: readonly (readonly [name: string, account: Account | null])[] = isRoot
  ? [['root with separate users', null], ...(ORDINARY_USER ? [['an ordinary user', ORDINARY_USER] as const] : [])]
  : [['an ordinary user', null]];

const title = `a run with an HTTPS token, a GitHub App and an SSH key ${NO_SSHD ?? ''}`.trim();
describe.skipIf(NO_SSHD !== null)(title, { timeout: 90_000 }, () => {
  let root: string;
  let forges: ForgeFixture;
  let ssh: SshGitServer;
  let sshKey: string;
  let appKey: string;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'headrace-credentials-'));
    forges = await ForgeFixture.start(TOKEN);
    forges.addRepository('tools', []);
    ssh = await SshGitServer.start(join(root, 'served'));
    const fixture = new GitFixture(join(root, 'notes'));
    fixture.commit({ 'readme.txt': 'notes\n' }, 'Add a text');
    fixture.publish(ssh.pathOf('notes'));
    sshKey = ssh.addKey('notes', 'ed25519');
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    appKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    forges.github.app = { id: APP_ID, publicKey, permissions: PERMISSIONS, isInstalled: true, tokenMs: 3_600_000 };
  });
  afterAll(async () => {
    await Promise.all([ssh.stop(), forges.stop()]);
    rmSync(root, { recursive: true, force: true });
  });

  const secrets = (): string[] => [TOKEN, ...forges.github.appTokens, ...linesOf(appKey), ...linesOf(sshKey)];

  // One of them in the short tests: test/runner has the credentials of each kind with both.
  it.each(isLong ? USERS : USERS.slice(0, 1))(
    'leaves nothing of them in files, processes, logs, snapshots and tables, as %s',
    async (name, account) => {
      const installation = await Installation.create({ ...forges.settings, LOG_LEVEL: 'debug' }, account);
      // All temporary files are below the directory of the installation.
      const temporary = join(installation.dataDir, '../tmp');
      mkdirSync(temporary);
      chmodSync(temporary, 0o1777);
      installation.environment.TMPDIR = temporary;
      const server = await installation.up();
      onTestFinished(async () => {
        await server.stop('SIGTERM');
        installation.remove();
      });
      const pid = server.child.pid ?? 0;
      const call = async (method: string, path: string, body?: object) => {
        const answer = await installation.call(method, path, body);
        expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
        return answer.body;
      };
      for (const [secret, value] of Object.entries({ 'a-token': TOKEN, 'app-key': appKey, 'ssh-key': sshKey }))
        await call('PUT', `/secrets/${secret}`, { value });
      const { uid } = await call('POST', '/environments', {
        config: {
          name: 'three',
          env: { SEEN },
          github_repos: [{ owner: 'acme', repo: 'app', secret_name: 'app-key', github_app_id: APP_ID }],
          git_repos: [
            { url: `${forges.gitlab.url}/acme/tools.git`, secret_name: 'a-token', username: 'oauth2' },
            { url: ssh.urlOf('notes'), secret_name: 'ssh-key' },
          ],
        },
      });

      // While git is connected to the server of the repository, it has what it sends.
      const looks: string[] = [];
      const found: string[] = [];
      const seen: string[] = [];
      const look = (server: string) => {
        looks.push(server);
        const places = [...processesBelow(pid), ...files(installation)];
        found.push(...placesWith(secrets(), places));
        seen.push(...placesWith([SEEN], places));
      };
      const push = /^POST .*git-receive-pack/;
      forges.git.interrupt = { line: push, call: () => look('github') };
      forges.gitOfGitlab.interrupt = { line: push, call: () => look('gitlab') };
      ssh.onConnection = () => look('ssh');
      const branch = account === null ? 'first' : 'second';
      const change = (directory: string) =>
        `cd ${directory} && git switch --quiet --create ${branch} && echo "$SEEN" > seen && git add . && git commit --quiet -m Change && git push --quiet origin ${branch} && git fetch --quiet`;
      const others = [`${forges.git.url}/acme/tools.git`, `${forges.gitlab.url}/acme/app.git`, ssh.urlOf('other')];
      const prompt = [
        ...['app', 'tools', 'notes'].map((directory) => `\`\`\`sh\n${change(directory)}\n\`\`\``),
        `\`\`\`tool name=create_pull_request\n${JSON.stringify({ title: 'Change', repository: 'acme/app' })}\n\`\`\``,
        '```sh\ngit config --list --show-origin; env; echo "$SEEN" > ~/seen\n```',
        `\`\`\`sh\nreached=0; for url in ${others.join(' ')}; do git ls-remote "$url" > /dev/null 2>&1 && reached=$((reached + 1)); done; echo "reached: $reached"\n\`\`\``,
      ].join('\n');
      const config = { environment_id: uid as string, idle_timeout_minutes: 0 };
      const runId = await installation.createRun(prompt, { config });
      const run = await installation.waitFor(runId, ENDED, 60_000);
      expect(run.state, JSON.stringify(run.status_message)).toBe('SUCCEEDED');
      for (const served of ['app', 'tools']) expect(forges.commitsOf(branch, served)[0]).toBe('Change');
      expect([...new Set(looks)].sort(), name).toEqual(['github', 'gitlab', 'ssh']);
      expect(found).toEqual([]);
      expect(seen.some((place) => place.endsWith('/seen'))).toBe(true);
      expect(seen.some((place) => place.startsWith('/proc/'))).toBe(true);

      await until(() => runnersOf(pid).length === 0, 30_000, 'the end of the session');
      const { places: stored, snapshots } = await storedSnapshots(installation.dataDir);
      expect(snapshots).toBeGreaterThanOrEqual(2);
      expect(placesWith([SEEN], stored).some((place) => place.endsWith(': home/seen'))).toBe(true);
      const shown = await Promise.all(
        ['', '/timeline', '/conversation'].map((path) => call('GET', `/agent/runs/${runId}${path}`)),
      );
      expect(JSON.stringify(shown)).toMatch(/reached: 0\\+n/);
      const places: Place[] = [
        ...stored,
        ...(await storedRows(installation.dataDir)),
        ...files(installation),
        { name: 'responses', content: Buffer.from(JSON.stringify(shown)) },
        { name: 'log', content: Buffer.from(server.text) },
      ];
      expect(placesWith(secrets(), places)).toEqual([]);
      expect(placesWith([SEEN], places)).toEqual(
        expect.arrayContaining([expect.stringContaining('/objects/'), 'table run_events', 'responses']),
      );
    },
  );

  /** What the service keeps for itself is not among them. */
  const files = ({ dataDir }: Installation): Place[] => {
    const own = ['secrets', 'postgres', 'connection.json'].map((name) => join(dataDir, name));
    return [...filesBelow(join(dataDir, '..'), own)];
  };
});
