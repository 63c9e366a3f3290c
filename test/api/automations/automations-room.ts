import { FactoriesService } from '#domain/factories';
import { DeliveryBuilder, startTestApi, type TestApi, type TestResponse, WebhookBuilder } from '#testing';
import { type AgentsRoom, openRoom } from '../agents/agents-room.js';

export interface AutomationsRoom extends AgentsRoom {
  readonly api: TestApi;
  readonly webhooks: WebhookBuilder;
  readonly log: DeliveryBuilder;
  /** Of the team. */
  readonly factory: string;
  /** A new factory. */
  newFactory(team?: string): Promise<string>;
  /** UID of a new webhook of the factory. */
  newWebhook(factory?: string): Promise<string>;
  /** A valid automation on a new webhook of the factory. */
  valid(fields?: object, factory?: string): Promise<AutomationBody>;
  /** Makes an automation of the factory, as its admin. */
  make(fields?: object, factory?: string): Promise<TestResponse['body']>;
  /** As the admin. */
  ask(status: number, line: string, body?: unknown): Promise<TestResponse['body']>;
}

export interface AutomationBody {
  readonly name: string;
  readonly enabled: boolean;
  readonly prompt: string;
  readonly triggers: readonly object[];
  readonly [field: string]: unknown;
}

export const automationsOf = (factory: string): string => `/factories/${factory}/automations`;

export const received = (webhookUid: string, payload?: unknown): object => ({
  provider: 'webhook',
  event: 'received',
  filter: { webhook_ids: [webhookUid], ...(payload !== undefined && { payload }) },
});

export async function openAutomationsRoom(): Promise<AutomationsRoom> {
  const api = await startTestApi();
  const room = await openRoom(api);
  const webhooks = new WebhookBuilder(api.database, api.settings);
  const ask = async (status: number, line: string, body?: unknown) =>
    (await api.request(status, line, { token: room.admin.token, ...(body !== undefined && { body }) })).body;
  const newFactory = async (teamUid = room.team): Promise<string> => {
    const result = await api.app.get(FactoriesService, { strict: false }).create({ teamUid, name: 'Factory' });
    if (result.kind !== 'created') throw new Error(`No factory was made: ${result.kind}.`);
    return result.factory.uid;
  };
  const factory = await newFactory();
  const newWebhook = async (of = factory): Promise<string> => (await webhooks.webhook({ factoryUid: of })).uid;
  const valid = async (fields: object = {}, of = factory): Promise<AutomationBody> => ({
    name: 'triage',
    enabled: true,
    prompt: 'Look at what was sent.',
    triggers: 'triggers' in fields ? [] : [received(await newWebhook(of))],
    ...fields,
  });
  return {
    ...room,
    api,
    webhooks,
    log: new DeliveryBuilder(api.database),
    factory,
    newFactory,
    newWebhook,
    valid,
    ask,
    make: async (fields, of = factory) => ask(201, `POST ${automationsOf(of)}`, await valid(fields, of)),
  };
}
