import type { INestApplicationContext } from '@nestjs/common';
import { FactoriesService, type Factory } from '#domain/factories';
import {
  AUTH_MODES,
  DELIVERY_OUTCOMES,
  type DeliveryOutcome,
  ingressUrl,
  type ManagedWebhook,
  WebhooksService,
} from '#domain/webhooks';
import { Settings } from '#platform/config';
import type { Issue } from '#platform/kernel';
import { choice, CommandError, flag, integer, parsed, text, UsageError } from '../cli/command.js';
import { readSecretFile } from '../cli/input.js';
import { type OutputValues, printResult, printRows } from '../cli/output.js';
import { recordCommand } from '../process/audit-command.js';
import { secretsCommand } from '../process/services.js';
import { ingressOrigin } from '../up/connection-file.js';

/** As in the API. */
const MAX_NAME = 200;
const FACTORY = { factory: text('uid', 'Factory. Default: the only factory.') };
const SECRET_FILE = { 'secret-file': text('path', 'File with the secret; - reads standard input.') };

/** Prints the URL and the secret, one line each; the secret is returned only once. */
export const create = secretsCommand({
  argument: 'name',
  options: {
    ...FACTORY,
    'auth-mode': choice(AUTH_MODES, 'How deliveries are authenticated.', { default: 'token' }),
    scheme: text('id', 'Signature scheme of --auth-mode signature.'),
    ...SECRET_FILE,
    'secret-name': text('name', 'Managed secret, instead of --secret-file.'),
    'delivery-id-header': text('name', 'Header that identifies a delivery.'),
    disabled: flag('Create it disabled.'),
  },
  check: (_values, name) => {
    if (name.length > MAX_NAME) throw new UsageError(`<name> must not exceed ${MAX_NAME} characters`);
  },
  run: async (services, values, name) => {
    const secret = readSecretFile(values['secret-file']);
    const factory = await findFactory(services, values.factory);
    const result = await services.get(WebhooksService).create(factory, {
      name,
      authMode: values['auth-mode'] ?? 'token',
      secret,
      signatureScheme: values.scheme ?? null,
      secretName: values['secret-name'] ?? null,
      deliveryIdHeader: values['delivery-id-header'] ?? null,
      enabled: !values.disabled,
    });
    switch (result.kind) {
      case 'limit_reached':
        throw new CommandError(`a factory has at most ${result.limit} webhooks.`);
      case 'invalid':
        throw invalid(result.issues);
      case 'created':
        await record(services, 'webhook.created', result.webhook);
        return printWebhook(values, services, result.webhook, result.secret);
    }
  },
});

const record = (services: INestApplicationContext, action: string, webhook: ManagedWebhook): Promise<void> =>
  recordCommand(services, webhook.teamUid, {
    action,
    target: { type: 'webhook', uid: webhook.uid, name: webhook.name },
  });

export const list = secretsCommand({
  options: FACTORY,
  run: async (services, values) => {
    const webhooks = await services.get(WebhooksService).list(await findFactory(services, values.factory));
    const rows = webhooks.map((webhook) => [
      ...[webhook.uid, webhook.name, webhook.authMode, webhook.signatureScheme, stateOf(webhook)],
      ...[webhook.secretName, webhook.source, webhook.createdAt],
    ]);
    const columns = ['UID', 'NAME', 'AUTH MODE', 'SCHEME', 'STATE', 'SECRET', 'SOURCE', 'CREATED'];
    printRows(values, columns, rows);
  },
});

export const rotate = secretsCommand({
  argument: 'uid',
  options: SECRET_FILE,
  run: async (services, values, uid) => {
    const secret = readSecretFile(values['secret-file']);
    const webhook = await services.get(WebhooksService).getByUid(uid);
    const factory = webhook && (await services.get(FactoriesService).find(webhook.factoryUid));
    if (!factory) throw unknownWebhook(uid);
    const result = await services.get(WebhooksService).rotateSecret(factory, uid, secret);
    switch (result.kind) {
      case 'not_found':
        throw unknownWebhook(uid);
      case 'not_supported':
        throw new CommandError(result.reason);
      case 'invalid':
        throw invalid(result.issues);
      case 'rotated':
        await record(services, 'webhook.secret_rotated', result.webhook);
        return printWebhook(values, services, result.webhook, result.secret);
    }
  },
});

export const deliveries = secretsCommand({
  argument: 'uid',
  options: {
    outcome: parsed('label', `One of ${DELIVERY_OUTCOMES.join(', ')}.`, parseOutcome),
    limit: integer(1, 500, 'Number of deliveries. Default: 20.'),
  },
  run: async (services, { outcome = null, limit = 20, ...values }, uid) => {
    const result = await services.get(WebhooksService).latestDeliveries(uid, outcome, limit);
    if (!result) throw unknownWebhook(uid);
    const rows = result.map((delivery) => [
      ...[delivery.id, delivery.outcome ?? 'handshake', delivery.occurrences, delivery.sizeBytes],
      ...[delivery.receivedAt, delivery.sourceIp, delivery.identity],
    ]);
    const columns = ['DELIVERY', 'OUTCOME', 'TIMES', 'BYTES', 'RECEIVED', 'FROM', 'IDENTITY'];
    printRows(values, columns, rows);
  },
});

export const unknownWebhook = (uid: string): CommandError =>
  new CommandError(`webhook ${uid} not found; \`headrace webhook list\` shows the UIDs.`);

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

async function findFactory(services: INestApplicationContext, uid: string | undefined): Promise<Factory> {
  if (uid !== undefined) {
    const factory = await services.get(FactoriesService).find(uid);
    if (!factory) throw new CommandError(`factory ${uid} not found.`);
    return factory;
  }
  const [only, ...others] = await services.get(FactoriesService).list(20);
  if (!only) throw new CommandError('there is no factory; create one with `headrace factory create`.');
  if (others.length === 0) return only;
  const known = [only, ...others].map((factory) => `${factory.uid} (${factory.name})`);
  throw new CommandError(`there are several factories, select one with --factory: ${known.join(', ')}.`);
}

/** The option for a field, such as `--scheme` for `/signature_scheme`. */
const optionOf = (pointer: string): string =>
  ({
    '/secret': '--secret-file',
    '/secret_name': '--secret-name',
    '/signature_scheme': '--scheme',
    '/delivery_id_header': '--delivery-id-header',
  })[pointer] ?? pointer.slice(1);

const invalid = (issues: readonly Issue[]): CommandError =>
  new CommandError(issues.map(({ pointer, detail }) => `${optionOf(pointer)} ${detail}`).join('; '));

function parseOutcome(value: string): DeliveryOutcome {
  const outcome = DELIVERY_OUTCOMES.find((known) => known.toLowerCase() === value.toLowerCase());
  if (!outcome) throw new UsageError(`--outcome must be one of ${DELIVERY_OUTCOMES.join(', ')}`);
  return outcome;
}
