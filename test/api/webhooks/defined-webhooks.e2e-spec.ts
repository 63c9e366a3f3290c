import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FactoriesService, type Factory } from '#domain/factories';
import { Database, type Queryable } from '#platform/persistence';
import { type DefinedWebhook, DefinedWebhooks, type WebhookSettings } from '#domain/webhooks';
import { ApiFixture, webhooksOf } from '../../support/api-fixture.js';

let fixture: ApiFixture;
let defined: DefinedWebhooks;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.createFactory();
  defined = fixture.api.app.get(DefinedWebhooks, { strict: false });
});
afterAll(() => fixture.close());

const BASE: WebhookSettings = {
  name: 'ci',
  authMode: 'token',
  signatureScheme: null,
  secretName: 'ci-secret',
  deliveryIdHeader: null,
  enabled: true,
};
const spec = (fields: Partial<WebhookSettings> = {}): WebhookSettings => ({ ...BASE, ...fields });
const secret = (name: string, value: string, status = 200) =>
  fixture.request(status, `PUT /secrets/${name}`, { token: fixture.admin.token, body: { value } });

async function newFactory(): Promise<Factory> {
  const found = await fixture.api.app.get(FactoriesService, { strict: false }).find(await fixture.createFactory());
  if (!found) throw new Error('The factory is not there.');
  return found;
}
const inTx = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> =>
  fixture.api.app.get(Database, { strict: false }).transaction(work);
async function create(factory: Factory, fields: Partial<WebhookSettings> = {}): Promise<string> {
  const made = await inTx((tx) => defined.create(tx, factory, spec(fields)));
  if (made.kind !== 'created') throw new Error(made.kind);
  return made.uid;
}
const replace = (factory: Factory, uid: string, fields: Partial<WebhookSettings> = {}) =>
  inTx((tx) => defined.replace(tx, factory, uid, spec(fields)));
const listed = async (factory: Factory, uid: string): Promise<DefinedWebhook | undefined> =>
  (await inTx((tx) => defined.list(tx, factory))).find((webhook) => webhook.uid === uid);

