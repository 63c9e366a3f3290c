import { printResult, printTable, timeCell } from '../cli/output.js';
import { TEAM_CHOICE } from '../cli/shared-options.js';
import { allOf, pathTo } from '../remote/administration.js';
import { apiCommand } from '../remote/connect.js';

interface RemoteServiceAccount {
  readonly uid: string;
  readonly name: string;
  readonly is_agent_identity: boolean;
  readonly created_at: string;
}

/** A service account has the permissions of a team member, without management permissions. */
export const create = apiCommand({
  argument: 'name',
  options: TEAM_CHOICE,
  run: async (api, { team, ...values }, name) => {
    const account = await api.post<RemoteServiceAccount>('/service-accounts', { name }, team);
    printResult(values, account, account.uid);
  },
});

export const list = apiCommand({
  options: TEAM_CHOICE,
  run: async (api, { team, ...values }) => {
    const accounts = await allOf<RemoteServiceAccount>(api, '/service-accounts', 'service_accounts', {}, team);
    printTable(values, accounts, ['UID', 'NAME', 'AGENT IDENTITY', 'CREATED'], (account) => [
      ...[account.uid, account.name, account.is_agent_identity ? 'yes' : 'no', timeCell(account.created_at)],
    ]);
  },
});

export const remove = apiCommand({
  argument: 'uid',
  run: async (api, values, uid) => {
    await api.delete(pathTo('service-accounts', uid));
    printResult(values, { uid, deleted: true }, `Service account ${uid} is deleted, and its tokens are revoked.`);
  },
});
