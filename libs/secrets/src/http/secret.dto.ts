import { ArrayField, DateTimeField, IntegerField, object, StringField } from '#libs/http';
import { MAX_SECRET_BYTES } from '../domain/managed-secret.js';

export class PutSecretRequest {
  // No example: it would be taken for one that is good enough.
  @StringField({ min: 1, maxBytes: MAX_SECRET_BYTES, description: 'Up to 65,536 bytes of UTF-8. Never told again.' })
  value: string;
}

export class SecretVersion {
  @StringField({ example: 'ci-webhook', description: 'Name of the secret.' }) name: string;
  @IntegerField({ description: 'From 1 on; moves with every value.' }) version: number;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'When it got its present value.' }) updated_at: string;
}

export class SecretItem {
  @StringField({ example: 'ci-webhook', description: 'Name of the secret.' }) name: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'When it got its present value.' }) updated_at: string;
}

export class ListSecretsResponse {
  @ArrayField(object(() => SecretItem), { description: 'The managed secrets of the team, without their values.' })
  secrets: SecretItem[];
}
