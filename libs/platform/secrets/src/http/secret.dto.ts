import { ArrayField, DateTimeField, EnumField, IntegerField, object, StringField } from '#platform/http';
import { MAX_SECRET_BYTES, SECRET_PURPOSES, type SecretPurpose } from '../domain/managed-secret.js';

export class PutSecretRequest {
  // No example: it would be taken for one that is good enough.
  @StringField({ min: 1, maxBytes: MAX_SECRET_BYTES, description: 'Up to 65,536 bytes of UTF-8. Never told again.' })
  value: string;

  @EnumField(SECRET_PURPOSES, {
    optional: true,
    description:
      '`run`: runs may be given the value. `webhook`: only webhooks use it, to check senders. Absent: stays as it is; a new secret is for runs, or for webhooks when its name begins with `webhook-`. A secret that a webhook starts to use is for webhooks from then on.',
  })
  purpose?: SecretPurpose;
}

const PURPOSE = {
  description: '`run`: runs may be given the value. `webhook`: only webhooks use it, to check senders.',
} as const;

export class SecretVersion {
  @StringField({ example: 'ci-webhook', description: 'Name of the secret.' }) name: string;
  @EnumField(SECRET_PURPOSES, PURPOSE) purpose: SecretPurpose;
  @IntegerField({ description: 'From 1 on; moves with every value.' }) version: number;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'When it got its present value.' }) updated_at: string;
}

export class SecretItem {
  @StringField({ example: 'ci-webhook', description: 'Name of the secret.' }) name: string;
  @EnumField(SECRET_PURPOSES, PURPOSE) purpose: SecretPurpose;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'When it got its present value.' }) updated_at: string;
}

export class ListSecretsResponse {
  @ArrayField(object(() => SecretItem), { description: 'The managed secrets of the team, without their values.' })
  secrets: SecretItem[];
}
