import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { Settings } from '#platform/config';
import { type Factory, FindFactory, ListFactories } from '#domain/factories';
import {
  AUTH_MODES,
  type AuthMode,
  DELIVERY_OUTCOMES,
  DeliveriesService,
  type DeliveryOutcome,
  ingressUrl,
  type ManagedWebhook,
  WebhooksService,
} from '#domain/webhooks';
import { onlyPositional } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, type OutputValues, printResult, printRows } from '../cli/output.js';
import { readSecretFile } from '../cli/read-secret-file.js';
import { ingressOrigin } from '../process/ingress-origin.js';
import { withSecrets } from '../process/with-secrets.js';

/** As for callers of the API. */
const MAX_NAME = 200;
const FACTORY = { ...OUTPUT_OPTIONS, factory: { type: 'string' } } as const;
const SECRET_FILE = { ...OUTPUT_OPTIONS, 'secret-file': { type: 'string' } } as const;
const CREATE_OPTIONS = {
  ...FACTORY,
  ...SECRET_FILE,
  'auth-mode': { type: 'string' },
  scheme: { type: 'string' },
  'secret-name': { type: 'string' },
  'delivery-id-header': { type: 'string' },
  disabled: { type: 'boolean' },
} as const;

/** URL and secret go to standard output, a line each; the secret is shown this once. */
export const create: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: CREATE_OPTIONS, allowPositionals: true });
    const name = onlyPositional('name', positionals);
    if (name.length > MAX_NAME) throw new UsageError(`<name> must have at most ${MAX_NAME} characters`);
    const authMode = parseAuthMode(values['auth-mode'] ?? 'token');
    const secret = readSecretFile(values['secret-file']);
    return withSecrets(async (services) => {
      const factory = await findFactory(services, values.factory);
      const result = await services.get(WebhooksService).create(factory, {
        name,
        authMode,
        secret,
        signatureScheme: values.scheme ?? null,
        secretName: values['secret-name'] ?? null,
        deliveryIdHeader: values['delivery-id-header'] ?? null,
        enabled: values.disabled !== true,
      });
      switch (result.kind) {
        case 'limit_reached':
          throw new CommandError(`a factory has at most ${result.limit} webhooks.`);
        case 'invalid':
          throw new CommandError(
            result.issues.map(({ pointer, detail }) => `${optionOf(pointer)} ${detail}`).join('; '),
          );
        case 'created':
          printWebhook(values, services, result.webhook, result.secret);
          return 0;
      }
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: FACTORY });
    return withSecrets(async (services) => {
      const webhooks = await services.get(WebhooksService).list(await findFactory(services, values.factory));
      const rows = webhooks.map((webhook) => [
        ...[webhook.uid, webhook.name, webhook.authMode, webhook.signatureScheme, stateOf(webhook)],
        ...[webhook.secretName, webhook.source, webhook.createdAt],
      ]);
      const columns = ['UID', 'NAME', 'AUTH MODE', 'SCHEME', 'STATE', 'SECRET', 'SOURCE', 'CREATED'];
      printRows(values, columns, rows);
      return 0;
    });
  },
};

export const rotate: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: SECRET_FILE, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const secret = readSecretFile(values['secret-file']);
    return withSecrets(async (services) => {
      const webhook = await services.get(WebhooksService).getByUid(uid);
      const factory = webhook && (await services.get(FindFactory).execute(webhook.factoryUid));
      if (!factory) throw unknownWebhook(uid);
      const result = await services.get(WebhooksService).rotateSecret(factory, uid, secret);
      switch (result.kind) {
        case 'unknown':
          throw unknownWebhook(uid);
        case 'not_supported':
          throw new CommandError(result.reason);
        case 'invalid':
          throw new CommandError(
            result.issues.map(({ pointer, detail }) => `${optionOf(pointer)} ${detail}`).join('; '),
          );
        case 'rotated':
          printWebhook(values, services, result.webhook, result.secret);
          return 0;
      }
    });
  },
};

