import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  ExtensibleEnumField,
  object,
  optionalBody,
  StringField,
  text,
} from '#platform/http';
import { SECRET_NAME, SECRET_NAME_RULE } from '#platform/secrets';
import { AUTH_MODES, MAX_WEBHOOK_NAME, WEBHOOK_SOURCES, type WebhookSource } from '../domain/webhook.js';

const OPTIONAL = { optional: true } as const;
const NAME = { blank: false, max: MAX_WEBHOOK_NAME, description: 'Name of the webhook.', example: 'deploys' };
const SECRET = { ...OPTIONAL, blank: false, maxBytes: 65_536 } as const;
const SCHEME_ID = {
  max: 64,
  description: 'ID of a signature scheme, from `GET /webhook-signature-schemes`.',
  example: 'standard_webhooks',
};
const DELIVERY_ID_HEADER = {
  ...OPTIONAL,
  nullable: true,
  max: 128,
  description:
    'Header that contains the delivery id of the sender, by which repeated deliveries are recognised. Not a header of credentials or signatures. null: none.',
  example: 'x-event-id',
};
const AUTH_MODE = { name: 'WebhookAuthMode' } as const;

export class CreateWebhookRequest {
  @StringField(NAME) name: string;
  @ExtensibleEnumField(AUTH_MODES, {
    ...OPTIONAL,
    ...AUTH_MODE,
    description:
      '`token` (the default): a bearer token in the Authorization header. `url_token`: the token is part of the URL. `signature`: the sender signs.',
  })
  auth_mode?: string;
  @StringField({ ...OPTIONAL, ...SCHEME_ID, description: `${SCHEME_ID.description} Required in \`signature\` mode.` })
  signature_scheme?: string;
  @StringField({
    ...SECRET,
    description:
      'Signing secret of the sender, in `signature` mode only: the service generates the others. Without it, `standard_webhooks` gets a generated secret; other schemes wait for theirs.',
  })
  secret?: string;
  @StringField({
    ...OPTIONAL,
    pattern: SECRET_NAME,
    says: SECRET_NAME_RULE,
    description: 'A managed secret of the team, instead of one that belongs to this webhook.',
  })
  secret_name?: string;
  @StringField(DELIVERY_ID_HEADER) delivery_id_header?: string | null;
  @BooleanField({ ...OPTIONAL, description: 'Whether the webhook accepts deliveries. Default: true.' })
  enabled?: boolean;
}

export class UpdateWebhookRequest {
  @StringField({ ...NAME, ...OPTIONAL }) name?: string;
  @BooleanField({
    ...OPTIONAL,
    description:
      'Whether the webhook accepts deliveries. Senders get 404 while it is false; automations and delivery log are kept.',
  })
  enabled?: boolean;
  @StringField(DELIVERY_ID_HEADER) delivery_id_header?: string | null;
}

@optionalBody
export class RotateWebhookSecretRequest {
  @StringField({
    ...SECRET,
    description:
      'Secret of the sender, in `signature` mode only. Without it, a secret is generated, or the secret of a handshake is confirmed.',
  })
  secret?: string;
}

export class WebhookItem {
  @StringField({ pattern: /^[A-Za-z0-9]{22}$/, description: 'UID of the webhook.' }) uid: string;
  @StringField({ description: 'Name of the webhook.' }) name: string;
  @EnumField(AUTH_MODES, { ...AUTH_MODE, description: 'How senders authenticate.' }) auth_mode: string;
  @StringField({ ...OPTIONAL, ...SCHEME_ID, description: 'ID of the signature scheme, in `signature` mode.' })
  signature_scheme?: string;
  @StringField({ description: 'The managed secret that holds the credential.' }) secret_name: string;
  @StringField({ ...OPTIONAL, description: 'Header that contains the delivery id, in lower case.' })
  delivery_id_header?: string;
  @BooleanField({ description: 'Whether the webhook accepts deliveries.' }) enabled: boolean;
  @BooleanField({
    ...OPTIONAL,
    description:
      'True while the secret of the sender has to be supplied with rotate-secret; until then the webhook is disabled.',
  })
  secret_missing?: boolean;
  @BooleanField({
    ...OPTIONAL,
    description:
      'True while the webhook waits for the handshake that brings the secret, or for the confirmation of that secret.',
  })
  secret_pending?: boolean;
  @StringField({
    ...OPTIONAL,
    description: 'Secret of a handshake: rotate-secret without a secret confirms it. Not in lists.',
  })
  captured_secret?: string;
  @StringField({
    description:
      'URL that the sender posts to. In `url_token` mode it contains the token only in the response that contains the secret, otherwise `{token}`.',
    example: 'https://hooks.example.com/webhooks/w/4fHk0bX2mQ9sTz7RvYw1Lc',
  })
  ingress_url: string;
  @EnumField(WEBHOOK_SOURCES, {
    name: 'WebhookSource',
    description: '`definition`: created by the definition files of the factory, which is where to change it.',
  })
  source: WebhookSource;
  @StringField({
    ...OPTIONAL,
    description:
      'Returned only once, in the response to the request that generated or supplied it. The value of an existing managed secret is never returned.',
  })
  secret?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
}

export class ListWebhooksResponse {
  @ArrayField(object(() => WebhookItem), { description: 'The webhooks, by name.' }) webhooks: WebhookItem[];
}

export class SignatureSchemeItem {
  @StringField({
    example: 'standard_webhooks',
    description: 'ID of the signature scheme, for `signature_scheme` of a webhook.',
  })
  id: string;
  @StringField({ example: 'Standard Webhooks', description: 'Name of the sender or standard.' }) label: string;
  @StringField({ description: 'Where the sender documents its signatures.' }) documentation_url: string;
  @ArrayField(text(), { description: 'Headers of signature and time, in lower case.' }) headers: string[];
  @ArrayField(text(), { description: 'Headers of the delivery id of the sender, in order of preference.' })
  delivery_id_headers: string[];
}

export class ListSignatureSchemesResponse {
  @ArrayField(object(() => SignatureSchemeItem), { description: 'The signature schemes, by id.' })
  signature_schemes: SignatureSchemeItem[];
}
