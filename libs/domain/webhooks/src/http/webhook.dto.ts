import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  object,
  optionalBody,
  StringField,
  text,
} from '#platform/http';
import { SECRET_NAME, SECRET_NAME_RULE } from '#platform/secrets';
import { AUTH_MODES, type AuthMode, MAX_WEBHOOK_NAME, WEBHOOK_SOURCES, type WebhookSource } from '../domain/webhook.js';

const OPTIONAL = { optional: true } as const;
const NAME = { blank: false, max: MAX_WEBHOOK_NAME, description: 'What it is for.', example: 'deploys' };
const SECRET = { ...OPTIONAL, blank: false, maxBytes: 65_536 } as const;
const SCHEME_ID = { max: 64, description: 'An id of `GET /webhook-signature-schemes`.', example: 'standard_webhooks' };
const DELIVERY_ID_HEADER = {
  ...OPTIONAL,
  nullable: true,
  max: 128,
  description:
    'Header in which the sender puts its own id of a delivery, by which repeated ones are recognised. Not one that carries credentials or signatures. null: none.',
  example: 'x-event-id',
};
const AUTH_MODE = { name: 'WebhookAuthMode' } as const;

export class CreateWebhookRequest {
  @StringField(NAME) name: string;
  @EnumField(AUTH_MODES, {
    ...OPTIONAL,
    ...AUTH_MODE,
    description:
      '`token` (the default): a bearer token in the Authorization header. `url_token`: the token is part of the URL. `signature`: the sender signs.',
  })
  auth_mode?: AuthMode;
  @StringField({ ...OPTIONAL, ...SCHEME_ID, description: `${SCHEME_ID.description} Required in \`signature\` mode.` })
  signature_scheme?: string;
  @StringField({
    ...SECRET,
    description:
      'The sender’s signing secret, in `signature` mode only: the service generates the others. Left out, `standard_webhooks` gets a generated one; the rest wait for theirs.',
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
  @BooleanField({ ...OPTIONAL, description: 'Default: true.' }) enabled?: boolean;
}

export class UpdateWebhookRequest {
  @StringField({ ...NAME, ...OPTIONAL }) name?: string;
  @BooleanField({ ...OPTIONAL, description: 'Senders get 404 while it is false; automations and log stay.' })
  enabled?: boolean;
  @StringField(DELIVERY_ID_HEADER) delivery_id_header?: string | null;
}

@optionalBody
export class RotateWebhookSecretRequest {
  @StringField({
    ...SECRET,
    description:
      'The sender’s secret, in `signature` mode only. Left out, one is generated, or the one confirmed that a handshake brought.',
  })
  secret?: string;
}

export class WebhookItem {
  @StringField({ pattern: /^[A-Za-z0-9]{22}$/, description: 'UID of the webhook.' }) uid: string;
  @StringField({ description: 'Name of the webhook.' }) name: string;
  @EnumField(AUTH_MODES, { ...AUTH_MODE, description: 'How senders authenticate.' }) auth_mode: AuthMode;
  @StringField({ ...OPTIONAL, ...SCHEME_ID, description: 'In `signature` mode.' }) signature_scheme?: string;
  @StringField({ description: 'The managed secret that holds the credential.' }) secret_name: string;
  @StringField({ ...OPTIONAL, description: 'Lower case.' }) delivery_id_header?: string;
  @BooleanField({ description: 'Whether the webhook accepts deliveries.' }) enabled: boolean;
  @BooleanField({
    ...OPTIONAL,
    description:
      'True while the sender’s secret is still to be supplied with rotate-secret; until then it is disabled.',
  })
  secret_missing?: boolean;
  @BooleanField({
    ...OPTIONAL,
    description:
      'True while it waits for the handshake that brings the secret, or for somebody to confirm the one that came.',
  })
  secret_pending?: boolean;
  @StringField({
    ...OPTIONAL,
    description: 'What a handshake has brought: rotate-secret without a secret confirms it. Only of a single webhook.',
  })
  captured_secret?: string;
  @StringField({
    description:
      'What the sender posts to. In `url_token` mode the token is in it only in the answer that tells the secret, else `{token}`.',
    example: 'https://hooks.example.com/webhooks/w/4fHk0bX2mQ9sTz7RvYw1Lc',
  })
  ingress_url: string;
  @EnumField(WEBHOOK_SOURCES, {
    name: 'WebhookSource',
    description: '`definition`: from a factory’s definition files, which are where to change it.',
  })
  source: WebhookSource;
  @StringField({
    ...OPTIONAL,
    description:
      'Only in answer to the request that made or supplied it. One of an existing managed secret is not told.',
  })
  secret?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
}

export class ListWebhooksResponse {
  @ArrayField(object(() => WebhookItem), { description: 'By name.' }) webhooks: WebhookItem[];
}

export class SignatureSchemeItem {
  @StringField({
    example: 'standard_webhooks',
    description: 'ID of the signature scheme, for `signature_scheme` of a webhook.',
  })
  id: string;
  @StringField({ example: 'Standard Webhooks', description: 'Name of the sender or standard.' }) label: string;
  @StringField({ description: 'Where the sender documents its signatures.' }) documentation_url: string;
  @ArrayField(text(), { description: 'In which signature and time come, lower case.' }) headers: string[];
  @ArrayField(text(), { description: 'In which the sender’s own id of a delivery comes, best first.' })
  delivery_id_headers: string[];
}

export class ListSignatureSchemesResponse {
  @ArrayField(object(() => SignatureSchemeItem), { description: 'By id.' }) signature_schemes: SignatureSchemeItem[];
}
