import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeliveryBuilder, WebhookBuilder } from '#testing';
import { type FactoryProgram, startFactoryProgram, operationsIn, rejection } from './typed-programs.js';

interface Program {
  schemes(api: unknown): Promise<string[]>;
  secrets(api: unknown, factoryUid: string): Promise<(string | undefined)[]>;
  inTwoSteps(api: unknown, factoryUid: string, secret: string): Promise<[boolean, boolean]>;
  change(api: unknown, factoryUid: string, uid: string): Promise<Record<string, unknown>>;
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

describe('the program that points other systems at a factory, with openapi-fetch', () => {
  it('sees secrets when they are made only', async () => {
    const client = running.client(admin);
    expect(await program.schemes(client)).toEqual(expect.arrayContaining(['github', 'standard_webhooks']));
    const [made, read, rotated, listed] = await program.secrets(client, factory);
    for (const secret of [made, rotated]) expect(secret).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(rotated).not.toBe(made);
    expect([read, listed]).toEqual([undefined, undefined]);
    expect(await program.inTwoSteps(client, factory, 'swordfish')).toEqual([true, true]);
  });

  it('changes one, reads its log, has a delivery evaluated again, and deletes it', async () => {
    const client = running.client(admin);
    const { id, uid } = await new WebhookBuilder(api.database, api.settings).webhook({ factoryUid: factory });
    const delivery = await new DeliveryBuilder(api.database).build(id);
    const [payload, repeated] = await program.again(client, factory, uid);
    expect(JSON.parse(payload ?? '')).toBeDefined();
    expect(repeated).not.toBe(delivery.id);
    expect(await program.change(client, factory, uid)).toMatchObject({ name: 'builds', enabled: false });
    expect(await program.remove(client, factory, uid)).toBe(true);
  });

  it('is refused with the problem that the document describes', async () => {
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const refusals: [() => Promise<unknown>, number, string][] = [
      [() => program.inTwoSteps(running.client(admin), factory, ' '), 400, 'invalid_request'],
      [() => program.secrets(viewer, factory), 403, 'not_authorized'],
      [() => program.remove(running.client(admin), factory, '0'.repeat(22)), 404, 'resource_not_found'],
    ];
    for (const [refusal, status, code] of refusals) {
      const error = await rejection(refusal());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('has called every operation that it can', () => {
    expect(running.called()).toEqual(operationsIn('webhooks'));
  });
});
