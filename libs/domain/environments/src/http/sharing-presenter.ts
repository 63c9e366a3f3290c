import { Injectable } from '@nestjs/common';
import { PrincipalDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import type { EnvironmentGrant, EnvironmentLink } from '../domain/environment-sharing.js';
import type { CreatedEnvironmentLink, EnvironmentGrantItem, EnvironmentLinkItem } from './environment-sharing.dto.js';

/** Grants and links as responses show them, principals by name. */
@Injectable()
export class SharingPresenter {
  constructor(
    private readonly principals: PrincipalDirectory,
    private readonly settings: Settings,
  ) {}

  async presentGrants(grants: readonly EnvironmentGrant[]): Promise<EnvironmentGrantItem[]> {
    const people = grants.flatMap(({ grantee: { type, uid } }) => (type === 'user' ? [{ type, uid }] : []));
    const known = await this.principals.describe([...people, ...grants.map(({ creator }) => creator)]);
    return grants.map(({ uid, grantee, creator, createdAt }) => ({
      uid,
      access: 'use',
      ...(grantee.type === 'team'
        ? { team_uid: grantee.uid }
        : { user: known.get(grantee.uid) ?? { type: 'user', uid: grantee.uid } }),
      created_at: createdAt.toISOString(),
      created_by: known.get(creator.uid) ?? creator,
    }));
  }

  async presentGrant(grant: EnvironmentGrant): Promise<EnvironmentGrantItem> {
    const [item] = await this.presentGrants([grant]);
    if (!item) throw new Error('A grant or link was not presented.');
    return item;
  }

  async presentLinks(links: readonly EnvironmentLink[]): Promise<EnvironmentLinkItem[]> {
    const known = await this.principals.describe(links.map(({ creator }) => creator));
    return links.map(({ uid, expiresAt, maxUses, uses, creator, createdAt }) => ({
      uid,
      ...(expiresAt && { expires_at: expiresAt.toISOString() }),
      ...(maxUses !== null && { max_uses: maxUses }),
      uses,
      created_at: createdAt.toISOString(),
      created_by: known.get(creator.uid) ?? creator,
    }));
  }

  /** With the token, which is returned only here. After the # of the URL it reaches no server and no log. */
  async presentCreated(link: EnvironmentLink, token: string): Promise<CreatedEnvironmentLink> {
    const [item] = await this.presentLinks([link]);
    if (!item) throw new Error('A grant or link was not presented.');
    return { ...item, token, url: `${this.settings.publicUrl}/environments/shared#${token}` };
  }
}
