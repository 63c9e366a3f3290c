import { ObjectStore } from '#platform/storage';
import {
  DeliveryBuilder,
  FactoryBuilder,
  type FactoryShape,
  RunBuilder,
  startTestApi,
  type TestApi,
  type TestApiOptions,
  type TestDatabase,
  type TestPrincipal,
  type TestRequest,
  type TestResponse,
  WebhookBuilder,
} from '#testing';

type Body = TestResponse['body'];

/** The principals of a fixture: every relation to the resources of one team. */
export interface Principals {
  readonly team: string;
  readonly otherTeam: string;
  readonly owner: TestPrincipal;
  readonly admin: TestPrincipal;
  readonly member: TestPrincipal;
  readonly viewer: TestPrincipal;
  /** A service account of the team. */
  readonly bot: TestPrincipal;
  /** Owner of the other team. */
  readonly stranger: TestPrincipal;
  /** Admin of both teams. */
  readonly adminOfBoth: TestPrincipal;
}

/** Contents of a factory definition by path. */
export type Files = Readonly<Record<string, string>>;

export const SCHEDULES = '/agent/schedules';
export const webhooksOf = (factoryUid: string): string => `/factories/${factoryUid}/webhooks`;
export const automationsOf = (factoryUid: string): string => `/factories/${factoryUid}/automations`;
export const definitionOf = (factoryUid: string): string => `/factories/${factoryUid}/definition`;
export const filesOf = (files: Files): { path: string; content: string }[] =>
  Object.entries(files).map(([path, content]) => ({ path, content }));

/** The trigger of an automation that starts a run for every delivery of a webhook. */
export const webhookTrigger = (webhookUid: string, payload?: unknown): object => ({
  provider: 'webhook',
  event: 'received',
  filter: { webhook_ids: [webhookUid], ...(payload !== undefined && { payload }) },
});

/** The body of a valid schedule that is due every day at 03:00. */
export const scheduleBody = (fields: object = {}): Record<string, unknown> => ({
  name: 'nightly',
  cron_schedule: '0 3 * * *',
  prompt: 'Summarize the changes of the day.',
  enabled: true,
  ...fields,
});

/**
 * An API with two teams, a principal for every relation to the first team, and one verb for each resource that tests need:
 *
 *   let fixture: ApiFixture;
 *   beforeAll(async () => { fixture = await ApiFixture.start(); });
 *   afterAll(() => fixture.close());
 *
 * `create…` sends the request of the operation and fails unless it succeeds. The builders write rows for states that
 * requests alone do not reach.
 */
export class ApiFixture implements Principals {
  readonly team: string;
  readonly otherTeam: string;
  readonly owner: TestPrincipal;
  readonly admin: TestPrincipal;
  readonly member: TestPrincipal;
  readonly viewer: TestPrincipal;
  readonly bot: TestPrincipal;
  readonly stranger: TestPrincipal;
  readonly adminOfBoth: TestPrincipal;
  readonly runs: RunBuilder;
  readonly factories: FactoryBuilder;
  readonly webhooks: WebhookBuilder;
  readonly deliveries: DeliveryBuilder;
  private firstFactory: string | null = null;
  private names = 0;

  private constructor(
    readonly api: TestApi,
    principals: Principals,
  ) {
    this.team = principals.team;
    this.otherTeam = principals.otherTeam;
    this.owner = principals.owner;
    this.admin = principals.admin;
    this.member = principals.member;
    this.viewer = principals.viewer;
    this.bot = principals.bot;
    this.stranger = principals.stranger;
    this.adminOfBoth = principals.adminOfBoth;
    this.runs = new RunBuilder(api.database, { objects: api.app.get(ObjectStore) });
    this.factories = new FactoryBuilder(api.database);
    this.webhooks = new WebhookBuilder(api.database, api.settings);
    this.deliveries = new DeliveryBuilder(api.database);
  }

  /** Starts an API. */
  static async start(options: TestApiOptions = {}): Promise<ApiFixture> {
    return ApiFixture.over(await startTestApi(options));
  }

  /** Over an API that runs already. */
  static async over(api: TestApi): Promise<ApiFixture> {
    const { identities } = api;
    const [team, otherTeam] = await Promise.all([identities.team('Builders'), identities.team('Others')]);
    const [owner, admin, member, viewer, bot, stranger, adminOfBoth] = await Promise.all([
      identities.user({ [team]: 'owner' }, 'Olga Owner'),
      identities.user({ [team]: 'admin' }, 'Ada Admin'),
      identities.user({ [team]: 'member' }, 'Mia Member'),
      identities.user({ [team]: 'viewer' }, 'Vic Viewer'),
      identities.serviceAccount(team),
      identities.user({ [otherTeam]: 'owner' }, 'Sam Stranger'),
      identities.user({ [team]: 'admin', [otherTeam]: 'admin' }, 'Bea Both'),
    ]);
    return new ApiFixture(api, { team, otherTeam, owner, admin, member, viewer, bot, stranger, adminOfBoth });
  }

