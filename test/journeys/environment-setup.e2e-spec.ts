import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { GitServer } from '../../libs/testing/src/git/git-server.js';
import { descendants, Installation, type Program, until } from '../support/installation.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;
/** Contains characters that shells, URLs and JSON escape. */
const PASSWORD = `p@ss/${randomBytes(12).toString('hex')}"+=`;
const VALUE = `s3cr3t-${randomBytes(16).toString('hex')}`;

interface Step {
  index: number;
  command: string;
  exit_code: number;
  duration_ms: number;
  output: string;
}

let root: string;
let gitServer: GitServer;
let installation: Installation;
let server: Program;
/** The arguments of all processes, and the environment of the processes that do not belong to a run. */
const processData = { argv: '', environ: '' };
let collecting: NodeJS.Timeout;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-setup-'));
  chmodSync(root, 0o711);
  const service = new GitFixture(join(root, 'github', 'acme', 'service'));
  service.commit({ 'package.txt': 'service\n' });
  const library = new GitFixture(join(root, 'library'));
  library.commit({ 'lib.txt': 'library\n' });
  library.publish(join(root, 'served', 'team', 'library.git'));
  gitServer = await GitServer.start({ root: join(root, 'served'), login: { username: 'builder', password: PASSWORD } });
  installation = await Installation.create({
    LEASE_TTL: '30s',
    LOG_LEVEL: 'trace',
    GITHUB_URL: join(root, 'github'),
    GIT_LOCAL_ROOTS: join(root, 'github'),
  });
  server = await installation.up();
  for (const [name, value] of [
    ['library-password', PASSWORD],
    ['DEPLOY_TOKEN', VALUE],
    ['npm-token', `${VALUE}-npm`],
  ]) {
    expect((await installation.call('PUT', `/secrets/${name}`, { value })).status).toBeLessThan(300);
  }
  collecting = setInterval(collectProcesses, 50);
});

afterAll(async () => {
  clearInterval(collecting);
  await server.stopCleanly('SIGINT');
  await gitServer.stop();
  installation.remove();
  rmSync(root, { recursive: true, force: true });
});

function collectProcesses(): void {
  for (const { pid, argv } of descendants(server.child.pid ?? 0)) {
    processData.argv += `${argv.join(' ')}\n`;
    try {
      const environ = readFileSync(`/proc/${pid}/environ`, 'latin1');
      // HEADRACE_RUN_ID is set for set-up commands and agents, not for git, runner, server and database.
      if (!environ.includes('HEADRACE_RUN_ID=')) processData.environ += environ;
    } catch {
      continue; // The process has ended since it was listed.
    }
  }
}

const library = (): object => ({
  url: `${gitServer.url}/team/library.git`,
  ref: 'main',
  secret_name: 'library-password',
  username: 'builder',
});

async function environmentWith(config: object): Promise<string> {
  const { status, body } = await installation.call('POST', '/environments', { config });
  expect([status, body]).toEqual([201, expect.anything()]);
  return body.uid as string;
}

async function timelineOf(runId: string): Promise<{ types: string[]; steps: Step[]; text: string }> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  const events = body.events as { event_type: string; payload: Step }[];
  return {
    types: events.map((event) => event.event_type),
    steps: events.filter((event) => event.event_type === 'setup_command_finished').map(({ payload }) => payload),
    text: JSON.stringify(body),
  };
}

/** The responses of all read operations on a run and its environment, as text. */
async function answersAbout(runId: string, environmentUid: string): Promise<string> {
  const paths = ['', '/timeline', '/conversation'].map((path) => `/agent/runs/${runId}${path}`);
  const lists = ['/agent/environments', `/environments/${environmentUid}`, '/agent/runs', '/secrets'];
  const answers = await Promise.all([...paths, ...lists].map((path) => installation.call('GET', path)));
  const link = await installation.call('GET', `/agent/runs/${runId}/transcript`);
  const transcript = link.status === 302 ? await (await fetch(link.headers.get('location') ?? '')).text() : '';
  return answers.map(({ body }) => JSON.stringify(body)).join('\n') + transcript;
}

