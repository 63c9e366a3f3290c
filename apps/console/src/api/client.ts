import createClient from 'openapi-fetch';
import { API_URL } from '../base';
import type { components, paths } from './schema.gen';

export type { paths };
export type Schemas = components['schemas'];

/** A problem document of the API, or the absence of a response. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly fields: readonly { readonly pointer: string; readonly detail: string }[] = [],
  ) {
    super(detail);
  }
}

/** `sentAt`: when the rejected request was sent, on the clock of `performance.now()`. */
let onSignedOut: (sentAt: number) => void = () => undefined;
export const whenSignedOut = (handler: (sentAt: number) => void): void => {
  onSignedOut = handler;
};

let onForbidden: () => void = () => undefined;
export const whenForbidden = (handler: () => void): void => {
  onForbidden = handler;
};

let teamUid: string | null = null;
/** The team for which operations are executed; null: the only one. */
export const chooseTeam = (uid: string | null): void => {
  teamUid = uid;
};

export const api = createClient<paths>({ baseUrl: API_URL, credentials: 'same-origin' });
const sentAt = new WeakMap<Request, number>();
/** A rejection of these says nothing about the session. */
const WITHOUT_SESSION: ReadonlySet<string> = new Set([
  'POST /sessions',
  'POST /invitations/lookup',
  'POST /invitations/accept',
]);

api.use({
  onRequest({ request, schemaPath }) {
    sentAt.set(request, performance.now());
    request.headers.set('X-Headrace-Console', '1');
    // Everybody may ask who they are, also with a team that they have left.
    if (teamUid !== null && schemaPath !== '/me') request.headers.set('X-Headrace-Team-Uid', teamUid);
  },
  onResponse({ request, response, schemaPath }) {
    const operation = `${request.method} ${schemaPath}`;
    if (response.status === 401 && !WITHOUT_SESSION.has(operation)) onSignedOut(sentAt.get(request) ?? 0);
    if (response.status === 403 && schemaPath !== '/me') onForbidden();
  },
  onError: () => new ApiProblem(0, 'The server cannot be reached.'),
});

/** The content of a success. Throws an ApiProblem otherwise. */
export async function content<T>(
  sent: Promise<{ data?: T; error?: Schemas['Problem'] | undefined; response: Response }>,
): Promise<T> {
  const { data, error, response } = await sent;
  if (response.ok) return data as T;
  throw new ApiProblem(
    response.status,
    error?.detail ?? `The server returned status ${response.status}.`,
    error?.errors,
  );
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
