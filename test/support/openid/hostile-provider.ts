import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Claims = Record<string, unknown>;
type Algorithm = 'RS256' | 'none' | 'HS256' | 'another key';

/** How the provider departs from the protocol; by default it does not. */
export interface Behaviour {
  /** Claims of the ID token that replace the right ones; undefined removes one. */
  claims?: Claims;
  algorithm?: Algorithm;
  /** Changes the ID token after it was signed. */
  tampered?: boolean;
  withoutIdToken?: boolean;
  userInfo?: Claims;
  metadata?: Claims;
  /** Responses of this path are broken in this way. */
  fault?: { path: string; kind: 'status 500' | 'too large' | 'redirect' | 'not json' | 'closed' };
  /** Codes can be used again. */
  acceptsReplays?: boolean;
}

interface Grant {
  readonly nonce: string;
  readonly challenge: string;
  readonly user: Claims;
}

const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 });
const OTHER_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 });
const TOO_LARGE = 'x'.repeat(1_200_000);

/** An OpenID provider that can lie. Its user never sees a page: the test plays the browser. */
export class HostileProvider {
  behaviour: Behaviour = {};
  /** Paths of the requests that it got. */
  readonly requests: string[] = [];
  private readonly grants = new Map<string, Grant>();
  private codes = 0;

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
    private readonly client: { readonly id: string; readonly secret: string },
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
  }

  static async start(client: { readonly id: string; readonly secret: string }): Promise<HostileProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new HostileProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, client);
  }

  /** What a browser brings back after the user has signed in at the address. */
  authorize(address: URL, user: Claims): Record<string, string> {
    const { nonce = '', code_challenge: challenge = '', state = '' } = Object.fromEntries(address.searchParams);
    const code = `code-${(this.codes += 1)}`;
    this.grants.set(code, { nonce, challenge, user });
    return { code, state, iss: this.issuer };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    this.requests.push(path);
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { fault } = this.behaviour;
    if (fault && path === fault.path) {
      if (fault.kind === 'closed') request.socket.destroy();
      else if (fault.kind === 'redirect') response.writeHead(302, { location: `${this.issuer}/elsewhere` }).end();
      else if (fault.kind === 'status 500') response.writeHead(500).end();
      else send(response, 200, fault.kind === 'too large' ? { text: TOO_LARGE } : '<html>');
      return;
    }
    switch (path) {
      case '/.well-known/openid-configuration':
        return send(response, 200, { ...this.metadata(), ...this.behaviour.metadata });
      case '/jwks':
        return send(response, 200, { keys: [{ ...KEY.publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig' }] });
      case '/userinfo':
        return send(response, 200, this.behaviour.userInfo ?? {});
      case '/token':
        return this.token(request, new URLSearchParams(text), response);
      default:
        return send(response, 404, {});
    }
  }

  private metadata(): Claims {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      ...(this.behaviour.userInfo && { userinfo_endpoint: `${this.issuer}/userinfo` }),
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  private token({ headers }: IncomingMessage, form: URLSearchParams, response: ServerResponse): void {
    const code = form.get('code') ?? '';
    const grant = this.grants.get(code);
    if (!this.behaviour.acceptsReplays) this.grants.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!this.isClient(headers.authorization)) return send(response, 401, { error: 'invalid_client' });
    if (!grant || challenge !== grant.challenge) return send(response, 400, { error: 'invalid_grant' });
    const now = Math.floor(Date.now() / 1000);
    const right = { iss: this.issuer, aud: this.client.id, exp: now + 300, iat: now, nonce: grant.nonce };
    const idToken = this.sign({ ...right, ...grant.user, ...this.behaviour.claims });
    send(response, 200, {
      access_token: 'access',
      token_type: 'Bearer',
      ...(this.behaviour.withoutIdToken ? {} : { id_token: idToken }),
    });
  }

  /** Both parts are encoded like a form (RFC 6749, section 2.3.1). */
  private isClient(authorization = ''): boolean {
    const text = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString();
    const [id, secret] = text.split(':').map((part) => new URLSearchParams(`v=${part}`).get('v'));
    return id === this.client.id && secret === this.client.secret;
  }

  private sign(claims: Claims): string {
    const { algorithm = 'RS256', tampered = false } = this.behaviour;
    const alg = algorithm === 'another key' ? 'RS256' : algorithm;
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const input = `${encode({ alg, kid: 'k', typ: 'JWT' })}.${encode(claims)}`;
    const signature = signatureOf(algorithm, input);
    return `${tampered ? `${input.split('.')[0]}.${encode({ ...claims, sub: 'somebody-else' })}` : input}.${signature}`;
  }
}

function signatureOf(algorithm: Algorithm, input: string): string {
  if (algorithm === 'none') return '';
  // The public key as the secret of a symmetric algorithm.
  if (algorithm === 'HS256')
    return createHmac('sha256', KEY.publicKey.export({ format: 'pem', type: 'spki' }))
      .update(input)
      .digest('base64url');
  const { privateKey } = algorithm === 'another key' ? OTHER_KEY : KEY;
  return sign('sha256', Buffer.from(input), privateKey).toString('base64url');
}

function send(response: ServerResponse, status: number, body: object | string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
