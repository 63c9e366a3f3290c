import type { SignatureScheme } from './signature-scheme.js';
import { JwtScheme } from './jwt-scheme.js';
import { handshakeSchemes } from './schemes/handshake-schemes.js';
import { inBodySchemes, timestampedSchemes } from './schemes/timestamped-schemes.js';
import { rawBodySchemes } from './schemes/raw-body-schemes.js';
import { standardWebhooksSchemes } from './schemes/standard-webhooks-schemes.js';
import { urlBoundSchemes } from './schemes/url-bound-schemes.js';
import { SignedScheme } from './signed-scheme.js';
import { StaticScheme } from './static-scheme.js';

export class SignatureSchemes {
  private readonly byId = new Map<string, SignatureScheme>();

  /** `extensions` is called once, when all modules are initialized. */
  constructor(
    schemes: Iterable<SignatureScheme>,
    private readonly extensions: () => Iterable<SignatureScheme> = () => [],
  ) {
    this.add(schemes);
  }

  onModuleInit(): void {
    this.add(this.extensions());
  }

  /** Null for an unknown id, which the caller must reject. */
  find(id: string): SignatureScheme | null {
    return this.byId.get(id) ?? null;
  }

  all(): readonly SignatureScheme[] {
    return [...this.byId.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  private add(schemes: Iterable<SignatureScheme>): void {
    for (const scheme of schemes) {
      if (this.byId.has(scheme.id)) throw new Error(`There are two signature schemes with the id ${scheme.id}.`);
      this.byId.set(scheme.id, scheme);
    }
  }
}

/** The schemes of the service; all are stateless. */
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
    eventHeader: 'x-gitlab-event',
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
