import { usePageTitle } from '../../components/basics';
import { currentTab, Tabs } from '../../components/tabs';
import { may, principal, team } from '../../session';
import { ServiceAccounts, Sessions, Tokens } from './access';
import { AuditLog } from './audit-log';
import { Members } from './members';

const OF_EVERYBODY = ['members', 'tokens', 'sessions'] as const;
const OF_MANAGERS = ['service-accounts', 'audit-log'] as const;
type Tab = (typeof OF_EVERYBODY)[number] | (typeof OF_MANAGERS)[number];

export function TeamPage() {
  usePageTitle('Team');
  const { memberships = [] } = principal.value ?? {};
  const chosen = memberships.find(({ team_uid: uid }) => uid === team.value) ?? memberships[0];
  const tabs: readonly [Tab, ...Tab[]] = [...OF_EVERYBODY, ...(may('audit_log:read') ? OF_MANAGERS : [])];
  const tab = currentTab(tabs);
  return (
    <>
      <div class="head">
        <h1>{chosen?.team_name ?? 'Your access'}</h1>
      </div>
      <Tabs label="Parts of the team" tabs={tabs} path="team" current={tab} />
      {tab === 'members' && <Members />}
      {tab === 'tokens' && <Tokens />}
      {tab === 'sessions' && <Sessions />}
      {tab === 'service-accounts' && <ServiceAccounts />}
      {tab === 'audit-log' && <AuditLog />}
    </>
  );
}
