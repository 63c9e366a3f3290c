import { JwtScheme } from './jwt-scheme.js';
import { handshakeSchemes } from './schemes/handshake-schemes.js';
import { inBodySchemes } from './schemes/in-body-schemes.js';
import { rawBodySchemes } from './schemes/raw-body-schemes.js';
import { standardWebhooksSchemes } from './schemes/standard-webhooks-schemes.js';
import { timestampedSchemes } from './schemes/timestamped-schemes.js';
import { urlBoundSchemes } from './schemes/url-bound-schemes.js';
import type { SignatureScheme } from './signature-scheme.js';
import { SignedScheme } from './signed-scheme.js';
import { StaticScheme } from './static-scheme.js';

/** Every scheme that ships with the service; all are stateless. */
export const SIGNATURE_SCHEMES: readonly SignatureScheme[] = [
  ...[
    ...rawBodySchemes,
    ...timestampedSchemes,
    ...standardWebhooksSchemes,
    ...urlBoundSchemes,
    ...inBodySchemes,
    ...handshakeSchemes,
  ].map((row) => new SignedScheme(row)),
  new StaticScheme({
    id: 'gitlab_token',
    label: 'GitLab (secret token)',
    documentationUrl: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
    credential: { header: 'x-gitlab-token' },
    deliveryIdHeaders: ['idempotency-key'],
  }),
  new StaticScheme({
    id: 'figma',
    label: 'Figma',
    documentationUrl: 'https://developers.figma.com/docs/rest-api/webhooks/',
    credential: { path: ['passcode'] },
  }),
  new JwtScheme({
    id: 'netlify',
    label: 'Netlify',
    documentationUrl: 'https://docs.netlify.com/deploy/deploy-notifications/',
    header: 'x-webhook-signature',
    issuer: 'netlify',
    bodyHashClaim: 'sha256',
  }),
];
