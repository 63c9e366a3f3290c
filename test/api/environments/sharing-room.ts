import { newUid } from '#platform/kernel';
import type { TestApi, TestPrincipal } from '#testing';

/** Everybody's relation to an environment. People without a team of the environment's are members of one of their own. */
export interface SharingRoom {
  readonly api: TestApi;
  /** The team that a team's environment belongs to. */
  readonly team: string;
  /** A team that environments are granted to. */
  readonly guestTeam: string;
  readonly people: Readonly<Record<Persona, TestPrincipal>>;
}

export const PERSONAS = [
  'owner',
  'admin',
  'member',
  'viewer',
  'bot',
  'guest',
  'guestTeam',
  'guestViewer',
  'guestBot',
  'holder',
  'exGuest',
  'exTeam',
  'exHolder',
  'stranger',
] as const;
/**
 * owner: of the team, or the person whose environment it is; admin, member, viewer, bot: of the owner's team. guest: was
 * granted it; guestTeam, guestViewer, guestBot: member, viewer, service account of a team that was; holder: came by a
 * link; ex…: the same, and it was revoked.
 */
export type Persona = (typeof PERSONAS)[number];
export type Kind = 'personal' | 'team';

export interface SharedEnvironment {
  readonly uid: string;
  /** A grant and a link that are there beside what the persona has. */
  readonly grantUid: string;
  readonly linkUid: string;
}

export async function openSharingRoom(api: TestApi): Promise<SharingRoom> {
  const { identities } = api;
  const team = await identities.team('Makers');
  const guestTeam = await identities.team('Guests');
  const elsewhere = async () => identities.user({ [await identities.team('Home')]: 'member' });
  return {
    api,
    team,
    guestTeam,
    people: {
      owner: await identities.user({ [team]: 'owner' }, 'Olga Owner'),
      admin: await identities.user({ [team]: 'admin' }),
      member: await identities.user({ [team]: 'member' }),
      viewer: await identities.user({ [team]: 'viewer' }),
      bot: await identities.serviceAccount(team),
      guest: await elsewhere(),
      guestTeam: await identities.user({ [guestTeam]: 'member' }),
      guestViewer: await identities.user({ [guestTeam]: 'viewer' }),
      guestBot: await identities.serviceAccount(guestTeam),
      holder: await elsewhere(),
      exGuest: await elsewhere(),
      exTeam: await identities.user({ [await identities.team('Past')]: 'member' }),
      exHolder: await elsewhere(),
      stranger: await elsewhere(),
    },
  };
}

let made = 0;

/** Makes one of the owner's, or of the team's, without sharing it. */
export async function makeEnvironment({ api, people }: SharingRoom, kind: Kind, config: object = {}): Promise<string> {
  const { body } = await api.request(201, 'POST /environments', {
    token: people.owner.token,
    body: { config: { name: `shared-${(made += 1)}`, ...config }, team: kind === 'team' },
  });
  return body.uid as string;
}

export async function grant({ api, people }: SharingRoom, uid: string, body: object): Promise<string> {
  const answer = await api.request(201, `POST /environments/${uid}/grants`, { token: people.owner.token, body });
  return answer.body.uid as string;
}

export async function link(
  { api, people }: SharingRoom,
  uid: string,
  body: object = {},
): Promise<{ uid: string; token: string; url: string }> {
  const answer = await api.request(201, `POST /environments/${uid}/links`, { token: people.owner.token, body });
  return answer.body as { uid: string; token: string; url: string };
}

export const redeem = ({ api }: SharingRoom, status: number, by: TestPrincipal, token: string) =>
  api.request(status, 'POST /environments/links/redeem', { token: by.token, body: { token } });

/** One that was shared with the persona as it is meant to be. */
export async function shareWith(room: SharingRoom, kind: Kind, persona: Persona): Promise<SharedEnvironment> {
  const { api, people, guestTeam } = room;
  const uid = await makeEnvironment(room, kind);
  const revoke = (path: string) =>
    api.request(204, `DELETE /environments/${uid}/${path}`, { token: people.owner.token });
  const bystander = await api.identities.user({}, newUid());
  const shared = {
    uid,
    grantUid: await grant(room, uid, { user_uid: bystander.uid }),
    linkUid: (await link(room, uid)).uid,
  };
  switch (persona) {
    case 'guest':
      await grant(room, uid, { user_uid: people.guest.uid });
      break;
    case 'guestTeam':
    case 'guestViewer':
    case 'guestBot':
      await grant(room, uid, { team_uid: guestTeam });
      break;
    case 'holder':
      await redeem(room, 200, people.holder, (await link(room, uid)).token);
      break;
    case 'exGuest':
      await revoke(`grants/${await grant(room, uid, { user_uid: people.exGuest.uid })}`);
      break;
    case 'exTeam': {
      const [membership] = await api.database.query<{ team_uid: string }>(
        'SELECT team_uid FROM memberships WHERE user_uid = $1',
        [people.exTeam.uid],
      );
      await revoke(`grants/${await grant(room, uid, { team_uid: membership?.team_uid })}`);
      break;
    }
    case 'exHolder': {
      const { uid: linkUid, token } = await link(room, uid);
      await redeem(room, 200, people.exHolder, token);
      await revoke(`links/${linkUid}`);
      break;
    }
    case 'owner':
    case 'admin':
    case 'member':
    case 'viewer':
    case 'bot':
    case 'stranger':
  }
  return shared;
}
