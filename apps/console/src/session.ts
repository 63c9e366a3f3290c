import { computed, signal } from '@preact/signals';
import {
  api,
  ApiProblem,
  chooseTeam,
  content,
  messageOf,
  type Schemas,
  whenForbidden,
  whenSignedOut,
} from './api/client';

type Principal = Schemas['CurrentPrincipalResponse'];

const TEAM_KEY = 'headrace-team';
/** Whether this browser was signed in: scripts cannot read the cookie, and a request without it would be an error. */
const SIGNED_IN_KEY = 'headrace-signed-in';

/** Undefined: it is not known yet. Null: nobody is signed in. */
export const principal = signal<Principal | null | undefined>(undefined);
/** Why it is not known who is signed in. */
export const connectionFailure = signal('');
/** Null: a user of one team, or without a team. */
export const team = signal<string | null>(null);

export const permissions = computed(() => {
  const memberships = principal.value?.memberships ?? [];
  const chosen =
    memberships.find(({ team_uid: uid }) => uid === team.value) ??
    (memberships.length === 1 ? memberships[0] : undefined);
  return new Set(chosen?.permissions ?? []);
});
export const may = (permission: string): boolean => permissions.value.has(permission);

function forget(): void {
  localStorage.removeItem(SIGNED_IN_KEY);
  team.value = null;
  chooseTeam(null);
  principal.value = null;
  connectionFailure.value = '';
}

/** A request of an earlier session may be rejected after another sign-in. */
let signedInAt = 0;
whenSignedOut((sentAt) => {
  if (sentAt >= signedInAt) forget();
});

const MIN_REFRESH_MS = 10_000;
const MAX_AGE_MS = 60_000;
let loadedAt = -Infinity;

/** Roles change while the console is open. */
function refreshPrincipal(minAgeMs: number): void {
  if (principal.peek() && performance.now() - loadedAt >= minAgeMs) void loadPrincipal();
}
whenForbidden(() => refreshPrincipal(MIN_REFRESH_MS));
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refreshPrincipal(MAX_AGE_MS);
});

export async function loadPrincipal(): Promise<void> {
  loadedAt = performance.now();
  if (localStorage.getItem(SIGNED_IN_KEY) === null) {
    principal.value = null;
    return;
  }
  try {
    const found = await content(api.GET('/me', { params: {} }));
    if (found.memberships.length > 1 && team.peek() === null) {
      const stored = localStorage.getItem(TEAM_KEY);
      const known = found.memberships.find(({ team_uid: uid }) => uid === stored) ?? found.memberships[0];
      selectTeam(known?.team_uid ?? null);
    }
    // What depends on it is read again only after a change.
    if (JSON.stringify(found) !== JSON.stringify(principal.peek())) principal.value = found;
    connectionFailure.value = '';
  } catch (error) {
    // Other failures say nothing about the session: what is shown stays.
    if (error instanceof ApiProblem && error.status === 401) forget();
    else connectionFailure.value = messageOf(error);
  }
}

export function selectTeam(uid: string | null): void {
  team.value = uid;
  chooseTeam(uid);
  if (uid === null) localStorage.removeItem(TEAM_KEY);
  else localStorage.setItem(TEAM_KEY, uid);
}

export async function signIn(body: Schemas['CreateSessionRequest']): Promise<void> {
  await content(api.POST('/sessions', { params: { header: { 'X-Headrace-Console': '1' } }, body }));
  await enterSession();
}

export async function acceptInvitation(body: Schemas['AcceptInvitationRequest']): Promise<void> {
  await content(api.POST('/invitations/accept', { params: { header: { 'X-Headrace-Console': '1' } }, body }));
  await enterSession();
}

/** The browser has got the cookie of a new session. */
export async function enterSession(): Promise<void> {
  localStorage.setItem(SIGNED_IN_KEY, '1');
  signedInAt = performance.now();
  await loadPrincipal();
}

export async function signOut(): Promise<void> {
  await content(api.DELETE('/sessions/current'));
  forget();
}
