import { Injectable } from '@nestjs/common';
import { isStorableText } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { ManagedSecrets, SealBrokenError, SECRET_NAME, SECRET_NAME_RULE } from '#platform/secrets';
import { credentialFault } from '../domain/credential.js';
import type { WebhookSettingIssue, WebhookSettings } from '../domain/defined-webhook.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { MAX_WEBHOOK_NAME } from '../domain/webhook.js';
import { planWebhook } from '../domain/webhook-plan.js';

/** `sealed`: there, and cannot be opened. */
type KnownSecret = { readonly kind: 'open'; readonly value: string } | { readonly kind: 'missing' | 'sealed' };

/** By the pointers of the API. */
const FIELDS: ReadonlyMap<string, keyof WebhookSettings> = new Map([
  ['/signature_scheme', 'signatureScheme'],
  ['/delivery_id_header', 'deliveryIdHeader'],
]);

/** The rules of the API, for webhooks that files define. */
@Injectable()
export class DefinedWebhookRules {
  constructor(
    private readonly managed: ManagedSecrets,
    private readonly schemes: SignatureSchemes,
  ) {}

  async issues(tx: Queryable, teamUid: string, specs: readonly WebhookSettings[]): Promise<WebhookSettingIssue[][]> {
    const secrets = new Map<string, KnownSecret>();
    // In one order for all, since each is locked.
    for (const name of [...new Set(specs.map(({ secretName }) => secretName))].sort())
      secrets.set(name, await this.secret(tx, teamUid, name));
    return specs.map((spec) => [
      ...nameIssues(spec.name),
      ...this.planIssues(spec),
      ...this.secretIssues(spec, secrets.get(spec.secretName) ?? { kind: 'missing' }),
    ]);
  }

  private planIssues(spec: WebhookSettings): WebhookSettingIssue[] {
    const planning = planWebhook({ ...spec, secret: null }, this.schemes);
    if (planning.kind === 'planned') return [];
    return planning.issues.map(({ pointer, detail }) => ({ field: FIELDS.get(pointer) ?? 'authMode', detail }));
  }

  private secretIssues(
    { authMode, signatureScheme, secretName }: WebhookSettings,
    secret: KnownSecret,
  ): WebhookSettingIssue[] {
    const issue = (detail: string): WebhookSettingIssue[] => [{ field: 'secretName', detail }];
    switch (secret.kind) {
      case 'missing':
        return issue(
          SECRET_NAME.test(secretName)
            ? 'must name a managed secret of the team; there is none of this name'
            : `must name a managed secret of the team: ${SECRET_NAME_RULE}`,
        );
      case 'sealed':
        return issue('names a secret that does not open under the keys of this installation: store its value anew');
      case 'open': {
        const scheme = this.schemes.find(signatureScheme ?? '');
        // Without a scheme that is what is wrong.
        if (authMode === 'signature' && !scheme) return [];
        const fault = credentialFault({ authMode, scheme }, secret.value);
        return fault === null ? [] : issue(`names a secret that cannot be used here: it ${fault}`);
      }
    }
  }

  private async secret(tx: Queryable, teamUid: string, name: string): Promise<KnownSecret> {
    if (!SECRET_NAME.test(name)) return { kind: 'missing' };
    try {
      const found = await this.managed.readForWebhook(tx, teamUid, name);
      return found ? { kind: 'open', value: found.value } : { kind: 'missing' };
    } catch (error) {
      if (error instanceof SealBrokenError) return { kind: 'sealed' };
      throw error;
    }
  }
}

function nameIssues(name: string): WebhookSettingIssue[] {
  if (name.trim() === '') return [{ field: 'name', detail: 'must not be blank' }];
  if (!isStorableText(name)) return [{ field: 'name', detail: 'must not contain NUL characters or lone surrogates' }];
  if (name.length > MAX_WEBHOOK_NAME)
    return [{ field: 'name', detail: `must not exceed ${MAX_WEBHOOK_NAME} characters` }];
  return [];
}
