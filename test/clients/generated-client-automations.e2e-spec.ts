import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeliveryBuilder, WebhookBuilder } from '#testing';
import { type FactoryProgram, startFactoryProgram, operationsIn, rejection } from './typed-programs.js';

interface Program {
  keep(api: unknown, factoryUid: string, webhookUid: string): Promise<[{ uid: string; enabled: boolean }, boolean]>;
  tryOut(
    api: unknown,
    factoryUid: string,
    uid: string,
    deliveryId: string,
    webhookUid: string,
  ): Promise<[string, string | undefined]>;
  remove(api: unknown, factoryUid: string, uid: string): Promise<boolean>;
}

let session: FactoryProgram<Program>;
let { api, team, factory, admin, running } = {} as FactoryProgram<Program>;
let program: Program;

beforeAll(async () => {
  session = await startFactoryProgram<Program>('automations');
  ({ api, team, factory, admin, running } = session);
  ({ program } = running);
});
afterAll(() => session.close());

describe('automations through the generated client', () => {
  it('creates, tests and deletes an automation', async () => {
    const client = running.client(admin);
    const hook = await new WebhookBuilder(api.database, api.settings).webhook({ factoryUid: factory });
    const delivery = await new DeliveryBuilder(api.database).build(hook.id, { body: '{"status":"failed"}' });
    const [automation, isListed] = await program.keep(client, factory, hook.uid);
    expect([automation.enabled, isListed]).toEqual([false, true]);
    expect(await program.tryOut(client, factory, automation.uid, delivery.id, hook.uid)).toEqual([
      'Would not trigger',
      'payload',
    ]);
    expect(await program.remove(client, factory, automation.uid)).toBe(true);
  });

  it('throws the documented problem of a rejected request (generated client: automations)', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.keep(running.client(admin), factory, 'no-webhook'), 400, 'invalid_request'],
      [() => program.keep(viewer, factory, 'no-webhook'), 403, 'not_authorized'],
      [() => program.remove(running.client(admin), factory, '0'.repeat(22)), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the automations program uses', () => {
    expect(running.called()).toEqual(operationsIn('automations'));
  });
});
