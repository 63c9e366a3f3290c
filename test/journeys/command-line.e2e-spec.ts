import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { headrace } from '../support/command-line.js';
import { Installation, type Program } from '../support/installation.js';

const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

let installation: Installation;
let server: Program;
let directory: string;

beforeAll(async () => {
  installation = await Installation.create({
    ...{ MAX_CONCURRENT_RUNS: '2', MAX_CONCURRENT_RUNS_PER_TEAM: '2' },
    ...{ LOG_FORMAT: 'text', MAX_CONCURENT_RUNS: '7' },
  });
  server = await installation.up();
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-cli-'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stopCleanly('SIGINT');
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  const { base_url: baseUrl, token } = installation.connection;
  vi.stubEnv('HEADRACE_URL', new URL(baseUrl).origin);
  vi.stubEnv('HEADRACE_TOKEN', token);
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'no-installation'));
  vi.stubEnv('XDG_CONFIG_HOME', join(directory, 'config'));
});

const json = async (...args: string[]) => JSON.parse((await headrace(0, ...args, '--json')).output) as never;
const runIdIn = (text: string): string => /^Run ([0-9a-f-]{36}):/m.exec(text)?.[1] ?? '';

describe('LOG_FORMAT=text', () => {
  it('prints log lines as text instead of JSON, and warns about a misspelled setting', () => {
    expect(server.text).toMatch(
      /^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: MAX_CONCURENT_RUNS is not a setting .* MAX_CONCURRENT_RUNS\?/m,
    );
    expect(server.text).not.toMatch(/^\{/m);
  });
});

describe('headrace commands over the API', { timeout: 120_000 }, () => {
  it('creates a run, follows it until it succeeds, lists it, and continues it with a follow-up', async () => {
    const prompt = `Say hello.\n\n${sh('echo hello from the agent')}`;
    const created = await headrace(0, 'run', 'create', '--prompt', prompt, '--metadata', 'ticket=42', '--follow');
    const runId = runIdIn(created.errors);
    expect(created.errors).toContain(`/runs/${runId}`);
    expect(created.output).toMatch(/^\[SUCCEEDED/m);
    expect(created.output).toMatch(/[^\n]\n$/);
    expect(created.output).toContain('| Say hello.');
    expect(created.output).toContain('> run command echo hello from the agent');
    expect(created.output).toContain('  hello from the agent');

    expect(await json('run', 'get', runId)).toMatchObject({ state: 'SUCCEEDED', metadata: { ticket: '42' } });
    expect((await headrace(0, 'run', 'get', runId)).output).toMatch(/^State +SUCCEEDED$/m);
    expect((await headrace(0, 'run', 'list', '--state', 'succeeded', '--limit', '5')).output).toContain(runId);
    expect(await json('run', 'list', '--query', 'no such text')).toEqual({
      runs: [],
      page_info: { has_next_page: false },
    });

    const again = await headrace(0, 'run', 'follow-up', runId, '--message', sh('echo once more'), '--follow');
    expect(again.output).toContain('  once more');
  });

  it('prints the events of a run as JSON lines and exits with 1 when the run fails', async () => {
    const { output } = await headrace(1, 'run', 'create', '--prompt', '```fail\nIt broke.\n```', '--follow', '--json');
    const events = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; data: { state?: string } });
    const states = events.flatMap(({ event, data }) => (event === 'state' ? [data.state] : []));
    expect(states.at(-1)).toBe('FAILED');
    expect(events.some(({ event }) => event === 'conversation')).toBe(true);
  });

  it('shows every line of the message of a failed run', async () => {
    const config = { name: 'broken', setup_commands: ["printf 'the reason\\nhow to repair it\\n'; exit 3"] };
    const { uid } = (await installation.call('POST', '/environments', { config })).body;
    const followed = await headrace(1, 'run', 'create', '--prompt', sh('true'), '--environment', uid, '--follow');
    expect(followed.output).toMatch(/^\[FAILED: Set-up command 1 .*\nthe reason\nhow to repair it\]$/m);
    const shown = await headrace(0, 'run', 'get', runIdIn(followed.errors));
    expect(shown.output).toMatch(
      /^Message +Set-up command 1 .*\n +the reason\n +how to repair it \(environment_setup_failed\)$/m,
    );
  });

  it('cancels a run directly after its creation and rejects a second cancellation', async () => {
    const { output } = await headrace(0, 'run', 'create', '--prompt', sh('sleep 60'));
    const runId = output.trim();
    expect((await headrace(0, 'run', 'cancel', runId)).output).toBe(`Run ${runId} is cancelled.\n`);
    expect(await json('run', 'get', runId)).toMatchObject({ state: 'CANCELLED' });
    expect((await headrace(1, 'run', 'cancel', runId)).errors).toContain('headrace: ');
  });

  it('creates, lists, pauses, resumes, runs and deletes a schedule', async () => {
    const args = ['--name', 'nightly', '--cron', '0 7 * * *', '--timezone', 'Europe/Berlin', '--prompt', sh('true')];
    const { output, errors } = await headrace(0, 'schedule', 'create', ...args);
    const id = output.trim();
    expect(errors).toMatch(/^Schedule nightly starts its next run at 2/);
    expect((await headrace(0, 'schedule', 'list')).output).toMatch(
      new RegExp(`^${id} +nightly +0 7 \\* \\* \\* +Europe/Berlin +enabled `, 'm'),
    );
    expect(await json('schedule', 'pause', id)).toMatchObject({ enabled: false });
    expect((await headrace(0, 'schedule', 'resume', id)).output).toContain('starts its next run at');
    const runId = (await headrace(0, 'schedule', 'run', id)).output.trim();
    await headrace(0, 'run', 'follow', runId);
    expect((await headrace(0, 'run', 'list', '--schedule', id)).output).toContain(runId);
    await headrace(0, 'schedule', 'delete', id);
    expect((await headrace(1, 'schedule', 'get', id)).errors).toContain('headrace: ');
    expect((await headrace(1, 'schedule', 'create', ...args, '--cron', '@daily')).errors).toContain('cron_schedule');
  });

  it('creates an automation from a file, lists, disables, enables and deletes it', async () => {
    const { factory_uid: factory } = installation.connection;
    const { body: webhook } = await installation.call('POST', `/factories/${factory}/webhooks`, { name: 'deploys' });
    const file = join(directory, 'automation.yaml');
    const trigger = `{ provider: webhook, event: received, filter: { webhook_ids: [${webhook.uid}] } }`;
    writeFileSync(file, `name: triage\nenabled: true\nprompt: Look into it.\ntriggers: [${trigger}]\n`);
    const uid = (await headrace(0, 'automation', 'create', '--file', file)).output.trim();
    expect((await headrace(0, 'automation', 'list')).output).toMatch(
      new RegExp(`^${uid} +triage +enabled +webhook\\.received `, 'm'),
    );
    expect((await headrace(0, 'automation', 'disable', uid)).output).toBe('Automation triage is disabled.\n');
    expect(await json('automation', 'get', uid)).toMatchObject({ enabled: false, prompt: 'Look into it.' });
    expect(await json('automation', 'enable', uid)).toMatchObject({ enabled: true });
    await headrace(0, 'automation', 'delete', uid);
    expect(await json('automation', 'list')).toEqual([]);
  });

  it('prints an empty list of workers when none is connected', async () => {
    expect((await headrace(0, 'worker', 'list')).output).toMatch(/^WORKER HOST +CONNECTIONS/);
    expect(await json('worker', 'list')).toEqual([]);
  });

  it('stores a valid token at login, sends it only to its API, and removes it at logout', async () => {
    const { base_url: baseUrl, token } = installation.connection;
    vi.stubEnv('HEADRACE_TOKEN', undefined);
    vi.stubEnv('HEADRACE_URL', undefined);
    const origin = new URL(baseUrl).origin;
    const tokenFile = join(directory, 'token');
    writeFileSync(tokenFile, 'hr_wrong', { mode: 0o600 });
    const login = ['login', '--url', origin, '--token-file', tokenFile];
    expect((await headrace(1, ...login)).errors).toContain('the API rejected the token');
    expect((await headrace(1, 'run', 'list', '--url', origin)).errors).toContain('headrace login');

    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
    const { output } = await headrace(0, ...login);
    expect(output).not.toContain(token);
    const credentials = join(directory, 'config', 'headrace', 'credentials.json');
    expect(statSync(credentials).mode & 0o777).toBe(0o600);
    expect(readFileSync(credentials, 'utf8')).toContain(token);
    await headrace(0, 'run', 'list');
    // A stored token is sent to its own address only.
    expect((await headrace(1, 'run', 'list', '--url', 'http://127.0.0.1:9')).errors).toContain('a token is required');

    expect((await headrace(0, 'logout')).output).toContain('Logged out');
    expect((await headrace(1, 'run', 'list', '--url', origin)).errors).toContain('a token is required');
  });
});
