import { TestIdentities } from '../../libs/testing/src/api/identities.js';
import { createTestDatabase, type TestDatabase } from '../../libs/testing/src/database/test-database.js';
import { type Answer, answersIn, freePort, Installation, type Program, until } from './installation.js';

export const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
export const MIB = 1_048_576;
export const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

/** An API and a processor in separate processes, whose executor starts runners outside of this machine's processes. */
export class ExecutorInstallation {
  private constructor(
    readonly files: Installation,
    private readonly leftovers: () => Promise<readonly string[]>,
    private readonly database: TestDatabase,
    private readonly token: string,
    private readonly api: Program,
    private processor: Program,
  ) {}

  /** @param host the name or address under which runners reach this machine. */
  static async start(
    host: string,
    leftovers: () => Promise<readonly string[]>,
    settings: Readonly<Record<string, string>>,
  ): Promise<ExecutorInstallation> {
    const database = await createTestDatabase();
    const identities = new TestIdentities(database);
    const { token } = await identities.user({ [await identities.team()]: 'admin' });
    const port = String(await freePort());
    const files = await Installation.create({
      DATABASE_URL: database.url,
      PORT: port,
      // Runners connect over another network than loopback.
      HOST: '0.0.0.0',
      RUNNER_API_URL: `http://${host}:${port}`,
      LEASE_TTL: '10s',
      API_RATE_PER_MINUTE: '0',
      MAX_IDLE_SESSIONS: '0',
      MAX_CONCURRENT_RUNS: '4',
      MAX_CONCURRENT_RUNS_PER_TEAM: '4',
      ...settings,
    });
    const [api, processor] = [files.start('api'), files.start('processor')];
    await Promise.all([api.says('Headrace API is ready'), processor.says('Headrace processor is ready')]);
    return new ExecutorInstallation(files, leftovers, database, token, api, processor);
  }

  /** What the processor has written since its last start. */
  get log(): string {
    return this.processor.text;
  }

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.files.callAt(method, path, body, this.token);
  }

  /** Creates a run whose agent executes the script. `environment`: the config of its environment. */
  async createRun(script: string, environment?: object): Promise<string> {
    const config = environment && { environment_id: await this.createEnvironment(environment) };
    const { status, body } = await this.call('POST', '/agent/runs', { prompt: sh(script), config });
    if (status !== 200) throw new Error(`The run was not created: ${status} ${JSON.stringify(body)}`);
    return body.run_id as string;
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  waitFor(runId: string, states: readonly string[] = ENDED, timeoutMs = 90_000): Promise<any> {
    return this.files.waitFor(runId, states, timeoutMs, this.token);
  }

  async execute(script: string, environment?: object) {
    const runId = await this.createRun(script, environment);
    const run = await this.waitFor(runId);
    return { runId, run, conversation: await this.conversation(runId) };
  }

  async conversation(runId: string): Promise<string> {
    return answersIn((await this.call('GET', `/agent/runs/${runId}/conversation`)).body);
  }

  /** Resolves when the agent has written the text. */
  async says(runId: string, text: string, timeoutMs = 60_000): Promise<void> {
    await until(async () => (await this.conversation(runId)).includes(text), timeoutMs, `"${text}" of the agent`);
  }

  async nothingIsLeft(timeoutMs = 60_000): Promise<void> {
    await until(async () => (await this.leftovers()).length === 0, timeoutMs, 'the removal of everything');
  }

  async killProcessor(): Promise<void> {
    await this.processor.stop('SIGKILL');
  }

  async stopProcessor(): Promise<void> {
    await this.processor.stop('SIGTERM');
  }

  async startProcessor(): Promise<void> {
    this.processor = this.files.start('processor');
    await this.processor.says('Headrace processor is ready');
  }

  async stop(): Promise<void> {
    await this.processor.stop('SIGTERM');
    await this.api.stop('SIGTERM');
    await this.database.close();
    this.files.remove();
  }

  private async createEnvironment(config: object): Promise<string> {
    const { status, body } = await this.call('POST', '/environments', { config: { name: 'test', ...config } });
    if (status !== 201) throw new Error(`The environment was not created: ${status} ${JSON.stringify(body)}`);
    return body.uid as string;
  }
}
