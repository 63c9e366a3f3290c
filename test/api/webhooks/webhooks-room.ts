import { FactoriesService } from '#domain/factories';
import { SecretBox } from '#platform/secrets';
import { startTestApi, type TestApi, type TestResponse } from '#testing';
import { type AgentsRoom, openRoom } from '../agents/agents-room.js';

export interface WebhooksRoom extends AgentsRoom {
  readonly api: TestApi;
  /** Of the team. */
  readonly factory: string;
  /** A new factory. */
  newFactory(team?: string): Promise<string>;
  /** Makes a webhook of the factory, as its admin. */
  make(fields?: object, factory?: string): Promise<TestResponse['body']>;
  /** Of the stored row: what no answer shows. */
  stored(uid: string): Promise<StoredSecrets>;
}

export interface StoredSecrets {
  readonly version: number;
  readonly enabled: boolean;
  /** The copy, opened. */
  readonly secret: string | null;
  readonly secretVersion: number | null;
  readonly hasCaptured: boolean;
  readonly isDeleted: boolean;
}

export const webhooksOf = (factory: string): string => `/factories/${factory}/webhooks`;

export async function openWebhooksRoom(): Promise<WebhooksRoom> {
  const api = await startTestApi({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  const room = await openRoom(api);
  const box = new SecretBox(api.settings);
  const newFactory = async (teamUid = room.team): Promise<string> => {
    const result = await api.app.get(FactoriesService, { strict: false }).create({ teamUid, name: 'Factory' });
    if (result.kind !== 'created') throw new Error(`No factory was made: ${result.kind}.`);
    return result.factory.uid;
  };
  const factory = await newFactory();
  return {
    ...room,
    api,
    factory,
    newFactory,
    make: async (fields = {}, of = factory) => {
      const body = { name: 'hook', ...fields };
      return (await api.request(201, `POST ${webhooksOf(of)}`, { token: room.admin.token, body })).body;
    },
    stored: async (uid) => {
      const [row] = await api.database.query<{
        version: number;
        enabled: boolean;
        sealed_secret: string | null;
        secret_version: number | null;
        sealed_captured_secret: string | null;
        deleted_at: Date | null;
      }>('SELECT * FROM webhooks WHERE uid = $1', [uid]);
      if (!row) throw new Error(`There is no webhook ${uid}.`);
      const { sealed_secret: sealed } = row;
      return {
        version: row.version,
        enabled: row.enabled,
        secret: sealed === null ? null : box.open(sealed, `webhook/${uid}/secret`),
        secretVersion: row.secret_version,
        hasCaptured: row.sealed_captured_secret !== null,
        isDeleted: row.deleted_at !== null,
      };
    },
  };
}

/** What the ingress does with the first request of a sender whose handshake brings the secret. */
export async function capture({ api }: WebhooksRoom, uid: string, secret: string): Promise<void> {
  const sealed = new SecretBox(api.settings).seal(secret, `webhook/${uid}/captured-secret`);
  await api.database.query('UPDATE webhooks SET sealed_captured_secret = $2, version = version + 1 WHERE uid = $1', [
    uid,
    sealed,
  ]);
}

/** What an applied definition leaves: there is no other way yet to make one. */
export const asDefinition = ({ api }: WebhooksRoom, uid: string): Promise<unknown> =>
  api.database.query(`UPDATE webhooks SET source = 'definition' WHERE uid = $1`, [uid]);