/** Every row of every table as text. */
async function databaseText(): Promise<string> {
  const file = (path: string): string => readFileSync(join(installation.dataDir, path), 'utf8').trim();
  const connectionString = `postgresql://headrace:${file('secrets/postgres-password')}@${encodeURIComponent(file('state/postgres-socket'))}:5432/headrace`;
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      texts.push(`${name}\n`, ...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

/** The files of the installation that contain one of the values: of the database, logs, objects, mirrors and workspaces. */
function filesHolding(needles: readonly string[]): string[] {
  return readdirSync(installation.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      try {
        const content = readFileSync(path);
        return needles.some((needle) => content.includes(needle));
      } catch {
        return false; // The file was deleted meanwhile.
      }
    });
}

/** The secret values in all encodings that could occur. */
const NEEDLES = [PASSWORD, VALUE].flatMap((value) => [
  value,
  encodeURIComponent(value),
  JSON.stringify(value).slice(1, -1),
  Buffer.from(value).toString('base64').replace(/=*$/, '').slice(0, -1),
]);

describe('set-up of an environment', { timeout: 90_000 }, () => {
  it('clones repositories and runs set-up commands in order, and passes secrets to commands and agent without exposing them', async () => {
    const environment = await environmentWith({
      name: 'two-repositories',
      github_repos: [{ owner: 'acme', repo: 'service' }],
      git_repos: [library()],
      secrets: [{ name: 'DEPLOY_TOKEN' }, { name: 'npm-token' }],
      setup_commands: [
        'cat service/package.txt library/lib.txt > both.txt; cat both.txt',
        'echo "deploying with $DEPLOY_TOKEN and $npm_token"; echo "${#DEPLOY_TOKEN}"',
        'git -C library remote get-url origin; env | base64 -w0 | tail -c 100000',
      ],
    });
    gitServer.hold();
    const runId = await installation.createRun(
      [
        sh('cat both.txt; echo "in the agent: $DEPLOY_TOKEN ${#DEPLOY_TOKEN}"; sleep 0.3'),
        sh('cat library/.git/config; git -C service status --short --branch; id -u'),
      ].join('\n'),
      { config: { environment_id: environment } },
    );
    // At this point the server has read the credential, and git waits for the response.
    await until(() => gitServer.asked.length > 0, 30_000, 'a request of git');
    collectProcesses();
    gitServer.release();
    const run = await installation.waitFor(runId, ENDED, 60_000);
    expect(run.state).toBe('SUCCEEDED');

    const { types, steps } = await timelineOf(runId);
    expect(types.slice(0, 9)).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'setup_started',
      ...Array.from({ length: 5 }, () => 'setup_command_finished'),
    ]);
    expect(steps.map(({ index, exit_code: code }) => [index, code])).toEqual(
      [0, 1, 2, 3, 4].map((index) => [index, 0]),
    );
    expect(steps.map(({ command }) => command).slice(0, 2)).toEqual([
      `git clone ${root}/github/acme/service.git`,
      `git clone ${gitServer.url}/team/library.git`,
    ]);
    expect(steps[2]?.output).toBe('service\nlibrary\n');
    expect(steps[3]?.output).toBe('deploying with *** and ***\n39\n');
    expect(steps.every(({ duration_ms: took }) => took >= 0)).toBe(true);

    const answers = await answersAbout(runId, environment);
    expect(answers).toContain('in the agent: *** 39');
    expect(answers).toContain(`url = ${gitServer.url}/team/library.git`);
    expect(processData.environ).toContain('GIT_TERMINAL_PROMPT=0');
    expect(processData.argv).toContain('ls-remote');
    const everywhere = { answers, log: server.text, ...processData, database: await databaseText() };
    expect(everywhere.database).toContain('runs\n');
    expect(everywhere.log).toContain(runId);
    for (const needle of NEEDLES)
      for (const [where, text] of Object.entries(everywhere))
        expect(text.includes(needle), `${needle} in ${where}`).toBe(false);
    // The session file of the agent may contain values of the run; a password of a repository must not be in any file.
    expect(filesHolding(NEEDLES).filter((path) => !path.includes('/workspaces/'))).toEqual([]);
    expect(filesHolding(NEEDLES.slice(0, NEEDLES.length / 2))).toEqual([]);
    expect(readdirSync(join(installation.dataDir, 'mirrors')).filter((name) => name.endsWith('.git'))).toHaveLength(2);
  });

  it('fails a run whose repository has a link-local address with a message that names GIT_ALLOW_PRIVATE', async () => {
    const environment = await environmentWith({
      name: 'link-local',
      git_repos: [{ url: 'http://169.254.169.254/latest/meta-data.git' }],
    });
    const runId = await installation.createRun(sh('echo never'), { config: { environment_id: environment } });
    const run = await installation.waitFor(runId, ENDED, 60_000);
    expect(run.state).toBe('FAILED');
    expect(run.status_message.message).toContain('the setting GIT_ALLOW_PRIVATE');
  });

  it('shows the masked output of a failed set-up command in the run, the timeline and the list of runs', async () => {
    const commands = ['echo fine', 'echo "broken with $DEPLOY_TOKEN" >&2; exit 9', 'echo never'];
    const environment = await environmentWith({
      name: 'failing',
      github_repos: [{ owner: 'acme', repo: 'service' }],
      git_repos: [library()],
      secrets: [{ name: 'DEPLOY_TOKEN' }],
      setup_commands: commands,
    });
    const runId = await installation.createRun(sh('echo never'), { config: { environment_id: environment } });
    const run = await installation.waitFor(runId, ENDED, 60_000);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: `Set-up command 4 (\`${commands[1]}\`) failed with exit code 9.\nbroken with ***`,
      },
    });
    const { types, steps } = await timelineOf(runId);
    expect(steps.map(({ index, exit_code: code }) => [index, code])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 9],
    ]);
    expect(steps[3]).toMatchObject({ command: commands[1], output: 'broken with ***\n' });
    expect(types).toContain('run_failed');
    expect(types).not.toContain('agent_started');
    const { body } = await installation.call('GET', '/agent/environments');
    const [listed] = body.environments.filter(({ uid }: { uid: string }) => uid === environment);
    expect(listed).toMatchObject({ setup_failed: true, last_task_created: { id: runId, state: 'FAILED' } });
    const { body: failed } = await installation.call('GET', '/agent/runs?state=FAILED');
    expect(failed.runs[0]).toMatchObject({ run_id: runId, status_message: run.status_message });
    const everywhere = {
      answers: await answersAbout(runId, environment),
      log: server.text,
      ...processData,
      database: await databaseText(),
    };
    for (const needle of NEEDLES)
      for (const [where, text] of Object.entries(everywhere))
        expect(text.includes(needle), `${needle} in ${where}`).toBe(false);
  });

  it('fails a run whose repository rejects the credentials with the error of git', async () => {
    await installation.call('PUT', '/secrets/other-password', { value: 'not-the-right-password' });
    const environment = await environmentWith({ git_repos: [{ ...library(), secret_name: 'other-password' }] });
    const runId = await installation.createRun(sh('echo never'), { config: { environment_id: environment } });
    const run = await installation.waitFor(runId, ENDED, 60_000);
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'environment_setup_failed' } });
    expect(run.status_message.message).toMatch(
      /^Set-up command 1 \(`git clone http:\/\/127.*library\.git`\) failed with exit code 128\./,
    );
    expect(run.status_message.message).toContain('Authentication failed');
    expect((await timelineOf(runId)).text + server.text + processData.argv).not.toContain('not-the-right-password');
  });

  it('fails a run whose environment uses a deleted secret with a message that names the secret', async () => {
    await installation.call('PUT', '/secrets/short-lived', { value: 'for a moment only' });
    const environment = await environmentWith({ secrets: [{ name: 'short-lived' }] });
    expect((await installation.call('DELETE', '/secrets/short-lived')).status).toBe(204);
    const runId = await installation.createRun(sh('echo never'), { config: { environment_id: environment } });
    const run = await installation.waitFor(runId, ENDED);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: 'The managed secret short-lived, which the environment names, no longer exists or is for webhooks.',
      },
    });
    const { body } = await installation.call('GET', `/environments/${environment}`);
    expect(body.setup_failed).toBe(true);
  });

  it('checks out the latest commit of a repository that has changed since the last run', async () => {
    const environment = await environmentWith({
      github_repos: [{ owner: 'acme', repo: 'service' }],
      setup_commands: ['cat package.txt'],
    });
    const shown = async (): Promise<string | undefined> => {
      const runId = await installation.createRun(sh('true'), { config: { environment_id: environment } });
      await installation.waitFor(runId, ['SUCCEEDED'], 60_000);
      return (await timelineOf(runId)).steps[1]?.output;
    };
    expect(await shown()).toBe('service\n');
    new GitFixture(join(root, 'github', 'acme', 'service')).commit({ 'package.txt': 'changed\n' });
    expect(await shown()).toBe('changed\n');
  });
});