  /** The same principals at another instance of the API. */
  at(api: TestApi): ApiFixture {
    return new ApiFixture(api, this);
  }

  get database(): TestDatabase {
    return this.api.database;
  }

  /** The first factory of the team that this fixture created. */
  get factory(): string {
    if (this.firstFactory === null) throw new Error('Call createFactory() before a resource of a factory is created.');
    return this.firstFactory;
  }

  request(status: number, line: string, options?: TestRequest): Promise<TestResponse> {
    return this.api.request(status, line, options);
  }

  /** Returns the body of the response to a request of that principal. */
  async requestAs(
    { token }: TestPrincipal,
    status: number,
    line: string,
    options: Omit<TestRequest, 'token'> = {},
  ): Promise<Body> {
    return (await this.api.request(status, line, { token, ...options })).body;
  }

  requestAsAdmin(status: number, line: string, body?: unknown): Promise<Body> {
    return this.requestAs(this.admin, status, line, body === undefined ? {} : { body });
  }

  requestAsMember(status: number, line: string, body?: unknown): Promise<Body> {
    return this.requestAs(this.member, status, line, body === undefined ? {} : { body });
  }

  close(): Promise<void> {
    return this.api.close();
  }

  // Factories and their definitions

  /** Of the team, unless the fields name another. Returns its uid. */
  async createFactory(fields: Partial<FactoryShape> = {}): Promise<string> {
    const uid = await this.factories.build({ teamUid: this.team, ...fields });
    if (fields.teamUid === undefined) this.firstFactory ??= uid;
    return uid;
  }

  /** Returns the uid of the agent identity. */
  async createForeman(factoryUid: string, fields: object = {}): Promise<string> {
    const { uid } = await this.createIdentity({ name: `foreman-${(this.names += 1)}`, ...fields });
    await this.factories.addAgent(factoryUid, 'foreman', uid);
    return uid;
  }

  applyDefinition(factoryUid: string, files: Files, status = 200): Promise<Body> {
    return this.requestAsAdmin(status, `PUT ${definitionOf(factoryUid)}`, { files: filesOf(files) });
  }

  /** The plan of an apply that does not happen. */
  planDefinition(factoryUid: string, files: Files): Promise<Body> {
    return this.requestAsAdmin(200, `PUT ${definitionOf(factoryUid)}?dry_run=true`, { files: filesOf(files) });
  }

  async exportDefinition(factoryUid: string): Promise<Files> {
    const { files } = await this.requestAsAdmin(200, `GET ${definitionOf(factoryUid)}`);
    return Object.fromEntries(
      (files as { path: string; content: string }[]).map(({ path, content }) => [path, content]),
    );
  }

  // Resources of a factory; of the first one, unless another is named

  createWebhook(fields: object = {}, factoryUid = this.factory): Promise<Body> {
    return this.requestAsAdmin(201, `POST ${webhooksOf(factoryUid)}`, { name: 'hook', ...fields });
  }

  /** Without a request. Returns its uid. */
  async buildWebhook(factoryUid = this.factory): Promise<string> {
    return (await this.webhooks.webhook({ factoryUid })).uid;
  }

  /** The body of a valid automation; its trigger is a new webhook, unless the fields contain triggers. */
  async automationBody(fields: object = {}, factoryUid = this.factory): Promise<Record<string, unknown>> {
    return {
      name: 'triage',
      enabled: true,
      prompt: 'Examine the payload.',
      triggers: 'triggers' in fields ? [] : [webhookTrigger(await this.buildWebhook(factoryUid))],
      ...fields,
    };
  }

  async createAutomation(fields: object = {}, factoryUid = this.factory): Promise<Body> {
    const body = await this.automationBody(fields, factoryUid);
    return this.requestAsAdmin(201, `POST ${automationsOf(factoryUid)}`, body);
  }

  // Resources of the team

  createIdentity(fields: object = {}): Promise<Body> {
    const body = { name: `agent-${(this.names += 1)}`, ...fields };
    return this.requestAsAdmin(201, 'POST /agent/identities', body);
  }

  async putSecret(name: string, value: string): Promise<void> {
    await this.requestAsAdmin(200, `PUT /secrets/${name}`, { value });
  }

  createSchedule(fields: object = {}): Promise<Body> {
    return this.requestAsMember(201, `POST ${SCHEDULES}`, scheduleBody(fields));
  }

  /** Of the principal, or with `team: true` of its team. Returns its uid. */
  async createEnvironment(config: object = {}, { by = this.owner, team = false } = {}): Promise<string> {
    const body = { config: { name: `environment-${(this.names += 1)}`, ...config }, team };
    return (await this.requestAs(by, 201, 'POST /environments', { body })).uid;
  }

  /** Returns its id. */
  async createRun(fields: object = {}, by = this.member): Promise<string> {
    const body = { prompt: 'Fix the failing test.', ...fields };
    return (await this.requestAs(by, 200, 'POST /agent/runs', { body })).run_id;
  }

  getRun(runId: string, by = this.member): Promise<Body> {
    return this.requestAs(by, 200, `GET /agent/runs/${runId}`);
  }
}
