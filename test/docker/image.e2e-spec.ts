import { randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { answersIn, tick, until } from '../support/installation.js';
import { shellBlocks } from '../support/recipe.js';
import { ENDED, sh } from '../support/executor-installation.js';
import {
  callAt,
  composeCommand,
  ComposeInstallation,
  type Reply,
  type RequestOptions,
  untilHealthy,
} from './compose-installation.js';
import { engine } from './docker-installation.js';
import { EXECUTION_LABEL } from './engine.js';
import { buildHeadrace, IMAGE, POSTGRES_IMAGE, REPOSITORY, VERSION } from './headrace-image.js';
import { BASE_IMAGE } from './images.js';

const BUILD_MS = 900_000;
/** With the runs of an automation fewer than the limit of concurrent runs: a run that does not start is lost, and does not wait for others. */
const CLIENTS = 3;
/** One of so many deliveries starts a run. */
const DELIVERIES_PER_RUN = 25;
const READ_ONLY = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
/** One after the other. */
const CRASHES = ['api', 'ingress', 'processor', 'postgres'];
const command = composeCommand();

/** The blocks of commands in a section of a page. */
function commandsOf(page: string, heading: string): string[] {
  const text = readFileSync(fileURLToPath(new URL(`../../${page}`, import.meta.url)), 'utf8');
  const section = text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? '';
  return shellBlocks(section);
}

/** The API of an installation, with the token of a user. */
class Api {
  constructor(
    private readonly origin: string,
    private readonly token: string,
  ) {}

  call(method: string, path: string, body?: unknown, headers?: RequestOptions['headers']): Promise<Reply> {
    return callAt(`${this.origin}/api/v1${path}`, this.token, { method, body, headers });
  }

  async create(path: string, body: unknown): Promise<Reply['body']> {
    const reply = await this.call('POST', path, body);
    if (reply.status >= 300) throw new Error(`POST ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  /** Also while the API is away. */
  ended(runId: string, timeoutMs = 90_000): Promise<Reply['body']> {
    const look = async (): Promise<Reply['body']> => {
      const reply = await this.call('GET', `/agent/runs/${runId}`).catch(() => null);
      return reply?.status === 200 && ENDED.includes(reply.body.state as string) && reply.body;
    };
    return until(look, timeoutMs, `the end of run ${runId}`);
  }

  async execute(script: string, config?: object): Promise<{ state: string; conversation: string }> {
    const { run_id: runId } = await this.create('/agent/runs', { prompt: sh(script), ...(config && { config }) });
    const { state } = await this.ended(runId as string);
    return { state, conversation: answersIn((await this.call('GET', `/agent/runs/${runId}/conversation`)).body) };
  }
}

beforeAll(async () => {
  const { seconds, bytes } = await buildHeadrace(engine);
  console.log(`${IMAGE}: ${Math.round(bytes / 1e6)} MB, built in ${Math.round(seconds)} s`);
}, BUILD_MS);

describe('the image', () => {
  it('has no npm and no compiler, and a list of the packages that it contains', async () => {
    const inImage = (script: string): Promise<string> =>
      engine.docker('run', '--rm', ...READ_ONLY, '--network', 'none', '--entrypoint', 'sh', IMAGE, '-c', script);
    expect(await inImage('id -u; for i in npm npx gcc cc make python3; do command -v $i; done; true')).toBe('10001\n');
    const sbom = JSON.parse(await inImage('cat /opt/headrace/sbom.cdx.json')) as {
      bomFormat: string;
      components: { name: string }[];
    };
    expect(sbom.bomFormat).toBe('CycloneDX');
    const names = new Set(sbom.components.map(({ name }) => name));
    expect(['pg', 'bullmq', 'vitest'].map((name) => names.has(name))).toEqual([true, true, false]);
    // The configuration of npm is a secret of the build, and the repository may have settings of an installation.
    const isSecret = String.raw`\( -name .npmrc -o -name '*.env' \) -not -path '*/node_modules/*'`;
    expect(await inImage(`find / -xdev ${isSecret} 2>/dev/null; ls -d /opt/headrace/deploy 2>/dev/null; true`)).toBe(
      '',
    );
  });

  it('executes a run in one container, reaps what its agent leaves, and ends with 0', async () => {
    const name = 'headrace-test-up';
    await engine.docker('run', '--detach', '--name', name, ...READ_ONLY, IMAGE);
    try {
      await untilHealthy(engine, name);
      const { token } = JSON.parse(await engine.docker('exec', name, 'cat', '/var/lib/headrace/connection.json')) as {
        token: string;
      };
      const address = (await engine.inspect(name)).NetworkSettings.IPAddress as string;
      const api = new Api(`http://${address}:3000`, token);
      const { state, conversation } = await api.execute('setsid sleep 0.5 & echo "hello from $((40 + 2))"');
      expect(state).toBe('SUCCEEDED');
      expect(conversation).toContain('hello from 42');
      const processes = (): Promise<string> => engine.docker('top', name, '-eo', 'pid,stat,args');
      await until(async () => !/ Z|sleep 0.5/.test(await processes()), 10_000, 'the end of all processes of the agent');
      const start = performance.now();
      await engine.docker('stop', name);
      expect(performance.now() - start).toBeLessThan(9_000);
      expect((await engine.inspect(name)).State.ExitCode).toBe(0);
    } finally {
      await engine.docker('rm', '--force', '--volumes', name);
    }
  });
});

