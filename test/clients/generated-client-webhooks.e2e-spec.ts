import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeliveryBuilder, WebhookBuilder } from '#testing';
import { type FactoryProgram, startFactoryProgram, operationsIn, rejection } from './typed-programs.js';

interface Program {
  schemes(api: unknown): Promise<string[]>;
  secrets(api: unknown, factoryUid: string): Promise<(string | undefined)[]>;
  inTwoSteps(api: unknown, factoryUid: string, secret: string): Promise<[boolean, boolean]>;
  change(api: unknown, factoryUid: string, uid: string): Promise<Record<string, unknown>>;
  test(api: unknown, factoryUid: string, uid: string): Promise<string>;
  again(api: unknown, factoryUid: string, uid: string): Promise<[string | undefined, string]>;
  remove(api: unknown, factoryUid: string, uid: string): Promise<boolean>;
}

let session: FactoryProgram<Program>;
let { api, team, factory, admin, running } = {} as FactoryProgram<Program>;
let program: Program;

beforeAll(async () => {
  session = await startFactoryProgram<Program>('webhooks');
  ({ api, team, factory, admin, running } = session);
  ({ program } = running);
});
afterAll(() => session.close());

describe('webhooks through the generated client', () => {
  it('returns a webhook secret only on creation and rotation', async () => {
    const client = running.client(admin);
    expect(await program.schemes(client)).toEqual(expect.arrayContaining(['github', 'standard_webhooks']));
    const [made, read, rotated, listed] = await program.secrets(client, factory);
    for (const secret of [made, rotated]) expect(secret).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(rotated).not.toBe(made);
    expect([read, listed]).toEqual([undefined, undefined]);
    expect(await program.inTwoSteps(client, factory, 'swordfish')).toEqual([true, true]);
  });

  it('updates a webhook, reads its log, redelivers a delivery, tests and deletes the webhook', async () => {
    const client = running.client(admin);
    const { id, uid } = await new WebhookBuilder(api.database, api.settings).webhook({ factoryUid: factory });
    const delivery = await new DeliveryBuilder(api.database).build(id);
    const [payload, repeated] = await program.again(client, factory, uid);
    expect(JSON.parse(payload ?? '')).toBeDefined();
    expect(repeated).not.toBe(delivery.id);
    expect(await program.test(client, factory, uid)).toMatch(/^[0-9a-f-]{36}$/);
    expect(await program.change(client, factory, uid)).toMatchObject({ name: 'builds', enabled: false });
    expect(await program.remove(client, factory, uid)).toBe(true);
  });

  it('throws the documented problem of a rejected request (generated client: webhooks)', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.inTwoSteps(running.client(admin), factory, ' '), 400, 'invalid_request'],
      [() => program.secrets(viewer, factory), 403, 'not_authorized'],
      [() => program.remove(running.client(admin), factory, '0'.repeat(22)), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the webhooks program uses', () => {
    expect(running.called()).toEqual(operationsIn('webhooks'));
  });
});
