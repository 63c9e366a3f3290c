import type { INestApplicationContext } from '@nestjs/common';
import {
  MembersService,
  type PrincipalRef,
  ServiceAccountsService,
  SessionsService,
  TeamsService,
  TokenAuthenticator,
  TokensService,
  UsersService,
} from '#platform/auth';
import { FactoriesService } from '#domain/factories';
import { newUid } from '#platform/kernel';
import type { Connection, KnownUids, UidFile } from './connection-file.js';

export type Access = Pick<Connection, 'token' | 'service_account_token' | 'team_uid' | 'factory_uid'>;

/** Name of the tokens of `connection.json` in lists. */
const TOKEN_NAME = 'connection.json';

/**
 * Creates the initial resources of an installation: a team, its owner, a service account, a factory and tokens. Existing
 * resources are kept, so an interrupted start continues. A token is created only if `known` lacks it or it is not valid.
 */
export class FirstStart {
  constructor(
    private readonly services: INestApplicationContext,
    private readonly file: UidFile,
  ) {}

  /** `loginCode`: signs the first user in once. */
  async ensure(known: Partial<Connection>): Promise<Access & { readonly loginCode: string }> {
    const teamUid = await this.team();
    const userUid = await this.owner(teamUid);
    const serviceAccountUid = await this.serviceAccount(teamUid);
    const login = await this.services.get(SessionsService).createLoginCode(userUid);
    return {
      loginCode: login?.code ?? '',
      team_uid: teamUid,
      factory_uid: await this.factory(teamUid),
      token: await this.token({ type: 'user', uid: userUid }, known.token),
      service_account_token: await this.token(
        { type: 'service_account', uid: serviceAccountUid },
        known.service_account_token,
      ),
    };
  }

  private async team(): Promise<string> {
    const teams = await this.services.get(TeamsService).list();
    const known = teams.find(({ uid }) => uid === this.file.read().team_uid);
    if (known) return known.uid;
    const { uid } = await this.services.get(TeamsService).create({ name: 'Default team' });
    // The other uids belong to another database.
    this.file.write({ team_uid: uid });
    return uid;
  }

  private async owner(teamUid: string): Promise<string> {
    const users = await this.services.get(UsersService).list();
    const known = users.find(({ uid }) => uid === this.file.read().user_uid);
    const uid = known?.uid ?? (await this.createUser());
    // Of an installation that an earlier version has started. The user who starts it can change the database.
    if (known && !users.some(({ isAdministrator, disabledAt }) => isAdministrator && disabledAt === null))
      await this.services.get(UsersService).update(uid, { isAdministrator: true });
    // A changed role is kept; a user without a team was created by an interrupted start.
    if (!known || known.memberships.length === 0)
      await this.services.get(MembersService).setRole({ teamUid, userUid: uid, role: 'owner' });
    return uid;
  }

  private async createUser(): Promise<string> {
    // The first address exists already when another installation shares the database.
    for (const email of ['owner@headrace.local', `owner-${newUid().toLowerCase()}@headrace.local`]) {
      const result = await this.services
        .get(UsersService)
        .create({ email, displayName: 'Owner', isAdministrator: true });
      if (result.kind === 'created') return this.remember({ user_uid: result.user.uid }, result.user.uid);
    }
    throw new Error('The first user could not be created.');
  }

  private async serviceAccount(teamUid: string): Promise<string> {
    const known = this.file.read().service_account_uid;
    if (known !== undefined) return known;
    const result = await this.services.get(ServiceAccountsService).create({ teamUid, name: 'default' });
    if (result.kind !== 'created') throw new Error('The service account could not be created.');
    return this.remember({ service_account_uid: result.serviceAccount.uid }, result.serviceAccount.uid);
  }

  private async factory(teamUid: string): Promise<string> {
    const known = this.file.read().factory_uid;
    if (known !== undefined && (await this.services.get(FactoriesService).find(known))) return known;
    const result = await this.services.get(FactoriesService).create({ teamUid, name: 'Default factory' });
    if (result.kind !== 'created') throw new Error('The factory could not be created.');
    return this.remember({ factory_uid: result.factory.uid }, result.factory.uid);
  }

  private async token(owner: PrincipalRef, known: string | undefined): Promise<string> {
    if (known !== undefined && (await this.isValid(known, owner))) return known;
    const result = await this.services.get(TokensService).create({ owner, name: TOKEN_NAME });
    if (result.kind !== 'created') throw new Error(`A token for ${owner.type} ${owner.uid} could not be created.`);
    return result.token;
  }

  private async isValid(token: string, owner: PrincipalRef): Promise<boolean> {
    const principal = await this.services.get(TokenAuthenticator).authenticate(`Bearer ${token}`);
    return typeof principal !== 'string' && principal.uid === owner.uid;
  }

  private remember(uids: KnownUids, uid: string): string {
    this.file.write({ ...this.file.read(), ...uids });
    return uid;
  }
}
