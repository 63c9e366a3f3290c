import type { Caller } from '#libs/auth';
import type { Factory } from '#libs/factories';
import { ProblemError } from '#libs/http';
import type { AccessRefusal, WebhookAccess } from '../application/webhook-access.js';
import type {
  CreateWebhookResult,
  DeleteWebhookResult,
  RotateSecretResult,
  UpdateWebhookResult,
} from '../application/webhook-outcomes.js';

type Result = CreateWebhookResult | UpdateWebhookResult | RotateSecretResult | DeleteWebhookResult;
type Refusal = Exclude<Result, { kind: 'created' | 'updated' | 'rotated' | 'deleted' }>;

/** The factory, for those who manage it; throws for everybody else. */
export async function managedFactory(access: WebhookAccess, caller: Caller, factoryUid: string): Promise<Factory> {
  const lookup = await access.factory(caller, factoryUid);
  if (lookup.kind !== 'found') throw accessRefusal(lookup);
  return lookup.factory;
}

function accessRefusal(refused: AccessRefusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'There is no factory with this uid.');
    case 'forbidden':
      return new ProblemError(
        'not_authorized',
        'Your role on the factory’s team does not allow to manage the factory.',
      );
  }
}

/** Answers to what a use case refuses. */
export function webhookRefusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'The factory has no webhook with this uid.');
    case 'limit_reached':
      return new ProblemError('limit_reached', `A factory has at most ${refused.limit} webhooks.`);
    case 'not_supported':
      return new ProblemError('operation_not_supported', refused.reason);
    case 'invalid': {
      const sentences = refused.issues.map(({ pointer, detail }) => `\`${pointer.slice(1)}\` ${detail}.`);
      return new ProblemError('invalid_request', sentences.join(' '), { errors: refused.issues });
    }
  }
}