describe('compose.yaml', () => {
  let installation: ComposeInstallation;
  let api: Api;

  beforeAll(async () => {
    if (command === null) return;
    installation = await ComposeInstallation.start(engine, command, {
      SECRETS_KEY: randomBytes(32).toString('hex'),
      POSTGRES_PASSWORD: randomBytes(24).toString('hex'),
      POSTGRES_IMAGE,
      HEADRACE_IMAGE: REPOSITORY,
      HEADRACE_VERSION: VERSION,
      ENGINE_SOCKET_GROUP: String(statSync(engine.socket).gid),
      DOCKER_DEFAULT_IMAGE: BASE_IMAGE,
      ...{ API_RATE_PER_MINUTE: '0', WEBHOOK_RATE_LIMIT: '6000', LEASE_TTL: '10s', MAX_CONCURRENT_RUNS: '8' },
    });
    await installation.untilHealthy('postgres', 'api', 'ingress', 'processor');
    const created = await installation.compose('run', '--rm', 'api', 'administrator', 'create', 'owner@example.org');
    api = new Api(`http://127.0.0.1:${installation.apiPort}`, created.trim().split(/\s+/).at(-1) ?? '');
    await api.create('/teams', { name: 'Payments' });
  });
  afterAll(() => installation?.stop());
  beforeEach(({ skip }) =>
    skip(command === null, 'docker-compose is not installed: apt-get install --no-install-recommends docker-compose'),
  );

  it('migrates the database, and executes a run in a container that reaches nothing but the API', async () => {
    const { ExitCode: code } = (await engine.inspect(await installation.container('migrate'))).State;
    expect(code).toBe(0);
    const probe = 'timeout 5 bash -c "echo > /dev/tcp/$host/$port" 2>/dev/null && echo "<$host $port>"';
    const places = 'api:3000 api:9464 api-internal:9464 processor:9464 ingress:3001 postgres:5432';
    const { state, conversation } = await api.execute(
      `echo hello; for place in ${places}; do { host=\${place%:*} port=\${place#*:}; ${probe}; } & done; wait`,
    );
    expect(state).toBe('SUCCEEDED');
    expect(conversation).toContain('hello');
    expect(conversation.match(/<[\w-]+ \d+>/g)).toEqual(['<api 3000>']);
  });

  it('serves its worker, also after a crash', async () => {
    const { uid } = await api.create('/service-accounts', { name: 'worker' });
    const { token } = await api.create('/tokens', { name: 'worker', service_account_uid: uid });
    appendFileSync(installation.settingsFile, `WORKER_ID=build-1\nWORKER_TOKEN=${token}\n`);
    await installation.compose('up', '--detach', '--no-deps', 'worker');
    try {
      const worker = await installation.container('worker');
      const execute = async (): Promise<void> => {
        const { state, conversation } = await api.execute('echo "hello from $HOSTNAME"', { worker_host: 'build-1' });
        expect(state).toBe('SUCCEEDED');
        expect(conversation).toContain(`hello from ${worker.slice(0, 12)}`);
      };
      await execute();
      const { run_id: atWork } = await api.create('/agent/runs', {
        prompt: sh('echo at work; sleep 600'),
        config: { worker_host: 'build-1' },
      });
      const conversation = async (): Promise<string> =>
        answersIn((await api.call('GET', `/agent/runs/${atWork}/conversation`)).body);
      await until(async () => (await conversation()).includes('at work'), 60_000, 'the work of the run');
      await installation.crash('worker');
      // Its runner was in the same container.
      expect(await api.ended(atWork as string)).toMatchObject({
        state: 'ERROR',
        status_message: { error_code: 'infrastructure_timeout', retryable: true },
      });
      await execute();
      await installation.compose('stop', 'worker');
      expect((await engine.inspect(worker)).State.ExitCode).toBe(0);
    } finally {
      await installation.compose('rm', '--force', '--stop', 'worker');
    }
  });

  it('loses no run and no delivery when its containers crash', { timeout: 600_000 }, async () => {
    const { uid: factory } = await api.create('/factory', { name: 'shop' });
    const hook = await api.create(`/factories/${factory}/webhooks`, { name: 'deploys' });
    const hookUrl = `http://127.0.0.1:${installation.ingressPort}${new URL(hook.ingress_url as string).pathname}`;
    const filter = { webhook_ids: [hook.uid], payload: { start: [true] } };
    const automation = await api.create(`/factories/${factory}/automations`, {
      name: 'deploys',
      enabled: true,
      prompt: sh('echo deployed'),
      triggers: [{ provider: 'webhook', event: 'received', filter }],
    });
    const executions = await engine.watchExecutions();
    onTestFinished(() => executions.stop());
    const starting: string[] = [];
    const runs: string[] = [];
    const deliveries: string[] = [];
    let isOver = false;
    const states: string[] = [];
    const createRuns = async (): Promise<void> => {
      while (!isOver) {
        const body = { prompt: sh('echo "execution $(cat /proc/sys/kernel/random/uuid)"; sleep 2; echo finished') };
        // A request without an answer may have created a run. With the same key, the answer is this run.
        const headers = { 'idempotency-key': randomUUID() };
        const isCreated = async () => {
          const reply = await api.call('POST', '/agent/runs', body, headers).catch(() => null);
          return reply?.status === 200 && (reply.body.run_id as string);
        };
        const runId = await until(isCreated, 60_000, 'the answer to the creation of a run');
        runs.push(runId);
        states.push((await api.ended(runId, 120_000)).state as string);
      }
    };
    const sendDeliveries = async (): Promise<void> => {
      for (let number = 0; !isOver; number++) {
        // As senders do, it sends a delivery again that got no answer.
        const body = { number, start: number % DELIVERIES_PER_RUN === 0 };
        const send = (): Promise<Reply | null> =>
          callAt(hookUrl, hook.secret as string, { method: 'POST', body }).catch(() => null);
        const isAccepted = async () => {
          const reply = await send();
          return reply?.status === 202 && (reply.body.delivery_id as string);
        };
        const delivery = await until(isAccepted, 60_000, `the delivery ${number}`);
        deliveries.push(delivery);
        if (body.start) starting.push(delivery);
        await tick(100);
      }
    };
    const clients = Array.from({ length: CLIENTS }, () => createRuns());
    const traffic = Promise.all([...clients, sendDeliveries()]);
    // Each client has a run at work, so one of these runs at least was created since the call.
    const more = (): Promise<unknown> => {
      const [ended, delivered] = [states.length + CLIENTS + 1, deliveries.length + 5];
      const isReached = (): boolean => states.length >= ended && deliveries.length >= delivered;
      return Promise.race([traffic, until(isReached, 120_000, 'the end of further runs, and further deliveries')]);
    };
    try {
      await more();
      for (const service of CRASHES) {
        await installation.crash(service);
        await more();
      }
    } finally {
      isOver = true;
      await traffic;
    }
    expect(states).toEqual(runs.map(() => 'SUCCEEDED'));
    expect(new Set(deliveries).size).toBe(deliveries.length);
    expect((await acceptedDeliveries(`/factories/${factory}/webhooks/${hook.uid}/deliveries`)).toSorted()).toEqual(
      deliveries.toSorted(),
    );
    const ofAutomation = await until(
      async () => {
        const { body } = await api.call('GET', `/agent/runs?automation_id=${automation.uid}&limit=100`);
        const found = body.runs as { state: string; metadata: { delivery_id: string } }[];
        return found.length >= starting.length && found.every(({ state }) => ENDED.includes(state)) && found;
      },
      120_000,
      `the end of the ${starting.length} runs of the automation`,
    );
    expect(ofAutomation.map(({ state }) => state)).toEqual(starting.map(() => 'SUCCEEDED'));
    expect(ofAutomation.map(({ metadata }) => metadata.delivery_id).toSorted()).toEqual(starting.toSorted());
    expect(new Set(executions.started).size).toBe(executions.started.length);
    // A run whose agent has started ends with ERROR when its execution is lost, and all have succeeded. So the engine starts another container
    // only for a run whose execution was lost before its agent started, at most once for each slot and crash.
    const repeated = executions.started.length - runs.length - starting.length;
    expect(repeated).toBeGreaterThanOrEqual(0);
    expect(repeated).toBeLessThanOrEqual(CRASHES.length);
    for (const runId of runs) {
      const { body } = await api.call('GET', `/agent/runs/${runId}/conversation`);
      expect(new Set(answersIn(body).match(/execution [\da-f]{8}-\S{27}/g))).toHaveProperty('size', 1);
    }
    console.log(
      `${runs.length} runs, ${deliveries.length} deliveries and ${starting.length} runs of an automation during four crashes; ${repeated} executions were repeated before their agent started`,
    );
  });

  it('ends or repeats a run whose container is killed, as on_worker_lost says', { timeout: 180_000 }, async () => {
    const executions = await engine.watchExecutions();
    onTestFinished(() => executions.stop());
    const killed = async (config: object): Promise<Reply['body']> => {
      const script = 'echo at work; sleep 15; echo finished';
      const known = executions.started.length;
      const { run_id: runId } = await api.create('/agent/runs', { prompt: sh(script), config });
      const isAtWork = async (): Promise<boolean> =>
        answersIn((await api.call('GET', `/agent/runs/${runId}/conversation`)).body).includes('at work');
      await until(isAtWork, 60_000, `the work of run ${runId}`);
      const [execution, ...others] = executions.started.slice(known);
      expect(others).toEqual([]);
      const container = (await engine.containers()).find(({ Labels: labels }) => labels[EXECUTION_LABEL] === execution);
      const pid = (await engine.inspect(container?.Id ?? '')).State.Pid as number;
      // 0 is that of a container that has ended, and would be this process.
      expect(pid).toBeGreaterThan(0);
      process.kill(pid, 'SIGKILL');
      return api.ended(runId as string);
    };
    expect(await killed({})).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout', retryable: true },
    });
    expect(executions.started).toHaveLength(1);
    expect(await killed({ on_worker_lost: 'retry' })).toMatchObject({ state: 'SUCCEEDED' });
    expect(executions.started).toHaveLength(3);
  });

  it('is backed up and restored as another project by the documented commands', { timeout: 300_000 }, async () => {
    const { run_id: before } = await api.create('/agent/runs', { prompt: sh('echo before the backup') });
    await api.ended(before as string);
    const backups = mkdtempSync(join(tmpdir(), 'headrace-backups-'));
    const documented = (index: number): string =>
      (commandsOf('docs/operations/backup.md', 'With compose')[index] ?? '')
        .replaceAll('/srv/backups', backups)
        .replaceAll('deploy/compose.env', installation.settingsFile)
        .replaceAll(/ headrace_(\w+)/g, ' headrace-test_$1');
    try {
      await installation.shell(documented(0));
      const { run_id: after } = await api.create('/agent/runs', { prompt: sh('true') });
      await api.ended(after as string);
      await installation.shell(documented(1));
      await installation.untilHealthy('api', 'processor');
      expect(await api.ended(before as string)).toMatchObject({ state: 'SUCCEEDED' });
      expect(answersIn((await api.call('GET', `/agent/runs/${before}/conversation`)).body)).toContain(
        'before the backup',
      );
      expect(await api.call('GET', `/agent/runs/${after}`)).toMatchObject({ status: 404 });
      expect(await api.execute('echo released')).toMatchObject({ state: 'SUCCEEDED' });
    } finally {
      rmSync(backups, { recursive: true, force: true });
    }
  });

  it('stops all processes cleanly', async () => {
    const containers = await Promise.all(['api', 'ingress', 'processor'].map((name) => installation.container(name)));
    await installation.compose('stop');
    for (const container of containers) expect((await engine.inspect(container)).State.ExitCode).toBe(0);
  });

  async function acceptedDeliveries(path: string): Promise<string[]> {
    const found: string[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await api.call('GET', `${path}?outcome=Accepted&limit=100${cursor}`);
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
      found.push(...(body.deliveries as { delivery_id: string }[]).map(({ delivery_id: id }) => id));
      if (body.page_info.next_cursor === undefined) return found;
      cursor = `&cursor=${encodeURIComponent(body.page_info.next_cursor as string)}`;
    }
  }
});
