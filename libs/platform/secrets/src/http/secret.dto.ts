import { ArrayField, DateTimeField, EnumField, IntegerField, object, StringField } from '#platform/http';
import { MAX_SECRET_BYTES, SECRET_PURPOSES, type SecretPurpose } from '../domain/managed-secret.js';

export class PutSecretRequest {
  // Without an example: people would copy it.
  @StringField({
    min: 1,
    maxBytes: MAX_SECRET_BYTES,
    description: 'The value, up to 65,536 bytes of UTF-8. It is never returned.',
  })
  value: string;

  @EnumField(SECRET_PURPOSES, {
    optional: true,
    description:
      '`run`: runs can receive the value. `webhook`: only webhooks use the value, to authenticate senders. If absent, the purpose is not changed; a new secret is for runs, or for webhooks if its name begins with `webhook-`. The purpose becomes `webhook` when a webhook starts to use the secret.',
  })
  purpose?: SecretPurpose;
}

const PURPOSE = {
  description: '`run`: runs can receive the value. `webhook`: only webhooks use the value, to authenticate senders.',
} as const;

export class SecretItem {
  @StringField({ example: 'ci-webhook', description: 'Name of the secret.' }) name: string;
  @EnumField(SECRET_PURPOSES, PURPOSE) purpose: SecretPurpose;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time at which the current value was stored.' }) updated_at: string;
}

export class SecretVersion extends SecretItem {
  @IntegerField({ description: 'Version of the value: starts at 1 and increases with every new value.' })
  version: number;
}

export class ListSecretsResponse {
  @ArrayField(object(() => SecretItem), { description: 'The managed secrets of the team, without their values.' })
  secrets: SecretItem[];
}
