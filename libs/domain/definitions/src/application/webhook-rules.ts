import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { DefinedWebhooks, type WebhookSettings } from '#domain/webhooks';
import type { Diagnostic } from '../domain/definition.js';
import { type Applying, diagnosticAt, sentence, touched } from './applying.js';

const CODES: Readonly<Record<keyof WebhookSettings, string>> = {
  name: 'invalid_name',
  authMode: 'invalid_value',
  signatureScheme: 'unknown_signature_scheme',
  secretName: 'unusable_secret',
  deliveryIdHeader: 'invalid_header',
  enabled: 'invalid_value',
};

/** What of webhooks' files depends on what there is. What is unchanged was checked when it was applied. */
@Injectable()
export class WebhookRules {
  constructor(private readonly webhooks: DefinedWebhooks) {}

  async check(tx: Queryable, applying: Applying): Promise<Diagnostic[]> {
    const specs = touched(applying, 'webhook').flatMap((name) => applying.desired.webhooks.get(name) ?? []);
    const found = await this.webhooks.validate(tx, applying.factory, specs);
    const issues = specs.flatMap(({ name }, place) =>
      (found[place] ?? []).map(({ field, detail }) => {
        const pointer = `/${field}`;
        return diagnosticAt(applying, { kind: 'webhook', name, pointer }, CODES[field], sentence(pointer, detail));
      }),
    );
    return [...issues, ...takenNames(applying)];
  }
}

/** By webhooks of the API, which definitions leave alone. One that came later holds up nothing that is there already. */
function takenNames(applying: Applying): Diagnostic[] {
  const ofApi = new Map(
    applying.present.webhooks.filter(({ source }) => source === 'api').map(({ name, uid }) => [name, uid]),
  );
  return applying.plan
    .filter(({ kind, action, name }) => kind === 'webhook' && action === 'create' && ofApi.has(name))
    .map(({ name }) =>
      diagnosticAt(
        applying,
        { kind: 'webhook', name, pointer: '/name' },
        'name_taken',
        `The factory has a webhook ${name} that was made through the API (${ofApi.get(name) ?? ''}): delete or rename one of the two.`,
      ),
    );
}