const DELIVERIES_OPTIONS = { ...OUTPUT_OPTIONS, outcome: { type: 'string' }, limit: { type: 'string' } } as const;

export const deliveries: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: DELIVERIES_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const outcome = values.outcome === undefined ? null : parseOutcome(values.outcome);
    const limit = parseLimit(values.limit ?? '20');
    return withSecrets(async (services) => {
      const result = await services.get(DeliveriesService).listLatest(uid, outcome, limit);
      if (!result) throw unknownWebhook(uid);
      const rows = result.map((delivery) => [
        ...[delivery.id, delivery.outcome ?? 'handshake', delivery.occurrences, delivery.sizeBytes],
        ...[delivery.receivedAt, delivery.sourceIp, delivery.identity],
      ]);
      const columns = ['DELIVERY', 'OUTCOME', 'TIMES', 'BYTES', 'RECEIVED', 'FROM', 'IDENTITY'];
      printRows(values, columns, rows);
      return 0;
    });
  },
};

export const unknownWebhook = (uid: string): CommandError =>
  new CommandError(`there is no webhook ${uid}; \`headrace webhook list\` shows the UIDs.`);

function printWebhook(
  values: OutputValues,
  services: INestApplicationContext,
  webhook: ManagedWebhook,
  secret: string | null,
): void {
  const { uid, name } = webhook;
  const note = secret === null ? '' : '; its secret is returned only once';
  process.stderr.write(`Webhook ${uid} (${name}) is ${stateOf(webhook)}${note}.\n`);
  const url = ingressUrl(ingressOrigin(services.get(Settings)), webhook, secret ?? '{token}');
  const data = { uid, url, ...(secret !== null && { secret }) };
  printResult(values, data, secret === null ? url : `${url}\n${secret}`);
}

function stateOf({ enabled, hasSecret, secretPending }: ManagedWebhook): string {
  if (secretPending) return enabled ? 'waiting for a handshake' : 'disabled, waiting for a handshake';
  if (!hasSecret) return 'disabled until `headrace webhook rotate` supplies the sender’s secret';
  return enabled ? 'enabled' : 'disabled';
}

/** The one that is named, or the only one. */
async function findFactory(services: INestApplicationContext, uid: string | undefined): Promise<Factory> {
  if (uid !== undefined) {
    const factory = await services.get(FindFactory).execute(uid);
    if (!factory) throw new CommandError(`there is no factory ${uid}.`);
    return factory;
  }
  const [only, ...others] = await services.get(ListFactories).execute(20);
  if (!only) throw new CommandError('there is no factory.');
  if (others.length === 0) return only;
  const known = [only, ...others].map((factory) => `${factory.uid} (${factory.name})`);
  throw new CommandError(`there are several factories, pick one with --factory: ${known.join(', ')}.`);
}

/** `/signature_scheme` as it is called here. */
const optionOf = (pointer: string): string =>
  ({
    '/secret': '--secret-file',
    '/secret_name': '--secret-name',
    '/signature_scheme': '--scheme',
    '/delivery_id_header': '--delivery-id-header',
  })[pointer] ?? pointer.slice(1);

function parseAuthMode(value: string): AuthMode {
  const mode = AUTH_MODES.find((known) => known === value);
  if (!mode) throw new UsageError(`--auth-mode must be one of ${AUTH_MODES.join(', ')}`);
  return mode;
}

function parseOutcome(value: string): DeliveryOutcome {
  const outcome = DELIVERY_OUTCOMES.find((known) => known.toLowerCase() === value.toLowerCase());
  if (!outcome) throw new UsageError(`--outcome must be one of ${DELIVERY_OUTCOMES.join(', ')}`);
  return outcome;
}

function parseLimit(value: string): number {
  if (!/^[1-9]\d{0,2}$/.test(value) || Number(value) > 500)
    throw new UsageError('--limit must be a whole number from 1 to 500');
  return Number(value);
}
