import { Injectable, Logger } from '@nestjs/common';
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client';
import { isConfidential, Settings } from '#platform/config';

type OpenIdClient = typeof import('openid-client');

/** What is derived from the cookie of one sign-in. */
export interface OpenIdFlow {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** A user as the provider describes them. */
export interface OpenIdUser {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  readonly isEmailVerified: boolean;
  readonly name: string | null;
  readonly groups: readonly string[];
}

/** `denied`: the user or the provider has refused. `invalid`: the response cannot be trusted. */
export type OpenIdFailure = 'unreachable' | 'denied' | 'invalid';

type Claims = Readonly<Record<string, unknown>>;

const TIMEOUT_SECONDS = 10;
/** Of a response of the provider; its keys and claims are much smaller. */
const MAX_RESPONSE_BYTES = 1_048_576;
/** Afterwards the metadata of the provider are read again. */
const METADATA_TTL_MS = 3_600_000;

/** The OpenID provider of the settings. Its metadata are read with the first sign-in, so that it need not be up at the start. */
@Injectable()
export class OpenIdProvider {
  /** At the provider, it must be registered. */
  readonly redirectUri: string;
  private readonly logger = new Logger(OpenIdProvider.name);
  private configuration: { readonly value: Promise<Configuration>; readonly until: number } | null = null;

  constructor(private readonly settings: Settings) {
    this.redirectUri = `${settings.publicUrl}/api/v1/sign-in/openid/callback`;
  }

  get isConfigured(): boolean {
    return this.settings.oidcIssuer !== undefined;
  }

  /** Where the browser is sent. */
  async authorizationUrl({ state, nonce, codeVerifier }: OpenIdFlow): Promise<URL | 'unreachable'> {
    try {
      const client = await load();
      const scopes = this.settings.oidcScopes.split(/\s+/).filter((scope) => scope !== '' && scope !== 'openid');
      return client.buildAuthorizationUrl(await this.configured(client), {
        redirect_uri: this.redirectUri,
        scope: ['openid', ...scopes].join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    } catch (error) {
      this.logger.warn(`The OpenID provider cannot be used: ${describe(error)}`);
      return 'unreachable';
    }
  }

  /** `query`: of the request with which the browser has returned, without a question mark. */
  async authenticate(query: string, { state, nonce, codeVerifier }: OpenIdFlow): Promise<OpenIdUser | OpenIdFailure> {
    const client = await load();
    try {
      const configuration = await this.configured(client);
      const tokens = await client.authorizationCodeGrant(configuration, new URL(`${this.redirectUri}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) return 'invalid';
      const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasUserInfo ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      return this.userOf(claims.iss, claims.sub, claims, more);
    } catch (error) {
      this.logger.warn(`A sign-in by OpenID Connect failed: ${describe(error)}`);
      if (error instanceof client.AuthorizationResponseError)
        return error.error === 'access_denied' ? 'denied' : 'invalid';
      return isUnreachable(error) ? 'unreachable' : 'invalid';
    }
  }

  private userOf(issuer: string, subject: string, idToken: Claims, userInfo: Claims): OpenIdUser {
    const { oidcGroupsClaim, oidcTrustEmail } = this.settings;
    // An address and whether it is verified belong together.
    const { email, email_verified: isVerified } = textOf(idToken.email) === null ? userInfo : idToken;
    const groups = idToken[oidcGroupsClaim] ?? userInfo[oidcGroupsClaim] ?? [];
    const claims = { ...userInfo, ...idToken };
    return {
      issuer,
      subject,
      email: textOf(email),
      isEmailVerified: isVerified === true || (isVerified === undefined && oidcTrustEmail),
      name: textOf(claims.name) ?? textOf(claims.preferred_username),
      groups: [groups].flat().filter((group): group is string => typeof group === 'string'),
    };
  }

  private configured(client: OpenIdClient): Promise<Configuration> {
    const now = performance.now();
    if (this.configuration !== null && this.configuration.until > now) return this.configuration.value;
    const value = this.discover(client);
    const configuration = { value, until: now + METADATA_TTL_MS };
    this.configuration = configuration;
    value.catch(() => {
      if (this.configuration === configuration) this.configuration = null;
    });
    return value;
  }

  private async discover(client: OpenIdClient): Promise<Configuration> {
    const { oidcIssuer = '', oidcClientId = '', oidcClientSecret } = this.settings;
    const issuer = new URL(oidcIssuer);
    const configuration = await client.discovery(
      issuer,
      oidcClientId,
      {},
      oidcClientSecret === undefined ? client.None() : authenticationBy(client, oidcClientSecret),
      {
        timeout: TIMEOUT_SECONDS,
        [client.customFetch]: fetchLimited,
        execute: [
          // By default the signature of an ID token that comes from the token endpoint is not verified.
          client.enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
        ],
      },
    );
    return configuration;
  }
}

/** Loaded with the first sign-in: most installations need neither its time nor its memory. */
const load = (): Promise<OpenIdClient> => import('openid-client');

/** Providers must support the first way if they do not say which they support. */
function authenticationBy(client: OpenIdClient, secret: string): ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: supported } = server;
    const isBasic = supported === undefined || supported.includes('client_secret_basic');
    return (isBasic ? basic : post)(server, ...rest);
  };
}

/** Also addresses that the metadata name must be confidential. */
const fetchLimited: CustomFetch = async (url, options) => {
  if (!isConfidential(new URL(url)))
    throw new Error('The provider names an address that is neither https nor loopback.');
  const response = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new Error('The response of the provider is too large.');
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers });
};

const isUnreachable = (error: unknown): boolean =>
  causesOf(error).some(
    ({ name, message }) => name === 'TimeoutError' || name === 'AbortError' || message === 'fetch failed',
  );

/** Messages of the library and its causes; they contain neither codes nor tokens. */
const describe = (error: unknown): string =>
  causesOf(error)
    .map(({ message }) => message)
    .join(': ');

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);