describe('webhooks that files define', () => {
  it('are created with the current value of their managed secret', async () => {
    await secret('ci-secret', 'first');
    const factory = await newFactory();
    const uid = await create(factory, { deliveryIdHeader: 'X-Build-Id' });
    const path = `${webhooksOf(factory.uid)}/${uid}`;
    expect((await fixture.request(200, `GET ${path}`, { token: fixture.admin.token })).body).toMatchObject({
      name: 'ci',
      source: 'definition',
      secret_name: 'ci-secret',
      delivery_id_header: 'x-build-id',
      enabled: true,
    });
    const { secretVersion: before } = await fixture.webhooks.stored(uid);
    await secret('ci-secret', 'second');
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ secret: 'first', version: 1, secretVersion: before });
    expect(await listed(factory, uid)).toMatchObject({
      source: 'definition',
      deliveryIdHeader: 'x-build-id',
      secretVersion: before,
      managedSecretVersion: (before ?? 0) + 1,
    });
    await replace(factory, uid, { deliveryIdHeader: 'x-build-id' });
    expect(await fixture.webhooks.stored(uid)).toMatchObject({
      secret: 'second',
      version: 2,
      secretVersion: (before ?? 0) + 1,
    });
    const answer = await fixture.request(409, 'DELETE /secrets/ci-secret', { token: fixture.admin.token });
    expect(answer.body.detail).toContain(uid);
  });

  it('increment their version only when deliveries depend on the change', async () => {
    await secret('moves', 'v1');
    await secret('moves-too', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const factory = await newFactory();
    const uid = await create(factory, { secretName: 'moves' });
    const version = async () => (await fixture.webhooks.stored(uid)).version;
    await replace(factory, uid, { secretName: 'moves' });
    expect(await version()).toBe(1);
    const steps: Partial<WebhookSettings>[] = [
      { secretName: 'moves', deliveryIdHeader: 'x-id' },
      { secretName: 'moves', enabled: false },
      { secretName: 'moves', authMode: 'url_token' },
      { secretName: 'moves-too', authMode: 'url_token' },
      { secretName: 'moves-too', authMode: 'signature', signatureScheme: 'standard_webhooks' },
      { secretName: 'moves-too', authMode: 'signature', signatureScheme: 'github' },
    ];
    for (const [index, fields] of steps.entries()) {
      await replace(factory, uid, fields);
      await replace(factory, uid, fields);
      expect(await version()).toBe(index + 2);
      expect(await listed(factory, uid)).toMatchObject({ ...fields, name: 'ci' });
    }
    expect(await fixture.webhooks.stored(uid)).toMatchObject({ secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
  });

  it('are validated by the rules of the API, each by itself', async () => {
    await secret('fits', 'abc-123');
    await secret('odd', 'not/url safe');
    const factory = await newFactory();
    const specs: [Partial<WebhookSettings>, [keyof WebhookSettings, string][]][] = [
      [{}, []],
      [{ authMode: 'url_token' }, []],
      [{ authMode: 'url_token', secretName: 'odd' }, [['secretName', 'letters, digits and . _ ~ -']]],
      [{ secretName: 'absent' }, [['secretName', 'must name a managed secret of the team; no secret has this name']]],
      [{ secretName: '../x' }, [['secretName', 'letters, digits, dots']]],
      [{ authMode: 'signature' }, [['signatureScheme', 'is required']]],
      [{ signatureScheme: 'github' }, [['signatureScheme', 'signature']]],
      [{ authMode: 'signature', signatureScheme: 'githob' }, [['signatureScheme', 'did you mean github']]],
      [{ authMode: 'signature', signatureScheme: 'standard_webhooks' }, [['secretName', 'cannot be used here']]],
      [
        { deliveryIdHeader: 'Cookie', name: ' ' },
        [
          ['name', 'blank'],
          ['deliveryIdHeader', 'must not be cookie'],
        ],
      ],
      [{ name: 'x'.repeat(201) }, [['name', '200']]],
    ];
    const all = specs.map(([fields]) => spec({ secretName: 'fits', ...fields }));
    const found = await inTx((tx) => defined.validate(tx, factory, all));
    expect(found.map((issues) => issues.map(({ field }) => field))).toEqual(
      specs.map(([, expected]) => expected.map(([field]) => field)),
    );
    for (const [index, [, expected]] of specs.entries())
      for (const [at, [, detail]] of expected.entries()) expect(found[index]?.[at]?.detail).toContain(detail);
    expect(JSON.stringify(found)).not.toContain('not/url');
  });

  it('name a secret that can be decrypted', async () => {
    await secret('broken', 'abc');
    await fixture.database.query(`UPDATE managed_secrets SET sealed = 'v1.x.y' WHERE name = 'broken'`);
    const factory = await newFactory();
    const [issues] = await inTx((tx) => defined.validate(tx, factory, [spec({ secretName: 'broken' })]));
    expect(issues).toMatchObject([{ field: 'secretName' }]);
    expect(issues?.[0]?.detail).toContain('cannot be decrypted');
  });

  it('count towards the limit, and free it when they are deleted', async () => {
    await secret('many', 'abc');
    const factory = await newFactory();
    await fixture.createWebhook({ name: 'by-hand' }, factory.uid);
    const uids = await Promise.all(
      Array.from({ length: 19 }, (_, index) => create(factory, { name: `hook-${index}`, secretName: 'many' })),
    );
    const one = (name: string) => inTx((tx) => defined.create(tx, factory, spec({ name, secretName: 'many' })));
    expect(await one('more')).toEqual({ kind: 'limit_reached', limit: 20 });
    const swapped = await inTx(async (tx) => {
      await defined.lock(tx, factory);
      await defined.delete(tx, factory, uids[0] ?? '');
      return defined.create(tx, factory, spec({ name: 'more', secretName: 'many' }));
    });
    expect(swapped.kind).toBe('created');
    expect(await fixture.webhooks.stored(uids[0] ?? '')).toMatchObject({ isDeleted: true, secret: null });
    expect(await inTx((tx) => defined.list(tx, factory))).toHaveLength(20);
  });

  it('are rolled back with the transaction, without a change of webhooks of the API', async () => {
    await secret('mine', 'abc');
    const factory = await newFactory();
    const { uid } = await fixture.createWebhook({}, factory.uid);
    await expect(replace(factory, uid, { secretName: 'mine' })).rejects.toThrow('from a definition');
    await expect(inTx((tx) => defined.delete(tx, factory, uid))).rejects.toThrow('from a definition');
    const failing = inTx(async (tx) => {
      await defined.create(tx, factory, spec({ secretName: 'mine' }));
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await inTx((tx) => defined.list(tx, factory))).toMatchObject([{ uid, source: 'api' }]);
    const [row] = await fixture.database.query('SELECT webhooks FROM webhook_counts WHERE factory_uid = $1', [
      factory.uid,
    ]);
    expect(row).toEqual({ webhooks: 1 });
  });
});
