import { newUid } from '#platform/kernel';
import type { TestPrincipal } from '#testing';
import type { ApiFixture } from '../../support/api-fixture.js';

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
 * owner: of the team, or the user who owns the environment; admin, member, viewer, bot: of the owner's team. guest: has a
 * grant; guestTeam, guestViewer, guestBot: member, viewer, service account of a team that has a grant; holder: redeemed a
 * link; ex…: the same, and it was revoked.
 */
export type Persona = (typeof PERSONAS)[number];
export type Kind = 'personal' | 'team';

/** A persona's environment, as `shareWith` creates it. */
export interface SharedEnvironment {
  readonly uid: string;
  /** A grant and a link that exist beside those of the persona. */
  readonly grantUid: string;
  readonly linkUid: string;
}

/** Shares environments of a fixture's owner. Users who are not of the environment's team are members of another team. */
export class EnvironmentSharing {
  private constructor(
    private readonly fixture: ApiFixture,
    /** A team that environments are granted to. */
    readonly guestTeam: string,
    /** The team of `exTeam`. */
    private readonly pastTeam: string,
    readonly people: Readonly<Record<Persona, TestPrincipal>>,
  ) {}

  static async prepare(fixture: ApiFixture): Promise<EnvironmentSharing> {
    const { identities } = fixture.api;
    const [guestTeam, pastTeam] = await Promise.all([identities.team('Guests'), identities.team('Past')]);
    const elsewhere = async () => identities.user({ [await identities.team('Home')]: 'member' });
    const { owner, admin, member, viewer, bot } = fixture;
    return new EnvironmentSharing(fixture, guestTeam, pastTeam, {
      ...{ owner, admin, member, viewer, bot },
      guest: await elsewhere(),
      guestTeam: await identities.user({ [guestTeam]: 'member' }),
      guestViewer: await identities.user({ [guestTeam]: 'viewer' }),
      guestBot: await identities.serviceAccount(guestTeam),
      holder: await elsewhere(),
      exGuest: await elsewhere(),
      exTeam: await identities.user({ [pastTeam]: 'member' }),
      exHolder: await elsewhere(),
      stranger: await elsewhere(),
    });
  }

  /** An environment of the owner, or of the team, that is not shared. */
  createEnvironment(kind: Kind, config: object = {}): Promise<string> {
    return this.fixture.createEnvironment(config, { by: this.people.owner, team: kind === 'team' });
  }

  /** Returns the uid of the grant. */
  async grant(uid: string, body: object): Promise<string> {
    return (await this.asOwner(201, `POST /environments/${uid}/grants`, body)).uid;
  }

  async createLink(uid: string, body: object = {}): Promise<{ uid: string; token: string; url: string }> {
    return this.asOwner(201, `POST /environments/${uid}/links`, body);
  }

  redeemLink(status: number, by: TestPrincipal, token: string) {
    return this.fixture.request(status, 'POST /environments/links/redeem', { token: by.token, body: { token } });
  }

  /** A new environment that is shared with the persona as its name says. */
  async shareWith(kind: Kind, persona: Persona): Promise<SharedEnvironment> {
    const { people, guestTeam, pastTeam } = this;
    const uid = await this.createEnvironment(kind);
    const other = await this.fixture.api.identities.user({}, newUid());
    const shared = {
      uid,
      grantUid: await this.grant(uid, { user_uid: other.uid }),
      linkUid: (await this.createLink(uid)).uid,
    };
    switch (persona) {
      case 'guest':
        await this.grant(uid, { user_uid: people.guest.uid });
        break;
      case 'guestTeam':
      case 'guestViewer':
      case 'guestBot':
        await this.grant(uid, { team_uid: guestTeam });
        break;
      case 'holder':
        await this.redeemLink(200, people.holder, (await this.createLink(uid)).token);
        break;
      case 'exGuest':
        await this.revoke(uid, `grants/${await this.grant(uid, { user_uid: people.exGuest.uid })}`);
        break;
      case 'exTeam':
        await this.revoke(uid, `grants/${await this.grant(uid, { team_uid: pastTeam })}`);
        break;
      case 'exHolder': {
        const { uid: linkUid, token } = await this.createLink(uid);
        await this.redeemLink(200, people.exHolder, token);
        await this.revoke(uid, `links/${linkUid}`);
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

  private revoke(uid: string, path: string) {
    return this.asOwner(204, `DELETE /environments/${uid}/${path}`);
  }

  private asOwner(status: number, line: string, body?: object) {
    return this.fixture.requestAs(this.people.owner, status, line, body === undefined ? {} : { body });
  }
}
